package serve

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/simulate/slack"
	"faultline/store/storetest"
)

// atOnce is how many bots live at a time. A case mostly waits for Slack's pace; the number of cores is not what counts.
const atOnce = 16

// crowd runs cases side by side. (t.Parallel would run as many at a time as there are cores.)
type crowd struct {
	t   *testing.T
	all sync.WaitGroup
}

// seats are shared by all crowds. A bot opens 16 connections to PostgreSQL, which takes 200 in these tests.
var (
	seats         = make(chan struct{}, atOnce)
	postgresSeats = make(chan struct{}, 8)
)

func newCrowd(t *testing.T) *crowd { return &crowd{t: t} }

func (c *crowd) run(name string, f func(t *testing.T)) {
	seats := seats
	if strings.HasPrefix(name, inPostgres) {
		seats = postgresSeats
	}
	seats <- struct{}{}
	c.all.Add(1)
	go func() {
		defer c.all.Done()
		defer func() { <-seats }()
		c.t.Run(name, f)
	}()
}

func TestABotThatIsKilledAtAnyCallGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, part := range []struct {
		kind string
		p    play
		from int // the calls before are those of the other play too
	}{{inSQLite, stalled, 1}, {inPostgres, stalled, 1}, {inSQLite, missing, 22}, {inSQLite, worked, 10}, {inPostgres, worked, 10}, {inSQLite, listed, 10}, {inPostgres, listed, 10}} {
		kind, p := part.kind, part.p
		if brief() && (p.name == missing.name || p.name == worked.name || p.name == listed.name) {
			continue
		}
		want := undisturbed(t, p, kind, server)
		for k := part.from; k <= len(want.calls); k++ {
			for _, when := range []moment{before, after} {
				if brief() && (k+int(when))%9 != 0 {
					continue
				}
				c.run(fmt.Sprintf("%s/%s/%02d-%s-%s", kind, p.name, k, when, want.calls[k-1]), func(t *testing.T) {
					m := newMortal(t, kind, server)
					got := m.play(p, func(n int, _ string) moment {
						if n == k {
							return when
						}
						return never
					})
					if len(m.died()) != 1 && len(got.calls) >= k {
						t.Errorf("it died %d times", len(m.died()))
					}
					m.unharmed()
					got.matches(t, want)
				})
			}
		}
	}
}

// In each state: where a step of the bot leaves it, everything is done but the writing down; elsewhere, as soon as it is reached.
func TestABotThatIsKilledInAnyStateGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, kind := range []string{inSQLite, inPostgres} {
		for _, at := range []struct {
			p       play
			working string // states that a step leaves
			resting string // states that people leave
		}{
			{missing, "requested locating_job fetching_logs triaging verifying", "reported disputed closed"},
			{nothing, "", "awaiting_logs"},
			{running, "", "awaiting_end"},
			{watched, "fetching_logs triaging verifying", "awaiting_end"},
			{given, "fetching_ais correlating", "awaiting_ais"},
			{stopped, "", "cancelled"},
			{proven, "verifying_fix", "resolved"},
			{awaited, "", "fixing"},
			{searched, "", "isolating"},
		} {
			if brief() && (at.p.name != given.name || kind == inPostgres) {
				continue
			}
			want := undisturbed(t, at.p, kind, server)
			for _, state := range strings.Fields(at.working + " " + at.resting) {
				held := strings.Contains(at.working, state)
				c.run(kind+"/"+state, func(t *testing.T) {
					m := newMortal(t, kind, server, at.p.settings...)
					dead := m.diesIn(state, held)
					got := m.play(at.p, nil)
					<-dead
					m.rests()
					if len(m.died()) != 1 {
						t.Errorf("it died %d times", len(m.died()))
					}
					m.unharmed()
					got.matches(t, want)
				})
			}
		}
	}
}

// Killed again and again, at every seventh call or so: the next life finds what the one before left half done.
func TestABotThatIsKilledAgainAndAgainLosesNothing(t *testing.T) {
	long(t)
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, kind := range []string{inSQLite, inPostgres} {
		if brief() && kind == inPostgres { // whose kills in any state are sampled below
			continue
		}
		want := undisturbed(t, missing, kind, server)
		seeds, lives := 6, 7
		if brief() {
			seeds, lives = 1, 4
		}
		for seed := range seeds {
			c.run(fmt.Sprintf("%s/seed-%d", kind, seed), func(t *testing.T) {
				m := newMortal(t, kind, server)
				dice := rand.New(rand.NewPCG(uint64(seed), 7))
				next := 1 + dice.IntN(8)
				got := m.play(missing, func(n int, _ string) moment {
					if n < next || len(m.deaths) >= lives-1 {
						return never
					}
					next = n + 3 + dice.IntN(10)
					return []moment{before, after}[dice.IntN(2)]
				})
				if len(m.died()) < 3 {
					t.Errorf("it died %d times only", len(m.died()))
				}
				m.unharmed()
				got.matches(t, want)
			})
		}
	}
}

// At any time: in the middle of reading, of thinking, of waiting.
func TestABotThatIsKilledAtAnyTimeGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, kind := range []string{inSQLite, inPostgres} {
		want := undisturbed(t, stalled, kind, server)
		seeds := 10
		if brief() {
			seeds = 1
		}
		for seed := range seeds {
			c.run(fmt.Sprintf("%s/seed-%d", kind, seed), func(t *testing.T) {
				m := newMortal(t, kind, server)
				dice := rand.New(rand.NewPCG(uint64(seed), 11))
				over := make(chan struct{})
				var killer sync.WaitGroup
				killer.Go(func() {
					for range 5 {
						wait := time.Duration(50+dice.IntN(1200)) * time.Millisecond
						select {
						case <-time.After(wait):
							m.now(fmt.Sprintf("%s later", wait))
						case <-over:
							return
						}
					}
				})
				got := m.play(stalled, nil)
				close(over)
				killer.Wait()
				m.rests()
				m.unharmed()
				got.matches(t, want)
			})
		}
	}
}

// What was acknowledged is stored: the bot dies the moment that Slack has heard it.
func TestWhatWasAcknowledgedIsDone(t *testing.T) {
	long(t)
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for i, kind := range []string{inSQLite, inPostgres} {
		want := undisturbed(t, missing, kind, server)
		for n := 1; n <= want.acks; n++ {
			if brief() && n%8 != 1+4*i { // other ones in each store
				continue
			}
			c.run(fmt.Sprintf("%s/ack-%d", kind, n), func(t *testing.T) {
				m := newMortal(t, kind, server)
				m.last = n
				got := m.play(missing, nil)
				if len(m.died()) != 1 {
					t.Errorf("it died %d times", len(m.died()))
				}
				m.unharmed()
				got.matches(t, want)
			})
		}
	}
}

// A token is in memory only. It is gone with the bot, people are asked for it again and told why, and the report is the same.
func TestATypedTokenIsAskedForAgainAfterAKill(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, kind := range []string{inSQLite, inPostgres} {
		var want []attachment
		for _, when := range []string{"never", "while-fetching", "after-the-ack"} {
			if brief() && kind == inPostgres {
				continue
			}
			run := func(t *testing.T) {
				store := newStorage(t)
				m := newMortal(t, kind, server, reaches)
				job, _ := m.job(stall(), nil)
				m.readsData(job)
				m.diagnose(slack.Alice, slack.Training, job)
				question := m.sees(slack.Training, "ais_access", "Why:")
				m.rests()
				switch when {
				case "while-fetching":
					store.before(func(http.ResponseWriter, string) bool {
						m.die(0, "while storage logs are fetched")
						return true
					})
				case "after-the-ack":
					m.last = m.acks + 2
				}
				m.fills(slack.Alice, question, "ais_access", "ais", access(store.URL, goodToken))
				if when != "never" {
					m.eventually("the reason", func() bool {
						for _, msg := range m.slack.All(slack.Training) {
							if holds(msg, []string{"restarted", "only in memory"}) {
								return true
							}
						}
						return false
					})
					store.before(nil)
					m.rests()
					m.fills(slack.Alice, m.newest(slack.Training, "ais_access"), "ais_access", "ais", access(store.URL, goodToken))
				}
				m.sees(slack.Training, "report.json")
				m.rests()
				m.unharmed()
				files := m.attachments(slack.Training)
				if when == "never" {
					want = files
				} else if len(m.died()) != 1 {
					t.Errorf("it died %d times", len(m.died()))
				}
				(score{files: files}).matches(t, score{files: want})
				for key, n := range m.keys(slack.Training) {
					if n > 1 {
						t.Errorf("the message %s is there %d times", key, n)
					}
				}
				m.hasNowhere(goodToken)
			}
			if when == "never" {
				t.Run(kind+"/"+when, run)
				continue
			}
			c.run(kind+"/"+when, run)
		}
	}
}

// A graceful stop is over within seconds, whatever is under way, and gives back what was claimed.
func TestAGracefulStopIsQuickAndGivesLeasesBack(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	c := newCrowd(t)
	defer c.all.Wait()
	for _, kind := range []string{inSQLite, inPostgres} {
		want := undisturbed(t, stalled, kind, server)
		for i, stop := range []struct {
			name  string
			fault slack.Fault
			after time.Duration
		}{
			{"early", slack.Fault{}, 100 * time.Millisecond},
			{"in-the-middle", slack.Fault{}, 700 * time.Millisecond},
			{"between-posts", slack.Fault{}, 2 * time.Second},
			{"slow-post", slack.Fault{Method: "chat.postMessage", Do: slack.Slow, Skip: 1, Delay: time.Minute}, 2 * time.Second},
			{"slow-upload", slack.Fault{Method: "upload", Do: slack.Slow, Delay: time.Minute}, 4 * time.Second},
			{"slow-look-up", slack.Fault{Method: "conversations.info", Do: slack.Slow, Delay: time.Minute}, time.Second},
		} {
			if brief() && i != 1 {
				continue
			}
			c.run(kind+"/"+stop.name, func(t *testing.T) {
				m := newMortal(t, kind, server)
				if stop.fault.Method != "" {
					m.slack.AddFault(stop.fault)
				}
				var stopping sync.WaitGroup
				stopping.Go(func() {
					time.Sleep(stop.after)
					m.mu.Lock()
					defer m.mu.Unlock()
					begun := time.Now()
					m.stop()
					if took := time.Since(begun); took > 20*time.Second {
						t.Errorf("stopping took %s", took)
					}
					if n := m.ask("SELECT count(*) FROM job WHERE state = 'claimed'"); n != "0" {
						t.Errorf("%s jobs are still claimed", n)
					}
					m.launch()
				})
				got := m.play(stalled, nil)
				stopping.Wait()
				m.rests()
				m.unharmed()
				got.matches(t, want)
			})
		}
	}
}
