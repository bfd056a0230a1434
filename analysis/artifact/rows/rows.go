// Package rows holds what is alike in evidence of which each row speaks for itself. Such a kind needs a package that reads it, and a row in
// the list of kinds: its section in the report, its quotations and their verification come with that.
package rows

import (
	"context"
	"io"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/line"
)

// Kind is one kind of such evidence.
type Kind struct {
	Name  string // among what can be handed in, for people
	Slug  string // of its section in the JSON
	Title string // of its section
	// Limits is what it does not show.
	Limits string
	// Machine: what it tells of is wrong with a node as a whole, and may end what runs there.
	Machine   bool
	Recognise func(head []byte) bool
	// Pasted, if set, finds it within the text of a small log.
	Pasted func(text []byte) bool
	// Row says what a line tells; false where that is nothing of use. It gets each line of a file in turn, without a launcher's label.
	Row func(text string) (Row, bool)
}

// Row is what one line tells.
type Row struct {
	Says string // one sentence, without a period
	Of   string // the node that the line names, where it does; else it is its writer's
	// Time is the line's own, where it states one.
	Time line.Stamp
	// Literals are parts of the line on which it rests, in their order: they are looked for again when the report is verified.
	Literals []string
}

// Told is a row of a file.
type Told struct {
	Row
	lines.Place
	Host string // whose it is, where a launcher's label or a shell's prompt says so
}

// most bounds the rows of one file that are kept.
const most = 1000

// Read reads a file of the kind.
func (k *Kind) Read(ctx context.Context, r io.Reader) ([]Told, error) {
	var out []Told
	prompted := ""
	err := lines.Each(ctx, r, func(l lines.Line) error {
		text, host, _ := lines.Peel(l.Text)
		if at, _, ok := lines.Prompt(text); ok {
			prompted = at
			return nil
		}
		if host == "" {
			host = prompted
		}
		if row, ok := k.Row(text); ok && l.Quotable() && len(out) < most {
			out = append(out, Told{row, l.Place, host})
		}
		return nil
	})
	return out, err
}
