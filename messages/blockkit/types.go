package blockkit

// Message is what chat.postMessage and chat.update take besides the place.
type Message struct {
	// Text is the notification and what screen readers read. It is mrkdwn: text from elsewhere goes through Escape.
	Text     string    `json:"text"`
	Blocks   Blocks    `json:"blocks,omitempty"`
	Metadata *Metadata `json:"metadata,omitempty"`
}

// Metadata travels with a message, unseen by people. Values are scalars or objects of scalars.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// View is a modal.
type View struct {
	Type            modalType `json:"type"`
	CallbackID      string    `json:"callback_id,omitempty"`
	ExternalID      string    `json:"external_id,omitempty"`
	Title           *Text     `json:"title"`
	Submit          *Text     `json:"submit,omitempty"`
	Close           *Text     `json:"close,omitempty"`
	PrivateMetadata string    `json:"private_metadata,omitempty"`
	NotifyOnClose   bool      `json:"notify_on_close,omitempty"`
	ClearOnClose    bool      `json:"clear_on_close,omitempty"`
	Blocks          Blocks    `json:"blocks"`
}

// Block is one of Section, Header, Divider, Context, Actions, Input, Image, RichText, Table and DataTable.
type Block interface{ isBlock() }

// Blocks marshals as a list and knows how to read one back.
type Blocks []Block

// Section is a text, or up to ten short texts in two columns.
type Section struct {
	Type      sectionType `json:"type"`
	BlockID   string      `json:"block_id,omitempty"`
	Text      *Text       `json:"text,omitempty"`
	Fields    []Text      `json:"fields,omitempty"`
	Accessory *Button     `json:"accessory,omitempty"`
	Expand    bool        `json:"expand,omitempty"` // show all of it, without "see more"
}

// Header is a large line of plain text.
type Header struct {
	Type    headerType `json:"type"`
	BlockID string     `json:"block_id,omitempty"`
	Text    *Text      `json:"text"`
}

// Divider is a line.
type Divider struct {
	Type    dividerType `json:"type"`
	BlockID string      `json:"block_id,omitempty"`
}

// Context is small grey text.
type Context struct {
	Type     contextType `json:"type"`
	BlockID  string      `json:"block_id,omitempty"`
	Elements []Text      `json:"elements"`
}

// Actions is a row of things to press.
type Actions struct {
	Type     actionsType `json:"type"`
	BlockID  string      `json:"block_id,omitempty"`
	Elements Elements    `json:"elements"` // Button, StaticSelect, RadioButtons, Checkboxes
}

// Input is one field of a modal.
type Input struct {
	Type     inputType `json:"type"`
	BlockID  string    `json:"block_id,omitempty"`
	Label    *Text     `json:"label"`
	Element  Element   `json:"element"` // PlainTextInput, URLTextInput, StaticSelect, RadioButtons, Checkboxes, FileInput
	Hint     *Text     `json:"hint,omitempty"`
	Optional bool      `json:"optional,omitempty"`
}

// Image shows a file that was uploaded before. AltText is read to those who cannot see it.
type Image struct {
	Type      imageType  `json:"type"`
	BlockID   string     `json:"block_id,omitempty"`
	Title     *Text      `json:"title,omitempty"`
	AltText   string     `json:"alt_text"`
	SlackFile *SlackFile `json:"slack_file,omitempty"`
}

// SlackFile names an uploaded file, by its id or its private URL but never by both.
type SlackFile struct {
	ID  string `json:"id,omitempty"`
	URL string `json:"url,omitempty"`
}

// Text is Slack's text object. Plain and Mrkdwn build it.
type Text struct {
	Type     string `json:"type"` // plain_text, mrkdwn
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji,omitempty"`    // plain_text only
	Verbatim bool   `json:"verbatim,omitempty"` // mrkdwn only
}

// Plain is text that means nothing but itself: no markup, and ":smile:" stays what it is.
func Plain(s string) *Text {
	no := false
	return &Text{Type: "plain_text", Text: s, Emoji: &no}
}

// Mrkdwn is text with Slack's markup. What comes from elsewhere must go through Escape first, and is better put into
// RichText: * _ ~ and ` cannot be escaped.
func Mrkdwn(s string) *Text { return &Text{Type: "mrkdwn", Text: s, Verbatim: true} }

func (Section) isBlock()   {}
func (Header) isBlock()    {}
func (Divider) isBlock()   {}
func (Context) isBlock()   {}
func (Actions) isBlock()   {}
func (Input) isBlock()     {}
func (Image) isBlock()     {}
func (RichText) isBlock()  {}
func (Table) isBlock()     {}
func (DataTable) isBlock() {}
