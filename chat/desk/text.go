package desk

import (
	"encoding/json"
	"fmt"
	"strings"

	"faultline/messages/blockkit"
	"faultline/messages/redact"
)

// person is a chat user id and code is text to paste; as arguments of a sentence they are shown as what they are. Marks
// that no redacted text can hold stand around them until the message is built.
type (
	person string
	code   string
	// marks is text that was filled already.
	marks string
	// link is shown as "open the thread".
	link string
)

const (
	userOpen, userEnd = "\x01", "\x02"
	codeOpen, codeEnd = "\x03", "\x04"
	boldOpen, boldEnd = "\x05", "\x06"
	linkOpen, linkEnd = "\x0e", "\x0f"

	openers = userOpen + codeOpen + boldOpen + linkOpen

	maxArgument = 600 // bytes of one argument of a sentence
)

var ends = map[string]string{userOpen: userEnd, codeOpen: codeEnd, boldOpen: boldEnd, linkOpen: linkEnd}

// fill puts arguments into a sentence. Whatever a person or a log brought is redacted, and cannot be read as markup.
func fill(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case person:
			safe[i] = "somebody"
			if blockkit.IsUserID(string(v)) {
				safe[i] = userOpen + string(v) + userEnd
			}
		case code:
			safe[i] = codeOpen + clip(redact.String(string(v))) + codeEnd
		case marks:
			safe[i] = string(v)
		case link:
			safe[i] = linkOpen + string(v) + linkEnd
		case string:
			safe[i] = clip(redact.String(v))
		case error:
			safe[i] = clip(redact.String(firstLine(v.Error())))
		default:
			safe[i] = v
		}
	}
	return fmt.Sprintf(format, safe...)
}

func clip(s string) string {
	if len(s) <= maxArgument {
		return s
	}
	return strings.ToValidUTF8(s[:maxArgument], "") + "…"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// marked turns the `code` and *bold* of our own words into marks, so that those signs mean nothing in arguments.
func marked(format string) string {
	for sign, marks := range map[string][2]string{"`": {codeOpen, codeEnd}, "*": {boldOpen, boldEnd}} {
		parts := strings.Split(format, sign)
		var b strings.Builder
		for i, part := range parts {
			if i > 0 {
				b.WriteString(marks[(i+1)%2])
			}
			b.WriteString(part)
		}
		format = b.String()
	}
	return format
}

// message builds a message of paragraphs and buttons.
func message(paragraphs []string, buttons ...blockkit.Button) blockkit.Message {
	var m blockkit.Message
	rich := blockkit.RichText{}
	var text []string
	for i, p := range paragraphs {
		inlines, fallback := inline(p)
		if i < len(paragraphs)-1 {
			inlines = append(inlines, blockkit.Run{Text: "\n"})
		}
		rich.Elements = append(rich.Elements, blockkit.RichSection{Elements: inlines})
		text = append(text, fallback)
	}
	m.Text = strings.Join(text, "\n")
	m.Blocks = blockkit.Blocks{rich}
	if len(buttons) > 0 {
		row := blockkit.Actions{}
		for _, b := range buttons {
			row.Elements = append(row.Elements, b)
		}
		m.Blocks = append(m.Blocks, row)
	}
	return m
}

// inline cuts a sentence at its marks; the second result is the same as mrkdwn.
func inline(s string) (blockkit.Inlines, string) {
	var out blockkit.Inlines
	var text strings.Builder
	for s != "" {
		i := strings.IndexAny(s, openers)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			out = append(out, blockkit.Run{Text: s[:i]})
			text.WriteString(blockkit.Escape(s[:i]))
		}
		if i == len(s) {
			break
		}
		mark := s[i : i+1]
		inner, rest, _ := strings.Cut(s[i+1:], ends[mark])
		s = rest
		if inner == "" {
			continue
		}
		shown := blockkit.Escape(inner)
		switch mark {
		case userOpen:
			out = append(out, blockkit.User{UserID: inner})
			shown = "<@" + inner + ">"
		case codeOpen:
			out = append(out, blockkit.Run{Text: inner, Style: &blockkit.Style{Code: true}})
			shown = "`" + shown + "`"
		case boldOpen:
			out = append(out, blockkit.Run{Text: inner, Style: &blockkit.Style{Bold: true}})
			shown = "*" + shown + "*"
		case linkOpen:
			out = append(out, blockkit.Link{URL: inner, Text: "open the thread"})
			shown = "<" + inner + "|open the thread>"
		}
		text.WriteString(shown)
	}
	return out, text.String()
}

// payload is the message as a post carries it.
func payload(m blockkit.Message) ([]byte, error) {
	m, _ = blockkit.FitOne(m)
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("writing a message: %w", err)
	}
	return b, nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// plain is a sentence without its marks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x10 && r != '\n' {
			return -1
		}
		return r
	}, s)
}
