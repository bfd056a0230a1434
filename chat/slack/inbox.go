package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"faultline/chat"
	"faultline/config"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// storeWithin bounds the insert: Slack gives up after 3 seconds, and a person must be told before. It is a text so that
// the tests of the binary can build one that is more patient (go build -ldflags -X), as is the Slack they give it.
var storeWithin = "2s"

// storeTimeout is storeWithin.
var storeTimeout = func() time.Duration {
	d, err := time.ParseDuration(storeWithin)
	if err != nil {
		panic("chat/slack: storeWithin: " + err.Error())
	}
	return d
}()

// tellTimeout bounds telling a person that a click was lost.
const tellTimeout = 10 * time.Second

// Sentences for when the store does not take what a person did.
const (
	notStored      = "I couldn't save this, so nothing was started%s. Please try again in a minute; if it happens again, tell the people who run this bot."
	notStoredField = "I couldn't save this%s. Please send it again in a minute."
)

// Queue is where what people did is stored. workflow.Durable is one.
type Queue interface {
	Enqueue(ctx context.Context, jobs ...workflow.Job) (added int, err error)
}

// Inbox is the pipeline of everything that comes in, for both transports. Its functions are called from many goroutines.
type Inbox struct {
	Queue Queue
	Vault chat.Vault
	// Wake tells the workers that something new is stored. It must not block.
	Wake func()
	// Hello makes the short text that only the person sees at once, as the answer to a command. "" answers nothing.
	Hello func(chat.Inbound) string
	// Check looks at a modal before it is stored: a non-empty result (field → what is wrong) keeps the modal open. It must
	// be fast and change nothing. nil accepts everything.
	Check func(in chat.Inbound, secrets map[string]config.Secret) map[string]string
	// Next returns the modal that replaces a sent one; nil closes it. It may be nil itself.
	Next func(chat.Inbound) *blockkit.View
	// Tell sends an ephemeral sentence to a response_url, for clicks that could not be stored. nil: nobody is told.
	Tell func(ctx context.Context, responseURL, sentence string) error
	// Trouble says to people why the store refused, from its error; nil: nobody can tell.
	Trouble func(refused error) error
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *Metrics

	home atomic.Pointer[home]
	last atomic.Int64 // Unix nanoseconds of the last inbound
}

// SetHome says to which workspace (and Enterprise Grid organisation, or "") the bot belongs; people of others are marked
// External. Until it is called, only people whose workspace differs from that of the payload are.
func (b *Inbox) SetHome(team, enterprise string) { b.home.Store(&home{team, enterprise}) }

// LastInbound is when Slack last delivered anything; zero before that.
func (b *Inbox) LastInbound() time.Time {
	if ns := b.last.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// verdict is what the transport answers.
type verdict struct {
	ack  bool // false: answer nothing (or an HTTP error), so that Slack delivers again or tells the person
	body any  // of the acknowledgement; nil is an empty one
	bad  bool // the payload could not be read
}

// take handles one payload: read it, put its secrets aside, store it, say how to acknowledge. It returns within
// storeTimeout and a little, whatever happens, and never panics.
func (b *Inbox) take(ctx context.Context, kind string, raw []byte, received time.Time) (v verdict) {
	b.last.Store(received.UnixNano())
	b.Metrics.LastInbound.Set(float64(received.Unix()))
	var a act
	stored := false
	defer func() {
		if r := recover(); r != nil {
			b.panicked(kind, r)
			if v = (verdict{ack: true}); !stored {
				v = b.sorry(ctx, a, nil)
			}
		}
		if v.ack {
			b.Metrics.Ack.WithLabelValues(kindLabel(a, kind)).Observe(b.Now().Sub(received).Seconds())
		}
	}()
	h := home{}
	if p := b.home.Load(); p != nil {
		h = *p
	}
	a, err := parse(kind, raw, h, received)
	switch {
	case err != nil:
		b.Metrics.BadMessages.Inc()
		b.Log.Warn("a payload from Slack could not be read", "kind", kind, "bytes", len(raw), "err", err)
		return verdict{ack: true, bad: true}
	case a.challenge != "":
		return verdict{ack: true, body: map[string]string{"challenge": a.challenge}}
	case a.ignored != "":
		b.Metrics.Inbound.WithLabelValues("ignored").Inc()
		b.announce(a.ignored)
		return verdict{ack: true}
	}
	b.Metrics.Inbound.WithLabelValues(a.in.Kind).Inc()
	if a.in.Kind == chat.Submit && b.Check != nil {
		if errs := b.Check(a.in, a.secrets); len(errs) > 0 {
			return verdict{ack: true, body: formErrors(errs)}
		}
	}
	if err := b.store(ctx, a); err != nil {
		return b.sorry(ctx, a, err)
	}
	stored = true
	if b.Wake != nil {
		b.Wake()
	}
	return b.thanks(a)
}

// store puts the secrets into the vault and the rest into the queue: first the vault, because a worker may start at once.
func (b *Inbox) store(ctx context.Context, a act) error {
	payload, err := json.Marshal(a.in)
	if err != nil { // cannot happen: an Inbound is strings, numbers and times
		b.Log.Error("recording what a person did", "key", a.in.Key, "err", err)
		return err
	}
	if len(a.secrets) > 0 {
		b.Vault.Put(a.in.Key, a.secrets)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	added, err := b.enqueue(ctx, workflow.Job{Key: a.in.Key, Kind: workflow.JobInbound, Payload: payload})
	if err != nil {
		if len(a.secrets) > 0 {
			clear(b.Vault.Take(a.in.Key))
		}
		b.Metrics.StoreErrors.Inc()
		b.Log.Error("storing what a person did", "kind", a.in.Kind, "err", err)
		return err
	}
	if added == 0 {
		b.Metrics.Duplicates.Inc()
	}
	return nil
}

// enqueue returns when the context ends, also where the disk under the store hangs. What is stored after all is done then.
func (b *Inbox) enqueue(ctx context.Context, job workflow.Job) (added int, err error) {
	type result struct {
		added int
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				b.panicked("store", r)
				done <- result{0, fmt.Errorf("storing panicked (%T)", r)}
			}
		}()
		added, err := b.Queue.Enqueue(ctx, job)
		done <- result{added, err}
	}()
	select {
	case r := <-done:
		return r.added, r.err
	case <-ctx.Done():
		return 0, fmt.Errorf("the store is not responding: %w", ctx.Err())
	}
}

// notStored is a sentence with the reason, where it is known.
func (b *Inbox) notStored(sentence string, refused error) string {
	why := ""
	if b.Trouble != nil && refused != nil {
		why = " (" + clean(b.Trouble(refused).Error()) + ")"
	}
	return fmt.Sprintf(sentence, why)
}

// thanks is the acknowledgement of something that is stored, now or by an earlier delivery.
func (b *Inbox) thanks(a act) verdict {
	switch a.in.Kind {
	case chat.Command:
		if b.Hello != nil {
			if text := b.Hello(a.in); text != "" {
				return verdict{ack: true, body: ephemeral(text)}
			}
		}
	case chat.Submit:
		if b.Next == nil {
			break
		}
		if next := b.Next(a.in); next != nil {
			raw, err := json.Marshal(next)
			if problems := blockkit.ValidateView(raw); err != nil || len(problems) > 0 {
				b.Log.Error("the next modal is not valid; closing the old one instead", "problems", fmt.Sprint(problems), "err", err)
				break
			}
			return verdict{ack: true, body: map[string]any{"response_action": "update", "view": json.RawMessage(raw)}}
		}
	}
	return verdict{ack: true}
}

// sorry is the answer when an act could not be stored. Slack repeats events by itself; people have to be told.
func (b *Inbox) sorry(ctx context.Context, a act, refused error) verdict {
	switch a.in.Kind {
	case chat.Command:
		return verdict{ack: true, body: ephemeral(b.notStored(notStored, refused))}
	case chat.Submit:
		if a.field == "" {
			return verdict{} // Slack shows its own error and keeps the modal open
		}
		return verdict{ack: true, body: formErrors(map[string]string{a.field: b.notStored(notStoredField, refused)})}
	case chat.Click:
		if b.Tell != nil && a.in.Respond != "" {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
			go func() {
				defer cancel()
				defer func() {
					if r := recover(); r != nil {
						b.panicked("tell", r)
					}
				}()
				if err := b.Tell(ctx, a.in.Respond, b.notStored(notStored, refused)); err != nil {
					b.Log.Warn("telling a person that a click was lost", "err", err)
				}
			}()
		}
		return verdict{ack: true}
	case chat.Dismiss:
		return verdict{ack: true}
	}
	return verdict{}
}

// announce logs the events that say that the bot itself is in trouble.
func (b *Inbox) announce(event string) {
	switch event {
	case "app_rate_limited":
		b.Log.Error("Slack drops events of this app: more than 30,000 within an hour in one workspace")
	case "tokens_revoked", "app_uninstalled":
		b.Log.Error("the app was removed from a workspace or its tokens were revoked: install it again", "event", event)
	}
}

func (b *Inbox) panicked(where string, r any) {
	b.Metrics.Panics.Inc()
	// The value may hold what a person typed; its type and the stack do not.
	b.Log.Error("a handler panicked and was stopped", "where", where, "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
}

func kindLabel(a act, transport string) string {
	if a.in.Kind != "" {
		return a.in.Kind
	}
	return transport
}

func ephemeral(sentence string) map[string]string {
	return map[string]string{"response_type": "ephemeral", "text": cut(sentence, 3000)}
}

func formErrors(errs map[string]string) map[string]any {
	short := map[string]string{}
	for field, what := range errs {
		short[field] = cut(what, 500)
	}
	return map[string]any{"response_action": "errors", "errors": short}
}
