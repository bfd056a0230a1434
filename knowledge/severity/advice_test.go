package severity

import "testing"

func TestAdvice(t *testing.T) {
	for text, want := range map[string]bool{
		"  Possible Cause: 1. An exception occurs on some NPUs": true,
		"Solution: check the other ranks":                       true,
		" In addition, you can set MUX_DEBUG":                   true,
		"Please check whether the mux failed":                   true,
		"mux failed; please check it":                           false,
		"retrying lane 7 failed":                                false,
		"The wait execution of the Notify register times out.":  false,
	} {
		if got := Advises(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if s := Of([]byte("The wait execution of the Notify register times out.")); s.Level != Failed {
		t.Errorf("a wait that times out sounds %s", s.Level)
	}
}
