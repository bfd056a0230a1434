package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// crowded makes a workspace with many channels and users, all served.
func crowded(channels, users int) (ids, people []string, set setting) {
	team := slack.DefaultWorkspace()
	for i := range users {
		id := fmt.Sprintf("U0CROWD%03d", i)
		people = append(people, id)
		team.Users = append(team.Users, slack.User{ID: id, Name: fmt.Sprintf("person%d", i), RealName: fmt.Sprintf("Person %d", i), TZ: "Etc/UTC"})
	}
	for i := range channels {
		id := fmt.Sprintf("C0CROWD%03d", i)
		ids = append(ids, id)
		team.Channels = append(team.Channels, slack.Channel{ID: id, Name: fmt.Sprintf("team-%d", i), Members: append([]string{slack.BotUser}, people...)})
	}
	return ids, people, func(_ *world, conf map[string]any, opts *slack.Options) {
		opts.Workspace = team
		for _, id := range ids {
			conf["channels"] = append(conf["channels"].([]any), map[string]any{"id": id})
		}
	}
}

// gauge reads a number from the bot's metrics; 0 where it is not there.
func (w *world) gauge(name string) int {
	w.t.Helper()
	_, metrics := w.get("/metrics")
	for line := range strings.SplitSeq(metrics, "\n") {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			return int(v)
		}
	}
	return 0
}

// settles polls until a condition of the bot's own state holds.
func (w *world) settles(what string, patience time.Duration, condition func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waiting for %s", what)
		}
	}
}

var inLine = regexp.MustCompile(`is queued as F-\d+: (\d+) others? (?:is|are) first`)

// TestManyInvestigationsAtOnce does not run beside others: it measures how fast commands are acknowledged. Slack lets an app
// upload no more than 100 files a minute, and a case has four: until the last file of 200 cases is posted takes eight minutes.
// That all are posted is therefore seen with few cases, or with FAULTLINE_LOAD=full; with many, that all have reached
// their final verdict and that every post of it waits for its turn.
func TestManyInvestigationsAtOnce(t *testing.T) {
	cases, patience := 200, 4*time.Minute
	full := os.Getenv("FAULTLINE_LOAD") == "full"
	switch {
	case brief(): // too few to be measured
		cases, full = 20, true
		t.Parallel()
	case len(buildFlags) > 0: // the race detector is slow, and keeps an eye on fewer just as well
		cases = 40
	case full:
		patience = 20 * time.Minute
	}
	channels, people, set := crowded(min(cases, 40), 20)
	w := start(t, set)
	for i := range cases {
		w.crash(fmt.Sprint(90000+i), fmt.Sprintf("case %d went wrong", i), "as did the other")
	}
	acks := make([]slack.Ack, cases)
	begun := time.Now()
	var all sync.WaitGroup
	for i := range cases {
		say := func() *slack.Delivery {
			d, err := w.slack.Slash(people[i%len(people)], channels[i%len(channels)], "/diagnose", fmt.Sprint(90000+i))
			if err != nil {
				t.Error(err)
			}
			return d
		}
		d := say()
		all.Go(func() {
			for tries := 0; d != nil; d, tries = say(), tries+1 {
				acks[i], _ = d.Wait(t.Context())
				if !brief() || tries == 20 || acks[i].OK && !bytes.Contains(acks[i].Payload, []byte("couldn't save this")) {
					return
				}
				time.Sleep(time.Second) // a busy machine; the bot said so, and a person tries again
			}
		})
	}
	all.Wait()
	var took []time.Duration
	for i, a := range acks {
		if !a.OK {
			t.Errorf("command %d was not acknowledged: %s", i, a.Error)
		}
		took = append(took, a.After)
	}
	slices.Sort(took)
	at := func(p int) time.Duration { return took[min(len(took)-1, len(took)*p/100)].Round(time.Millisecond) }
	t.Logf("%d commands at once: acknowledged after p50 %s, p99 %s, at most %s", cases, at(50), at(99), at(100))
	if !brief() && at(99) >= 3*time.Second {
		t.Errorf("Slack gives up after 3 s; p99 is %s", at(99))
	}

	w.settles("all reports", patience, func() bool {
		return w.gauge(`faultline_investigations_open{state="reported"}`) == cases && w.gauge(`faultline_jobs_waiting{kind="run"}`) == 0
	})
	t.Logf("all %d cases have their final verdict after %s; %d posts wait for Slack's limits", cases, time.Since(begun).Round(100*time.Millisecond), w.gauge("faultline_outbox_posts"))
	if full {
		w.settles("all posts", patience, func() bool { // a post that is being sent waits no more, and is not there yet
			replies := 0
			for _, c := range channels {
				for _, m := range w.slack.All(c) {
					if m.VisibleTo == "" && m.InThread() {
						replies++
					}
				}
			}
			return replies >= 3*cases && w.gauge("faultline_outbox_posts") == 0
		})
		t.Logf("all is posted after %s", time.Since(begun).Round(100*time.Millisecond))
	}
	waited := cases / 2
	if brief() {
		waited = 1 // how many of a few have to wait is chance
	}
	w.settles("all case files and places in the line", patience, func() bool {
		heads, lines := 0, 0
		for _, c := range channels {
			for _, m := range w.slack.All(c) {
				switch {
				case m.VisibleTo != "" && inLine.MatchString(m.Text):
					lines++
				case m.VisibleTo == "" && !m.InThread():
					heads++
				}
			}
		}
		return heads >= cases && lines >= waited
	})
	t.Logf("all case files are posted, and places in the line told, after %s", time.Since(begun).Round(100*time.Millisecond))
	w.complete(channels, cases, full)
}

// complete checks that every case has each of its posts once: all of them, or those that were sent and the rest in the outbox.
func (w *world) complete(channels []string, cases int, full bool) {
	w.t.Helper()
	// The posts of such a case: the case file, the verdict, the timeline with the map, the final word.
	marks := []string{"· Case", "What does this mean?", "rankmap-1.png", "report.json"}
	for i := range cases {
		var thread []slack.Message
		head := slack.Message{}
		for _, m := range w.slack.All(channels[i%len(channels)]) {
			if m.VisibleTo == "" && !m.InThread() && strings.Contains(m.Text+plainBlocks(m.Blocks), fmt.Sprint(90000+i)) {
				if head.TS != "" {
					w.t.Errorf("case %d was opened twice", i)
				}
				head = m
			}
		}
		if head.TS == "" {
			w.t.Errorf("case %d was never opened", i)
			continue
		}
		for _, m := range w.slack.All(channels[i%len(channels)]) {
			if m.ThreadTS == head.TS && m.TS != head.TS {
				thread = append(thread, m)
			}
		}
		if len(thread) > len(marks)-1 || full && len(thread) < len(marks)-1 {
			w.t.Errorf("case %d has %d posts in its thread", i, len(thread))
		}
		for n, m := range thread {
			if n+1 < len(marks) && !holds(m, marks[n+1:n+2]) {
				w.t.Errorf("case %d: post %d is %q", i, n+1, m.Text)
			}
		}
	}
}

// TestLargeLogs measures; it runs where FAULTLINE_LARGE names a directory with the logs of one large job.
func TestLargeLogs(t *testing.T) {
	dir := os.Getenv("FAULTLINE_LARGE")
	if dir == "" {
		t.Skip("FAULTLINE_LARGE names no directory with logs of a large job")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	bytes := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	w := start(t, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["clusters"].([]any)[0].(map[string]any)["logs"] = map[string]any{"roots": []string{filepath.Dir(dir)}, "patterns": []string{"{job}"}}
	})
	begun := time.Now()
	w.slash(slack.Alice, slack.Training, "logs:"+dir)
	ctx := t.Context()
	for _, mark := range []struct{ what, words string }{{"the first useful post", "What happened:"}, {"the final verdict", "report.json"}} {
		err := w.slack.Until(ctx, func() bool {
			_, ok := w.slack.Find(slack.Training, func(m slack.Message) bool { return holds(m, []string{mark.words}) })
			return ok
		})
		if err != nil {
			t.Fatal(err)
		}
		load, _ := os.ReadFile("/proc/loadavg")
		t.Logf("%d files, %.1f GB: %s after %s (load %s)", len(files), float64(bytes)/1e9, mark.what, time.Since(begun).Round(100*time.Millisecond), strings.TrimSpace(string(load)))
	}
	t.Log(w.slack.Transcript(slack.Training))
}
