package blockkit

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestEverythingWeSendIsValid(t *testing.T) {
	m, v := everything()
	for _, p := range append(ValidateMessage(encode(t, m)), OverBudget(encode(t, m))...) {
		t.Error("message:", p)
	}
	for _, p := range ValidateView(encode(t, v)) {
		t.Error("view:", p)
	}
}

// o and l write JSON by hand: the typed structs are not to be tested with themselves.
type (
	o = map[string]any
	l = []any
)

func plainOf(n int) o { return o{"type": "plain_text", "text": runes(n)} }

// runes are n characters of three bytes each.
func runes(n int) string { return strings.Repeat("語", n) }

func many(n int, of func(i int) any) l {
	out := l{}
	for i := range n {
		out = append(out, of(i))
	}
	return out
}

func message(blocks ...any) any { return o{"text": "x", "blocks": blocks} }
func rich(elements ...any) any  { return message(o{"type": "rich_text", "elements": elements}) }
func paragraph(inline ...any) o { return o{"type": "rich_text_section", "elements": inline} }
func word(n int) o              { return o{"type": "text", "text": runes(n)} }
func actions(elements ...any) any {
	return message(o{"type": "actions", "elements": elements})
}
func button(extra o) o {
	out := o{"type": "button", "text": plainOf(1), "action_id": "a"}
	for k, v := range extra {
		out[k] = v
	}
	return out
}
func options(n, text, value int) l {
	return many(n, func(i int) any {
		return o{"text": plainOf(text), "value": fmt.Sprintf("%0*d", value, i)}
	})
}
func menu(opts l) o { return o{"type": "static_select", "action_id": "s", "options": opts} }
func view(extra o) any {
	out := o{"type": "modal", "title": plainOf(1), "submit": plainOf(1), "blocks": l{o{"type": "divider"}}}
	for k, v := range extra {
		out[k] = v
	}
	return out
}
func field1(element o, extra o) any {
	in := o{"type": "input", "label": plainOf(1), "element": element}
	for k, v := range extra {
		in[k] = v
	}
	return view(o{"blocks": l{in}})
}
func table(kind string, rows, columns, chars int) o {
	out := o{"type": kind, "rows": many(rows, func(int) any {
		return many(columns, func(int) any { return o{"type": "raw_text", "text": runes(chars)} })
	})}
	if kind == "data_table" {
		out["caption"] = "c"
	}
	return out
}
func line(extra o) o {
	out := o{"type": "plain_text_input", "action_id": "v"}
	for k, v := range extra {
		out[k] = v
	}
	return out
}

// builders make, for each limit, a message or view that has exactly n of it.
var builders = map[string]func(n int) any{
	"message.text":   func(n int) any { return o{"text": runes(n), "blocks": l{o{"type": "divider"}}} },
	"message.blocks": func(n int) any { return message(many(n, func(int) any { return o{"type": "divider"} })...) },
	"message.characters": func(n int) any {
		return message(many((n+2999)/3000, func(i int) any { return o{"type": "section", "text": plainOf(min(3000, n-i*3000))} })...)
	},
	"message.tables": func(n int) any { return message(many(n, func(int) any { return table("table", 1, 1, 1) })...) },
	"message.table characters": func(n int) any {
		t := table("table", 2, 1, n/2)
		t["rows"] = append(t["rows"].(l), l{o{"type": "raw_text", "text": runes(n - 2*(n/2) + 1)}})
		t["rows"].(l)[0].(l)[0].(o)["text"] = runes(n/2 - 1)
		return message(t)
	},
	"view.blocks":           func(n int) any { return view(o{"blocks": many(n, func(int) any { return o{"type": "divider"} })}) },
	"view.title":            func(n int) any { return view(o{"title": plainOf(n)}) },
	"view.button":           func(n int) any { return view(o{"submit": plainOf(n)}) },
	"view.callback_id":      func(n int) any { return view(o{"callback_id": runes(n)}) },
	"view.external_id":      func(n int) any { return view(o{"external_id": runes(n)}) },
	"view.private_metadata": func(n int) any { return view(o{"private_metadata": runes(n)}) },
	"event_type": func(n int) any {
		return o{"text": "x", "metadata": o{"event_type": runes(n), "event_payload": o{}}}
	},
	"block_id":     func(n int) any { return message(o{"type": "divider", "block_id": runes(n)}) },
	"action_id":    func(n int) any { return actions(button(o{"action_id": runes(n)})) },
	"url":          func(n int) any { return actions(button(o{"url": fill("https://", n)})) },
	"section.text": func(n int) any { return message(o{"type": "section", "text": plainOf(n)}) },
	"section.fields": func(n int) any {
		return message(o{"type": "section", "fields": many(n, func(int) any { return plainOf(1) })})
	},
	"section.field": func(n int) any { return message(o{"type": "section", "fields": l{plainOf(n)}}) },
	"header.text":   func(n int) any { return message(o{"type": "header", "text": plainOf(n)}) },
	"header.level":  func(n int) any { return message(o{"type": "header", "text": plainOf(1), "level": n}) },
	"context.elements": func(n int) any {
		return message(o{"type": "context", "elements": many(n, func(int) any { return plainOf(1) })})
	},
	"context.text": func(n int) any { return message(o{"type": "context", "elements": l{plainOf(n)}}) },
	"actions.elements": func(n int) any {
		return actions(many(n, func(i int) any { return button(o{"action_id": fmt.Sprint(i)}) })...)
	},
	"image.alt_text": func(n int) any {
		return message(o{"type": "image", "slack_file": o{"id": "F1"}, "alt_text": runes(n)})
	},
	"image.title": func(n int) any {
		return message(o{"type": "image", "slack_file": o{"id": "F1"}, "alt_text": "x", "title": plainOf(n)})
	},
	"input.label":   func(n int) any { return field1(line(nil), o{"label": plainOf(n)}) },
	"input.hint":    func(n int) any { return field1(line(nil), o{"hint": plainOf(n)}) },
	"markdown.text": func(n int) any { return message(o{"type": "markdown", "text": runes(n)}) },
	"table.rows":    func(n int) any { return message(table("table", n, 1, 1)) },
	"table.columns": func(n int) any { return message(table("table", 1, n, 1)) },
	"table.column_settings": func(n int) any {
		t := table("table", 1, 20, 1)
		t["column_settings"] = many(n, func(int) any { return o{"align": "left"} })
		return message(t)
	},
	"data_table.rows":    func(n int) any { return message(table("data_table", n, 1, 1)) },
	"data_table.columns": func(n int) any { return message(table("data_table", 2, n, 1)) },
	"data_table.page_size": func(n int) any {
		t := table("data_table", 2, 1, 1)
		t["page_size"] = n
		return message(t)
	},
	"data_table.caption": func(n int) any {
		t := table("data_table", 2, 1, 1)
		t["caption"] = runes(n)
		return message(t)
	},
	"data_table.row_header_column_index": func(n int) any {
		t := table("data_table", 2, 20, 1)
		t["row_header_column_index"] = n
		return message(t)
	},
	"cell.text": func(n int) any {
		t := table("table", 1, 1, 1)
		t["rows"].(l)[0].(l)[0].(o)["text"] = runes(n)
		return message(t)
	},
	"rich_text.elements": func(n int) any { return rich(many(n, func(int) any { return paragraph(word(1)) })...) },
	"rich_text.part":     func(n int) any { return rich(paragraph(many(n, func(int) any { return word(1) })...)) },
	"rich_text.text":     func(n int) any { return rich(paragraph(word(n))) },
	"rich_text.indent":   func(n int) any { return rich(listOf(o{"indent": n})) },
	"rich_text.offset":   func(n int) any { return rich(listOf(o{"offset": n})) },
	"rich_text.border":   func(n int) any { return rich(listOf(o{"border": n})) },
	"rich_text.user_id": func(n int) any {
		return rich(paragraph(o{"type": "user", "user_id": "U" + strings.Repeat("1", max(0, n-1))}))
	},
	"rich_text.emoji":            func(n int) any { return rich(paragraph(o{"type": "emoji", "name": runes(n)})) },
	"button.text":                func(n int) any { return actions(button(o{"text": plainOf(n)})) },
	"button.value":               func(n int) any { return actions(button(o{"value": runes(n)})) },
	"button.accessibility_label": func(n int) any { return actions(button(o{"accessibility_label": runes(n)})) },
	"confirm.title":              func(n int) any { return sure(o{"title": plainOf(n)}) },
	"confirm.text":               func(n int) any { return sure(o{"text": plainOf(n)}) },
	"confirm.button":             func(n int) any { return sure(o{"deny": plainOf(n)}) },
	"select.options":             func(n int) any { return actions(menu(options(n, 1, 3))) },
	"select.option_groups": func(n int) any {
		return actions(o{"type": "static_select", "option_groups": many(n, func(i int) any {
			return o{"label": plainOf(1), "options": l{o{"text": plainOf(1), "value": fmt.Sprint(i)}}}
		})})
	},
	"choice.options":   func(n int) any { return actions(o{"type": "radio_buttons", "options": options(n, 1, 3)}) },
	"overflow.options": func(n int) any { return actions(o{"type": "overflow", "options": options(n, 1, 3)}) },
	"option.text":      func(n int) any { return actions(menu(options(1, n, 3))) },
	"option.value":     func(n int) any { return actions(menu(l{o{"text": plainOf(1), "value": runes(n)}})) },
	"option.description": func(n int) any {
		return actions(menu(l{o{"text": plainOf(1), "value": "v", "description": plainOf(n)}}))
	},
	"placeholder":                 func(n int) any { return field1(line(o{"placeholder": plainOf(n)}), nil) },
	"plain_text_input.length":     func(n int) any { return field1(line(o{"min_length": n}), nil) },
	"plain_text_input.max_length": func(n int) any { return field1(line(o{"max_length": n}), nil) },
	"initial_value":               func(n int) any { return field1(line(o{"initial_value": runes(n)}), nil) },
	"file_input.max_files":        func(n int) any { return field1(o{"type": "file_input", "max_files": n}, nil) },
	"file_input.filetypes": func(n int) any {
		return field1(o{"type": "file_input", "filetypes": many(n, func(int) any { return "zip" })}, nil)
	},
}

func fill(start string, n int) string { return start + strings.Repeat("a", max(0, n-len(start))) }

func listOf(extra o) o {
	out := o{"type": "rich_text_list", "style": "bullet", "elements": l{paragraph(word(1))}}
	for k, v := range extra {
		out[k] = v
	}
	return out
}

func sure(extra o) any {
	c := o{"title": plainOf(1), "text": plainOf(1), "confirm": plainOf(1), "deny": plainOf(1)}
	for k, v := range extra {
		c[k] = v
	}
	return actions(button(o{"confirm": c}))
}

// At its limits everything passes, one beyond them nothing does: for each number of the table, both ends.
func TestEveryLimitHoldsAtItsEdges(t *testing.T) {
	for _, lim := range limits {
		build := builders[lim.name]
		if build == nil {
			t.Errorf("no test for the limit %s", lim.name)
			continue
		}
		examine := func(n int) []Problem {
			v := build(n)
			if v.(o)["type"] == "modal" {
				return ValidateView(encode(t, v))
			}
			return ValidateMessage(encode(t, v))
		}
		for _, n := range []int{lim.min, lim.max} {
			if lim.name == "message.characters" && n == 0 || lim.name == "message.table characters" && n == 0 || lim.name == "url" && n < 10 {
				continue // nothing to build it from
			}
			if ps := examine(n); len(ps) > 0 {
				t.Errorf("%s = %d is refused: %v", lim.name, n, ps)
			}
		}
		beyond := []int{lim.max + 1}
		if lim.min > 0 || lim.unit == "value" {
			beyond = append(beyond, lim.min-1)
		}
		for _, n := range beyond {
			if n < 0 && lim.unit != "value" {
				continue
			}
			if ps := examine(n); len(ps) == 0 {
				t.Errorf("%s = %d is not refused", lim.name, n)
			}
		}
		if lim.budget > 0 {
			if ps := OverBudget(encode(t, build(lim.budget))); len(ps) > 0 {
				t.Errorf("%s = %d is over the budget: %v", lim.name, lim.budget, ps)
			}
			if ps := OverBudget(encode(t, build(lim.budget+1))); len(ps) == 0 {
				t.Errorf("%s = %d is within the budget", lim.name, lim.budget+1)
			}
		}
	}
}

// Each limit is used by the code: a number that nobody looks at protects nobody.
func TestEveryLimitIsUsed(t *testing.T) {
	var code strings.Builder
	for _, f := range []string{"schema.go", "checks.go", "validate.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(b)
	}
	text := code.String()
	for _, lim := range limits {
		name := regexp.QuoteMeta(lim.name)
		if table, part, ok := strings.Cut(lim.name, "."); ok && (part == "rows" || part == "columns") {
			name = lim.name + `|rows\("` + table
		}
		if !regexp.MustCompile(`"(` + name + `)"|` + name).MatchString(text) {
			t.Errorf("nothing looks at %s", lim.name)
		}
		if lim.source == "" || lim.min > lim.max || lim.budget > lim.max {
			t.Errorf("%+v makes no sense", lim)
		}
	}
}

func TestProblemsAreNamedAsSlackNamesThem(t *testing.T) {
	f := func(raw, pointer, text, code string) {
		t.Helper()
		for _, p := range ValidateMessage(json.RawMessage(raw)) {
			if p.Pointer == pointer && strings.Contains(p.Text, text) && p.Code == code {
				return
			}
		}
		t.Errorf("%s: want %q at %q (%s), got %v", raw, text, pointer, code, ValidateMessage(json.RawMessage(raw)))
	}
	block := func(b string) string { return `{"text":"x","blocks":[` + b + `]}` }
	f(`{`, "", "not JSON", "invalid_json")
	f(`{"text":"x"} {}`, "", "something follows", "invalid_json")
	f(`{"text":"x","text":"y"}`, "", "stands twice", "invalid_json")
	f(strings.Repeat("[", 100000), "", "levels", "invalid_json")
	f(`[]`, "", "must provide an object", "")
	f(`{}`, "", "neither text nor blocks", "no_text")
	f(`{"text":"","blocks":[]}`, "", "neither text nor blocks", "no_text")
	f(`{"text":7}`, "/text", "must provide a string", "")
	f(`{"text":"`+runes(40001)+`"}`, "/text", "must be less than 40001 characters", "message_truncated")
	f(`{"text":"x","colour":"red"}`, "", "invalid additional property: colour", "")
	f(block(`{"type":"section","text":{"type":"mrkdwn","text":"`+runes(3001)+`"}}`), "/blocks/0/text/text", "must be less than 3001 characters", "")
	f(block(`{"type":"section","text":{"type":"mrkdwn","text":""}}`), "/blocks/0/text/text", "must be more than 0 characters", "")
	f(block(`{"type":"section"}`), "/blocks/0", "missing required field: text or fields", "")
	f(block(`{"type":"section","text":{"type":"mrkdwn","text":"x","emoji":true}}`), "/blocks/0/text", "invalid additional property: emoji", "")
	f(block(`{"type":"section","text":{"type":"plain_text","text":"x","verbatim":true}}`), "/blocks/0/text", "invalid additional property: verbatim", "")
	f(block(`{"type":"section","text":{"text":"x"}}`), "/blocks/0/text", "missing required field: type", "")
	f(block(`{"type":"section","text":{"type":"plain_text","text":"x"},"accessory":{"type":"plain_text_input"}}`), "/blocks/0/accessory/type", "unsupported type", "")
	f(block(`{"type":"header","text":{"type":"mrkdwn","text":"x"}}`), "/blocks/0/text/type", "unsupported type: mrkdwn", "")
	f(block(`{"type":"fancy"}`), "/blocks/0/type", "unsupported type: fancy", "")
	f(block(`{"kind":"divider"}`), "/blocks/0", "missing required field: type", "")
	f(block(`"divider"`), "/blocks/0", "must provide an object", "")
	f(block(`{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}`), "/blocks/1/block_id", "already exists", "")
	f(block(`{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"x"},"action_id":"a"},{"type":"button","text":{"type":"plain_text","text":"y"},"action_id":"a"}]}`),
		"/blocks/0/elements/1/action_id", "already exists", "")
	f(block(`{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"x"},"style":"green"}]}`), "/blocks/0/elements/0/style", "value must be one of", "")
	f(block(`{"type":"actions","elements":[{"type":"file_input"}]}`), "/blocks/0/elements/0/type", "unsupported type: file_input", "")
	f(block(`{"type":"image","alt_text":"x"}`), "/blocks/0", "exactly one of", "")
	f(block(`{"type":"image","alt_text":"x","slack_file":{"id":"F","url":"https://x.org"}}`), "/blocks/0/slack_file", "exactly one of", "")
	f(block(`{"type":"table","rows":[[{"type":"raw_text","text":"x"}],[]]}`), "/blocks/0/rows/1", "must have at least 1 items", "")
	f(block(`{"type":"table","rows":[[{"type":"raw_text","text":"x"}],[{"type":"raw_text","text":"x"},{"type":"raw_text","text":"x"}]]}`), "/blocks/0/rows/1", "must have as many cells", "")
	f(block(`{"type":"data_table","caption":"x","rows":[[{"type":"raw_number","value":1,"text":"x"}],[{"type":"raw_text","text":"x"}]]}`), "/blocks/0/rows/0/0/type", "header row", "")
	f(block(`{"type":"data_table","rows":[[{"type":"raw_text","text":"x"}],[{"type":"raw_text","text":"x"}]]}`), "/blocks/0", "missing required field: caption", "")
	f(block(`{"type":"data_table","caption":"x","row_header_column_index":1,"rows":[[{"type":"raw_text","text":"x"}],[{"type":"raw_text","text":"x"}]]}`), "/blocks/0/row_header_column_index", "must be less than 1", "")
	f(block(`{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"link","url":"javascript:alert(1)"}]}]}`), "/blocks/0/elements/0/elements/0/url", "valid URL", "")
	f(block(`{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"here"}]}]}`), "/blocks/0/elements/0/elements/0/user_id", "invalid user id", "")
	f(block(`{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"user","user_id":"U1"}]}]}`), "/blocks/0/elements/0/elements/0/type", "unsupported type: user", "")
	f(block(`{"type":"rich_text","elements":[{"type":"rich_text_list","style":"stars","elements":[]}]}`), "/blocks/0/elements/0/elements", "at least 1", "")
	f(`{"text":"x","metadata":{"event_type":"e","event_payload":{"a/b":{"c":{"d":1}}}}}`, "/metadata/event_payload/a~1b/c", "objects within objects", "")
	f(string(encode(t, builders["message.characters"](14000))), "/blocks", "14000 characters", "msg_blocks_too_long")
	same := `[{"text":{"type":"plain_text","text":"x"},"value":"1"},{"text":{"type":"plain_text","text":"y"},"value":"1"}]`
	f(block(`{"type":"actions","elements":[{"type":"static_select","options":`+same+`}]}`), "/blocks/0/elements/0/options/1/value", "already used", "")
	f(block(`{"type":"actions","elements":[{"type":"radio_buttons","options":[{"text":{"type":"plain_text","text":"x"},"value":"1"}],"initial_option":{"text":{"type":"plain_text","text":"x"},"value":"2"}}]}`),
		"/blocks/0/elements/0", "exactly match", "")
}

func TestProblemsOfViews(t *testing.T) {
	f := func(v any, pointer, text string) {
		t.Helper()
		for _, p := range ValidateView(encode(t, v)) {
			if p.Pointer == pointer && strings.Contains(p.Text, text) {
				return
			}
		}
		t.Errorf("want %q at %q, got %v", text, pointer, ValidateView(encode(t, v)))
	}
	f(view(o{"type": "window"}), "/type", "unsupported type: window")
	f(view(o{"type": "home"}), "", "invalid additional property: title")
	if ps := ValidateView(encode(t, o{"type": "home", "blocks": l{o{"type": "divider"}}})); len(ps) > 0 {
		t.Errorf("a home tab is refused: %v", ps)
	}
	f(view(o{"blocks": l{table("table", 1, 1, 1)}}), "/blocks/0/type", "unsupported type: table")
	f(o{"type": "modal", "title": plainOf(1), "blocks": l{o{"type": "input", "label": plainOf(1), "element": line(nil)}}}, "/submit", "missing required field")
	f(o{"type": "modal", "title": plainOf(1)}, "", "missing required field: blocks")
	f(field1(line(o{"min_length": 5, "max_length": 4}), nil), "/blocks/0/element/min_length", "greater than max_length")
	f(field1(line(o{"initial_value": "12345", "max_length": 4}), nil), "/blocks/0/element/initial_value", "longer than max_length")
	f(field1(o{"type": "button", "text": plainOf(1)}, nil), "/blocks/0/element/type", "unsupported type: button")
}

func TestBudgetSeesWhatSlackWouldAccept(t *testing.T) {
	for raw, want := range map[string]string{
		`{"blocks":[{"type":"divider"}]}`: "no text",
		`{"text":"<!channel> look"}`:      "whole channel",
		`{"text":"x","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"<!here>"}}]}`: "whole channel",
	} {
		if ps := ValidateMessage(json.RawMessage(raw)); len(ps) > 0 {
			t.Errorf("%s: %v", raw, ps)
		}
		if got := fmt.Sprint(OverBudget(json.RawMessage(raw))); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// Whatever comes in, the validator does not panic; what it accepts and our types can hold is still valid when it is
// written again.
func FuzzValidate(f *testing.F) {
	m, v := everything()
	f.Add([]byte(encode(f, m)))
	f.Add([]byte(encode(f, v)))
	for _, b := range builders {
		f.Add([]byte(encode(f, b(2))))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m Message
		if len(ValidateMessage(raw)) == 0 && json.Unmarshal(raw, &m) == nil {
			if ps := ValidateMessage(encode(t, m)); len(ps) > 0 {
				t.Errorf("%s: %v", raw, ps)
			}
		}
		var v View
		if len(ValidateView(raw)) == 0 && json.Unmarshal(raw, &v) == nil {
			if ps := ValidateView(encode(t, v)); len(ps) > 0 {
				t.Errorf("%s: %v", raw, ps)
			}
		}
		OverBudget(raw)
	})
}
