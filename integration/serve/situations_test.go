package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"faultline/simulate"
	"faultline/simulate/slack"
)

// stall is a job of 16 ranks on two nodes in which one rank stalled.
func stall() simulate.Spec {
	return simulate.Spec{Seed: 3, Mechanism: "rank-stalled", Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 16}, NodeCount: 2, PerNode: 8, FileMode: "node"}
}

func oom() simulate.Spec {
	return simulate.Spec{Seed: 5, Mechanism: "gpu-oom", Torch: "2.6", Layout: simulate.Layout{Kind: "ddp", DP: 16}, NodeCount: 2, PerNode: 8, FileMode: "node"}
}

func healthy() simulate.Spec {
	return simulate.Spec{Seed: 7, Mechanism: "healthy", Torch: "2.6", Layout: simulate.Layout{Kind: "ddp", DP: 16}, NodeCount: 2, PerNode: 8, FileMode: "node"}
}

// node0 is the file of the first node, node1 of the second: in stall() the rank that held the others is there.
func node0(name string) bool { return strings.Contains(name, "-0.") }
func node1(name string) bool { return strings.Contains(name, "-1.") }

func TestAnUncomplicatedCaseIsFivePosts(t *testing.T) {
	t.Parallel()
	w := start(t)
	job, _ := w.job(stall(), nil)
	ack := w.slash(slack.Alice, slack.Training, job)
	if !ack.OK || !strings.Contains(string(ack.Payload), job) {
		t.Errorf("acknowledged with %+v", ack)
	}
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	posts := 0
	for _, m := range w.slack.All(slack.Training) {
		if m.VisibleTo == "" && !m.Deleted {
			posts++
		}
	}
	if posts > 5 {
		t.Errorf("%d posts", posts)
	}
	calls := 0 // a name in a new message calls the person; in an edit it does not
	for _, e := range w.slack.Journal() {
		if e.Method == "chat.postMessage" || e.Method == "files.completeUploadExternal" {
			calls += strings.Count(e.Body, slack.Alice)
		}
	}
	if calls != 1 {
		t.Errorf("the requester was called %d times", calls)
	}
	w.golden(slack.Training)
}

func TestACrashIsExplained(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, "`#"+job+"`")
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestAJobThatFinishedWellIsToldSo(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(healthy(), nil)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestAMissingNodeIsAskedForAndItsUploadRevisesTheVerdict(t *testing.T) {
	t.Parallel()
	w := start(t)
	job, held := w.job(stall(), node1)
	if len(held) != 1 {
		t.Fatalf("held back %d files", len(held))
	}
	w.slash(slack.Alice, slack.Training, job)
	question := w.message(slack.Alice, slack.Training, "Why:", "Upload files")
	w.message(slack.Alice, slack.Training, "report.json")
	w.click(slack.Bob, question, "Upload files")
	view := w.window(slack.Bob, "logs")
	var ids []string
	for name, data := range held {
		id, err := w.slack.Upload(slack.Bob, name, data)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	w.submit(slack.Bob, view, map[string]any{"files": ids})
	w.message(slack.Alice, slack.Training, "Because")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestALogThatComesLateRevisesTheVerdictByItself(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, held := w.job(stall(), node1)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.stop() // what was planned outlives the process
	for name, data := range held {
		if err := os.WriteFile(filepath.Join(w.roots, job, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.run()
	w.message(slack.Alice, slack.Training, "Because", "came after the earlier verdict")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestALogThatIsStillWrittenIsAskedAbout(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t, func(w *world, conf map[string]any, _ *slack.Options) {
		conf["clusters"].([]any)[0].(map[string]any)["logs"].(map[string]any)["quiet"] = "10m"
	})
	job, _ := w.job(stall(), nil)
	w.slash(slack.Alice, slack.Training, job)
	question := w.message(slack.Alice, slack.Training, "Why:", "seems to be running")
	w.click(slack.Alice, question, "Look now")
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// The look at a job that runs says how it is doing, and is no report of a failure.
func TestARunningJobIsLookedAt(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t, func(w *world, conf map[string]any, _ *slack.Options) {
		conf["clusters"].([]any)[0].(map[string]any)["logs"].(map[string]any)["quiet"] = "10m"
	})
	job, whole := w.job(healthy(), func(string) bool { return true })
	for name, data := range whole {
		lines := bytes.SplitAfter(data, []byte("\n"))
		if err := os.WriteFile(filepath.Join(w.roots, job, name), bytes.Join(lines[:len(lines)*2/3], nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.slash(slack.Alice, slack.Training, job)
	w.click(slack.Alice, w.message(slack.Alice, slack.Training, "seems to be running"), "Look now")
	w.message(slack.Alice, slack.Training, "A snapshot of a running job", "When it ends, I'll look again")
	w.quietNow(slack.Training)
	for _, m := range w.slack.All(slack.Training) {
		if text := strings.ToLower(m.Text); strings.Contains(text, "resubmit") || strings.Contains(text, "report.json") {
			t.Errorf("a running job is reported on: %s", m.Text)
		}
	}
}

func TestWhatIsTypedIsAnswered(t *testing.T) {
	t.Parallel()
	w := start(t, func(w *world, conf map[string]any, _ *slack.Options) {
		east := filepath.Join(w.dir, "east")
		if err := os.MkdirAll(filepath.Join(east, "77"), 0o755); err != nil {
			w.t.Fatal(err)
		}
		conf["clusters"] = append(conf["clusters"].([]any), map[string]any{"name": "east", "logs": map[string]any{"roots": []string{east}}})
		if err := os.MkdirAll(filepath.Join(w.roots, "77"), 0o755); err != nil {
			w.t.Fatal(err)
		}
	})
	write := func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "x.log"), []byte("hello\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(w.roots, "77"))
	write(filepath.Join(w.dir, "east", "77"))
	for i, text := range []string{"help", "ping", "status", "list", "12x4", "77", "north:77", "logs:/etc/passwd", "logs:" + w.roots + "/../../etc", "cancel 99", "rerun 99", "mute 99", "status 99",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"} {
		before := len(ephemerals(w, slack.Alice))
		w.slash(slack.Alice, slack.Training, text)
		answer(w, slack.Alice, before, fmt.Sprintf("an answer to %d: %q", i, text))
	}
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// answer waits for what a user is told, beyond the first n things and the word that an answer follows, which on a busy machine
// may come after it.
func answer(w *world, user string, n int, what string) (m slack.Message) {
	w.t.Helper()
	w.await(what, func() bool {
		list := ephemerals(w, user)
		for _, m = range list[min(n, len(list)):] {
			if !strings.HasPrefix(m.Text, "Looking up job ") && !strings.HasPrefix(m.Text, "Opening these logs") {
				return true
			}
		}
		return false
	})
	return m
}

func ephemerals(w *world, user string) []slack.Message {
	var list []slack.Message
	for _, ch := range w.slack.Channels() {
		for _, m := range w.slack.All(ch.ID) {
			if m.VisibleTo == user {
				list = append(list, m)
			}
		}
	}
	return list
}

func TestAnUnknownJobSaysWhereItWasLookedFor(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	w.slash(slack.Alice, slack.Training, "9999")
	w.message(slack.Alice, slack.Training, "I looked for logs of job 9999")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// A number that the cluster has given to no job is answered to the person alone. A case for uploads can be opened all the same.
func TestANumberThatNoJobHasOpensNoCase(t *testing.T) {
	t.Parallel()
	w := start(t, slurmSays(`case "$*" in
"show config") echo "NEXT_JOB_ID             = 4243" ;;
*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
esac`, `case "$*" in -e) echo JobID ;; esac`))
	w.slash(slack.Alice, slack.Training, "999999")
	answer := w.message(slack.Alice, slack.Training, "There is no job 999999 yet", "logs:/path")
	w.quietNow(slack.Training)
	if posts := w.public(slack.Training); answer.VisibleTo != slack.Alice || len(posts) > 0 {
		t.Errorf("visible to %q; public: %v", answer.VisibleTo, posts)
	}
	w.click(slack.Alice, answer, "Open a case and upload logs")
	w.message(slack.Alice, slack.Training, "I looked for logs of job 999999", "Upload logs")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// Where the accounting is off nobody can say that a job is unknown.
func TestAJobThatMayHaveBeenForgottenOpensACase(t *testing.T) {
	t.Parallel()
	w := start(t, slurmSays(`case "$*" in
"show config") echo "NEXT_JOB_ID             = 4243" ;;
*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
esac`, `echo "Slurm accounting storage is disabled" >&2; exit 1`))
	w.slash(slack.Alice, slack.Training, "999999")
	if m := w.message(slack.Alice, slack.Training, "I looked for logs of job 999999"); m.VisibleTo != "" {
		t.Errorf("only %s sees it", m.VisibleTo)
	}
}

// slurmSays puts programs in the place of scontrol and sacct.
func slurmSays(scontrol, sacct string) setting {
	return func(w *world, conf map[string]any, _ *slack.Options) {
		w.programs = filepath.Join(w.dir, "programs")
		if err := os.MkdirAll(w.programs, 0o755); err != nil {
			w.t.Fatal(err)
		}
		for name, text := range map[string]string{"scontrol": scontrol, "sacct": sacct} {
			if err := os.WriteFile(filepath.Join(w.programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				w.t.Fatal(err)
			}
		}
		conf["clusters"].([]any)[0].(map[string]any)["slurm"] = map[string]any{"commands": "local"}
	}
}

func TestASecondRequestForTheSameRunLinksToTheOpenOne(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(stall(), node0)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.slash(slack.Bob, slack.Training, job)
	answer(w, slack.Bob, 0, "a link to the open one")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestABareCommandOpensAWindow(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, "")
	v := w.window(slack.Alice, "job")
	if ack := w.submit(slack.Alice, v, map[string]any{"job": "12x"}); !strings.Contains(string(ack.Payload), "errors") {
		t.Errorf("a malformed id was taken: %s", ack.Payload)
	}
	w.submit(slack.Alice, w.window(slack.Alice, "job"), map[string]any{"job": job})
	w.message(slack.Alice, slack.Training, "report.json")
}

func TestWhereTheBotMayNotSpeakItSaysWhy(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t, func(w *world, conf map[string]any, _ *slack.Options) {
		conf["channels"] = append(conf["channels"].([]any), map[string]any{"id": slack.Outside}, map[string]any{"id": slack.Secret})
	})
	job, _ := w.job(oom(), nil)
	for _, c := range []struct{ user, channel, want string }{
		{slack.Alice, slack.Outside, "/invite"},
		{slack.Alice, slack.Secret, "/invite"},
		{slack.Mallory, slack.Shared, "organization"},
		{slack.Alice, w.slack.Direct(slack.Alice), "irect"},
	} {
		before := len(ephemerals(w, c.user))
		w.slash(c.user, c.channel, job)
		if m := answer(w, c.user, before, "an answer in "+c.channel); !strings.Contains(m.Text+plainBlocks(m.Blocks), c.want) {
			t.Errorf("%s in %s was told %q", c.user, c.channel, m.Text)
		}
	}
}

func TestAJobOfSomebodyElseLooksLikeNone(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["channels"].([]any)[0].(map[string]any)["users"] = []string{"somebody-else"}
	})
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job)
	refused := w.message(slack.Alice, slack.Training, "I looked for logs of job "+job, "Start with")
	w.slash(slack.Alice, slack.Training, "4243")
	unknown := w.message(slack.Alice, slack.Training, "I looked for logs of job 4243", "Start with")
	words := func(m slack.Message) string {
		return w.normal(strings.ReplaceAll(strings.ReplaceAll(m.Text, job, "N"), "4243", "N"))
	}
	if words(refused) != words(unknown) {
		t.Errorf("they differ:\n%s\n%s", refused.Text, unknown.Text)
	}
}

func TestAPrivateAnswerIsSeenByNobodyElseUntilItIsShared(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job+" private")
	direct := w.slack.Direct(slack.Alice)
	w.message(slack.Alice, direct, "report.json")
	for _, m := range w.slack.All(slack.Training) {
		if m.VisibleTo != slack.Alice {
			t.Errorf("in the channel: %s", m.Text)
		}
	}
	w.click(slack.Alice, w.message(slack.Alice, direct, "Share with the channel"), "Share with the channel")
	w.message(slack.Alice, slack.Training, job)
}

func TestADisputeStrikesTheVerdictAndClosingAsksHowItWas(t *testing.T) {
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.click(slack.Bob, w.message(slack.Alice, slack.Training, "This is wrong"), "This is wrong")
	w.submit(slack.Bob, w.window(slack.Bob, "actual"), map[string]any{"cause": "other", "text": "a broken cable"})
	w.message(slack.Alice, slack.Training, "disputes this verdict")
	w.click(slack.Alice, w.message(slack.Alice, slack.Training, "Case F-1"), "Close")
	w.submit(slack.Alice, w.window(slack.Alice, "fix"), map[string]any{"verdict": "wrong", "cause": "other", "text": "a broken cable", "fix": "the cable was replaced"})
	w.message(slack.Alice, slack.Training, "Closed by")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestAMentionInAThreadIsAnswered(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job)
	final := w.message(slack.Alice, slack.Training, "report.json")
	before := len(ephemerals(w, slack.Bob))
	if _, _, err := w.slack.Say(slack.Bob, slack.Training, final.ThreadTS, "<@"+slack.BotUser+"> status"); err != nil {
		t.Fatal(err)
	}
	answer(w, slack.Bob, before, "an answer to a mention")
}

func TestAGracefulStopAndARestartChangeNothing(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(stall(), nil)
	w.slash(slack.Alice, slack.Training, job)
	time.Sleep(1500 * time.Millisecond)
	w.stop()
	w.run()
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestOverSignedHTTPItIsTheSameBot(t *testing.T) {
	long(t)
	t.Parallel()
	w := newWorld(t, func(w *world, conf map[string]any, opts *slack.Options) {
		conf["slack"].(map[string]any)["mode"] = "http"
		conf["slack"].(map[string]any)["signing_secret"] = slack.SignSecret
		base := "http://" + w.ops + "/slack/"
		opts.HTTP = slack.HTTPTargets{Commands: base + "commands", Interactivity: base + "interactive", Events: base + "events"}
	})
	w.launch()
	w.ready()
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job)
	w.click(slack.Bob, w.verdict(slack.Alice, slack.Training), "What does this mean?")
	w.window(slack.Bob, "GPU")
}

func TestTheConfigurationIsReadAgainWithoutARestart(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	job, _ := w.job(oom(), nil)
	if err := w.slack.Invite(slack.Outside, slack.BotUser); err != nil {
		t.Fatal(err)
	}
	w.slash(slack.Alice, slack.Outside, job)
	if m := answer(w, slack.Alice, 0, "a refusal"); !strings.Contains(m.Text, "isn't connected to a cluster") {
		t.Fatalf("a channel that is not configured was told %q", m.Text)
	}
	w.configure(func(conf map[string]any) {
		conf["channels"] = append(conf["channels"].([]any), map[string]any{"id": slack.Outside})
	})
	w.hup()
	w.slash(slack.Alice, slack.Outside, job)
	w.message(slack.Alice, slack.Outside, "report.json")
}

// Where a web address is configured, the case file links to one page with the report; else there is none.
func TestACaseHasOnePageWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		w := newWorld(t, func(w *world, conf map[string]any, _ *slack.Options) {
			if on {
				conf["web"] = map[string]any{"url": "http://" + w.ops}
			}
		})
		w.run()
		job, _ := w.job(stall(), nil)
		w.slash(slack.Alice, slack.Training, job)
		w.message(slack.Alice, slack.Training, "report.json")
		w.quietNow(slack.Training)
		said := ""
		for _, m := range w.slack.All(slack.Training) {
			said += m.Text + plainBlocks(m.Blocks)
		}
		link := regexp.MustCompile(`http://[^/]+(/case/F-1/[0-9a-f]{32})`).FindStringSubmatch(said)
		if !on {
			if code, _ := w.get("/case/F-1/"); link != nil || strings.Contains(said, "Report page") || code != http.StatusNotFound {
				t.Errorf("off: link %q, code %d", link, code)
			}
			continue
		}
		if link == nil {
			t.Fatalf("no link in\n%s", said)
		}
		if code, page := w.get(link[1]); code != http.StatusOK || !strings.Contains(page, "One rank stalled") {
			t.Errorf("%d\n%.500s", code, page)
		}
		if code, page := w.get("/case/F-1/" + strings.Repeat("0", 32)); code != http.StatusNotFound || strings.Contains(page, "stalled") {
			t.Errorf("a wrong key: %d", code)
		}
		w.configure(func(conf map[string]any) { conf["channels"] = []any{map[string]any{"id": slack.Private}} })
		w.hup()
		if code, _ := w.get(link[1]); code != http.StatusNotFound {
			t.Errorf("the channel is not connected any more: %d", code)
		}
	}
}
