package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// node is one object of Block Kit, read loosely: the validator has already been strict.
type node map[string]any

func (n node) str(key string) string {
	v, _ := n[key].(string)
	return v
}

func (n node) flag(key string) bool {
	v, _ := n[key].(bool)
	return v
}

func (n node) sub(key string) node {
	v, _ := n[key].(map[string]any)
	return v
}

func (n node) list(key string) []node { return nodes(n[key]) }

// nodes returns the objects in a list.
func nodes(v any) []node {
	list, _ := v.([]any)
	var out []node
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// label returns the text of a text object, or of a plain string.
func (n node) label(key string) string {
	if s, ok := n[key].(string); ok {
		return s
	}
	return n.sub(key).str("text")
}

func parseBlocks(raw json.RawMessage) ([]node, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var list []map[string]any
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("reading blocks: %w", err)
	}
	out := make([]node, len(list))
	for i, b := range list {
		out[i] = b
	}
	return out, nil
}

// mustBlocks reads blocks that were checked when they came in.
func mustBlocks(raw json.RawMessage) []node {
	blocks, err := parseBlocks(raw)
	if err != nil {
		return nil
	}
	return blocks
}

func encodeBlocks(blocks []node) json.RawMessage { return encode(blocks) }

// encode writes JSON the way Slack does, without escaping what HTML would need.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Everything encoded here came from JSON or from types of this package.
		panic(fmt.Sprintf("encoding %T: %v", v, err))
	}
	return bytes.TrimSpace(b.Bytes())
}

func isList(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("["))
}

func isEmptyList(raw json.RawMessage) bool {
	return strings.ReplaceAll(string(raw), " ", "") == "[]"
}

// walk visits every object below v, parents first.
func walk(v any, visit func(node)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, key := range sortedKeys(v) {
			walk(v[key], visit)
		}
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case node:
		walk(map[string]any(v), visit)
	case []node:
		for _, e := range v {
			walk(map[string]any(e), visit)
		}
	}
}

// nameBlocks gives a block_id to every block without one and an action_id to every element without one.
func (s *Server) nameBlocks(blocks []node) {
	for _, b := range blocks {
		if b.str("block_id") == "" {
			b["block_id"] = strings.ToLower(s.id("b"))
		}
		for _, child := range b.list("child_blocks") {
			if child.str("block_id") == "" {
				child["block_id"] = strings.ToLower(s.id("b"))
			}
		}
		walk(b, func(n node) {
			if interactive[n.str("type")] && n.str("action_id") == "" {
				n["action_id"] = strings.ToLower(s.id("a"))
			}
		})
	}
}

// interactive are the elements that a person can use.
var interactive = map[string]bool{
	"button": true, "static_select": true, "multi_static_select": true, "users_select": true, "conversations_select": true,
	"channels_select": true, "external_select": true, "overflow": true, "radio_buttons": true, "checkboxes": true,
	"plain_text_input": true, "email_text_input": true, "url_text_input": true, "number_input": true, "rich_text_input": true,
	"datepicker": true, "timepicker": true, "datetimepicker": true, "file_input": true, "feedback_buttons": true,
	"icon_button": true,
}

// textIn counts the characters of all texts in blocks outside tables, which have a limit of their own.
func textIn(blocks []node) int {
	n := 0
	for _, b := range blocks {
		if t := b.str("type"); t == "table" || t == "data_table" {
			continue
		}
		walk(b, func(x node) { n += utf8.RuneCountInString(x.str("text")) })
	}
	return n
}

// element is an interactive element with the block that it stands in.
type element struct {
	node
	block node
	// input says that the block is an input block, whose value is only sent with the whole view.
	input bool
}

// elements lists everything in blocks that a person can use.
func elements(blocks []node) []element {
	var out []element
	for _, b := range blocks {
		if children := b.list("child_blocks"); children != nil {
			out = append(out, elements(children)...)
			continue
		}
		walk(b, func(n node) {
			if interactive[n.str("type")] {
				out = append(out, element{node: n, block: b, input: b.str("type") == "input"})
			}
		})
	}
	return out
}

// checkFilesShown refuses image blocks of files that are not there or are no pictures, as Slack does.
func (s *Server) checkFilesShown(blocks []node) []Problem {
	var out []Problem
	for i, b := range blocks {
		sf := b.sub("slack_file")
		if b.str("type") != "image" || sf == nil {
			continue
		}
		f := s.files[sf.str("id")]
		if f == nil && sf.str("url") != "" {
			for _, candidate := range s.files {
				if candidate.URLPrivate == sf.str("url") {
					f = candidate
				}
			}
		}
		if f == nil || !f.complete || !strings.HasPrefix(f.Mimetype, "image/") {
			out = append(out, Problem{Pointer: fmt.Sprintf("/blocks/%d/slack_file", i), Text: "invalid slack file"})
		}
	}
	return out
}
