//go:build realslurm

package slurm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// guiltyNode is where the test command fails.
const guiltyNode = "node03"

// withGPUs gives the cluster GPUs to count, as the lines of a search ask for them.
func (c *cluster) withGPUs(t *testing.T) {
	t.Helper()
	name := c.path("etc/slurm.conf")
	conf, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(conf), " CPUs=32 ", " CPUs=32 Gres=gpu:8 ", 1)
	write(t, name, "GresTypes=gpu\n"+text, 0o644)
	folder(t, c.path("gpu"), account{})
	for i := range 8 { // files in the place of devices
		write(t, c.path(fmt.Sprintf("gpu/gpu%d", i)), "", 0o666)
	}
	write(t, c.path("etc/gres.conf"), "Name=gpu File="+c.path("gpu")+"/gpu[0-7]\n", 0o644)
	c.end("slurmctld", syscall.SIGTERM)
	for i := 1; i <= nodes; i++ {
		c.end(nodeName(i), syscall.SIGTERM)
	}
	c.run(t, "slurmctld", account{}, nil, "slurmctld", "-D", "-c")
	for i := 1; i <= nodes; i++ {
		c.slurmd(t, nodeName(i))
	}
	c.await(t, "idle nodes", func() bool {
		out, err := c.try("sinfo", "-h", "-t", "idle", "-o", "%D")
		return err == nil && strings.TrimSpace(out) == fmt.Sprint(nodes)
	})
}

// submitting is a bot that may submit a command at a price. Its sbatch notes each call and, where a file tells it to, kills the bot
// before or after the cluster has the job.
func (w *watched) submitting(command, partition string, hours float64) {
	w.t.Helper()
	conf, err := os.ReadFile(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^    submit: .*\n`).ReplaceAllString(string(conf), "")
	allowed := fmt.Sprintf("    submit: {enabled: true, commands: ['%s'], partitions: [%s], gpu_hours: %g, dir: '%s'}\n", command, partition, hours, w.c.work)
	write(w.t, w.conf, strings.Replace(text, "    slurm: ", allowed+"    slurm: ", 1), 0o600)
}

// deadly is sbatch as the bot finds it.
func (w *watched) deadly() {
	w.t.Helper()
	real, err := exec.LookPath("sbatch")
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, w.c.path("bin/sbatch"), fmt.Sprintf(`#!/bin/bash
echo "$*" >>%[1]s/log/submitted
if [ -e %[1]s/log/kill-before ]; then rm %[1]s/log/kill-before; kill -9 $PPID; exit 1; fi
out=$(%[2]s "$@"); code=$?
if [ -e %[1]s/log/kill-after ]; then rm %[1]s/log/kill-after; kill -9 $PPID; fi
echo "$out"
exit $code
`, w.c.dir, real), 0o755)
}

// dies waits for the bot's death by its own sbatch, and starts it anew.
func (w *watched) dies() {
	w.t.Helper()
	gone := make(chan error, 1)
	go func() { gone <- w.bot.Wait() }()
	select {
	case <-gone:
	case <-time.After(2 * time.Minute):
		w.t.Fatal("the bot did not die")
	}
	w.bot = nil
	w.run()
}

// hears tells whether a text was said, to the channel or to one person in it.
func (w *watched) hears(text string) bool {
	for _, m := range w.slack.All(slack.Training) {
		var blocks []any
		_ = json.Unmarshal(m.Blocks, &blocks) // without the escapes of JSON
		if strings.Contains(m.Text, text) || strings.Contains(fmt.Sprint(blocks), text) {
			return true
		}
	}
	return false
}

var submitButton = regexp.MustCompile(`"Submit (\d+[a-h]) \(`)

// offers are the tests that a button submits, in the order of the thread.
func (w *watched) offers() (ids []string) {
	for _, m := range w.slack.All(slack.Training) {
		for _, found := range submitButton.FindAllStringSubmatch(string(m.Blocks), -1) {
			ids = append(ids, found[1])
		}
	}
	return ids
}

// offered is the newest message with a button that submits a test.
func (w *watched) offered(test string) (ts string, found bool) {
	for _, m := range w.slack.All(slack.Training) {
		if strings.Contains(string(m.Blocks), "Submit "+test+" (") {
			ts, found = m.TS, true
		}
	}
	return ts, found
}

func (w *watched) clicks(user, test string) {
	w.t.Helper()
	ts, found := w.offered(test)
	if !found {
		w.t.Fatalf("no button submits test %s", test)
	}
	blocks := ""
	for _, m := range w.slack.All(slack.Training) {
		if m.TS == ts {
			blocks = string(m.Blocks)
		}
	}
	label := regexp.MustCompile(`Submit ` + test + ` \([^"]*\)`).FindString(blocks)
	if _, err := w.slack.Click(user, slack.Training, ts, slack.Action{Text: label}); err != nil {
		w.t.Fatal(err)
	}
}

// jobsOf are the jobs that the cluster had for a test, by its name.
func (w *watched) jobsOf(test string) []string {
	out := w.c.must(w.t, "sacct", "-X", "-n", "-P", "-a", "-S", "now-1days", "-o", "JobIDRaw,JobName")
	var ids []string
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), "|"); strings.HasPrefix(name, "faultline-F-1-") && strings.HasSuffix(name, "-"+test) {
			ids = append(ids, id)
		}
	}
	return ids
}

// A search is run by the bot on a real cluster, click by click, to its end: each test once, also where the bot is killed before or after
// sbatch, none without the click of somebody who may, none that the configuration does not list or pay for.
func TestTestsAreSubmittedOnARealCluster(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	c.withGPUs(t)
	w := watch(t, c, binary)
	w.deadly()
	command := c.path("programs/part.sh")
	write(t, command, "#!/bin/sh\necho \"part on $SLURMD_NODENAME\"\n[ \"$SLURMD_NODENAME\" != "+guiltyNode+" ]\n", 0o755)
	failed := c.submit(t, "train", []string{"-N4", "--ntasks-per-node=2"}, []string{"--kill-on-bad-exit=1", "--", "signal", "SEGV"})
	c.ended(t, failed)
	types := func(text string) {
		t.Helper()
		if _, err := w.slack.Slash(owner, slack.Training, "/diagnose", text); err != nil {
			t.Fatal(err)
		}
	}
	again := func(command, partition string, hours float64) {
		t.Helper()
		w.end(syscall.SIGTERM)
		w.submitting(command, partition, hours)
		w.run()
	}
	submitted := func() int {
		b, _ := os.ReadFile(c.path("log/submitted"))
		return strings.Count(string(b), "\n")
	}

	w.submitting(command, "batch", 1000)
	w.run()
	types(failed.id)
	w.until("the report", func() bool { return w.reported(slack.Training) })
	types("isolate F-1 " + command)
	w.until("the first test", func() bool { _, found := w.offered("1a"); return found })

	// What the configuration no longer allows is refused, though the button is still there; so is a stranger's click.
	for says, no := range map[string]struct {
		command, partition string
		hours              float64
	}{
		"the command is not on the list of cluster":         {command + " --other", "batch", 1000},
		"partition \"batch\" is not on the list of cluster": {command, "high", 1000},
		"GPU hours, and 0.0 are allowed for a case":         {command, "batch", 0.01},
	} {
		again(no.command, no.partition, no.hours)
		w.clicks(owner, "1a")
		w.until("a refusal: "+says, func() bool { return w.hears(says) })
	}
	again(command, "batch", 1000)
	w.clicks(slack.Bob, "1a")
	w.until("a stranger's refusal", func() bool { return w.hears("trusted users can") })
	if n := submitted(); n != 0 {
		t.Fatalf("%d tests were submitted that must not be", n)
	}

	// The first time the cluster has the job and the bot does not know it; the second time nothing reached the cluster.
	deaths := []string{"log/kill-after", "log/kill-before"}
	clicked, last := map[string]bool{}, ""
	over := func() bool { return w.hears("🔬 Found: ") }
	for !over() {
		var open []string
		w.until("a test to submit, or the end", func() bool {
			open = slices.DeleteFunc(w.offers(), func(id string) bool { return clicked[id] })
			return len(open) > 0 || over()
		})
		for _, id := range open {
			clicked[id], last = true, id
			if len(deaths) > 0 {
				write(t, c.path(deaths[0]), "", 0o644)
			}
			w.clicks(owner, id)
			if len(deaths) > 0 {
				deaths = deaths[1:]
				w.dies()
			}
		}
	}
	t.Logf("%d calls of sbatch\n%s", submitted(), w.transcript(slack.Training))

	out, err := exec.Command(binary, "export", "--config", w.conf, "--format", "markdown", "F-1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	trail := string(out)
	for test := range clicked {
		ids := w.jobsOf(test)
		if len(ids) != 1 {
			t.Errorf("test %s was submitted as jobs %v", test, ids)
			continue
		}
		wants := []string{"submit test " + test + " as faultline-F-1-", "test " + test + " is job " + ids[0] + ": sbatch"}
		if test[:1] != last[:1] { // one test of the last round may decide before the other has ended
			wants = append(wants, "job "+ids[0]+" of test "+test+" ended: ")
		}
		for _, want := range wants {
			if !strings.Contains(trail, want) {
				t.Errorf("the audit trail has no %q", want)
			}
		}
	}
	if !w.hears("🔬 Found: " + guiltyNode) {
		t.Error("another culprit")
	}
	// One call more than jobs: the one that never reached the cluster.
	jobs := strings.Count(c.must(t, "sacct", "-X", "-n", "-P", "-a", "-S", "now-1days", "-o", "JobName"), "faultline-F-1-")
	if jobs != len(clicked) || submitted() != jobs+1 {
		t.Errorf("%d jobs and %d calls of sbatch for %d clicks", jobs, submitted(), len(clicked))
	}
}
