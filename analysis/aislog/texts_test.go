package aislog

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every text of the table is what a line with its words says: none stands in the shadow of another that says something else.
func TestEveryTextIsFound(t *testing.T) {
	for i, want := range texts {
		line := "W 23:15:00.000000 x:1 aa " + strings.Join(want.literals, " bb ") + " cc\n"
		d := one(t, read(t, info("a-1", "1120-231339", 1), up+line))
		if want.kind == noise {
			if len(d.Groups) != 0 {
				t.Errorf("%q is harmless and is told as %+v", want.literals, d.Groups[0])
			}
			continue
		}
		if len(d.Groups) != 1 || d.Groups[0].Kind != want.kind {
			t.Errorf("text %d %q: %+v", i, want.literals, d.Groups)
			continue
		}
		if d.Groups[0].Lines[info("a-1", "1120-231339", 1)] != 1 {
			t.Errorf("text %d %q: counted lines %v", i, want.literals, d.Groups[0].Lines)
		}
	}
}

func TestTheTableOfTextsIsInOrder(t *testing.T) {
	known := []string{"3.20", "3.24", "3.28", "3.30", "4.0", "4.1", "4.2", "4.3", "4.5", "4.6", "5.0"}
	basis := regexp.MustCompile(`^[SRI]$`)
	seen := map[string]bool{}
	for _, x := range texts {
		key := strings.Join(x.literals, "|") + "!" + strings.Join(x.not, "|")
		if seen[key] {
			t.Errorf("%q stands twice", key)
		}
		seen[key] = true
		if len(needle(x.literals)) < 6 {
			t.Errorf("%q is too short to be looked for fast", x.literals)
		}
		if !slices.Contains(known, x.since) || !basis.MatchString(x.from) {
			t.Errorf("%q: since %q from %q", x.literals, x.since, x.from)
		}
	}
	for _, l := range plumbing {
		if len(l) < 6 {
			t.Errorf("%q is too short to be looked for fast", l)
		}
	}
}
