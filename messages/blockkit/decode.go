package blockkit

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// reader reads one JSON object into a value of one concrete type.
type reader[T any] func(json.RawMessage) (T, error)

// into makes a reader for the concrete type C.
func into[C any, T any]() reader[T] {
	return func(raw json.RawMessage) (T, error) {
		var c C
		err := strictly(raw, &c)
		v, _ := any(c).(T)
		return v, err
	}
}

// strictly reads JSON and refuses fields that the type does not have: what is dropped in silence is not there when the
// message is sent.
func strictly(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

var blockReaders = map[string]reader[Block]{
	"section": into[Section, Block](), "header": into[Header, Block](), "divider": into[Divider, Block](), "context": into[Context, Block](),
	"actions": into[Actions, Block](), "input": into[Input, Block](), "image": into[Image, Block](), "rich_text": into[RichText, Block](),
	"table": into[Table, Block](), "data_table": into[DataTable, Block](),
}

var elementReaders = map[string]reader[Element]{
	"button": into[Button, Element](), "static_select": into[StaticSelect, Element](), "radio_buttons": into[RadioButtons, Element](),
	"checkboxes": into[Checkboxes, Element](), "plain_text_input": into[PlainTextInput, Element](),
	"url_text_input": into[URLTextInput, Element](), "file_input": into[FileInput, Element](),
}

var richReaders = map[string]reader[RichElement]{
	"rich_text_section": into[RichSection, RichElement](), "rich_text_list": into[RichList, RichElement](),
	"rich_text_preformatted": into[Preformatted, RichElement](), "rich_text_quote": into[Quote, RichElement](),
}

var inlineReaders = map[string]reader[Inline]{
	"text": into[Run, Inline](), "link": into[Link, Inline](), "user": into[User, Inline](), "emoji": into[Emoji, Inline](),
}

var cellReaders = map[string]reader[Cell]{
	"raw_text": into[RawText, Cell](), "raw_number": into[RawNumber, Cell](), "rich_text": into[RichText, Cell](),
}

func readOne[T any](readers map[string]reader[T], what string, raw json.RawMessage) (T, error) {
	var probe struct {
		Type string `json:"type"`
	}
	var none T
	if err := json.Unmarshal(raw, &probe); err != nil {
		return none, fmt.Errorf("read a %s: %w", what, err)
	}
	read, ok := readers[probe.Type]
	if !ok {
		return none, fmt.Errorf("read a %s: unknown type %q", what, probe.Type)
	}
	v, err := read(raw)
	if err != nil {
		return none, fmt.Errorf("read a %s of type %s: %w", what, probe.Type, err)
	}
	return v, nil
}

func readAll[T any](readers map[string]reader[T], what string, data []byte) ([]T, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("read a list of %ss: %w", what, err)
	}
	out := make([]T, 0, len(raws))
	for _, raw := range raws {
		v, err := readOne(readers, what, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// UnmarshalJSON reads blocks of the types of this package; another type is an error.
func (b *Blocks) UnmarshalJSON(data []byte) (err error) {
	*b, err = readAll(blockReaders, "block", data)
	return err
}

// UnmarshalJSON reads elements of the types of this package.
func (e *Elements) UnmarshalJSON(data []byte) (err error) {
	*e, err = readAll(elementReaders, "element", data)
	return err
}

// UnmarshalJSON reads the parts of a rich text.
func (e *RichElements) UnmarshalJSON(data []byte) (err error) {
	*e, err = readAll(richReaders, "part of a rich text", data)
	return err
}

// UnmarshalJSON reads the pieces of a paragraph.
func (i *Inlines) UnmarshalJSON(data []byte) (err error) {
	*i, err = readAll(inlineReaders, "piece of a paragraph", data)
	return err
}

// UnmarshalJSON reads a row of cells.
func (r *Row) UnmarshalJSON(data []byte) (err error) {
	*r, err = readAll(cellReaders, "cell", data)
	return err
}

// UnmarshalJSON reads an input with its element.
func (i *Input) UnmarshalJSON(data []byte) error {
	type plain Input // without this method
	raw := struct {
		*plain
		Element json.RawMessage `json:"element"`
	}{plain: (*plain)(i)}
	if err := strictly(data, &raw); err != nil {
		return err
	}
	var err error
	i.Element, err = readOne(elementReaders, "element", raw.Element)
	return err
}
