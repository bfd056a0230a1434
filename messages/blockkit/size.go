package blockkit

import "unicode/utf8"

// The functions of this file count characters as the validator does; a test holds them to each other.

// measure says how many characters of a block Slack counts, and how many of them stand in a table.
func measure(b Block) (shown, tables int) {
	switch b := b.(type) {
	case Section:
		n := sizeOfText(b.Text) + sizeOfTexts(b.Fields)
		if b.Accessory != nil {
			n += sizeOfElement(*b.Accessory)
		}
		return n, 0
	case Header:
		return sizeOfText(b.Text), 0
	case Context:
		return sizeOfTexts(b.Elements), 0
	case Actions:
		n := 0
		for _, e := range b.Elements {
			n += sizeOfElement(e)
		}
		return n, 0
	case Input:
		return sizeOfText(b.Label) + sizeOfText(b.Hint) + sizeOfElement(b.Element), 0
	case Image:
		return sizeOfText(b.Title) + runeCount(b.AltText), 0
	case RichText:
		return sizeOfCell(b), 0
	case Table:
		n := sizeOfRows(b.Rows)
		return n, n
	case DataTable:
		n := sizeOfRows(b.Rows)
		return n + runeCount(b.Caption), n
	}
	return 0, 0
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }

func sizeOfText(t *Text) int {
	if t == nil {
		return 0
	}
	return runeCount(t.Text)
}

func sizeOfTexts(ts []Text) int {
	n := 0
	for i := range ts {
		n += sizeOfText(&ts[i])
	}
	return n
}

func sizeOfElement(e Element) int {
	switch e := e.(type) {
	case Button:
		n := sizeOfText(e.Text) + runeCount(e.AccessibilityLabel)
		if c := e.Confirm; c != nil {
			n += sizeOfText(c.Title) + sizeOfText(c.Text) + sizeOfText(c.Confirm) + sizeOfText(c.Deny)
		}
		return n
	case StaticSelect:
		n := sizeOfText(e.Placeholder) + sizeOfOptions(e.Options)
		if e.InitialOption != nil {
			n += sizeOfOptions([]Option{*e.InitialOption})
		}
		return n
	case RadioButtons:
		n := sizeOfOptions(e.Options)
		if e.InitialOption != nil {
			n += sizeOfOptions([]Option{*e.InitialOption})
		}
		return n
	case Checkboxes:
		return sizeOfOptions(e.Options) + sizeOfOptions(e.InitialOptions)
	case PlainTextInput:
		return sizeOfText(e.Placeholder) + runeCount(e.InitialValue)
	case URLTextInput:
		return sizeOfText(e.Placeholder) + runeCount(e.InitialValue)
	}
	return 0
}

func sizeOfOptions(opts []Option) int {
	n := 0
	for _, o := range opts {
		n += sizeOfText(o.Text) + sizeOfText(o.Description)
	}
	return n
}

func sizeOfInline(i Inline) int {
	switch i := i.(type) {
	case Run:
		return runeCount(i.Text)
	case Link:
		return runeCount(i.Text)
	}
	return 0
}

func sizeOfInlines(is Inlines) int {
	n := 0
	for _, i := range is {
		n += sizeOfInline(i)
	}
	return n
}

func sizeOfSection(s RichSection) int { return sizeOfInlines(s.Elements) }

func sizeOfPart(e RichElement) int {
	switch e := e.(type) {
	case RichSection:
		return sizeOfSection(e)
	case RichList:
		n := 0
		for _, s := range e.Elements {
			n += sizeOfSection(s)
		}
		return n
	case Preformatted:
		return sizeOfInlines(e.Elements)
	case Quote:
		return sizeOfInlines(e.Elements)
	}
	return 0
}

func sizeOfCell(c Cell) int {
	switch c := c.(type) {
	case RichText:
		n := 0
		for _, p := range c.Elements {
			n += sizeOfPart(p)
		}
		return n
	case RawText:
		return runeCount(c.Text)
	case RawNumber:
		return runeCount(c.Text)
	}
	return 0
}

func sizeOfRow(r Row) int {
	n := 0
	for _, c := range r {
		n += sizeOfCell(c)
	}
	return n
}

func sizeOfRows(rows []Row) int {
	n := 0
	for _, r := range rows {
		n += sizeOfRow(r)
	}
	return n
}
