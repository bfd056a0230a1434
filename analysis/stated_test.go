package analysis

import (
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// A line that nobody knows proposes what it states where it is announced as an error; prose that speaks of one proposes nothing.
func TestALineThatStatesItsCauseProposesIt(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a class and a message", "hostx 13: frames.errors.ComputeError: block out of specification: shard 7 is corrupted\n", "bad-sample"},
		{"an error of a program in another language", "ingest: error: the filesystem of /scratch ran out of inodes\n", "storage-full"},
		{"prose", "- c2: 160 MB disks, small rotation: out of space, killed, rotated files\n", "unknown"},
		{"what may be", "ingest: error: could not go on, check whether the shard is corrupted\n", "unknown"},
	} {
		r := diagnosed(t, Input{Sources: strangeJob(t, 5, c.line)})
		if v := r.Verdict; v.Mechanism != c.want || v.Status != incident.Inconclusive {
			t.Errorf("%s: %s %s, %s", c.name, v.Status, v.Mechanism, standoutsOf(r))
		}
	}
}

// Where the message at the root only states that something is missing, a line above it that states the same may name it.
func TestALineAboveThatStatesTheSameIsAClue(t *testing.T) {
	const raised = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    resume()\nRuntimeError: resume failed: optimizer states not loaded\n"
	for _, c := range []struct {
		name, above string
		shown       bool
	}{
		{"the same", "[WARNING] the following checkpoint files are missing: ['/ck/7/optim_6.pt']\n", true},
		{"something else", "[WARNING] the request rate was exceeded\n", false},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"job.log": "loading /ck/7\n" + c.above + raised}, "")})
		shown := slices.ContainsFunc(r.Standouts, func(s incident.Standout) bool { return strings.Contains(s.Statement, "missing") })
		if r.Verdict.Mechanism != "checkpoint-io" || shown != c.shown {
			t.Errorf("%s: %s, shown %v: %s", c.name, r.Verdict.Mechanism, shown, standoutsOf(r))
		}
	}
}
