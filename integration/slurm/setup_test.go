//go:build realslurm

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"faultline/simulate/slack"
)

// A team whose logs are moved away when a job has ended says where they are: that is proven on a job, and holds for the next one.
func TestATeamSaysWhereItsLogsAre(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	w := watch(t, c, binary)
	crash := func(name string) job {
		j := c.submit(t, name, []string{"-N4", "--ntasks-per-node=2"}, []string{"--kill-on-bad-exit=1", "--", "signal", "SEGV"})
		c.ended(t, j)
		kept := filepath.Join(c.work, "kept", name)
		if err := os.MkdirAll(kept, 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			for _, stream := range []string{"error", "slurm"} {
				from := filepath.Join(j.dir, fmt.Sprintf("%s-%s-%d.out", stream, j.id, n))
				if err := os.Rename(from, filepath.Join(kept, fmt.Sprintf("%s.%s.%d.log", stream, j.id, n))); err != nil {
					t.Fatal(err)
				}
			}
		}
		return j
	}
	first, second := crash("moved"), crash("next")
	w.run()
	types := func(text string) {
		t.Helper()
		if _, err := w.slack.Slash(owner, slack.Training, "/diagnose", text); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(text string) func() bool { return func() bool { return w.says(slack.Training, text) > 0 } }

	types("setup " + first.id + " {root}/elsewhere/%x/error.%j.%n.log")
	w.until("what was not found", answer("Not saved"))
	types("setup " + first.id + " {root}/kept/%x/error.%j.%n.log")
	w.until("what was found", answer("4 of 4 nodes"))
	w.until("it to be kept", answer("Saved for this channel"))
	types("setup show")
	w.until("what holds", answer("{root}/kept/%x/error.%j.%n.log"))

	types(second.id)
	w.until("the report", func() bool { return w.heads("Job "+second.id+" on") == 1 && w.reported(slack.Training) })
	if said := w.transcript(slack.Training); !strings.Contains(said, "native") {
		t.Error(said)
	}
	if w.says(slack.Training, "4 of 4 nodes") < 1 || w.says(slack.Training, "error."+second.id+".") == 0 {
		t.Error(w.transcript(slack.Training))
	}

	types("setup clear " + clusterName)
	w.until("it to be taken back", answer("Removed for this channel"))
	types("setup show")
	w.until("that nothing holds", answer("Nothing is set for this channel."))

	types("999999") // no job has come to that number
	w.until("that it is unused", answer("There is no job 999999 yet (the next ID is "))
	if w.heads("Job 999999") != 0 {
		t.Error(w.transcript(slack.Training))
	}
}
