package blockkit

// element repairs something to press or to fill in; false means that it was left out, and counted.
func (f *fitter) element(e Element) (Element, bool) {
	if runeCount(actionID(e)) > bound("action_id").max { // another id would be somebody else's click
		if _, is := e.(Button); is {
			f.lost.buttons++
		} else {
			f.lost.flds++
		}
		return nil, false
	}
	switch e := e.(type) {
	case Button:
		return f.button(e)
	case StaticSelect:
		e.Placeholder = f.plain(e.Placeholder, "placeholder")
		e.Options = f.options(e.Options, bound("select.options").max, true)
		e.InitialOption = initial(e.Options, e.InitialOption)
		return e, len(e.Options) > 0
	case RadioButtons:
		e.Options = f.options(e.Options, bound("choice.options").max, false)
		e.InitialOption = initial(e.Options, e.InitialOption)
		return e, len(e.Options) > 0
	case Checkboxes:
		e.Options = f.options(e.Options, bound("choice.options").max, false)
		var chosen []Option
		for _, o := range e.InitialOptions {
			if p := initial(e.Options, &o); p != nil && len(chosen) < bound("choice.options").max {
				chosen = append(chosen, *p)
			}
		}
		e.InitialOptions = chosen
		return e, len(e.Options) > 0
	case PlainTextInput:
		e.Placeholder = f.plain(e.Placeholder, "placeholder")
		most := bound("plain_text_input.max_length").max
		e.MaxLength = min(max(e.MaxLength, 0), most)
		if e.MaxLength > 0 {
			most = e.MaxLength
		}
		e.MinLength = min(max(e.MinLength, 0), most)
		e.InitialValue = f.clipTo(e.InitialValue, most)
		return e, true
	case URLTextInput:
		e.Placeholder = f.plain(e.Placeholder, "placeholder")
		e.InitialValue = f.clip(e.InitialValue, "initial_value")
		return e, true
	case FileInput:
		e.MaxFiles = min(max(e.MaxFiles, 0), bound("file_input.max_files").max)
		var kinds []string
		for _, k := range e.Filetypes {
			if k != "" && runeCount(k) <= bound("block_id").max && len(kinds) < bound("file_input.filetypes").max {
				kinds = append(kinds, k)
			}
		}
		e.Filetypes = kinds
		return e, true
	}
	f.lost.flds++
	return nil, false
}

func (f *fitter) button(b Button) (Button, bool) {
	b.Text = f.plain(b.Text, "button.text")
	long := runeCount(b.Value) > bound("button.value").max || runeCount(b.ActionID) > bound("action_id").max
	badURL := b.URL != "" && (!isURL(b.URL) || runeCount(b.URL) > bound("url").max)
	if b.Text == nil || long || badURL {
		f.lost.buttons++
		return b, false
	}
	b.AccessibilityLabel = f.clip(b.AccessibilityLabel, "button.accessibility_label")
	b.Style = style(b.Style)
	if b.Confirm != nil {
		c := *b.Confirm
		c.Title, c.Text = f.plain(c.Title, "confirm.title"), f.text(c.Text, "confirm.text")
		c.Confirm, c.Deny = f.plain(c.Confirm, "confirm.button"), f.plain(c.Deny, "confirm.button")
		c.Style = style(c.Style)
		if c.Text == nil {
			c.Text = Plain("Are you sure?")
		}
		b.Confirm = &c
	}
	return b, true
}

func style(s string) string {
	if s == Primary || s == Danger {
		return s
	}
	return ""
}

// optionsRoom bounds what the options of one menu show, so that the menu fits into the room for what can be pressed.
const optionsRoom = 2500

func (f *fitter) options(opts []Option, most int, plainOnly bool) []Option {
	var out []Option
	seen := map[string]bool{}
	room := optionsRoom
	if f.view {
		room = pieceSize
	}
	for _, o := range opts {
		p, ok := f.option(o, plainOnly)
		size := 0
		if ok {
			size = runeCount(p.Text.Text)
			if p.Description != nil {
				size += runeCount(p.Description.Text)
			}
		}
		if !ok || len(out) == most || seen[p.Value] || size > room {
			f.lost.choices++
			continue
		}
		seen[p.Value] = true
		room -= size
		out = append(out, p)
	}
	return out
}

func (f *fitter) option(o Option, plainOnly bool) (Option, bool) {
	if n := runeCount(o.Value); n < bound("option.value").min || n > bound("option.value").max {
		return o, false
	}
	if plainOnly {
		o.Text = f.plain(o.Text, "option.text")
	} else {
		o.Text = f.text(o.Text, "option.text")
	}
	o.Description = f.plain(o.Description, "option.description")
	return o, o.Text != nil
}

// initial finds the option that is chosen at first among those that are left; nil where it is not there.
func initial(opts []Option, chosen *Option) *Option {
	if chosen == nil {
		return nil
	}
	for i := range opts {
		if opts[i].Value == chosen.Value {
			o := opts[i]
			return &o
		}
	}
	return nil
}
