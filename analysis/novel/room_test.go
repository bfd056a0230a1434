package novel

import (
	"context"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// What is read is as large as the file was; one that has grown meanwhile is read to its end all the same, a longer line in parts.
func TestAFileThatGrewIsReadToItsEnd(t *testing.T) {
	text := "step 1\n" + strings.Repeat("x", 3*chunk) + "\nlast failed\n"
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, size := range []int64{1, 7, 5 << 10, int64(len(text)) - 1, int64(len(text)), 0} {
		f, err := Read(ctx, "a", iotest.HalfReader(strings.NewReader(text)), Options{LastStep: -1, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		last := f.Kinds[len(f.Kinds)-1]
		if last.Text != "last failed" || last.At.Line != 3 || last.At.Off != int64(len(text)-len("last failed\n")) {
			t.Errorf("of %d bytes: the last is %q at %+v", size, last.Text, last.At)
		}
	}
}
