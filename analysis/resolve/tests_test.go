package resolve

import (
	"slices"
	"testing"
)

// A host is named only where the tests prove it; else it is a set, or a path.
func TestAccuse(t *testing.T) {
	for _, c := range []struct {
		name      string
		bad, good [][]string
		kind      string
		hosts     []string
	}{
		{"nothing bad", nil, [][]string{{"a", "b"}}, "", nil},
		{"one host in all bad pairs, its partners fine elsewhere", [][]string{{"a", "b"}, {"a", "c"}}, [][]string{{"b", "c"}}, "node", []string{"a"}},
		{"a host alone", [][]string{{"a"}}, [][]string{{"b"}}, "node", []string{"a"}},
		{"one bad pair, both fine with others", [][]string{{"a", "b"}}, [][]string{{"a", "c"}, {"b", "d"}}, "path", []string{"a", "b"}},
		{"one bad pair, nobody tested elsewhere", [][]string{{"a", "b"}}, [][]string{{"c", "d"}}, "set", []string{"a", "b"}},
		{"one bad pair, one of them fine elsewhere", [][]string{{"a", "b"}}, [][]string{{"b", "c"}}, "set", []string{"a", "b"}},
		{"a partner nobody saw fine", [][]string{{"a", "b"}, {"a", "c"}}, [][]string{{"c", "d"}}, "set", []string{"a", "b"}},
		{"the same pair twice", [][]string{{"a", "b"}, {"b", "a"}}, [][]string{{"b", "c"}}, "set", []string{"a", "b"}},
		{"two bad pairs without a common host", [][]string{{"a", "b"}, {"c", "d"}}, [][]string{{"b", "d"}}, "set", []string{"a", "c"}},
		{"bad between two halves that are fine inside", [][]string{{"a", "c"}, {"b", "d"}}, [][]string{{"a", "b"}, {"c", "d"}}, "set", []string{"a", "b", "c", "d"}},
	} {
		if got := Accuse(c.bad, c.good); got.Kind != c.kind || !slices.Equal(got.Hosts, c.hosts) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
