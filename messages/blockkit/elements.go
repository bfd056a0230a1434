package blockkit

// Element is something that a person can press, choose or fill in. ActionID says what was used and must be unique within
// its block.
type Element interface{ isElement() }

// Elements is a list that knows how to read itself back.
type Elements []Element

// Styles of a Button; "" is neutral.
const (
	Primary = "primary"
	Danger  = "danger"
)

// Button is pressed once. Value comes back with the click.
type Button struct {
	Type               buttonType `json:"type"`
	ActionID           string     `json:"action_id,omitempty"`
	Text               *Text      `json:"text"`
	Value              string     `json:"value,omitempty"`
	URL                string     `json:"url,omitempty"`
	Style              string     `json:"style,omitempty"`
	Confirm            *Confirm   `json:"confirm,omitempty"`
	AccessibilityLabel string     `json:"accessibility_label,omitempty"`
}

// Confirm asks once more before the click counts.
type Confirm struct {
	Title   *Text  `json:"title,omitempty"`
	Text    *Text  `json:"text"`
	Confirm *Text  `json:"confirm,omitempty"`
	Deny    *Text  `json:"deny,omitempty"`
	Style   string `json:"style,omitempty"`
}

// Option is one choice. Value comes back.
type Option struct {
	Text        *Text  `json:"text"`
	Value       string `json:"value"`
	Description *Text  `json:"description,omitempty"`
}

// StaticSelect is a menu of at most 100 options.
type StaticSelect struct {
	Type          staticSelectType `json:"type"`
	ActionID      string           `json:"action_id,omitempty"`
	Placeholder   *Text            `json:"placeholder,omitempty"`
	Options       []Option         `json:"options"`
	InitialOption *Option          `json:"initial_option,omitempty"`
	FocusOnLoad   bool             `json:"focus_on_load,omitempty"`
}

// RadioButtons are at most ten choices of which one counts.
type RadioButtons struct {
	Type          radioButtonsType `json:"type"`
	ActionID      string           `json:"action_id,omitempty"`
	Options       []Option         `json:"options"`
	InitialOption *Option          `json:"initial_option,omitempty"`
}

// Checkboxes are at most ten choices, each for itself.
type Checkboxes struct {
	Type           checkboxesType `json:"type"`
	ActionID       string         `json:"action_id,omitempty"`
	Options        []Option       `json:"options"`
	InitialOptions []Option       `json:"initial_options,omitempty"`
}

// PlainTextInput is a line, or several, to type in. Lengths are in characters.
type PlainTextInput struct {
	Type         plainTextInputType `json:"type"`
	ActionID     string             `json:"action_id,omitempty"`
	Placeholder  *Text              `json:"placeholder,omitempty"`
	InitialValue string             `json:"initial_value,omitempty"`
	Multiline    bool               `json:"multiline,omitempty"`
	MinLength    int                `json:"min_length,omitempty"`
	MaxLength    int                `json:"max_length,omitempty"`
	FocusOnLoad  bool               `json:"focus_on_load,omitempty"`
}

// URLTextInput takes a URL only.
type URLTextInput struct {
	Type         urlTextInputType `json:"type"`
	ActionID     string           `json:"action_id,omitempty"`
	Placeholder  *Text            `json:"placeholder,omitempty"`
	InitialValue string           `json:"initial_value,omitempty"`
	FocusOnLoad  bool             `json:"focus_on_load,omitempty"`
}

// FileInput takes up to MaxFiles (1…10) files; Filetypes are endings without the dot.
type FileInput struct {
	Type      fileInputType `json:"type"`
	ActionID  string        `json:"action_id,omitempty"`
	Filetypes []string      `json:"filetypes,omitempty"`
	MaxFiles  int           `json:"max_files,omitempty"`
}

func (Button) isElement()         {}
func (StaticSelect) isElement()   {}
func (RadioButtons) isElement()   {}
func (Checkboxes) isElement()     {}
func (PlainTextInput) isElement() {}
func (URLTextInput) isElement()   {}
func (FileInput) isElement()      {}
