package blockkit

import "fmt"

// The types of this file are the "type" fields. They have no value that could be wrong: each marshals to its one name,
// and reading any other name into it is an error.
type (
	modalType          struct{}
	sectionType        struct{}
	headerType         struct{}
	dividerType        struct{}
	contextType        struct{}
	actionsType        struct{}
	inputType          struct{}
	imageType          struct{}
	richTextType       struct{}
	tableType          struct{}
	dataTableType      struct{}
	buttonType         struct{}
	staticSelectType   struct{}
	radioButtonsType   struct{}
	checkboxesType     struct{}
	plainTextInputType struct{}
	urlTextInputType   struct{}
	fileInputType      struct{}
	richSectionType    struct{}
	richListType       struct{}
	preformattedType   struct{}
	quoteType          struct{}
	runType            struct{}
	linkType           struct{}
	userType           struct{}
	emojiType          struct{}
	rawTextType        struct{}
	rawNumberType      struct{}
)

func only(name string, got []byte) error {
	if string(got) != name {
		return fmt.Errorf("read a block of type %s: its type is %q", name, got)
	}
	return nil
}

func (modalType) MarshalText() ([]byte, error)          { return []byte("modal"), nil }
func (sectionType) MarshalText() ([]byte, error)        { return []byte("section"), nil }
func (headerType) MarshalText() ([]byte, error)         { return []byte("header"), nil }
func (dividerType) MarshalText() ([]byte, error)        { return []byte("divider"), nil }
func (contextType) MarshalText() ([]byte, error)        { return []byte("context"), nil }
func (actionsType) MarshalText() ([]byte, error)        { return []byte("actions"), nil }
func (inputType) MarshalText() ([]byte, error)          { return []byte("input"), nil }
func (imageType) MarshalText() ([]byte, error)          { return []byte("image"), nil }
func (richTextType) MarshalText() ([]byte, error)       { return []byte("rich_text"), nil }
func (tableType) MarshalText() ([]byte, error)          { return []byte("table"), nil }
func (dataTableType) MarshalText() ([]byte, error)      { return []byte("data_table"), nil }
func (buttonType) MarshalText() ([]byte, error)         { return []byte("button"), nil }
func (staticSelectType) MarshalText() ([]byte, error)   { return []byte("static_select"), nil }
func (radioButtonsType) MarshalText() ([]byte, error)   { return []byte("radio_buttons"), nil }
func (checkboxesType) MarshalText() ([]byte, error)     { return []byte("checkboxes"), nil }
func (plainTextInputType) MarshalText() ([]byte, error) { return []byte("plain_text_input"), nil }
func (urlTextInputType) MarshalText() ([]byte, error)   { return []byte("url_text_input"), nil }
func (fileInputType) MarshalText() ([]byte, error)      { return []byte("file_input"), nil }
func (richSectionType) MarshalText() ([]byte, error)    { return []byte("rich_text_section"), nil }
func (richListType) MarshalText() ([]byte, error)       { return []byte("rich_text_list"), nil }
func (preformattedType) MarshalText() ([]byte, error)   { return []byte("rich_text_preformatted"), nil }
func (quoteType) MarshalText() ([]byte, error)          { return []byte("rich_text_quote"), nil }
func (runType) MarshalText() ([]byte, error)            { return []byte("text"), nil }
func (linkType) MarshalText() ([]byte, error)           { return []byte("link"), nil }
func (userType) MarshalText() ([]byte, error)           { return []byte("user"), nil }
func (emojiType) MarshalText() ([]byte, error)          { return []byte("emoji"), nil }
func (rawTextType) MarshalText() ([]byte, error)        { return []byte("raw_text"), nil }
func (rawNumberType) MarshalText() ([]byte, error)      { return []byte("raw_number"), nil }

func (*modalType) UnmarshalText(b []byte) error          { return only("modal", b) }
func (*sectionType) UnmarshalText(b []byte) error        { return only("section", b) }
func (*headerType) UnmarshalText(b []byte) error         { return only("header", b) }
func (*dividerType) UnmarshalText(b []byte) error        { return only("divider", b) }
func (*contextType) UnmarshalText(b []byte) error        { return only("context", b) }
func (*actionsType) UnmarshalText(b []byte) error        { return only("actions", b) }
func (*inputType) UnmarshalText(b []byte) error          { return only("input", b) }
func (*imageType) UnmarshalText(b []byte) error          { return only("image", b) }
func (*richTextType) UnmarshalText(b []byte) error       { return only("rich_text", b) }
func (*tableType) UnmarshalText(b []byte) error          { return only("table", b) }
func (*dataTableType) UnmarshalText(b []byte) error      { return only("data_table", b) }
func (*buttonType) UnmarshalText(b []byte) error         { return only("button", b) }
func (*staticSelectType) UnmarshalText(b []byte) error   { return only("static_select", b) }
func (*radioButtonsType) UnmarshalText(b []byte) error   { return only("radio_buttons", b) }
func (*checkboxesType) UnmarshalText(b []byte) error     { return only("checkboxes", b) }
func (*plainTextInputType) UnmarshalText(b []byte) error { return only("plain_text_input", b) }
func (*urlTextInputType) UnmarshalText(b []byte) error   { return only("url_text_input", b) }
func (*fileInputType) UnmarshalText(b []byte) error      { return only("file_input", b) }
func (*richSectionType) UnmarshalText(b []byte) error    { return only("rich_text_section", b) }
func (*richListType) UnmarshalText(b []byte) error       { return only("rich_text_list", b) }
func (*preformattedType) UnmarshalText(b []byte) error   { return only("rich_text_preformatted", b) }
func (*quoteType) UnmarshalText(b []byte) error          { return only("rich_text_quote", b) }
func (*runType) UnmarshalText(b []byte) error            { return only("text", b) }
func (*linkType) UnmarshalText(b []byte) error           { return only("link", b) }
func (*userType) UnmarshalText(b []byte) error           { return only("user", b) }
func (*emojiType) UnmarshalText(b []byte) error          { return only("emoji", b) }
func (*rawTextType) UnmarshalText(b []byte) error        { return only("raw_text", b) }
func (*rawNumberType) UnmarshalText(b []byte) error      { return only("raw_number", b) }
