package slack

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Message is what stands in a channel. Fields with JSON names are what the Web API shows of it.
type Message struct {
	Type     string          `json:"type"`
	Subtype  string          `json:"subtype,omitempty"`
	TS       string          `json:"ts"`
	ThreadTS string          `json:"thread_ts,omitempty"`
	User     string          `json:"user,omitempty"`
	BotID    string          `json:"bot_id,omitempty"`
	AppID    string          `json:"app_id,omitempty"`
	Team     string          `json:"team,omitempty"`
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks,omitempty"`
	// Attachments are kept as they came; nothing here renders them.
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Files       []*File         `json:"files,omitempty"`
	Upload      bool            `json:"upload,omitempty"`
	Edited      *Edited         `json:"edited,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Reactions   []Reaction      `json:"reactions,omitempty"`
	ReplyCount  int             `json:"reply_count,omitempty"`
	LatestReply string          `json:"latest_reply,omitempty"`

	// What only the simulation knows.
	Channel   string `json:"-"`
	VisibleTo string `json:"-"` // an ephemeral message, seen by this user alone
	Deleted   bool   `json:"-"`
	Edits     int    `json:"-"` // how often the bot changed it, also where Slack shows no "edited"
	Broadcast bool   `json:"-"` // a reply that is also shown in the channel
}

// Edited says who changed a message last, and when.
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// Reaction is an emoji below a message.
type Reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

// InThread says whether the message is a reply and not shown in the channel itself.
func (m *Message) InThread() bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// clone makes a copy that may leave the lock.
func (m *Message) clone() Message {
	c := *m
	c.Files = append([]*File(nil), m.Files...)
	c.Reactions = append([]Reaction(nil), m.Reactions...)
	return c
}

// Limits of messages (reference: api.slack.com, methods chat.postMessage and chat.update). The sum over all blocks is not
// documented; it was seen at about 13,200 characters.
const (
	maxText       = 40_000
	maxUpdateText = 4_000
	maxBlocksText = 13_200
)

// content is what chat.postMessage, chat.update, response_url and an acknowledgement have in common.
type content struct {
	text                  string
	blocks                json.RawMessage // nil: not given
	attachments, metadata json.RawMessage
	warning               string
}

// readContent takes the content from a request and checks it as Slack does.
func (s *Server) readContent(a args, limit int) (content, *apiError) {
	c := content{text: a.str("text"), blocks: a.raw("blocks"), attachments: a.raw("attachments"), metadata: a.raw("metadata")}
	if n := utf8.RuneCountInString(c.text); n > limit {
		if limit == maxUpdateText {
			return c, fail("msg_too_long")
		}
		c.text, c.warning = string([]rune(c.text)[:limit]), "message_truncated"
	}
	if len(c.attachments) > 0 && !isList(c.attachments) {
		return c, fail("invalid_attachments")
	}
	if err := checkMetadata(c.metadata); err != nil {
		return c, err
	}
	if isEmptyList(c.attachments) {
		c.attachments = nil
	}
	if c.blocks == nil {
		return c, nil
	}
	if !isList(c.blocks) {
		return c, fail("invalid_blocks_format")
	}
	if isEmptyList(c.blocks) {
		return c, nil
	}
	whole := map[string]any{"text": c.text, "blocks": c.blocks}
	blocks, err := s.checkBlocks(c.blocks, s.opts.ValidateMessage(encode(whole)))
	c.blocks = blocks
	if err == nil && textIn(mustBlocks(blocks)) > maxBlocksText {
		return c, fail("msg_blocks_too_long")
	}
	return c, err
}

// checkBlocks refuses blocks with problems, and gives every block and element the id that Slack would give it.
func (s *Server) checkBlocks(raw json.RawMessage, problems []Problem) (json.RawMessage, *apiError) {
	blocks, err := parseBlocks(raw)
	if err != nil {
		return nil, fail("invalid_blocks_format")
	}
	if problems = append(problems, s.checkFilesShown(blocks)...); len(problems) > 0 {
		return nil, invalidBlocks(problems)
	}
	s.nameBlocks(blocks)
	return encodeBlocks(blocks), nil
}

// noMetadata knows the ways in which clients send none.
func noMetadata(raw json.RawMessage) bool {
	var m struct {
		EventType    string          `json:"event_type"`
		EventPayload json.RawMessage `json:"event_payload"`
	}
	return len(raw) == 0 || (json.Unmarshal(raw, &m) == nil && m.EventType == "" && (m.EventPayload == nil || string(m.EventPayload) == "null"))
}

// checkMetadata holds metadata to its documented shape: an event_type, and a payload whose values are flat.
func checkMetadata(raw json.RawMessage) *apiError {
	if noMetadata(raw) {
		return nil
	}
	var m struct {
		EventType    string                     `json:"event_type"`
		EventPayload map[string]json.RawMessage `json:"event_payload"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return fail("invalid_metadata_format")
	}
	if m.EventType == "" || m.EventPayload == nil {
		return fail("invalid_metadata_format")
	}
	for _, v := range m.EventPayload {
		var nested map[string]json.RawMessage
		if json.Unmarshal(v, &nested) != nil {
			continue
		}
		for _, inner := range nested {
			if strings.HasPrefix(string(inner), "{") || strings.HasPrefix(string(inner), "[") {
				return fail("invalid_metadata_format")
			}
		}
	}
	return nil
}

// post puts a message into a channel. The caller holds mu and has checked everything.
func (s *Server) post(r *room, m *Message) *Message {
	if m.TS == "" {
		m.TS = s.ts()
	}
	m.Type, m.Channel = "message", r.ID
	if m.Team == "" {
		m.Team = s.team.TeamID
	}
	r.insert(m)
	if m.InThread() && m.VisibleTo == "" {
		if parent := r.find(m.ThreadTS); parent != nil {
			parent.ThreadTS = parent.TS
			parent.ReplyCount++
			parent.LatestReply = m.TS
		}
	}
	s.touch()
	return m
}

// byBot makes a message of the bot from content.
func (s *Server) byBot(c content) *Message {
	m := &Message{User: s.team.BotUser, BotID: s.team.BotID, AppID: s.team.AppID, Text: c.text, Blocks: c.blocks,
		Attachments: c.attachments, Metadata: c.metadata}
	if isEmptyList(m.Blocks) {
		m.Blocks = nil
	}
	if noMetadata(m.Metadata) {
		m.Metadata = nil
	}
	return m
}

// change puts new content into a message the way chat.update documents it: without blocks but with text, the old blocks
// go; without both, they stay. "Edited" is shown only for messages that are rendered from their text.
func (s *Server) change(m *Message, c content, hasText bool) {
	if hasText {
		m.Text = c.text
	}
	switch {
	case c.blocks != nil && !isEmptyList(c.blocks):
		m.Blocks = c.blocks
	case c.blocks != nil || hasText:
		m.Blocks = nil
	}
	if c.attachments != nil {
		m.Attachments = c.attachments
	}
	if c.metadata != nil {
		m.Metadata = c.metadata
		if noMetadata(c.metadata) {
			m.Metadata = nil
		}
	}
	m.Edits++
	if m.Blocks == nil {
		m.Edited = &Edited{User: m.User, TS: s.ts()}
	}
	s.touch()
}

// remove deletes a message; the head of a thread that still has replies leaves a tombstone.
func (s *Server) remove(r *room, m *Message) {
	if m.InThread() && m.VisibleTo == "" {
		if parent := r.find(m.ThreadTS); parent != nil {
			parent.ReplyCount--
		}
	}
	if m.ReplyCount > 0 {
		m.Subtype, m.Text = "tombstone", "This message was deleted."
		m.Blocks, m.Attachments, m.Metadata, m.Files, m.BotID, m.User = nil, nil, nil, nil, "", slackbot
		m.Reactions = nil
	} else {
		m.Deleted = true
	}
	s.touch()
}
