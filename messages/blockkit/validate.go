package blockkit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Problem is one reason why Slack would refuse a message or a modal, or why the bot should not send it.
type Problem struct {
	Pointer string // JSON pointer to what is wrong: "/blocks/1/text/text"
	Text    string // in Slack's words where they are known: "must be less than 3001 characters"
	// Code is the error that Slack answers with where it is not the general one (invalid_blocks): no_text,
	// msg_blocks_too_long, message_truncated (a warning of Slack's; a problem for us), invalid_json.
	Code string
}

// String writes the problem as Slack does in response_metadata.messages.
func (p Problem) String() string {
	return fmt.Sprintf("[ERROR] %s [json-pointer:%s]", p.Text, p.Pointer)
}

// ValidateMessage returns why Slack would refuse the arguments of a chat.postMessage; nil where it would not. It is
// stricter than Slack where Slack's own statements differ.
func ValidateMessage(raw json.RawMessage) []Problem { return examine(raw, false).problems }

// ValidateView returns why Slack would refuse a modal or a home tab; nil where it would not.
func ValidateView(raw json.RawMessage) []Problem { return examine(raw, true).problems }

// OverBudget returns where a message that Slack may well accept is larger than the bot's own bounds, lacks the text that
// notifications show, or could call a whole channel.
func OverBudget(raw json.RawMessage) []Problem { return examine(raw, false).budget }

// mostProblems bounds what is reported of one message.
const mostProblems = 50

// checker walks one message or view.
type checker struct {
	schema   schema
	view     bool
	problems []Problem
	budget   []Problem

	shown, tables, tableCount int
	inTable                   bool
	actions                   map[string]bool // action_ids of the block at hand
}

func (c *checker) problem(at, format string, args ...any) { c.coded("", at, format, args...) }

func (c *checker) coded(code, at, format string, args ...any) {
	if len(c.problems) < mostProblems {
		c.problems = append(c.problems, Problem{at, fmt.Sprintf(format, args...), code})
	}
}

func (c *checker) overBudget(at, format string, args ...any) {
	if len(c.budget) < mostProblems {
		c.budget = append(c.budget, Problem{Pointer: at, Text: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) object(at string, v any) (map[string]any, bool) {
	o, ok := v.(map[string]any)
	if !ok {
		c.problem(at, "must provide an object")
	}
	return o, ok
}

func (c *checker) typeOf(at string, o map[string]any, kinds ...string) string {
	kind, _ := o["type"].(string)
	switch {
	case o["type"] == nil:
		c.problem(at, "missing required field: type")
	case !slices.Contains(kinds, kind):
		c.problem(at+"/type", "unsupported type: %v", o["type"])
		return ""
	}
	return kind
}

// fields holds an object to what it may and must have.
func (c *checker) fields(at string, o map[string]any, want object) {
	for _, name := range sortedKeys(want.fields) {
		f := want.fields[name]
		v, there := o[name]
		switch {
		case there:
			f.check(c, at+"/"+name, v)
		case f.required:
			c.problem(at, "missing required field: %s", name)
		}
	}
	for _, name := range sortedKeys(o) {
		if _, known := want.fields[name]; !known && name != "type" {
			c.problem(at, "invalid additional property: %s", name)
		}
	}
	for _, also := range want.also {
		also(c, at, o)
	}
}

// action holds action_ids to being unique within their block.
func (c *checker) action(at string, o map[string]any) {
	id, ok := o["action_id"].(string)
	if !ok || id == "" {
		return
	}
	if c.actions[id] {
		c.problem(at+"/action_id", "`action_id` `%s` already exists in this block", id)
	}
	c.actions[id] = true
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

var theSchema = sync.OnceValue(newSchema)

func examine(raw json.RawMessage, view bool) *checker {
	c := &checker{schema: theSchema(), view: view}
	v, err := parse(raw)
	if err != nil {
		c.coded("invalid_json", "", "not JSON: %v", err)
		return c
	}
	o, ok := c.object("", v)
	if !ok {
		return c
	}
	if view {
		c.checkView(o)
	} else {
		c.checkMessage(o)
	}
	return c
}

func (c *checker) checkMessage(o map[string]any) {
	want := object{fields: fields{"text": may(c.messageText), "blocks": may(c.blocks("message.blocks")), "metadata": may(metadata)}}
	for _, name := range messageArguments {
		want.fields[name] = may(func(*checker, string, any) {})
	}
	c.fields("", o, want)
	text, _ := o["text"].(string)
	blocks, _ := o["blocks"].([]any)
	switch {
	case text == "" && len(blocks) == 0:
		c.coded("no_text", "", "neither text nor blocks")
	case text == "":
		c.overBudget("/text", "no text for notifications and screen readers")
	}
	if l := bound("message.characters"); c.shown > l.max {
		c.coded("msg_blocks_too_long", "/blocks", "%d characters in all blocks, more than %d", c.shown, l.max)
	} else if c.shown > l.budget {
		c.overBudget("/blocks", "%d characters in all blocks, and the budget is %d", c.shown, l.budget)
	}
	if l := bound("message.table characters"); c.tables > l.max {
		c.problem("/blocks", "%d characters in all cells of tables, more than %d", c.tables, l.max)
	}
	if l := bound("message.tables"); c.tableCount > l.max {
		c.problem("/blocks", "no more than %d table allowed", l.max)
	}
}

func (c *checker) messageText(_ *checker, at string, v any) {
	before := c.shown
	shown("message.text")(c, at, v)
	c.shown = before // the budget of the blocks is for the blocks
	s, _ := v.(string)
	for i := range c.problems {
		if p := &c.problems[i]; p.Pointer == at && p.Code == "" && s != "" {
			p.Code = "message_truncated"
		}
	}
	if strings.Contains(s, "<!") {
		c.overBudget(at, "calls a whole channel")
	}
}

func (c *checker) blocks(limit string) check {
	return func(_ *checker, at string, v any) {
		l, ok := v.([]any)
		if !ok {
			c.problem(at, "must provide an array")
			return
		}
		c.items(at, len(l), limit)
		ids := map[string]bool{}
		one := family("block")
		for i, b := range l {
			here := at + "/" + strconv.Itoa(i)
			c.actions = map[string]bool{}
			one(c, here, b)
			m, _ := b.(map[string]any)
			if id, _ := m["block_id"].(string); id != "" {
				if ids[id] {
					c.problem(here+"/block_id", "`block_id` `%s` already exists", id)
				}
				ids[id] = true
			}
		}
	}
}

func metadata(c *checker, at string, v any) {
	o, ok := c.object(at, v)
	if !ok {
		return
	}
	c.fields(at, o, object{fields: fields{"event_type": must(hidden("event_type")), "event_payload": must(func(c *checker, at string, v any) {
		payload, ok := c.object(at, v)
		if !ok {
			return
		}
		for _, k := range sortedKeys(payload) {
			scalarOr(c, at+"/"+pointer(k), payload[k], true)
		}
	})}})
}

// scalarOr: values of metadata are scalars, objects of scalars, or lists of either.
func scalarOr(c *checker, at string, v any, object bool) {
	switch v := v.(type) {
	case map[string]any:
		if !object {
			c.problem(at, "must not hold objects within objects")
			return
		}
		for _, k := range sortedKeys(v) {
			scalarOr(c, at+"/"+pointer(k), v[k], false)
		}
	case []any:
		for i, x := range v {
			scalarOr(c, at+"/"+strconv.Itoa(i), x, object)
		}
	}
}

func (c *checker) checkView(o map[string]any) {
	want := fields{
		"callback_id": may(hidden("view.callback_id")), "external_id": may(hidden("view.external_id")),
		"private_metadata": may(hidden("view.private_metadata")), "blocks": must(c.blocks("view.blocks")),
	}
	if c.typeOf("", o, "modal", "home") == "home" { // nothing to submit, nothing to close
		c.fields("", o, object{fields: want})
		return
	}
	want["title"], want["submit"], want["close"] = must(plain("view.title")), may(plain("view.button")), may(plain("view.button"))
	want["notify_on_close"], want["clear_on_close"] = may(boolean), may(boolean)
	c.fields("", o, object{fields: want})
	blocks, _ := o["blocks"].([]any)
	for i, b := range blocks {
		if m, ok := b.(map[string]any); ok && m["type"] == "input" && o["submit"] == nil {
			c.problem("/submit", "missing required field: submit (block %d is an input)", i)
			break
		}
	}
}
