package knowledge

import (
	"regexp"
	"slices"
	"testing"
)

func TestWhatAPatternNeeds(t *testing.T) {
	for _, tt := range []struct {
		pattern  string
		want     []string
		literals []string
	}{
		{`onnect(?:ion|ing)? to (?P<peer>[^<\s]+)<\d+>.*?(?P<error>No route to host|Network is unreachable)`, []string{"o route to host", "etwork is unreachable"}, nil},
		{`rank (\d+) of`, []string{"rank "}, nil},
		{`(?i)rank`, nil, nil},
		{`a*|b`, nil, nil},
		{`status=5\b|IBV_WC`, []string{"status=5", "IBV_WC"}, nil},
		{`[Ff]ailed`, []string{"ailed"}, nil},
		{`x?`, nil, nil},
		{`from peer \S+ (?:status=5|IBV_WC)`, []string{"status=5", "IBV_WC"}, []string{"Got completion from peer "}},
		{`(?:from peer |to )\d`, nil, []string{"Got completion from peer "}},
	} {
		var got []string
		for _, w := range needs(tt.pattern, tt.literals) {
			got = append(got, string(w))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s needs %q, not %q", tt.pattern, got, tt.want)
		}
	}
}

// FuzzNeeds looks for a text that a pattern matches and that holds none of what it is said to need.
func FuzzNeeds(f *testing.F) {
	f.Add("ab|cd(e|f)+", "xabx")
	f.Add(`(?:a|b)c{2,}d?`, "acc")
	for _, s := range Whole().Signatures() {
		if s.Pattern != "" {
			f.Add(s.Pattern, s.Example)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 1<<10 || len(text) > 1<<10 {
			return
		}
		if re.MatchString(text) && !possible(needs(pattern, nil), []byte(text)) {
			t.Errorf("%s matches %q, which holds none of %q", pattern, text, needs(pattern, nil))
		}
	})
}
