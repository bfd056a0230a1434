package acceptance

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/simulate"
)

// collections are what stands in front of each line of a file that somebody collected or pasted.
var collections = map[string]func(name, text string) string{
	"indented": func(_, text string) string { return before(text, func(int) string { return "    " }) },
	"quoted":   func(_, text string) string { return before(text, func(int) string { return "> " }) },
	"grep -rn": func(name, text string) string {
		return before(text, func(i int) string { return fmt.Sprintf("%s:%d:", name, i+1) })
	},
	"cat -n": func(_, text string) string {
		return before(text, func(i int) string { return fmt.Sprintf("%6d\t", i+1) })
	},
	"collected in UTC":    func(_, text string) string { return collected(text, -8*time.Hour, "2006-01-02T15:04:05.000000000Z ") },
	"of a journal":        func(_, text string) string { return collected(text, 5*time.Hour+30*time.Minute, "Jan 02 15:04:05 ") },
	"collected here, too": func(_, text string) string { return collected(text, 0, "2006-01-02T15:04:05.000000000Z ") },
}

func before(text string, label func(i int) string) string {
	var b strings.Builder
	i := 0
	for l := range strings.Lines(text) {
		b.WriteString(label(i) + l)
		i++
	}
	return b.String()
}

// stated finds what a program says of the time, with a year or as PyTorch does without.
var stated = regexp.MustCompile(`(20\d\d)-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)|\[[EWIF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)`)

// collected puts a collector's stamp in front of each line, which shows so much more than the program's clock.
func collected(text string, ahead time.Duration, layout string) string {
	year := 2026
	if m := regexp.MustCompile(`\b(20\d\d)-\d\d-\d\d[ T]\d\d:`).FindStringSubmatch(text); m != nil {
		year, _ = strconv.Atoi(m[1])
	}
	read := func(l string) (t time.Time, ok bool) {
		m := stated.FindStringSubmatch(l)
		if m == nil {
			return t, false
		}
		var n [12]int
		for i := range m[1:] {
			n[i+1], _ = strconv.Atoi(m[i+1])
		}
		if m[1] == "" {
			return time.Date(year, time.Month(n[7]), n[8], n[9], n[10], n[11], 0, time.UTC), true
		}
		return time.Date(n[1], time.Month(n[2]), n[3], n[4], n[5], n[6], 0, time.UTC), true
	}
	now, known := time.Time{}, false
	for l := range strings.Lines(text) {
		if now, known = read(l); known {
			break
		}
	}
	if !known {
		return text // nothing tells when it was written
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if t, ok := read(l); ok && t.Year() == now.Year() {
			now = t
		}
		b.WriteString(now.Add(ahead+300*time.Millisecond).Format(layout) + l)
	}
	return b.String()
}

// TestHowLogsWereCollectedChangesNoCause: what people and collectors put in front of lines is not what they say. A node may be known by the
// collector's form alone, and what was open may be more open: so the first cause and the ranks are compared.
func TestHowLogsWereCollectedChangesNoCause(t *testing.T) {
	t.Parallel()
	n, differ := 0, 0
	enough := len(collections) * cases(20)
	for _, spec := range simulate.Grid(100, *seed+11, 0) { // a fifth of which are of use here
		if n >= enough {
			break
		}
		inc := play(t, spec)
		if slices.ContainsFunc(inc.Files, func(f simulate.File) bool {
			return !bytes.Equal(f.Data, bytes.ToValidUTF8(f.Data, nil)) || bytes.Count(f.Data, []byte("\n")) < 12
		}) {
			continue // packed, or too little to know what stands in front of all lines
		}
		in := asked(t, inc)
		in.Sources = put(t, t.TempDir(), inc.Files)
		plain := diagnosed(t.Context(), t, inc.ID, in)
		if plain == nil {
			continue
		}
		for form, collect := range collections {
			var files []simulate.File
			for _, f := range inc.Files {
				files = append(files, simulate.File{Name: f.Name, Data: []byte(collect(f.Name, string(f.Data)))})
			}
			in.Sources = put(t, t.TempDir(), files)
			r := diagnosed(t.Context(), t, inc.ID, in)
			if r == nil {
				t.Errorf("%s, %s: not read", inc.ID, form)
				continue
			}
			n++
			if a, b := fmt.Sprint(r.Verdict.Mechanism, r.Verdict.Root.Ranks), fmt.Sprint(plain.Verdict.Mechanism, plain.Verdict.Root.Ranks); a != b {
				differ++
				t.Errorf("%s, %s: said %s, and of the logs as they were written %s", inc.ID, form, a, b)
			}
			if err := sound(r); err != nil {
				t.Errorf("%s, %s: %v", inc.ID, form, err)
			}
		}
	}
	t.Logf("%d of %d reports differ", differ, n)
	if n < enough*3/4 {
		t.Errorf("%d reports were compared, expected %d", n, enough)
	}
}
