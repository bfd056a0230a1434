package blockkit

import "strings"

// inlinesMost bounds the pieces of one paragraph and the items of one list.
const inlinesMost = 200

// richText repairs a rich text and cuts it into pieces. Slack counts parts of one rich text as people see them, so two
// rich texts after another look like one.
func (f *fitter) richText(b RichText) []piece {
	var out []piece
	for i, g := range groupBy(f.richParts(b.Elements), 100, pieceSize, sizeOfPart) {
		block := RichText{Elements: g}
		if i == 0 {
			block.BlockID = b.BlockID
		}
		worth := losses{}
		for _, e := range g {
			if l, is := e.(RichList); is {
				worth.paragraphs += len(l.Elements)
			} else {
				worth.paragraphs++
			}
		}
		out = append(out, piece{block: block, worth: worth})
	}
	return out
}

// richParts repairs the parts of a rich text; each comes out small enough to be moved.
func (f *fitter) richParts(elements RichElements) []RichElement {
	var out []RichElement
	for _, e := range elements {
		e, ok := deref(e)
		if !ok {
			continue
		}
		switch e := e.(type) {
		case RichSection:
			for _, g := range f.paragraphs(e.Elements, false) {
				out = append(out, RichSection{Elements: g})
			}
		case Preformatted:
			for _, g := range f.paragraphs(e.Elements, true) {
				out = append(out, Preformatted{Border: border(e.Border), Elements: g})
			}
		case Quote:
			for _, g := range f.paragraphs(e.Elements, false) {
				out = append(out, Quote{Border: border(e.Border), Elements: g})
			}
		case RichList:
			out = append(out, f.lists(e)...)
		}
	}
	return out
}

func border(n int) int { return min(max(n, 0), 1) }

// paragraphs repairs inlines and groups them so that each group fits.
func (f *fitter) paragraphs(inlines Inlines, verbatim bool) []Inlines {
	var out []Inlines
	for _, g := range groupBy(f.inlines(inlines, verbatim), inlinesMost, bound("rich_text.text").budget, sizeOfInline) {
		out = append(out, g)
	}
	return out
}

// inlines repairs pieces of a paragraph. verbatim stands for a box, in which only text and links are allowed.
func (f *fitter) inlines(inlines Inlines, verbatim bool) []Inline {
	var out []Inline
	for _, i := range inlines {
		i, ok := deref(i)
		if !ok {
			continue
		}
		switch x := i.(type) {
		case Link:
			if !isURL(x.URL) || runeCount(x.URL) > bound("url").max {
				i = Run{Text: strings.TrimSpace(x.Text + " " + x.URL), Style: x.Style}
			} else {
				x.Text = f.clip(x.Text, "rich_text.text")
				i = x
			}
		case User:
			if verbatim || !IsUserID(x.UserID) {
				i = Run{Text: x.UserID, Style: x.Style}
			}
		case Emoji:
			if n := runeCount(x.Name); verbatim || n == 0 || n > bound("rich_text.emoji").max {
				i = Run{Text: x.Name}
			}
		}
		if r, is := i.(Run); is {
			if r.Text == "" {
				continue
			}
			r.Text = f.clip(r.Text, "rich_text.text")
			i = r
		}
		out = append(out, i)
	}
	return out
}

// lists repairs a list and cuts it; numbers go on in the next one.
func (f *fitter) lists(l RichList) []RichElement {
	if l.Style != Ordered {
		l.Style = Bullet
	}
	l.Indent, l.Border = min(max(l.Indent, 0), bound("rich_text.indent").max), border(l.Border)
	l.Offset = max(l.Offset, 0)
	var items []RichSection
	for _, s := range l.Elements {
		if inlines := f.itemOf(s.Elements); len(inlines) > 0 {
			items = append(items, RichSection{Elements: inlines})
		}
	}
	var out []RichElement
	before := 0
	for _, g := range groupBy(items, inlinesMost, pieceSize/2, sizeOfSection) {
		part := l
		part.Elements = g
		if l.Style == Ordered {
			part.Offset = min(l.Offset+before, bound("rich_text.offset").max)
		} else {
			part.Offset = 0
		}
		before += len(g)
		out = append(out, part)
	}
	return out
}

// itemOf is one item of a list: it cannot be split, so its end is cut where it is too long.
func (f *fitter) itemOf(inlines Inlines) Inlines {
	all := f.inlines(inlines, false)
	groups := groupBy(all, inlinesMost, bound("rich_text.text").budget-len(cutMark), sizeOfInline)
	if len(groups) == 0 {
		return nil
	}
	first := groups[0]
	if n := len(all) - len(first); n > 0 {
		first = append(first, Run{Text: cutMark})
		f.lost.texts += n
	}
	return first
}

// plainText is what a block says, without its look: enough for a notification.
func plainText(b Block) string {
	switch b := b.(type) {
	case Section:
		if b.Text != nil {
			return b.Text.Text
		}
		return b.Fields[0].Text
	case Header:
		return b.Text.Text
	case Context:
		return b.Elements[0].Text
	case Image:
		return b.AltText
	case DataTable:
		return b.Caption
	case RichText:
		return richPlain(b.Elements)
	case Input:
		return b.Label.Text
	}
	return ""
}

// richPlain joins all texts of a rich text.
func richPlain(es RichElements) string {
	var b strings.Builder
	add := func(is Inlines) {
		for _, i := range is {
			switch i := i.(type) {
			case Run:
				b.WriteString(i.Text)
			case Link:
				if i.Text == "" {
					b.WriteString(i.URL)
				}
				b.WriteString(i.Text)
			case User:
				b.WriteString(i.UserID)
			case Emoji:
				b.WriteString(i.Name)
			}
		}
		b.WriteByte('\n')
	}
	for _, e := range es {
		switch e := e.(type) {
		case RichSection:
			add(e.Elements)
		case Preformatted:
			add(e.Elements)
		case Quote:
			add(e.Elements)
		case RichList:
			for _, s := range e.Elements {
				add(s.Elements)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
