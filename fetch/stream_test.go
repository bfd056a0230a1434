package fetch

import (
	"fmt"
	"os"
	"testing"
)

// What a shell hands over by a descriptor is read like a file that somebody named.
func TestPipesOfTheShellAreRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = w.WriteString("[rank0]: RuntimeError: it broke\n")
		_ = w.Close()
	}()
	name := fmt.Sprintf("/dev/fd/%d", r.Fd())
	set, err := Local(t.Context(), []string{name}, LocalOptions{SpoolDir: t.TempDir()})
	if err != nil || len(set.Sources) != 1 || set.Sources[0].Bytes != 32 || set.Sources[0].Name != "pipe" {
		t.Fatalf("%+v, %v", set, err)
	}
	if set, err = Local(t.Context(), []string{name}, LocalOptions{SpoolDir: t.TempDir(), Gate: (&Shared{}).Door()}); err == nil {
		t.Errorf("a served bot reads %+v", set.Sources)
	}
}
