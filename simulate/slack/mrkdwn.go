package slack

import (
	"regexp"
	"strings"
)

// span is a run of text with one look. Text is never markup: whoever shows it escapes it for where it goes.
type span struct {
	Kind                       string // "", link, user, channel, notify (calls many people), code, emoji, date
	Text                       string
	URL                        string
	Bold, Italic, Strike, Code bool
}

// bracketed is what stands in angle brackets in mrkdwn.
var bracketed = regexp.MustCompile(`<([^<>\n]+)>`)

// spans reads mrkdwn as Slack's client shows it.
func (s *Server) spans(text string) []span {
	var out []span
	for len(text) > 0 {
		at := bracketed.FindStringSubmatchIndex(text)
		if at == nil {
			return append(out, styled(text)...)
		}
		out = append(out, styled(text[:at[0]])...)
		out = append(out, s.bracket(text[at[2]:at[3]]))
		text = text[at[1]:]
	}
	return out
}

// bracket reads one <…>.
func (s *Server) bracket(inner string) span {
	target, label, labelled := strings.Cut(inner, "|")
	label = unescape(label)
	switch {
	case strings.HasPrefix(target, "@"):
		return span{Kind: "user", Text: "@" + s.userName(target[1:])}
	case strings.HasPrefix(target, "#"):
		return span{Kind: "channel", Text: "#" + s.channelName(target[1:])}
	case target == "!channel" || target == "!here" || target == "!everyone":
		return span{Kind: "notify", Text: "@" + target[1:]}
	case strings.HasPrefix(target, "!subteam^"):
		return span{Kind: "notify", Text: "@" + s.groupName(strings.TrimPrefix(target, "!subteam^"))}
	case strings.HasPrefix(target, "!date^"):
		return span{Kind: "date", Text: label}
	case strings.HasPrefix(target, "http://"), strings.HasPrefix(target, "https://"), strings.HasPrefix(target, "mailto:"):
		if !labelled {
			label = unescape(target)
		}
		return span{Kind: "link", Text: label, URL: unescape(target)}
	}
	return span{Text: "<" + unescape(inner) + ">"}
}

// unescape turns Slack's three entities back into characters.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// marks are the pairs of signs that change how text looks; code goes first, for nothing means anything inside of it.
var marks = []struct {
	re  *regexp.Regexp
	set func(*span)
}{
	{regexp.MustCompile("(?s)```(.+?)```"), func(p *span) { p.Code = true }},
	{regexp.MustCompile("`([^`\n]+)`"), func(p *span) { p.Code = true }},
	{regexp.MustCompile(`(^|[\s(])\*([^*\n]+)\*`), func(p *span) { p.Bold = true }},
	{regexp.MustCompile(`(^|[\s(])_([^_\n]+)_`), func(p *span) { p.Italic = true }},
	{regexp.MustCompile(`(^|[\s(*])~([^~\n]+)~`), func(p *span) { p.Strike = true }},
}

// styled splits text without brackets into its styles.
func styled(text string) []span { return style(text, span{}, 0) }

func style(text string, base span, from int) []span {
	if text == "" {
		return nil
	}
	for i := from; i < len(marks) && !base.Code; i++ {
		at := marks[i].re.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		n := len(at)
		inner := base
		marks[i].set(&inner)
		before := text[:at[0]]
		if n > 4 { // what stood in front of the sign
			before = text[:at[3]]
		}
		out := style(before, base, i+1)
		out = append(out, style(text[at[n-2]:at[n-1]], inner, i+1)...)
		return append(out, style(text[at[1]:], base, i)...)
	}
	base.Text = unescape(text)
	return []span{base}
}

// textSpans reads a text object, plain or mrkdwn.
func (s *Server) textSpans(n node) []span {
	if n == nil {
		return nil
	}
	if n.str("type") == "mrkdwn" {
		return s.spans(n.str("text"))
	}
	return []span{{Text: n.str("text")}}
}

// richSpans reads the elements of a rich text section.
func (s *Server) richSpans(list []node) []span {
	var out []span
	for _, e := range list {
		style := e.sub("style")
		p := span{Bold: style.flag("bold"), Italic: style.flag("italic"), Strike: style.flag("strike"), Code: style.flag("code")}
		switch e.str("type") {
		case "text":
			p.Text = e.str("text")
		case "link":
			p.Kind, p.URL, p.Text = "link", e.str("url"), e.str("text")
			if p.Text == "" {
				p.Text = p.URL
			}
		case "user":
			p.Kind, p.Text = "user", "@"+s.userName(e.str("user_id"))
		case "usergroup":
			p.Kind, p.Text = "notify", "@"+s.groupName(e.str("usergroup_id"))
		case "channel":
			p.Kind, p.Text = "channel", "#"+s.channelName(e.str("channel_id"))
		case "broadcast":
			p.Kind, p.Text = "notify", "@"+e.str("range")
		case "emoji":
			p.Kind, p.Text = "emoji", ":"+e.str("name")+":"
		case "date":
			p.Kind, p.Text = "date", e.str("fallback")
		case "color":
			p.Text = e.str("value")
		default:
			p.Text = "[" + e.str("type") + "]"
		}
		out = append(out, p)
	}
	return out
}

func (s *Server) userName(id string) string {
	if id, label, ok := strings.Cut(id, "|"); ok {
		if u := s.users[id]; u == nil {
			return label
		}
	}
	switch u := s.users[id]; {
	case u != nil && u.RealName != "":
		return u.RealName
	case u != nil:
		return u.Name
	case id == slackbot:
		return "Slackbot"
	}
	return "unknown user"
}

func (s *Server) channelName(id string) string {
	id, _, _ = strings.Cut(id, "|")
	if r := s.channels[id]; r != nil {
		return r.Name
	}
	return "unknown channel"
}

func (s *Server) groupName(id string) string {
	id, _, _ = strings.Cut(id, "|")
	for _, g := range s.team.Groups {
		if g.ID == id {
			return g.Handle
		}
	}
	return "unknown group"
}

// Notifies lists whom a message calls: "@channel", "@here", "@everyone", groups, and users by name. Text from logs that
// reaches people in this way is a fault of the bot.
func (s *Server) Notifies(m Message) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	add := func(list []span) {
		for _, p := range list {
			if p.Kind == "notify" || p.Kind == "user" {
				out = append(out, p.Text)
			}
		}
	}
	if m.Blocks == nil {
		add(s.spans(m.Text))
		return out
	}
	walk(mustBlocks(m.Blocks), func(n node) {
		switch t := n.str("type"); {
		case t == "mrkdwn":
			add(s.spans(n.str("text")))
		case t == "user" || t == "usergroup" || t == "broadcast":
			add(s.richSpans([]node{n}))
		}
	})
	return out
}
