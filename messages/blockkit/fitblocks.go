package blockkit

import "reflect"

// pieces turns blocks into pieces that each fit into a message.
func (f *fitter) pieces(blocks Blocks) []piece {
	var out []piece
	for _, b := range blocks {
		b, ok := deref(b)
		if !ok {
			continue
		}
		var made []piece
		switch b := b.(type) {
		case Section:
			made = f.section(b)
		case Header:
			if b.Text = f.plain(b.Text, "header.text"); b.Text != nil {
				made = one(b, losses{paragraphs: 1})
			}
		case Divider:
			made = one(b, losses{})
		case Context:
			for _, g := range f.group(f.texts(b.Elements, "context.text"), bound("context.elements").max) {
				made = append(made, one(Context{BlockID: b.BlockID, Elements: g}, losses{paragraphs: len(g)})...)
			}
		case Actions:
			made = f.actions(b)
		case Input:
			made = f.input(b)
		case Image:
			made = f.image(b)
		case RichText:
			made = f.richText(b)
		case Table:
			made = f.table(b)
		case DataTable:
			made = f.dataTable(b)
		}
		for i := range made {
			made[i].shown, made[i].tables = measure(made[i].block)
		}
		out = append(out, made...)
	}
	return out
}

func one(b Block, worth losses) []piece { return []piece{{block: b, worth: worth}} }

// deref gives the struct behind a pointer: *Section is a Block too. ok is false for nil.
func deref[T any](x T) (T, bool) {
	v := reflect.ValueOf(x)
	if !v.IsValid() {
		return x, false
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return x, false
		}
		y, ok := v.Elem().Interface().(T)
		return y, ok
	}
	return x, true
}

// text repairs a text object; nil means that there is nothing to show.
func (f *fitter) text(t *Text, limit string) *Text {
	if t == nil || t.Text == "" {
		return nil
	}
	out := *t
	if out.Type == "mrkdwn" {
		out.Emoji, out.Text = nil, quiet(out.Text)
	} else {
		out.Type, out.Verbatim = "plain_text", false
	}
	out.Text = f.clip(out.Text, limit)
	return &out
}

// plain is text where Slack takes plain text only.
func (f *fitter) plain(t *Text, limit string) *Text {
	if t != nil && t.Type != "plain_text" {
		t = Plain(t.Text)
	}
	return f.text(t, limit)
}

func (f *fitter) texts(ts []Text, limit string) []Text {
	var out []Text
	for _, t := range ts {
		if u := f.text(&t, limit); u != nil {
			out = append(out, *u)
		}
	}
	return out
}

// group puts texts together, at most n of them and pieceSize characters.
func (f *fitter) group(ts []Text, n int) [][]Text {
	return groupBy(ts, n, pieceSize, func(t Text) int { return runeCount(t.Text) })
}

// groupBy cuts a list into groups of at most n members and at most size in all; a larger member stands alone.
func groupBy[T any](list []T, n, size int, of func(T) int) [][]T {
	var out [][]T
	sum := 0
	for _, x := range list {
		s := of(x)
		if len(out) == 0 || len(out[len(out)-1]) == n || sum+s > size {
			out, sum = append(out, nil), 0
		}
		last := len(out) - 1
		out[last] = append(out[last], x)
		sum += s
	}
	return out
}

func (f *fitter) section(b Section) []piece {
	b.Text = f.text(b.Text, "section.text")
	if b.Accessory != nil {
		accessory, ok := f.button(*b.Accessory)
		b.Accessory = &accessory
		if !ok {
			b.Accessory = nil
		}
	}
	var out []piece
	fields := f.group(f.texts(b.Fields, "section.field"), bound("section.fields").max)
	b.Fields = nil
	switch {
	case b.Text != nil:
	case len(fields) > 0:
		b.Fields, fields = fields[0], fields[1:]
	case b.Accessory != nil:
		return f.actions(Actions{BlockID: b.BlockID, Elements: Elements{*b.Accessory}})
	default:
		return nil
	}
	worth := losses{paragraphs: len(b.Fields)}
	if b.Text != nil {
		worth.paragraphs++
	}
	if b.Accessory != nil {
		worth.buttons++
	}
	out = append(out, piece{block: b, worth: worth})
	for _, g := range fields {
		out = append(out, piece{block: Section{Fields: g, Expand: b.Expand}, worth: losses{paragraphs: len(g)}})
	}
	return out
}

func (f *fitter) image(b Image) []piece {
	b.Title = f.plain(b.Title, "image.title")
	if b.AltText == "" {
		b.AltText = "picture"
	}
	b.AltText = f.clip(b.AltText, "image.alt_text")
	file := SlackFile{}
	if b.SlackFile != nil {
		file = *b.SlackFile
	}
	if file.ID != "" {
		file.URL = ""
	}
	if file == (SlackFile{}) || runeCount(file.ID) > bound("block_id").max || runeCount(file.URL) > bound("url").max {
		f.lost.pics++
		return nil
	}
	b.SlackFile = &file
	return one(b, losses{pics: 1})
}

// actions repairs a row of things to press. Two with one action_id go to different rows.
func (f *fitter) actions(b Actions) []piece {
	var rows []Actions
	var sizes []int
	place := func(e Element, id string, size int) {
		for i := range rows {
			if len(rows[i].Elements) < bound("actions.elements").max && sizes[i]+size <= actionsRoom/2 && !hasAction(rows[i].Elements, id) {
				rows[i].Elements, sizes[i] = append(rows[i].Elements, e), sizes[i]+size
				return
			}
		}
		rows, sizes = append(rows, Actions{BlockID: b.BlockID, Elements: Elements{e}}), append(sizes, size)
	}
	for _, e := range b.Elements {
		e, ok := deref(e)
		if !ok {
			continue
		}
		if e, ok = f.element(e); !ok {
			continue
		}
		switch e.(type) {
		case Button, StaticSelect, RadioButtons, Checkboxes:
			shown, _ := measure(Actions{Elements: Elements{e}})
			place(e, actionID(e), shown)
		default:
			f.lost.flds++
		}
	}
	var out []piece
	for _, r := range rows {
		p := piece{block: r, press: true}
		for _, e := range r.Elements {
			switch e := e.(type) {
			case Button:
				p.worth.buttons++
			case StaticSelect:
				p.worth.choices += len(e.Options)
			case RadioButtons:
				p.worth.choices += len(e.Options)
			case Checkboxes:
				p.worth.choices += len(e.Options)
			}
		}
		out = append(out, p)
	}
	return out
}

func hasAction(es Elements, id string) bool {
	if id == "" {
		return false
	}
	for _, e := range es {
		if actionID(e) == id {
			return true
		}
	}
	return false
}

func actionID(e Element) string { return reflect.ValueOf(e).FieldByName("ActionID").String() }

func (f *fitter) input(b Input) []piece {
	if b.Label = f.plain(b.Label, "input.label"); b.Label == nil {
		b.Label = Plain("?")
	}
	b.Hint = f.plain(b.Hint, "input.hint")
	e, ok := deref(b.Element)
	if !ok {
		return nil
	}
	if e, ok = f.element(e); !ok {
		return nil
	}
	_, button := e.(Button)
	_, file := e.(FileInput)
	if button || file && !f.view {
		f.lost.flds++
		return nil
	}
	b.Element = e
	return one(b, losses{flds: 1})
}
