package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"faultline/messages/blockkit"
	"faultline/workflow"
)

// metadataType names our metadata; msg_key in its payload names the message.
const metadataType = "faultline_post"

// Remarks that are added to messages.
const (
	repeated = "(Sent again: the first attempt may have gone through.)"
	unlaid   = "(Slack refused the layout of this message, so it is shown as plain text.)"
	attached = "(Slack refused the layout of this message, so it is shown as plain text. The full report is attached to this investigation.)"
)

// plainLimit bounds the text of a message without blocks, in characters: beyond 4,000 Slack may split it.
const plainLimit = 3500

// content is a message as it goes to Slack.
type content struct {
	text     string
	blocks   json.RawMessage // nil: none
	metadata json.RawMessage
}

// msgKey names a message for the read-back.
func msgKey(p workflow.Post) string {
	if p.Investigation == "" || p.Key == "" {
		return "post/" + strconv.FormatInt(p.ID, 10)
	}
	return p.Investigation + "/" + p.Key
}

// forms are the ways in which a message can be shown, from the best to the most modest.
type forms struct {
	post  workflow.Post
	raw   []byte // the payload, with its links
	notes []string
	level int // of the form that was made last
	// pointed are the blocks that Slack named when it refused the message as it was written.
	pointed map[int]bool
}

// Levels of forms.
const (
	asWritten = iota
	fitted
	withoutRefused // what Slack pointed at, and tables, as preformatted lines
	withoutBlocks  // every block with text as preformatted lines
	plainText
	noForm
)

// next makes the next form that our own validator accepts; false when there is none left.
func (f *forms) next(m *Metrics) (content, bool) {
	for ; f.level < noForm; f.level++ {
		c, err := f.make(f.level)
		if err != nil {
			continue
		}
		if problems := blockkit.ValidateMessage(c.raw()); len(problems) > 0 {
			continue
		}
		switch f.level {
		case fitted:
			m.PostDegraded.WithLabelValues("fit").Inc()
		case withoutRefused, withoutBlocks:
			m.PostDegraded.WithLabelValues("lines").Inc()
		case plainText:
			m.PostDegraded.WithLabelValues("plain").Inc()
		}
		f.level++
		return c, true
	}
	return content{}, false
}

func (f *forms) make(level int) (content, error) {
	var w struct {
		Text     string             `json:"text"`
		Blocks   json.RawMessage    `json:"blocks"`
		Metadata *blockkit.Metadata `json:"metadata"`
	}
	if err := json.Unmarshal(f.raw, &w); err != nil && level < plainText {
		return content{}, fmt.Errorf("reading the payload of a post: %w", err)
	}
	if w.Metadata == nil {
		w.Metadata = &blockkit.Metadata{EventType: metadataType, EventPayload: map[string]any{}}
	}
	if w.Metadata.EventPayload == nil {
		w.Metadata.EventPayload = map[string]any{}
	}
	w.Metadata.EventPayload["msg_key"] = msgKey(f.post)
	notes := f.notes
	if f.post.Marked {
		notes = append([]string{repeated}, notes...)
	}
	if level == plainText {
		why := unlaid
		if f.post.Investigation != "" {
			why = attached
		}
		text := first(w.Text, "(this message has no text)")
		for _, n := range notes {
			text = n + "\n" + text
		}
		c := content{text: blockkit.Clip(text, plainLimit) + "\n" + why}
		c.metadata, _ = json.Marshal(map[string]any{"event_type": metadataType, "event_payload": map[string]any{"msg_key": msgKey(f.post)}})
		return c, nil
	}
	c := content{text: w.Text}
	if len(w.Blocks) > 0 && !bytes.Equal(w.Blocks, []byte("null")) && !bytes.Equal(w.Blocks, []byte("[]")) {
		c.blocks = w.Blocks
	}
	var err error
	if c.metadata, err = json.Marshal(w.Metadata); err != nil {
		return content{}, fmt.Errorf("writing metadata: %w", err)
	}
	for i := len(notes) - 1; i >= 0; i-- {
		if c, err = c.withNote(notes[i]); err != nil {
			return content{}, err
		}
	}
	if level >= withoutRefused {
		shift := 0
		if c.blocks != nil {
			shift = len(notes) // remarks stand in front of the blocks that Slack counts; they are counted too
		}
		if c, err = c.simple(func(i int, b blockkit.Block) bool {
			return i >= shift && (level == withoutBlocks || f.pointed[i] || blockkit.IsTable(b))
		}); err != nil {
			return content{}, err
		}
	}
	if level >= fitted {
		return c.fit()
	}
	return c, nil
}

// withNote puts a remark in front.
func (c content) withNote(note string) (content, error) {
	c.text = note + "\n" + c.text
	if c.blocks == nil {
		return c, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(c.blocks, &list); err != nil {
		return c, fmt.Errorf("reading the blocks of a post: %w", err)
	}
	remark, err := json.Marshal(blockkit.Context{Elements: []blockkit.Text{*blockkit.Plain(note)}})
	if err != nil {
		return c, fmt.Errorf("writing a remark: %w", err)
	}
	c.blocks, err = json.Marshal(append([]json.RawMessage{remark}, list...))
	return c, err
}

// pointer is how Slack names a block that it refuses.
var pointer = regexp.MustCompile(`/blocks/(\d+)`)

// refused notes which blocks Slack named.
func (f *forms) refused(err error) {
	var api *APIError
	if f.level != asWritten+1 || !errors.As(err, &api) {
		return
	}
	for _, m := range pointer.FindAllStringSubmatch(strings.Join(api.Messages, " "), -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			if f.pointed == nil {
				f.pointed = map[int]bool{}
			}
			f.pointed[i] = true
		}
	}
}

// simple turns blocks into preformatted lines.
func (c content) simple(at func(int, blockkit.Block) bool) (content, error) {
	var m blockkit.Message
	if err := json.Unmarshal(c.raw(), &m); err != nil {
		return c, fmt.Errorf("reading the blocks of a post: %w", err)
	}
	m = blockkit.Simple(m, at)
	if len(m.Blocks) == 0 {
		return c, nil
	}
	var err error
	if c.blocks, err = json.Marshal(m.Blocks); err != nil {
		return c, fmt.Errorf("writing simple blocks: %w", err)
	}
	return c, nil
}

// fit makes it small enough.
func (c content) fit() (content, error) {
	var m blockkit.Message
	if err := json.Unmarshal(c.raw(), &m); err != nil {
		return c, fmt.Errorf("reading the blocks of a post: %w", err)
	}
	m, _ = blockkit.FitOne(m) // the message itself says what is left out
	meta := c.metadata
	c = content{text: m.Text, metadata: meta}
	if len(m.Blocks) > 0 {
		var err error
		if c.blocks, err = json.Marshal(m.Blocks); err != nil {
			return c, fmt.Errorf("writing fitted blocks: %w", err)
		}
	}
	return c, nil
}

// raw is the message as the validator reads it.
func (c content) raw() []byte {
	w := map[string]any{"text": c.text}
	if c.blocks != nil {
		w["blocks"] = c.blocks
	}
	if c.metadata != nil {
		w["metadata"] = c.metadata
	}
	raw, err := json.Marshal(w)
	if err != nil {
		return nil // not JSON: the validator says so
	}
	return raw
}
