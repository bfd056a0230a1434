package serve

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// often are faults that hit every n-th use of some methods, for a while.
func often(do string, every, times int, methods ...string) (list []slack.Fault) {
	for _, method := range methods {
		for i := range times {
			list = append(list, slack.Fault{Method: method, Do: do, Skip: every*i + 1, Delay: 4 * time.Second})
		}
	}
	return list
}

// speaking are the methods that show something to people, in one step or several.
var speaking = []string{"chat.postMessage", "chat.update", "chat.postEphemeral", "files.getUploadURLExternal", "upload", "files.completeUploadExternal", "response_url"}

// Whatever Slack and the network do, people see the same thread: everything, once, in order.
func TestTheThreadIsTheSameWhateverSlackDoes(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	defer c.all.Wait()
	want := undisturbed(t, missing, inSQLite, nil)
	limits := func(_ *world, _ map[string]any, o *slack.Options) { o.RateLimits = true }
	for _, trouble := range []struct {
		name     string
		settings []setting
		faults   []slack.Fault
		every    time.Duration // how often shake is called
		shake    func(m *mortal, n int)
	}{
		{"429-storm", []setting{limits}, often(slack.RateLimit, 3, 12, "*"), 0, nil},
		{"429-for-speaking", []setting{limits}, often(slack.RateLimit, 2, 4, speaking...), 0, nil},
		{"refresh-every-2s", nil, nil, 2 * time.Second, func(m *mortal, n int) { m.slack.Disconnect(slack.Disconnect{Leave: n%2 == 0}) }},
		{"cut-sockets", nil, nil, time.Second, func(m *mortal, _ int) { m.slack.CutSockets() }},
		{"cut-while-delivering", nil, often(slack.CutMidFrame, 2, 4, "deliver"), 0, nil},
		{"dropped-acks", nil, often(slack.DropAck, 2, 5, "ack"), 0, nil},
		{"everything-comes-twice", nil, []slack.Fault{{Method: "deliver", Do: slack.Twice, Times: -1}}, 0, nil},
		{"accepted-but-500", nil, often(slack.FailAfter, 3, 4, "chat.postMessage", "chat.update", "files.completeUploadExternal"), 0, nil},
		{"500", nil, often(slack.FailBefore, 5, 2, speaking...), 0, nil},
		{"uploads-fail", nil, append(often(slack.FailAfter, 5, 2, "upload", "files.getUploadURLExternal"), often(slack.HideShares, 1, 4, "files.info")...), 0, nil},
		{"connections-break-off", nil, often(slack.Hang, 5, 2, speaking...), 0, nil},
		{"slow", nil, often(slack.Slow, 5, 2, speaking...), 0, nil},
		{"all-of-it", []setting{limits}, append(often(slack.RateLimit, 5, 5, "*"), append(often(slack.FailAfter, 4, 2, "chat.postMessage", "files.completeUploadExternal"),
			append(often(slack.DropAck, 3, 3, "ack"), often(slack.Twice, 2, 9, "deliver")...)...)...),
			3 * time.Second, func(m *mortal, n int) {
				if n%2 == 0 {
					m.slack.CutSockets()
					return
				}
				m.slack.Disconnect(slack.Disconnect{})
			}},
	} {
		if brief() && trouble.name != "dropped-acks" {
			continue
		}
		c.run(trouble.name, func(t *testing.T) {
			m := newMortal(t, inSQLite, nil, trouble.settings...)
			for _, f := range trouble.faults {
				m.slack.AddFault(f)
			}
			over := make(chan struct{})
			var shaker sync.WaitGroup
			if trouble.shake != nil {
				shaker.Go(func() {
					tick := time.NewTicker(trouble.every)
					defer tick.Stop()
					for n := 0; ; n++ {
						select {
						case <-tick.C:
							trouble.shake(m, n)
						case <-over:
							return
						}
					}
				})
			}
			got := m.play(missing, nil)
			close(over)
			shaker.Wait()
			got.matches(t, want)
			if n := m.ask("SELECT count(*) FROM post WHERE state = 'undeliverable'"); n != "0" {
				t.Errorf("%s posts were given up", n)
			}
			if n := m.ask("SELECT count(*) FROM job WHERE state = 'buried'"); n != "0" {
				t.Errorf("%s jobs were given up", n)
			}
		})
	}
}

// Each command is handled once, however often it is delivered, and each mention, which Slack repeats, at last.
func TestEveryCommandIsHandledOnce(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	defer c.all.Wait()
	for _, trouble := range []struct {
		name   string
		faults []slack.Fault
		shake  func(m *mortal, n int) // called right behind every delivery
	}{
		{"twice", []slack.Fault{{Method: "deliver", Do: slack.Twice, Times: -1}}, nil},
		{"dropped-acks", often(slack.DropAck, 2, 20, "ack"), nil},
		{"cut-while-delivering", often(slack.Cut, 5, 6, "deliver"), nil},
		{"refresh", nil, func(m *mortal, n int) { m.slack.Disconnect(slack.Disconnect{Leave: true, Socket: 1 + n%2}) }},
		{"cut", nil, func(m *mortal, n int) {
			if n%3 == 0 {
				m.slack.CutSockets()
			}
		}},
	} {
		if brief() && trouble.name != "twice" {
			continue
		}
		c.run(trouble.name, func(t *testing.T) {
			m := newMortal(t, inSQLite, nil)
			for _, f := range trouble.faults {
				m.slack.AddFault(f)
			}
			heard := map[string]bool{}
			send := func(n int, name string, do func() (*slack.Delivery, error)) (acknowledged bool) {
				m.eventually("sockets", func() bool { return m.slack.Sockets() > 0 })
				d, err := do()
				if err != nil {
					t.Fatal(err)
				}
				if trouble.shake != nil {
					trouble.shake(m, n)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 2*lifetime)
				defer cancel()
				ack, err := d.Wait(ctx)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return ack.OK
			}
			for i := range 8 {
				command, mention := fmt.Sprint(9100+i), fmt.Sprint(9200+i)
				heard[command] = send(2*i, command, func() (*slack.Delivery, error) {
					return m.slack.Slash(slack.Alice, slack.Training, "/diagnose", "status "+command)
				}) || stored(m, command)
				heard[mention] = true
				if !send(2*i+1, mention, func() (*slack.Delivery, error) {
					_, d, err := m.slack.Say(slack.Bob, slack.Training, "", "<@"+slack.BotUser+"> status "+mention)
					return d, err
				}) {
					t.Errorf("the mention %s is lost", mention)
				}
			}
			m.rests()
			for name, was := range heard {
				answers := 0
				for _, msg := range m.slack.All(slack.Training) {
					if msg.BotID != "" && msg.VisibleTo != "" && strings.Contains(msg.Text, name) {
						answers++
					}
				}
				if was && answers != 1 || !was && answers > 1 {
					t.Errorf("%s was answered %d times", name, answers)
				}
			}
		})
	}
}

// stored says whether something that a person typed has reached the store.
func stored(m *mortal, text string) bool {
	return m.ask("SELECT count(*) FROM job WHERE kind = 'inbound' AND CAST(payload AS TEXT) LIKE '%"+text+"%'") != "0"
}

// A button that several people press several times, at the same moment, does its work once.
func TestAButtonThatIsPressedAgainAndAgainWorksOnce(t *testing.T) {
	long(t)
	t.Parallel()
	c := newCrowd(t)
	defer c.all.Wait()
	want := undisturbed(t, running, inSQLite, nil)
	c.run("look-now", func(t *testing.T) {
		m := newMortal(t, inSQLite, nil, running.settings...)
		impatient := running
		impatient.perform = func(m *mortal) {
			job, _ := m.job(stall(), nil)
			m.diagnose(slack.Alice, slack.Training, job)
			question := m.sees(slack.Training, "seems to be running")
			m.rests()
			var clicks sync.WaitGroup
			for i := range 10 {
				clicks.Go(func() {
					user := []string{slack.Alice, slack.Bob}[i%2]
					// Whoever is too late finds no button any more.
					if d, err := m.slack.Click(user, slack.Training, question.TS, slack.Action{ActionID: "look_now"}); err == nil {
						ctx, cancel := context.WithTimeout(context.Background(), lifetime)
						defer cancel()
						if ack, err := d.Wait(ctx); err != nil || !ack.OK {
							m.t.Errorf("a click was not acknowledged: %v %s", err, ack.Error)
						}
					}
				})
			}
			clicks.Wait()
			m.sees(slack.Training, "report.json")
		}
		got := m.play(impatient, nil)
		got.thread = strings.ReplaceAll(got.thread, "Answered by @Bob Tanaka", "Answered by @Alice Meyer") // one of them was the first
		m.unharmed()
		got.matches(t, want)
	})
}
