package slack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	sim "faultline/simulate/slack"
	"faultline/workflow"
)

// Whatever goes wrong on the way to Slack, and however often the bot is killed: every post arrives, in order within its
// channel, and one that is there twice says so.
func TestNothingIsLostDoubledOrOutOfOrder(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); chaos(t, seed) })
	}
}

func chaos(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var scopes []string
	if seed%2 == 1 {
		scopes = little
	}
	g := newStage(t, sim.Options{RateLimits: seed%3 == 0}, scopes...)
	wrong := []string{sim.RateLimit, sim.FailBefore, sim.FailAfter, sim.Hang}
	for range 12 {
		methods := []string{"chat.postMessage", "chat.postMessage", "chat.update", "chat.getPermalink", "files.completeUploadExternal", "files.getUploadURLExternal",
			"upload", "files.info", "conversations.history", "conversations.replies", "auth.test"}
		g.slack.AddFault(sim.Fault{Method: methods[rnd.IntN(len(methods))], Do: wrong[rnd.IntN(len(wrong))], Skip: rnd.IntN(12), Times: 1 + rnd.IntN(2), RetryAfter: rnd.IntN(30)})
	}
	g.blobs["x"] = "content"
	channels := []string{sim.Training, sim.Private}
	want := map[string][]string{}
	for i := range 8 {
		for c, channel := range channels {
			p := workflow.Post{Key: fmt.Sprintf("p%02d-%d", i, c), Channel: channel}
			if i == 4 {
				p.Kind, p.Files = workflow.PostFiles, []workflow.Attachment{{Name: p.Key + ".txt", Blob: "x", Bytes: 7}}
			}
			g.add(p)
			want[channel] = append(want[channel], p.Key)
		}
	}
	for c, channel := range channels {
		g.add(workflow.Post{Key: fmt.Sprintf("p00-%d", c), Channel: channel, Kind: workflow.PostEdit, Payload: says(fmt.Sprintf("text of p00-%d", c))})
	}
	g.untilEmpty(rnd)
	if len(g.refused) > 0 {
		t.Errorf("given up: %v", g.refused)
	}
	for _, channel := range channels {
		var seen []string
		for _, m := range g.slack.All(channel) {
			if m.User != sim.BotUser || m.Deleted {
				continue
			}
			key, marked := keyOf(m), strings.Contains(m.Text+string(m.Blocks), "Sent again")
			if len(seen) > 0 && seen[len(seen)-1] == key {
				if !marked {
					t.Errorf("%s is there twice and does not say so", key)
				}
				continue
			}
			seen = append(seen, key)
		}
		if got, all := strings.Join(seen, " "), strings.Join(want[channel], " "); got != all {
			t.Errorf("arrived %s\nwant    %s", got, all)
		}
	}
}

// killer makes calls one after the other, lets some calls through and then kills the sender, before a call has left or after Slack has done it.
type killer struct {
	http.RoundTripper
	effect bool
	kill   func()

	mu    sync.Mutex
	after int
}

func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock() // one call at a time: a call that is cut off on its way could arrive later, which nobody can tell from a second one
	defer k.mu.Unlock()
	if k.after--; k.after >= 0 {
		return k.RoundTripper.RoundTrip(r)
	}
	if k.effect {
		if resp, err := k.RoundTripper.RoundTrip(r.WithContext(context.Background())); err == nil {
			resp.Body.Close()
		}
	}
	k.kill()
	return nil, context.Canceled
}

// keyOf finds the key in a message or in its blocks.
func keyOf(m sim.Message) string {
	_, key, _ := strings.Cut(m.Text+string(m.Blocks), "text of ")
	return key[:min(5, len(key))]
}

// untilEmpty sends everything, and kills the sender now and then in the middle.
func (g *stage) untilEmpty(rnd *rand.Rand) {
	g.t.Helper()
	g.init()
	ctx := context.Background()
	for range 3000 {
		hard, cut := context.WithCancel(ctx)
		alive := g.Client.http.Transport
		if rnd.IntN(4) == 0 {
			g.Client.http.Transport = &killer{RoundTripper: g.Client.http.Transport, after: rnd.IntN(8), effect: rnd.IntN(2) == 0, kill: cut}
		}
		next := g.round(ctx, hard)
		g.busy.Wait()
		g.Client.http.Transport = alive
		if hard.Err() != nil { // killed: another process takes over, which knows nothing but the store
			old := g.Sender
			g.Sender = &Sender{Client: newClient(g.t, g.slack.URL(), g.clock.Now), Outbox: old.Outbox, Blobs: old.Blobs, Refused: old.Refused,
				Log: old.Log, Metrics: old.Metrics, Now: old.Now, Sleep: old.Sleep}
			g.init()
			g.settle(ctx, ctx)
			g.busy.Wait()
			next = g.clock.Now()
		}
		cut()
		n, _, err := g.store.Backlog(ctx)
		if err != nil {
			g.t.Fatal(err)
		}
		open, _ := g.store.Unsettled(ctx)
		if n == 0 && len(open) == 0 {
			return
		}
		if wait := next.Sub(g.clock.Now()); wait > 0 {
			g.clock.Advance(wait)
		}
	}
	g.t.Fatal("the outbox is not empty after 3000 rounds")
}
