package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// plain is a message as readable text: blocks if there are any, else the text, then its files.
func (s *Server) plain(m *Message) string {
	var lines []string
	if m.Blocks != nil {
		for _, b := range mustBlocks(m.Blocks) {
			lines = append(lines, s.plainBlock(b)...)
		}
	} else if m.Text != "" {
		lines = strings.Split(s.flat(s.spans(m.Text)), "\n")
	}
	for _, f := range m.Files {
		lines = append(lines, plainFile(f))
	}
	for _, r := range m.Reactions {
		lines = append(lines, fmt.Sprintf(":%s: ×%d", r.Name, r.Count))
	}
	return strings.Join(lines, "\n")
}

func plainFile(f *File) string {
	line := "(file) " + f.Name
	if f.Title != f.Name {
		line += " “" + f.Title + "”"
	}
	if f.AltTxt != "" {
		line += " — " + f.AltTxt
	}
	return line
}

// flat writes spans as text; only what was struck, is code, calls people or leads elsewhere keeps a mark.
func (s *Server) flat(list []span) string {
	var b strings.Builder
	for _, p := range list {
		text := p.Text
		switch {
		case p.Kind == "link" && p.Text != p.URL:
			text = fmt.Sprintf("%s <%s>", p.Text, s.steady(p.URL))
		case p.Kind == "link":
			text = "<" + s.steady(p.URL) + ">"
		case p.Kind == "notify":
			text = "!!" + p.Text + "!!" // everybody's telephone rings
		case p.Code && strings.Contains(text, "\n"):
			text = "```" + text + "```"
		case p.Code:
			text = "`" + text + "`"
		}
		if p.Bold {
			text = "*" + text + "*"
		}
		if p.Strike {
			text = "~" + text + "~"
		}
		b.WriteString(text)
	}
	return b.String()
}

// plainBlock is one block as lines.
func (s *Server) plainBlock(b node) []string {
	switch b.str("type") {
	case "header":
		return []string{"# " + b.label("text")}
	case "divider":
		return []string{"———"}
	case "section":
		return s.plainSection(b)
	case "context":
		var parts []string
		for _, e := range b.list("elements") {
			parts = append(parts, s.flat(s.textSpans(e)))
		}
		return split("· " + strings.Join(parts, " "))
	case "actions", "context_actions":
		var parts []string
		for _, e := range b.list("elements") {
			parts = append(parts, plainElement(e))
		}
		return []string{strings.Join(parts, " ")}
	case "rich_text":
		return s.plainRich(b.list("elements"))
	case "table", "data_table":
		return s.plainTable(b)
	case "markdown":
		return split(b.str("text"))
	case "image":
		return []string{"(picture) " + s.pictureName(b) + " — " + b.str("alt_text")}
	case "input":
		return s.plainInput(b)
	case "alert":
		return split("! " + s.flat(s.textSpans(b.sub("text"))))
	case "container":
		lines := []string{"▾ " + b.label("title")}
		for _, child := range b.list("child_blocks") {
			lines = append(lines, s.plainBlock(child)...)
		}
		return lines
	}
	return []string{"[block of type " + b.str("type") + "]"}
}

func split(text string) []string { return strings.Split(text, "\n") }

func (s *Server) plainSection(b node) []string {
	var lines []string
	if t := b.sub("text"); t != nil {
		lines = split(s.flat(s.textSpans(t)))
	}
	for _, f := range b.list("fields") {
		lines = append(lines, hang("• ", s.flat(s.textSpans(f)))...)
	}
	if a := b.sub("accessory"); a != nil {
		lines = append(lines, plainElement(a))
	}
	return lines
}

// pictureName names the file of an image block as people would.
func (s *Server) pictureName(b node) string {
	if f := s.files[b.sub("slack_file").str("id")]; f != nil {
		return f.Name
	}
	if t := b.label("title"); t != "" {
		return t
	}
	return b.str("image_url")
}

// plainElement is something to use, in brackets.
func plainElement(e node) string {
	el := element{node: e}
	switch e.str("type") {
	case "button":
		text := e.label("text")
		if e.sub("confirm") != nil {
			text += " …"
		}
		return "[" + text + "]"
	case "static_select", "multi_static_select", "radio_buttons", "checkboxes", "overflow":
		var names []string
		for _, o := range el.options() {
			names = append(names, o.label("text"))
		}
		text := strings.Join(names, " | ")
		if p := e.label("placeholder"); p != "" {
			text = p + ": " + text
		}
		return "[" + text + "]"
	case "image":
		return "(picture) " + e.str("alt_text")
	}
	if p := e.label("placeholder"); p != "" {
		return "[" + p + "]"
	}
	return "[" + e.str("type") + "]"
}

func (s *Server) plainInput(b node) []string {
	label := b.label("label")
	if b.flag("optional") {
		label += " (optional)"
	}
	lines := []string{label + ": " + plainElement(b.sub("element"))}
	if h := b.label("hint"); h != "" {
		lines = append(lines, "  "+h)
	}
	return lines
}

// plainRich is rich text as lines.
func (s *Server) plainRich(list []node) []string {
	var lines []string
	for _, e := range list {
		switch e.str("type") {
		case "rich_text_list":
			indent := element{node: e}.number("indent")
			for i, item := range e.list("elements") {
				mark := "• "
				if e.str("style") == "ordered" {
					mark = fmt.Sprintf("%d. ", element{node: e}.number("offset")+i+1)
				}
				lines = append(lines, hang(strings.Repeat("  ", indent)+mark, s.flat(s.richSpans(item.list("elements"))))...)
			}
		case "rich_text_preformatted":
			for _, l := range split(s.flat(s.richSpans(e.list("elements")))) {
				lines = append(lines, "    | "+l)
			}
		case "rich_text_quote":
			for _, l := range split(s.flat(s.richSpans(e.list("elements")))) {
				lines = append(lines, "> "+l)
			}
		default:
			lines = append(lines, split(strings.TrimSuffix(s.flat(s.richSpans(e.list("elements"))), "\n"))...)
		}
	}
	return lines
}

// hang puts a mark before the first line and as much space before the others.
func hang(mark, text string) []string {
	lines := split(text)
	for i := range lines {
		if i == 0 {
			lines[i] = mark + lines[i]
		} else {
			lines[i] = strings.Repeat(" ", utf8.RuneCountInString(mark)) + lines[i]
		}
	}
	return lines
}

// cells reads the rows of a table or data_table; button is set for cells that can be pressed.
func cells(b node) [][]node {
	rows, _ := b["rows"].([]any)
	var out [][]node
	for _, r := range rows {
		out = append(out, nodes(r))
	}
	return out
}

// cellSpans is what a cell shows.
func (s *Server) cellSpans(c node) []span {
	switch c.str("type") {
	case "rich_text":
		var out []span
		for _, section := range c.list("elements") {
			out = append(out, s.richSpans(section.list("elements"))...)
		}
		return out
	case "raw_number":
		if t := c.str("text"); t != "" {
			return []span{{Text: t}}
		}
		n, _ := c["value"].(json.Number)
		return []span{{Text: n.String()}}
	case "action_cell":
		return []span{{Text: "[" + c.sub("element").label("text") + "]"}}
	}
	return []span{{Text: c.str("text")}}
}

// plainTable writes columns of equal width.
func (s *Server) plainTable(b node) []string {
	var lines []string
	if c := b.str("caption"); c != "" {
		lines = append(lines, "(table) "+c)
	}
	var table [][]string
	var width []int
	for _, row := range cells(b) {
		var texts []string
		for i, c := range row {
			t := strings.ReplaceAll(s.flat(s.cellSpans(c)), "\n", " ⏎ ")
			texts = append(texts, t)
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(t))
		}
		table = append(table, texts)
	}
	for _, row := range table {
		var l strings.Builder
		for i, t := range row {
			l.WriteString("| " + t + strings.Repeat(" ", width[i]-utf8.RuneCountInString(t)) + " ")
		}
		lines = append(lines, l.String()+"|")
	}
	return lines
}
