package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// stateOf makes state.values of a view: what each element holds, from what the user gave (by action_id or block_id) or
// from its initial value. given may be nil.
func (v *View) stateOf(given map[string]any) map[string]any {
	out := map[string]any{}
	for _, e := range elements(mustBlocks(v.Blocks)) {
		kind := e.str("type")
		if kind == "button" || kind == "overflow" {
			continue
		}
		block, action := e.block.str("block_id"), e.str("action_id")
		value, ok := given[action]
		if !ok {
			value, ok = given[block]
		}
		if !ok {
			value = e.initial()
		}
		inner, _ := out[block].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			out[block] = inner
		}
		inner[action] = e.state(value)
	}
	return out
}

// initial is what an element holds before anybody touches it, in the form that users give values in.
func (e element) initial() any {
	switch e.str("type") {
	case "static_select", "radio_buttons":
		return e.sub("initial_option").str("value")
	case "checkboxes", "multi_static_select":
		var values []string
		for _, o := range e.list("initial_options") {
			values = append(values, o.str("value"))
		}
		return values
	}
	return e.str("initial_value")
}

// options lists what can be chosen, also from groups.
func (e element) options() []node {
	list := e.list("options")
	for _, g := range e.list("option_groups") {
		list = append(list, g.list("options")...)
	}
	return list
}

// option returns the option with a value, or nil.
func (e element) option(value string) node {
	list := e.options()
	i := slices.IndexFunc(list, func(o node) bool { return o.str("value") == value })
	if i < 0 {
		return nil
	}
	return list[i]
}

// texts returns a value as a list of strings.
func texts(value any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		if v == "" {
			return nil
		}
		return []string{v}
	case []string:
		return v
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return out
	}
	return []string{fmt.Sprint(value)}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// state is an element's entry in state.values.
func (e element) state(value any) reply {
	kind := e.str("type")
	list := texts(value)
	out := reply{"type": kind}
	switch kind {
	case "static_select", "radio_buttons":
		out["selected_option"] = nil
		if o := e.option(first(list)); o != nil {
			out["selected_option"] = o
		}
	case "checkboxes", "multi_static_select":
		chosen := []node{}
		for _, v := range list {
			if o := e.option(v); o != nil {
				chosen = append(chosen, o)
			}
		}
		out["selected_options"] = chosen
	case "users_select":
		out["selected_user"] = nilIfEmpty(first(list))
	case "conversations_select":
		out["selected_conversation"] = nilIfEmpty(first(list))
	case "channels_select":
		out["selected_channel"] = nilIfEmpty(first(list))
	case "file_input":
		out["files"] = value
		if files, ok := value.([]*File); !ok || files == nil {
			out["files"] = []string{}
		}
	default:
		out["value"] = nilIfEmpty(first(list))
	}
	return out
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// fileValues replaces, in what a user gave, the ids for file inputs by the files.
func (s *Server) fileValues(v *View, given map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for k, val := range given {
		out[k] = val
	}
	known := map[string]bool{}
	for _, e := range elements(mustBlocks(v.Blocks)) {
		block, action := e.block.str("block_id"), e.str("action_id")
		known[block], known[action] = true, true
		if e.str("type") != "file_input" {
			continue
		}
		key := action
		if _, ok := given[key]; !ok {
			key = block
		}
		files := []*File{}
		for _, id := range texts(given[key]) {
			f := s.files[id]
			if f == nil {
				return nil, fmt.Errorf("there is no file %s", id)
			}
			files = append(files, f)
		}
		out[action] = files
	}
	for k := range given {
		if !known[k] {
			return nil, fmt.Errorf("the view %q has no element or block %q", v.Title(), k)
		}
	}
	return out, nil
}

// refusals is what Slack's own client would not let pass: empty required fields, lengths, unknown options, bad URLs.
func (v *View) refusals(values map[string]any) map[string]string {
	out := map[string]string{}
	for _, e := range elements(mustBlocks(v.Blocks)) {
		if !e.input {
			continue
		}
		id := e.block.str("block_id")
		inner, _ := values[id].(map[string]any)
		state, _ := inner[e.str("action_id")].(reply)
		if text := e.refusal(state); text != "" {
			out[id] = text
		}
	}
	return out
}

func (e element) refusal(state reply) string {
	if !e.block.flag("optional") && emptyState(state) {
		return "Please complete this required field."
	}
	if files, ok := state["files"].([]*File); ok {
		return e.refusalOfFiles(files)
	}
	value, _ := state["value"].(string)
	n := utf8.RuneCountInString(value)
	switch limit := e.number("max_length"); {
	case value == "":
		return ""
	case limit > 0 && n > limit:
		return fmt.Sprintf("At most %d characters.", limit)
	case n > 3000:
		return "At most 3000 characters."
	case n < e.number("min_length"):
		return fmt.Sprintf("At least %d characters.", e.number("min_length"))
	}
	if e.str("type") == "url_text_input" {
		// What exactly Slack takes for a URL is not documented; it wants a scheme and a host.
		if scheme, rest, ok := strings.Cut(value, "://"); !ok || scheme == "" || rest == "" || strings.ContainsAny(value, " \n") {
			return "Enter a valid URL, with https:// in front."
		}
	}
	return ""
}

// maxFiles is how many files a file input takes unless it says otherwise.
const maxFiles = 10

func (e element) refusalOfFiles(files []*File) string {
	limit := e.number("max_files")
	if limit == 0 {
		limit = maxFiles
	}
	if len(files) > limit {
		return fmt.Sprintf("At most %d files.", limit)
	}
	types := texts(e.node["filetypes"])
	for _, f := range files {
		if len(types) > 0 && !slices.Contains(types, f.Filetype) {
			return fmt.Sprintf("Only files of these types: %s.", strings.Join(types, ", "))
		}
	}
	return ""
}

func (e element) number(key string) int {
	n, ok := e.node[key].(json.Number)
	if !ok {
		return 0
	}
	v, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(v)
}

// emptyState says that an element holds nothing.
func emptyState(state reply) bool {
	for key, v := range state {
		if key == "type" {
			continue
		}
		switch v := v.(type) {
		case nil:
		case string:
			if v != "" {
				return false
			}
		case []node:
			if len(v) > 0 {
				return false
			}
		case []*File:
			if len(v) > 0 {
				return false
			}
		case []string:
		default:
			return false
		}
	}
	return true
}
