package blockkit

import "strings"

// Simple returns a message in which the blocks that at chooses are preformatted lines that say the same: for a Slack that does not take
// a kind of block. Blocks without text of their own, buttons say, stay.
func Simple(m Message, at func(i int, b Block) bool) Message {
	out := make(Blocks, 0, len(m.Blocks))
	for i, b := range m.Blocks {
		if at(i, b) {
			if text := lines(b); text != "" {
				b = RichText{Elements: RichElements{Preformatted{Elements: Inlines{Run{Text: text}}}}}
			}
		}
		out = append(out, b)
	}
	m.Blocks = out
	return m
}

// IsTable tells the kinds of blocks that came last to Slack, and that not every client takes.
func IsTable(b Block) bool {
	switch b.(type) {
	case Table, DataTable:
		return true
	}
	return false
}

// lines is all that a block says.
func lines(b Block) string {
	switch b := b.(type) {
	case Table:
		return grid(b.Rows)
	case DataTable:
		return b.Caption + "\n" + grid(b.Rows)
	case Section:
		var texts []string
		if b.Text != nil {
			texts = append(texts, b.Text.Text)
		}
		for _, f := range b.Fields {
			texts = append(texts, f.Text)
		}
		return strings.Join(texts, "\n")
	case Context:
		var texts []string
		for _, e := range b.Elements {
			texts = append(texts, e.Text)
		}
		return strings.Join(texts, "\n")
	}
	return plainText(b)
}

// grid sets the cells of rows below each other.
func grid(rows []Row) string {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(flatCell(c))))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for i, c := range r {
			text := flatCell(c)
			line.WriteString(text + strings.Repeat(" ", min(40, widths[i]-len([]rune(text)))+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func flatCell(c Cell) string { return strings.Join(strings.Fields(cellText(c)), " ") }
