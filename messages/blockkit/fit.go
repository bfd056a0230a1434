package blockkit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostMessages bounds into how many messages Fit splits one: a thread of hundreds helps nobody, the file has it all.
const mostMessages = 8

// Sizes of what a message is put together from, in characters.
const (
	pieceSize   = 6000 // of a piece that can be moved to another message
	noteRoom    = 500  // kept free for the note about what was left out
	actionsRoom = 3000 // for everything that can be pressed, which is never left out below this
	actionsMost = 10   // blocks of things to press in one message
)

// Fit makes a message that Slack accepts from any message: one within the limits comes back as it is; a larger one is
// split into several, single texts are cut with a mark, and what cannot be shown is left out. overflow says in words
// what was cut or left out, and the last message says so too: nothing disappears in silence. Metadata stay with the first
// message. A message without text and blocks gives none.
func Fit(m Message) (fitted []Message, overflow []string) { return fit(m, mostMessages) }

// FitOne is Fit where the result must be one message, such as one that is edited in place.
func FitOne(m Message) (Message, []string) {
	out, overflow := fit(m, 1)
	if len(out) == 0 {
		return Message{Text: "(nothing to show)"}, overflow
	}
	return out[0], overflow
}

// FitView is Fit for a modal, which cannot be split. Private metadata and ids that are too long are dropped, and said so.
func FitView(v View) (View, []string) {
	if fine(v, true) {
		return v, nil
	}
	f := &fitter{view: true}
	v.Title = f.plain(v.Title, "view.title")
	if v.Title == nil {
		v.Title = Plain("Faultline")
	}
	v.Submit, v.Close = f.plain(v.Submit, "view.button"), f.plain(v.Close, "view.button")
	for _, x := range []struct {
		s     *string
		limit string
	}{{&v.CallbackID, "view.callback_id"}, {&v.ExternalID, "view.external_id"}, {&v.PrivateMetadata, "view.private_metadata"}} {
		if utf8.RuneCountInString(*x.s) > bound(x.limit).max {
			*x.s = ""
			f.lost.other = append(f.lost.other, "the "+strings.TrimPrefix(x.limit, "view.")+" (too long)")
		}
	}
	pieces := f.pieces(v.Blocks)
	room := bound("view.blocks").max
	if len(pieces) > room {
		for _, p := range pieces[room-1:] {
			f.leaveOut(p)
		}
		pieces = pieces[:room-1]
	}
	v.Blocks = nil
	for _, p := range pieces {
		v.Blocks = append(v.Blocks, p.block)
		if _, is := p.block.(Input); is && v.Submit == nil {
			v.Submit = Plain("Send")
		}
	}
	if note := f.lost.note(); note != "" && len(v.Blocks) < room {
		v.Blocks = append(v.Blocks, Context{Elements: []Text{*Plain(note)}})
	}
	if len(v.Blocks) == 0 {
		v.Blocks = Blocks{Context{Elements: []Text{*Plain("Nothing to show.")}}}
	}
	distinctIDs(v.Blocks)
	return v, f.lost.words()
}

// fine tells whether a message or view can go as it is.
func fine(v any, view bool) bool {
	raw, err := json.Marshal(v)
	if err != nil {
		return false
	}
	c := examine(raw, view)
	return len(c.problems) == 0 && (view || len(c.budget) == 0)
}

// fitter repairs blocks and counts what it takes away.
type fitter struct {
	view bool
	lost losses
}

// losses counts what people will not see.
type losses struct {
	texts                                                   int // cut short, with a mark where they were cut
	rows, columns, paragraphs, buttons, choices, pics, flds int // left out
	other                                                   []string
}

// note says what was left out; "" where nothing was.
func (l losses) note() string {
	parts := l.leftOut()
	if len(parts) == 0 {
		return ""
	}
	return "Left out here: " + strings.Join(parts, ", ") + ". The report file has all of it."
}

func (l losses) words() []string {
	var out []string
	if l.texts > 0 {
		out = append(out, counted(l.texts, "text")+" cut short")
	}
	for _, s := range l.leftOut() {
		out = append(out, s+" left out")
	}
	return out
}

func (l losses) leftOut() []string {
	var out []string
	for _, x := range []struct {
		n    int
		noun string
	}{{l.rows, "table row"}, {l.columns, "table column"}, {l.paragraphs, "paragraph"}, {l.pics, "picture"}, {l.buttons, "button"},
		{l.choices, "choice"}, {l.flds, "field"}} {
		if x.n > 0 {
			out = append(out, counted(x.n, x.noun))
		}
	}
	return append(out, l.other...)
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// piece is a block that fits into a message by itself, with what it needs there and what is lost if it is left out.
type piece struct {
	block         Block
	shown, tables int
	table         bool
	press         bool   // can be pressed: left out last
	worth         losses // what goes if it goes
}

func (f *fitter) leaveOut(p piece) {
	f.lost.rows += p.worth.rows
	f.lost.paragraphs += p.worth.paragraphs
	f.lost.buttons += p.worth.buttons
	f.lost.choices += p.worth.choices
	f.lost.pics += p.worth.pics
	f.lost.flds += p.worth.flds
}

func fit(m Message, most int) ([]Message, []string) {
	if fine(m, false) {
		return []Message{m}, nil
	}
	f := &fitter{}
	text := f.clip(quiet(m.Text), "message.text")
	pieces := f.pieces(m.Blocks)
	if text == "" && len(pieces) == 0 {
		if text = f.lost.note(); text == "" {
			return nil, nil
		}
	}
	out := f.pack(pieces, most)
	if len(out) == 0 {
		out = []Message{{}}
	}
	if text == "" {
		text = f.clip(Escape(firstText(pieces)), "message.text")
	}
	out[0].Text = text
	first, _, _ := strings.Cut(text, "\n")
	for i := 1; i < len(out); i++ {
		out[i].Text = fmt.Sprintf("(continued, %d of %d) %s", i+1, len(out), Clip(first, 300))
	}
	if note := f.lost.note(); note != "" {
		last := &out[len(out)-1]
		last.Blocks = append(last.Blocks, Context{Elements: []Text{*Plain(Clip(note, noteRoom))}})
		if len(last.Blocks) == 1 { // a message with blocks shows them instead of its text
			last.Blocks = append(Blocks{Section{Text: Mrkdwn(Clip(last.Text, bound("section.text").max))}}, last.Blocks...)
		}
	}
	if m.Metadata != nil {
		if raw, err := json.Marshal(Message{Text: "x", Metadata: m.Metadata}); err == nil && len(ValidateMessage(raw)) == 0 {
			out[0].Metadata = m.Metadata
		} else {
			f.lost.other = append(f.lost.other, "the metadata (not of the form that Slack takes)")
		}
	}
	for i := range out {
		distinctIDs(out[i].Blocks)
		out[i] = f.lastResort(out[i])
	}
	return out, f.lost.words()
}

// quiet takes the call out of a mention of a whole channel. The bot calls people by name or not at all.
func quiet(s string) string { return strings.ReplaceAll(s, "<!", "&lt;!") }

// lastResort replaces a message that is still not right by its text: something must be posted. No message is known that
// comes here.
func (f *fitter) lastResort(m Message) Message {
	if fine(m, false) {
		return m
	}
	f.lost.other = append(f.lost.other, "a whole message that could not be shown")
	return Message{Text: Clip("This message could not be shown in full; the report file has all of it.\n"+m.Text, bound("message.text").budget)}
}

// pack fills messages in order. In the last one that is allowed, room stays free for what can be pressed.
func (f *fitter) pack(pieces []piece, most int) []Message {
	blocksMost, charsMost := bound("message.blocks").budget-1, bound("message.characters").budget-noteRoom
	reservedBlocks, reservedChars := 0, 0
	kept := pieces[:0:0]
	for _, p := range pieces {
		if p.press {
			if reservedBlocks == actionsMost || reservedChars+p.shown > actionsRoom && reservedBlocks > 0 {
				f.leaveOut(p)
				continue
			}
			reservedBlocks, reservedChars = reservedBlocks+1, reservedChars+p.shown
		}
		kept = append(kept, p)
	}
	var out []Message
	var blocks, chars, tables, cells int
	full := false
	for _, p := range kept {
		if p.press {
			reservedBlocks, reservedChars = reservedBlocks-1, reservedChars-p.shown
		}
		fits := func(freeBlocks, freeChars int) bool {
			return blocks < freeBlocks && chars+p.shown <= freeChars && (tables == 0 || !p.table) &&
				cells+p.tables <= bound("message.table characters").budget
		}
		if len(out) == 0 || len(out) < most && !fits(blocksMost, charsMost) {
			out = append(out, Message{})
			blocks, chars, tables, cells = 0, 0, 0, 0
		}
		if len(out) == most && !p.press && (full || !fits(blocksMost-reservedBlocks, charsMost-reservedChars)) {
			full = true // and what follows would be out of order
			f.leaveOut(p)
			continue
		}
		m := &out[len(out)-1]
		m.Blocks = append(m.Blocks, p.block)
		blocks, chars, cells = blocks+1, chars+p.shown, cells+p.tables
		if p.table {
			tables++
		}
	}
	return slices.DeleteFunc(out, func(m Message) bool { return len(m.Blocks) == 0 })
}

// distinctIDs takes a block_id away from whoever has it a second time; Slack then gives one.
func distinctIDs(blocks Blocks) {
	seen := map[string]bool{}
	for i, b := range blocks {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		v.Set(reflect.ValueOf(b))
		id := v.FieldByName("BlockID")
		if s := id.String(); s != "" && (seen[s] || utf8.RuneCountInString(s) > bound("block_id").max) {
			id.SetString("")
			blocks[i], _ = v.Interface().(Block)
		}
		seen[id.String()] = true
	}
}

// firstText is the first text of the pieces, for a message that has none of its own.
func firstText(pieces []piece) string {
	for _, p := range pieces {
		if s := plainText(p.block); s != "" {
			return s
		}
	}
	return "(see the message)"
}
