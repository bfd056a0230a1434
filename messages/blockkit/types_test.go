package blockkit

import (
	"encoding/json"
	"reflect"
	"testing"
)

// everything holds each typed block, element, inline and cell at least once.
func everything() (Message, View) {
	sure := &Confirm{Title: Plain("Sure?"), Text: Plain("It cannot be undone."), Confirm: Plain("Yes"), Deny: Plain("No"), Style: Danger}
	opts := []Option{{Text: Plain("west"), Value: "west", Description: Plain("the old one")}, {Text: Plain("east"), Value: "east"}}
	m := Message{Text: "hello", Metadata: &Metadata{EventType: "case", EventPayload: map[string]any{"key": "1-2"}}, Blocks: Blocks{
		Header{BlockID: "h", Text: Plain("Title")},
		Divider{},
		Section{BlockID: "s", Text: Mrkdwn("*bold*"), Accessory: &Button{ActionID: "x", Text: Plain("Open"), URL: "https://example.org"}, Expand: true},
		Section{Fields: []Text{*Plain("a"), *Mrkdwn("b")}},
		Context{Elements: []Text{*Plain("grey")}},
		Actions{BlockID: "a", Elements: Elements{
			Button{ActionID: "go", Text: Plain("Go"), Value: "1", Style: Primary, Confirm: sure, AccessibilityLabel: "Go on"},
			StaticSelect{ActionID: "pick", Placeholder: Plain("Cluster"), Options: opts, InitialOption: &opts[0]},
			RadioButtons{ActionID: "one", Options: opts},
			Checkboxes{ActionID: "many", Options: opts, InitialOptions: opts[:1]},
		}},
		Image{Title: Plain("map"), AltText: "128 ranks", SlackFile: &SlackFile{ID: "F1"}},
		RichText{BlockID: "r", Elements: RichElements{
			RichSection{Elements: Inlines{Run{Text: "a", Style: &Style{Bold: true}}, Link{URL: "https://example.org", Text: "b"}, User{UserID: "U1"}, Emoji{Name: "x"}}},
			RichList{Style: Ordered, Indent: 1, Offset: 2, Border: 1, Elements: []RichSection{{Elements: Inlines{Run{Text: "one"}}}}},
			Preformatted{Border: 1, Elements: Inlines{Run{Text: "line <!channel>"}, Link{URL: "https://example.org"}}},
			Quote{Elements: Inlines{Run{Text: "was"}}},
		}},
		DataTable{BlockID: "t", Caption: "Timeline", PageSize: 20, RowHeaderColumnIndex: 1, Rows: []Row{
			{RawText{Text: "time"}, RawText{Text: "n"}, RawText{Text: "what"}},
			{RawText{Text: "1"}, RawNumber{Value: 2, Text: "2"}, RichText{Elements: RichElements{RichSection{Elements: Inlines{Run{Text: "x"}}}}}},
		}},
	}}
	v := View{CallbackID: "start", ExternalID: "e", Title: Plain("Diagnose"), Submit: Plain("Go"), Close: Plain("Cancel"), PrivateMetadata: "17", NotifyOnClose: true, Blocks: Blocks{
		Input{BlockID: "job", Label: Plain("Job"), Hint: Plain("a number"), Element: PlainTextInput{ActionID: "value", Placeholder: Plain("4242"), MaxLength: 100, FocusOnLoad: true}},
		Input{BlockID: "url", Label: Plain("Endpoint"), Optional: true, Element: URLTextInput{ActionID: "value"}},
		Input{BlockID: "tls", Label: Plain("TLS"), Element: RadioButtons{ActionID: "value", Options: opts, InitialOption: &opts[0]}},
		Input{BlockID: "files", Label: Plain("Files"), Element: FileInput{ActionID: "value", Filetypes: []string{"zip"}, MaxFiles: 10}},
		Input{BlockID: "ok", Label: Plain("Consent"), Element: Checkboxes{ActionID: "value", Options: opts}},
		Input{BlockID: "sel", Label: Plain("Cluster"), Element: StaticSelect{ActionID: "value", Options: opts}},
	}}
	return m, v
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	m, v := everything()
	for _, want := range []any{m, v, Message{Text: "x", Blocks: Blocks{Table{ColumnSettings: []Column{{Align: "right", IsWrapped: true}}, Rows: []Row{{RawText{Text: "a"}}}}}}} {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(want))
		if err := json.Unmarshal(raw, got.Interface()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Elem().Interface(), want) {
			again, _ := json.Marshal(got.Interface())
			t.Errorf("got\n%s\nwant\n%s", again, raw)
		}
	}
}

func TestReadingRefusesUnknownTypes(t *testing.T) {
	for _, raw := range []string{
		`{"blocks":[{"type":"carousel"}]}`, `{"blocks":[{}]}`, `{"blocks":[7]}`, `{"blocks":{}}`,
		`{"blocks":[{"type":"actions","elements":[{"type":"section"}]}]}`,
		`{"blocks":[{"type":"input","element":{"type":"datepicker"}}]}`,
		`{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"broadcast","range":"channel"}]}]}]}`,
		`{"blocks":[{"type":"table","rows":[[{"type":"text","text":"x"}]]}]}`,
	} {
		var m Message
		if err := json.Unmarshal([]byte(raw), &m); err == nil {
			t.Errorf("%s was read as %+v", raw, m)
		}
	}
}
