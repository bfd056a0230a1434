package slack

import (
	"context"
	"fmt"
	"net/url"
	"sync"

	"faultline/workflow"
)

// top is where the first message of an investigation is.
type top struct{ channel, ts string }

// heads are those that this process posted: when the store does not answer, nobody else knows them.
type heads struct {
	mu  sync.Mutex
	all map[string]top
}

// maxHeads bounds them.
const maxHeads = 5000

func (h *heads) keep(p workflow.Post, ts string) {
	if p.Kind != workflow.PostMessage || p.Key != workflow.KeyCase || ts == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil || len(h.all) >= maxHeads {
		h.all = map[string]top{}
	}
	h.all[p.Investigation] = top{p.Channel, ts}
}

func (h *heads) of(investigation string) (top, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.all[investigation]
	return at, ok
}

// Say posts a sentence into the thread of an investigation past the outbox, once, for when the store takes nothing. It may be
// said twice, or never.
func (s *Sender) Say(ctx context.Context, investigation, text string) error {
	s.init()
	at, ok := s.heads.of(investigation)
	if !ok {
		p, err := s.Outbox.Posted(ctx, investigation, workflow.KeyCase)
		if err != nil {
			return fmt.Errorf("looking for the thread of %s: %w", investigation, err)
		}
		at = top{p.Channel, p.TS}
	}
	args := url.Values{"channel": {at.channel}, "thread_ts": {at.ts}, "text": {clean(text)}, "unfurl_links": {"false"}, "unfurl_media": {"false"}}
	if err := s.call(ctx, "chat.postMessage", at.channel, args, nil); err != nil {
		return fmt.Errorf("speaking in the thread of %s: %w", investigation, err)
	}
	return nil
}
