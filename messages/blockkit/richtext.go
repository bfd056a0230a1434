package blockkit

// RichText is formatted text without a markup language: nothing in its strings is ever interpreted, so text from logs
// belongs here. Without BlockID it is also a cell of a table.
type RichText struct {
	Type     richTextType `json:"type"`
	BlockID  string       `json:"block_id,omitempty"`
	Elements RichElements `json:"elements"`
}

// RichElement is one of RichSection, RichList, Preformatted and Quote.
type RichElement interface{ isRichElement() }

// RichElements is a list that knows how to read itself back.
type RichElements []RichElement

// RichSection is a paragraph.
type RichSection struct {
	Type     richSectionType `json:"type"`
	Elements Inlines         `json:"elements"`
}

// Styles of a RichList.
const (
	Bullet  = "bullet"
	Ordered = "ordered"
)

// RichList is a list; Offset is added to the numbers of an ordered one.
type RichList struct {
	Type     richListType  `json:"type"`
	Style    string        `json:"style"`
	Indent   int           `json:"indent,omitempty"`
	Offset   int           `json:"offset,omitempty"`
	Border   int           `json:"border,omitempty"` // 0, 1
	Elements []RichSection `json:"elements"`
}

// Preformatted is text in a box, in a font of equal widths, with its line breaks kept. It holds Run and Link only.
type Preformatted struct {
	Type     preformattedType `json:"type"`
	Border   int              `json:"border,omitempty"` // 0, 1
	Elements Inlines          `json:"elements"`
}

// Quote is text with a bar beside it.
type Quote struct {
	Type     quoteType `json:"type"`
	Border   int       `json:"border,omitempty"` // 0, 1
	Elements Inlines   `json:"elements"`
}

// Inline is a piece of a paragraph: Run, Link, User or Emoji.
type Inline interface{ isInline() }

// Inlines is a list that knows how to read itself back.
type Inlines []Inline

// Run is text in one style.
type Run struct {
	Type  runType `json:"type"`
	Text  string  `json:"text"`
	Style *Style  `json:"style,omitempty"`
}

// Link shows Text, or the URL itself.
type Link struct {
	Type  linkType `json:"type"`
	URL   string   `json:"url"`
	Text  string   `json:"text,omitempty"`
	Style *Style   `json:"style,omitempty"`
}

// User shows a person's name. In a new message it notifies them; in an edit it does not.
type User struct {
	Type   userType `json:"type"`
	UserID string   `json:"user_id"`
	Style  *Style   `json:"style,omitempty"`
}

// Emoji is one by its name, without colons.
type Emoji struct {
	Type emojiType `json:"type"`
	Name string    `json:"name"`
}

// Style of a Run, Link or User.
type Style struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strike,omitempty"`
	Code   bool `json:"code,omitempty"`
}

func (RichSection) isRichElement()  {}
func (RichList) isRichElement()     {}
func (Preformatted) isRichElement() {}
func (Quote) isRichElement()        {}

func (Run) isInline()   {}
func (Link) isInline()  {}
func (User) isInline()  {}
func (Emoji) isInline() {}
