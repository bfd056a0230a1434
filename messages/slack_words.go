package messages

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"faultline/messages/blockkit"
	"faultline/messages/redact"
)

// Bounds of what a post shows, so that it is read and not scrolled past. What is beyond them is counted and stands in
// the report file.
const (
	slackQuote    = 200  // characters of a log line
	slackSentence = 600  // characters of a text that a person or a log wrote
	slackCommand  = 1200 // characters of a command to paste
	slackProofs   = 3    // pieces of evidence under one link of the chain
	slackLinks    = 12   // links of the chain
	slackItems    = 20   // lines of any list
)

// lights begin a headline: seen from across the room. The words beside them say the same.
var lights = map[string]string{"bad": "🔴", "open": "🟡", "good": "🟢"}

// safe is for every string that did not come out of newView: secrets masked, hostile characters gone. No post shows more
// than a few thousand characters of one; the rest need not be looked at.
func safe(s string) string {
	const most = 64 << 10
	if len(s) > most {
		s = s[:most] + "…"
	}
	return redact.String(s)
}

// line is safe text on one line, not longer than a person reads.
func line(s string) string { return blockkit.Clip(flat(safe(s)), slackSentence) }

func run(s string) blockkit.Inline { return blockkit.Run{Text: s} }
func strong(s string) blockkit.Inline {
	return blockkit.Run{Text: s, Style: &blockkit.Style{Bold: true}}
}
func struck(s string) blockkit.Inline {
	return blockkit.Run{Text: s, Style: &blockkit.Style{Strike: true}}
}
func mono(s string) blockkit.Inline {
	return blockkit.Run{Text: s, Style: &blockkit.Style{Code: true}}
}

// person shows a user of the chat by name, and whatever is no user id as text.
func person(id string) blockkit.Inline {
	if blockkit.IsUserID(id) {
		return blockkit.User{UserID: id}
	}
	return run(line(id))
}

func para(inlines ...blockkit.Inline) blockkit.RichElement {
	return blockkit.RichSection{Elements: inlines}
}

// box holds log lines and commands exactly as they are.
func box(s string, most int) blockkit.RichElement {
	return blockkit.Preformatted{Elements: blockkit.Inlines{run(blockkit.Clip(strings.Trim(s, "\n"), most))}}
}

// commandBox holds a command to paste. A long one is not shown: cut, it would do something else.
func commandBox(c string) blockkit.RichElement {
	if c = strings.TrimSpace(c); utf8.RuneCountInString(c) > slackCommand {
		return para(run("(The command is long; see the report file.)"))
	}
	return box(c, slackCommand)
}

// rich makes one block; none where there is nothing in it.
func rich(parts ...blockkit.RichElement) blockkit.Blocks {
	if len(parts) == 0 {
		return nil
	}
	return blockkit.Blocks{blockkit.RichText{Elements: parts}}
}

// labelled is "Label  text".
func labelled(label, text string) blockkit.RichElement {
	return para(strong(label+":"), run(" "+text))
}

// bullets is a list of at most slackItems lines; how many more there are stands at its end.
func bullets(items []string) []blockkit.RichElement {
	more := len(items) - slackItems
	items = items[:min(len(items), slackItems)]
	l := blockkit.RichList{Style: blockkit.Bullet}
	for _, s := range items {
		if s = line(s); s != "" {
			l.Elements = append(l.Elements, blockkit.RichSection{Elements: blockkit.Inlines{run(s)}})
		}
	}
	if more > 0 {
		l.Elements = append(l.Elements, blockkit.RichSection{Elements: blockkit.Inlines{run(fmt.Sprintf("… and %d more", more))}})
	}
	if len(l.Elements) == 0 {
		return nil
	}
	return []blockkit.RichElement{l}
}

// heading is a large line where it fits into one, else a bold one.
func heading(s string) blockkit.Block {
	if utf8.RuneCountInString(s) > 150 {
		return blockkit.RichText{Elements: blockkit.RichElements{para(strong(s))}}
	}
	return blockkit.Header{Text: blockkit.Plain(s)}
}

// small is grey text.
func small(sentences ...string) blockkit.Blocks {
	var es []blockkit.Text
	for _, s := range sentences {
		if s != "" {
			es = append(es, *blockkit.Plain(blockkit.Clip(s, 1000)))
		}
	}
	if len(es) == 0 {
		return nil
	}
	return blockkit.Blocks{blockkit.Context{Elements: es}}
}

// pressable is a row of buttons; none where there are none.
func pressable(buttons []Button) blockkit.Blocks {
	var es blockkit.Elements
	for _, b := range buttons {
		e := blockkit.Button{ActionID: b.Action, Value: b.Value, Text: blockkit.Plain(line(b.Text)), Style: b.Style}
		if c := b.Confirm; c != nil {
			e.Confirm = &blockkit.Confirm{Title: blockkit.Plain(line(c.Title)), Text: blockkit.Plain(line(c.Text)),
				Confirm: blockkit.Plain(line(c.Yes)), Deny: blockkit.Plain(line(c.No)), Style: b.Style}
		}
		es = append(es, e)
	}
	if len(es) == 0 {
		return nil
	}
	return blockkit.Blocks{blockkit.Actions{Elements: es}}
}

// post puts a message together: the text that notifications show, which must be inert too, and the blocks.
func post(text string, groups ...blockkit.Blocks) blockkit.Message {
	m := blockkit.Message{Text: blockkit.Escape(text)}
	for _, g := range groups {
		m.Blocks = append(m.Blocks, g...)
	}
	m, _ = blockkit.FitOne(m) // what it leaves out, it says in the message
	return m
}

// screenOf is the first screen for a proportional font: the same words, cut where the twelve lines cut them.
func screenOf(v *view) (head string, parts []part) {
	lines := layScreen(v, firstScreenWidth)
	laid := map[string][]string{}
	label := ""
	for _, l := range lines {
		if l.label != " " {
			label = l.label
		}
		laid[label] = append(laid[label], l.text)
	}
	for _, p := range v.Screen {
		text := p.Text
		if len(laid[p.Label]) < len(wrap(p.Text, firstScreenWidth-labelWidth)) {
			text = strings.Join(laid[p.Label], " ")
		}
		parts = append(parts, part{Label: p.Label, Text: text})
	}
	return strings.Join(laid[""], " "), parts
}

// screenText is the first screen as plain text.
func screenText(head string, parts []part) string {
	lines := []string{head}
	for _, p := range parts {
		lines = append(lines, p.Label+": "+p.Text)
	}
	return strings.Join(lines, "\n")
}

// partsOf are those of the named labels, as paragraphs in the order of the screen; no label means all.
func partsOf(parts []part, labels ...string) []blockkit.RichElement {
	var out []blockkit.RichElement
	for _, p := range parts {
		take := len(labels) == 0
		for _, l := range labels {
			take = take || l == p.Label
		}
		if take {
			out = append(out, labelled(p.Label, p.Text))
		}
	}
	return out
}

func lightOf(v *view) string { return lights[v.Tone] + " " }
