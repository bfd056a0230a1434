package fetch

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Recent is a job whose logs are there.
type Recent struct {
	Cluster, Job string
	Written      time.Time
}

// entriesOfRoot bounds how many names of a root are looked at.
const entriesOfRoot = 50_000

// Recent lists the jobs of an account whose logs lie directly below the roots of the clusters, the newest first. Whether
// they failed is not known here: nobody has opened the logs yet.
func (s *Shared) Recent(ctx context.Context, account string, clusters []string, limit int) ([]Recent, error) {
	owner, err := user.Lookup(account)
	if err != nil {
		return nil, fmt.Errorf("account %q on this host: %w", account, err)
	}
	newest := map[Recent]time.Time{}
	for _, c := range s.Clusters {
		if len(clusters) > 0 && !slices.Contains(clusters, c.Name) {
			continue
		}
		for _, root := range c.Roots {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, e := range s.entries(root) {
				job := jobIn(e.Name(), c.Patterns)
				if job == "" {
					continue
				}
				info, err := e.Info()
				if err != nil {
					continue // gone in the meantime
				}
				if st, ok := info.Sys().(*syscall.Stat_t); !ok || strconv.FormatUint(uint64(st.Uid), 10) != owner.Uid {
					continue
				}
				key := Recent{Cluster: c.Name, Job: job}
				if info.ModTime().After(newest[key]) {
					newest[key] = info.ModTime()
				}
			}
		}
	}
	var list []Recent
	for r, at := range newest {
		r.Written = at
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Recent) int {
		return cmp.Or(b.Written.Compare(a.Written), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(b.Job, a.Job))
	})
	return list[:min(len(list), limit)], nil
}

// entries are the names in a directory, as many as are looked at; none where it cannot be read.
func (s *Shared) entries(dir string) []os.DirEntry {
	list, _ := s.Door().List(dir)
	return list[:min(len(list), entriesOfRoot)]
}

// jobIn is the job id in a name, by the first pattern that fits: the inverse of filling {job} in.
func jobIn(name string, patterns []string) string {
	for _, p := range patterns {
		first, _, _ := strings.Cut(filepath.ToSlash(p), "/")
		before, after, ok := strings.Cut(first, "{job}")
		if !ok {
			continue
		}
		re, err := regexp.Compile("^" + globRegexp(before) + `(\d{2,}(?:[_+]\d+)?)` + globRegexp(after) + "$")
		if err != nil {
			continue
		}
		if m := re.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return ""
}

// globRegexp writes the part of a glob beside {job} as a regular expression. A star does not end, or begin, in a digit: it would
// take some of the number's.
func globRegexp(glob string) string {
	var b strings.Builder
	for i, r := range glob {
		switch {
		case r == '*' && i == len(glob)-1 && i == 0:
			b.WriteString(`(?:|.*\D|\D.*)`)
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}
