package correlate

import "testing"

// The values are those of AIStore 5.0: its own test of the hash, and objects that a real cluster of three targets served, as its
// redirects name them: all three in service, then with the third in maintenance.
func TestTheHomeOfAnObjectIsWhereAIStoreKeepsIt(t *testing.T) {
	for in, want := range map[uint64]uint64{4573842: 5026071747115404967, 0: 1905207664160064169} {
		if got := scramble(in); got != want {
			t.Errorf("scramble(%d) = %d, want %d", in, got, want)
		}
	}
	three := []string{"ais-target-1", "ais-target-2", "ais-target-3"}
	for _, o := range []struct {
		name    string
		targets []string
		want    string
	}{
		{"shard-00284.tar", three, "ais-target-1"},
		{"shard-00292.tar", three, "ais-target-1"},
		{"shard-00276.tar", three, "ais-target-3"},
		{"shard-00298.tar", three, "ais-target-3"},
		{"shard-00276.tar", three[:2], "ais-target-1"},
		{"shard-00298.tar", three[:2], "ais-target-1"},
	} {
		if got := weightiest(o.targets, "ais/@#/speech/"+o.name); got != o.want {
			t.Errorf("the home of %s of %v is %s, want %s", o.name, o.targets, got, o.want)
		}
	}
}
