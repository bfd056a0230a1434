package fetch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"faultline/fetch/gate"
	"faultline/workflow"
)

// Shared finds logs on file systems that are mounted on this machine. It fills workflow's Fetcher.
type Shared struct {
	Clusters []Cluster
	// Spool is an existing directory for what archives hold.
	Spool string
	// Now measures how long a search took; nil = it is not told.
	Now func() time.Time
	// Beside and Records are those of LocalOptions.
	Beside  func(start []byte) bool
	Records func(start []byte) bool
	// Unpack bounds what archives may unpack to.
	Unpack Bounds
	// Gate opens the files; nil is one to the roots of the clusters, each by itself, and to Spool.
	Gate *gate.Gate

	once sync.Once
	made *gate.Gate
}

// Door is the gate. One whose roots are no absolute paths opens nothing.
func (s *Shared) Door() *gate.Gate {
	if s.Gate != nil {
		return s.Gate
	}
	s.once.Do(func() {
		areas := []gate.Area{{Own: true}}
		if s.Spool != "" {
			areas[0].Roots = []string{s.Spool}
		}
		for _, c := range s.Clusters {
			areas = append(areas, gate.Area{Roots: c.Roots})
		}
		if g, err := gate.New(areas...); err == nil {
			s.made = g
		} else {
			s.made = &gate.Gate{}
		}
	})
	return s.made
}

// Cluster is where the logs of one cluster's jobs are.
type Cluster struct {
	Name     string
	Roots    []string
	Patterns []string // globs below each root; {job} stands for the job id
}

// looked bounds how many files of a job are looked at for their owner and time.
const looked = 20_000

// Locate implements workflow.Fetcher: the patterns below the roots, of one cluster or (with "") of all. A match that another
// match contains is not listed again. What the gate refuses is listed, too: Collect says why nothing is read of it.
func (s *Shared) Locate(ctx context.Context, cluster, job string) (found workflow.Found, err error) {
	if s.Now != nil {
		start := s.Now()
		defer func() { found.Took = s.Now().Sub(start) }()
	}
	for _, c := range s.Clusters {
		if cluster != "" && c.Name != cluster {
			continue
		}
		found.Searched = append(found.Searched, c.Roots...)
		if job == "" {
			continue
		}
		for _, root := range c.Roots {
			for _, pattern := range c.Patterns {
				if err := ctx.Err(); err != nil {
					return found, err
				}
				matches, err := s.Door().Glob(root, strings.ReplaceAll(pattern, "{job}", escapeGlob(job)))
				if err != nil {
					return found, fmt.Errorf("pattern %s below %s: %w", pattern, root, err)
				}
				for _, m := range matches {
					if !slices.ContainsFunc(found.Places, func(p string) bool { return m == p || strings.HasPrefix(m, p+"/") }) && OfJob(strings.TrimPrefix(m, root), job) {
						found.Places = append(found.Places, m)
					}
				}
			}
		}
	}
	slices.Sort(found.Places)
	found.Users, found.Written = owners(ctx, s.Door(), found.Places)
	return found, nil
}

// Owners are the accounts that own the files of a place.
func Owners(ctx context.Context, from *gate.Gate, place string) []string {
	users, _ := owners(ctx, from, []string{place})
	return users
}

// owners looks who owns the files and when the newest was written. What cannot be looked at says nothing; Collect will report it.
func owners(ctx context.Context, from *gate.Gate, places []string) (users []string, written time.Time) {
	n := 0
	ids := map[uint32]bool{}
	note := func(info fs.FileInfo) {
		if info.ModTime().After(written) {
			written = info.ModTime()
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			ids[st.Uid] = true
		}
	}
	var below func(dir string)
	below = func(dir string) {
		list, _ := from.List(dir)
		for _, d := range list {
			if n++; n > looked || ctx.Err() != nil {
				return
			}
			if d.IsDir() {
				below(filepath.Join(dir, d.Name()))
			} else if info, err := d.Info(); err == nil {
				note(info)
			}
		}
	}
	for _, place := range places {
		switch p, err := from.Look(place); {
		case err != nil:
		case p.Info.IsDir():
			below(p.Path)
		default:
			note(p.Info)
		}
	}
	return accounts(ids), written
}

// accounts are the names of accounts on this machine, sorted; numbers where it has none.
func accounts(ids map[uint32]bool) (users []string) {
	for id := range ids {
		name := strconv.FormatUint(uint64(id), 10)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		users = append(users, name)
	}
	slices.Sort(users)
	return users
}

// OfJob says whether the path below a root names this job and not one whose number merely contains its digits: 4242 is
// not 142421.
func OfJob(rest, job string) bool {
	for i := 0; ; {
		j := strings.Index(rest[i:], job)
		if j < 0 {
			return false
		}
		start, end := i+j, i+j+len(job)
		if !digitAt(rest, start-1) && !digitAt(rest, end) {
			return true
		}
		i = start + 1
	}
}

func digitAt(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }

// escapeGlob makes a job id stand for itself in a glob.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// Collect implements workflow.Fetcher.
func (s *Shared) Collect(ctx context.Context, places []string) (workflow.Collection, error) {
	dir, err := os.MkdirTemp(s.Spool, "archive-") // each pass unpacks afresh: an earlier one may still be quoted
	if err != nil {
		return workflow.Collection{}, fmt.Errorf("making room for archives: %w", workflow.NotKept(err))
	}
	set, err := Local(ctx, places, LocalOptions{SpoolDir: dir, Beside: s.Beside, Records: s.Records, Gate: s.Door(), Unpack: s.Unpack})
	_ = os.Remove(dir) // nothing was unpacked: it is empty and goes away
	if err != nil && set != nil && set.Fault != nil {
		err = set.Fault
	}
	if err != nil {
		return workflow.Collection{}, err
	}
	return workflow.Collection{Sources: set.Sources, Warnings: set.Warnings, Fault: set.Fault, Users: set.Owners}, nil
}
