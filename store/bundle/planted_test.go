package bundle

import (
	"bytes"
	"strings"
	"testing"

	"faultline/simulate/secrets"
)

// What is planted anywhere in a long log, at the ends of windows too, is not in its copy.
func TestPlantedSecretsAreNotInTheCopyOfALog(t *testing.T) {
	planted, leaked := 0, 0
	for i, f := range secrets.All(3) {
		if f.LeftOut || i%7 != 0 {
			continue
		}
		filler := windowLines - around - 3 + i%(around+4)
		in := strings.Repeat("step\n", filler) + f.Text + "\n" + strings.Repeat("step\n", i%200)
		var b bytes.Buffer
		if err := redactLog(&b, strings.NewReader(in), maxLog); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(b.String(), "\n"), strings.Count(in, "\n"); got != want {
			t.Fatalf("%d lines of %d: %s", got, want, f.Name())
		}
		planted++
		if p := f.Leaks(b.String()); p != "" {
			leaked++
			t.Logf("%s: %q shows %q", f.Name(), f.Text, p)
		}
	}
	if 100*leaked > planted {
		t.Errorf("%d of %d leaked", leaked, planted)
	}
}
