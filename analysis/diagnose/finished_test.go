package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// What breaks behind the end of the training costs nothing of it; what breaks before it, or while another stage trains, does.
func TestATrainingThatHadFinished(t *testing.T) {
	step := func(from, to int) string {
		var b strings.Builder
		for s := from; s <= to; s++ {
			fmt.Fprintf(&b, "[2026-11-20 10:00:%02d] iteration %d/20 | loss: 2.1 |\n", s, s)
		}
		return b.String()
	}
	const (
		save   = "[2026-11-20 10:00:20] saved checkpoint /ckpt/step_20\n"
		done   = "[2026-11-20 10:00:21] Training completed.\n"
		raised = "[2026-11-20 10:00:30] uploading\nTraceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    publish(out)\nValueError: no such project\n"
	)
	for _, c := range []struct {
		name     string
		files    map[string]string
		finished bool
		resubmit string
	}{
		{"it is saved", one(step(1, 20) + save + done + raised), true, "no"},
		{"whether it is saved is not known", one(step(1, 20) + done + raised), true, "after-fix"},
		{"an older save", one(step(1, 10) + "[2026-11-20 10:00:10] saved checkpoint /ckpt/step_10\n" + step(11, 20) + done + raised), true, "after-fix"},
		{"within the same second", one(step(1, 20) + save + done + strings.Replace(raised, "10:00:30", "10:00:21", 1)), true, "no"},
		{"nothing says so", one(step(1, 20) + save + raised), false, "after-fix"},
		{"another stage went on", one(step(1, 5) + done + step(6, 20) + save + raised), false, "after-fix"},
		{"it was no training", one(done + raised), false, "after-fix"},
		{"the failure came first", map[string]string{"r0.log": step(1, 20) + save + strings.Replace(done, "10:00:21", "10:05:00", 1), "r1.log": raised}, false, "after-fix"},
		{"in another file, by the clock", map[string]string{"r0.log": step(1, 20) + save + done, "r1.log": raised}, true, "no"},
		{"one process ended well", one(step(1, 20) + save + "[2026-11-20 10:00:21] Process 4711 exits successfully.\n" + raised), false, "after-fix"},
	} {
		var files []simulate.File
		for name, text := range c.files {
			files = append(files, simulate.File{Name: name, Data: []byte(text)})
		}
		r := Run(read(t, files, nil, 0))
		if got := r.Action.Finished != nil; got != c.finished || r.Action.Resubmit != c.resubmit {
			t.Errorf("%s: finished %v, resubmit %s: %s (%s)", c.name, got, r.Action.Resubmit, r.Action.Text, r.Verdict.Summary)
		}
	}
}
