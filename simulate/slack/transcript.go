package slack

import (
	"fmt"
	"regexp"
	"strings"
)

// Transcript is a channel with its threads as readable text that is the same in every run: messages have numbers
// instead of timestamps, users and files their names. For golden files.
func (s *Server) Transcript(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.channels[channel]
	if r == nil {
		return ""
	}
	names := r.names()
	var b strings.Builder
	fmt.Fprintf(&b, "#%s\n", r.Name)
	for _, m := range r.messages {
		if !m.InThread() && !m.Deleted {
			s.entry(&b, m, names, "")
			for _, reply := range r.messages {
				if reply.InThread() && reply.ThreadTS == m.TS && !reply.Deleted {
					s.entry(&b, reply, names, "    ")
				}
			}
		}
	}
	for _, m := range r.messages { // replies whose head has gone
		if m.InThread() && !m.Deleted && names[m.ThreadTS] == "" {
			s.entry(&b, m, names, "    ")
		}
	}
	return s.rename(b.String(), names)
}

// names gives each message that is there a number: [2] in the channel, [2.1] in its thread.
func (r *room) names() map[string]string {
	names, n := map[string]string{}, 0
	for _, m := range r.messages {
		if m.Deleted || m.InThread() {
			continue
		}
		n++
		names[m.TS] = fmt.Sprint(n)
		replies := 0
		for _, reply := range r.messages {
			if reply.InThread() && reply.ThreadTS == m.TS && !reply.Deleted {
				replies++
				names[reply.TS] = fmt.Sprintf("%d.%d", n, replies)
			}
		}
	}
	return names
}

// entry writes one message.
func (s *Server) entry(b *strings.Builder, m *Message, names map[string]string, indent string) {
	head := fmt.Sprintf("[%s] %s", names[m.TS], s.userName(m.User))
	if m.VisibleTo != "" {
		head += " (only " + s.userName(m.VisibleTo) + " sees this)"
	}
	if m.Edits > 0 {
		head += " (edited)" // how often depends on timing
	}
	if m.Broadcast {
		head += " (also sent to the channel)"
	}
	fmt.Fprintf(b, "\n%s%s\n", indent, head)
	for _, line := range split(s.plain(m)) {
		b.WriteString(strings.TrimRight(indent+"  "+line, " ") + "\n")
	}
}

// permalinks and what else differs from run to run.
var (
	permalinks = regexp.MustCompile(`https://[a-z0-9-]+\.slack\.com/archives/([CD][A-Z0-9]+)/p(\d{10})(\d{6})(\?[^>\s|]*)?`)
	stamps     = regexp.MustCompile(`\b\d{10}\.\d{6}\b`)
)

func (s *Server) rename(text string, names map[string]string) string {
	text = permalinks.ReplaceAllStringFunc(text, func(link string) string {
		p := permalinks.FindStringSubmatch(link)
		if name := names[p[2]+"."+p[3]]; name != "" {
			return "message [" + name + "]"
		}
		return "message in #" + s.channelName(p[1])
	})
	return stamps.ReplaceAllStringFunc(text, func(ts string) string {
		if name := names[ts]; name != "" {
			return "ts[" + name + "]"
		}
		return "ts[?]"
	})
}

// steady takes the address of this server out of a link.
func (s *Server) steady(url string) string {
	if s.base != "" && strings.HasPrefix(url, s.base) {
		return "http://slack.test" + strings.TrimPrefix(url, s.base)
	}
	return url
}

// ViewText is a modal or home tab as readable text, for golden files.
func (s *Server) ViewText(v View) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "┌ %s\n", v.Title())
	for _, block := range mustBlocks(v.Blocks) {
		for _, line := range s.plainBlock(block) {
			b.WriteString(strings.TrimRight("│ "+line, " ") + "\n")
		}
		if e := v.Errors[block.str("block_id")]; e != "" {
			b.WriteString("│ ✗ " + e + "\n")
		}
	}
	if v.Trouble != "" {
		b.WriteString("│ ✗ " + v.Trouble + "\n")
	}
	fmt.Fprintf(&b, "└ [%s]", orElse(v.body.label("close"), "Cancel"))
	if submit := v.body.label("submit"); submit != "" {
		fmt.Fprintf(&b, " [%s]", submit)
	}
	return b.String() + "\n"
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
