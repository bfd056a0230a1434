package knowledge

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// stated are rates in the words of a source.
var stated = regexp.MustCompile(`([\d,]+) (GB/s in both directions|Gbit/s|GT/s on 16 lanes)`)

// Each figure follows from the one that its source or its name states, and each name leads to one link.
func TestLinksFollowFromTheirSources(t *testing.T) {
	per := map[string]float64{"GB/s in both directions": 2, "Gbit/s": 8, "GT/s on 16 lanes": 0.5}
	seen := map[string]string{}
	for _, l := range Links() {
		m := stated.FindStringSubmatch(l.Source + " " + l.Name)
		if m == nil {
			t.Errorf("%s: no rate is stated in %q", l.Name, l.Source)
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if want := v / per[m[2]]; err != nil || math.Abs(l.GBps-want) > 1e-9 {
			t.Errorf("%s: %g GB/s, and %s makes %g", l.Name, l.GBps, m[0], want)
		}
		for _, name := range append([]string{strings.ToLower(l.Name)}, l.Words...) {
			if other := seen[name]; other != "" {
				t.Errorf("%q is %s and %s", name, other, l.Name)
			}
			seen[name] = l.Name
			if got, ok := LinkByName(strings.ToUpper(name)); !ok || got.Name != l.Name {
				t.Errorf("%q leads to %q, not to %s", name, got.Name, l.Name)
			}
		}
	}
}
