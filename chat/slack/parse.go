package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"faultline/chat"
	"faultline/config"
)

// The kinds of payloads, by the names of Socket Mode's envelopes.
const (
	fromCommand     = "slash_commands"
	fromInteractive = "interactive"
	fromEvents      = "events_api"
)

// Bounds on what is taken from a payload, in bytes. They are above what Slack lets people type.
const (
	maxID     = 255  // ids, action_id, block_id
	maxValue  = 2000 // value of a button
	maxText   = 8000 // of a command or a mention
	maxField  = 12000
	maxFields = 100
	maxFiles  = 100
	maxURL    = 3000
	maxMeta   = 3000 // private_metadata
)

// act is a payload that was read.
type act struct {
	in      chat.Inbound
	secrets map[string]config.Secret
	// ignored says why nobody has to handle it, "" when somebody has to.
	ignored string
	// field is the first input of a modal, where an error can be shown.
	field string
	// challenge is the answer to url_verification.
	challenge string
}

// errPayload says that a payload is none of Slack's.
var errPayload = errors.New("the payload is not as Slack documents it")

// home is the workspace that the bot is installed in; people of others are external.
type home struct{ team, enterprise string }

// parse reads the JSON of one payload. It never keeps a value of chat.SecretFields outside act.secrets.
func parse(kind string, raw []byte, h home, now time.Time) (act, error) {
	var a act
	var err error
	switch kind {
	case fromCommand:
		a, err = parseCommand(raw, h)
	case fromInteractive:
		a, err = parseInteraction(raw, h)
	case fromEvents:
		a, err = parseEvent(raw, h)
	default:
		return act{}, fmt.Errorf("%w: kind %q", errPayload, cut(kind, 40))
	}
	if err != nil {
		return act{}, err
	}
	a.in.At = now
	if a.ignored == "" && a.challenge == "" && (a.in.User == "" || strings.HasSuffix(a.in.Key, ":")) {
		return act{}, fmt.Errorf("%w: no user, or nothing to recognize it by", errPayload)
	}
	return a, nil
}

type command struct {
	Team       text `json:"team_id"`
	Enterprise text `json:"enterprise_id"`
	Channel    text `json:"channel_id"`
	Name       text `json:"channel_name"`
	User       text `json:"user_id"`
	Text       text `json:"text"`
	Respond    text `json:"response_url"`
	Trigger    text `json:"trigger_id"`
}

// commandJSON turns the form of an HTTP command into the JSON that Socket Mode brings.
func commandJSON(form url.Values) ([]byte, error) {
	flat := map[string]string{}
	for _, k := range []string{"team_id", "enterprise_id", "channel_id", "channel_name", "user_id", "text", "response_url", "trigger_id"} {
		flat[k] = form.Get(k)
	}
	return json.Marshal(flat)
}

func parseCommand(raw []byte, h home) (act, error) {
	var c command
	if err := json.Unmarshal(raw, &c); err != nil {
		return act{}, fmt.Errorf("reading a command: %w", notes(err))
	}
	trigger := cut(string(c.Trigger), maxID)
	in := chat.Inbound{
		Kind: chat.Command, Key: "command:" + trigger, Trigger: trigger,
		Team: c.Team.id(), Channel: c.Channel.id(), ChannelName: clean(c.Name.id()), User: c.User.id(),
		Respond:  cut(string(c.Respond), maxURL),
		External: h.foreign(c.Team.id(), c.Team.id(), c.Enterprise.id()),
	}
	in.Text, in.Warned = typed(string(c.Text))
	return act{in: in}, nil
}

type event struct {
	Type           text `json:"type"`
	Challenge      text `json:"challenge"`
	Team           text `json:"team_id"`
	Enterprise     text `json:"enterprise_id"`
	ID             text `json:"event_id"`
	Authorizations []struct {
		User text `json:"user_id"`
	} `json:"authorizations"`
	Event struct {
		Type     text  `json:"type"`
		User     text  `json:"user"`
		UserTeam text  `json:"user_team"`
		BotID    text  `json:"bot_id"`
		Channel  text  `json:"channel"`
		Text     text  `json:"text"`
		TS       text  `json:"ts"`
		Thread   text  `json:"thread_ts"`
		Tab      text  `json:"tab"`
		Files    files `json:"files"`
	} `json:"event"`
}

func parseEvent(raw []byte, h home) (act, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return act{}, fmt.Errorf("reading an event: %w", notes(err))
	}
	switch e.Type {
	case "url_verification":
		return act{challenge: cut(string(e.Challenge), maxID)}, nil
	case "event_callback":
	case "":
		return act{}, fmt.Errorf("%w: an event without a type", errPayload)
	default:
		return act{ignored: clean(e.Type.id())}, nil
	}
	in := chat.Inbound{
		Key: "event:" + e.ID.id(), Team: e.Team.id(), User: e.Event.User.id(), Channel: e.Event.Channel.id(),
		Message: e.Event.TS.id(), Thread: e.Event.Thread.id(),
		External: h.foreign(e.Event.UserTeam.id(), e.Team.id(), e.Enterprise.id()),
	}
	switch {
	case e.Event.Type == "app_mention" && e.Event.BotID == "":
		in.Kind = chat.Mention
		bot := ""
		if len(e.Authorizations) > 0 {
			bot = e.Authorizations[0].User.id()
		}
		in.Text, in.Warned = typed(unmention(string(e.Event.Text), bot))
		in.Files = e.Event.Files.take(nil)
	case e.Event.Type == "app_home_opened" && e.Event.Tab != "messages":
		in.Kind = chat.Home
	default:
		return act{ignored: clean(e.Event.Type.id())}, nil
	}
	return act{in: in}, nil
}

type interaction struct {
	Type text `json:"type"`
	Team struct {
		ID text `json:"id"`
	} `json:"team"`
	Enterprise struct {
		ID text `json:"id"`
	} `json:"enterprise"`
	User struct {
		ID   text `json:"id"`
		Team text `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID   text `json:"id"`
		Name text `json:"name"`
	} `json:"channel"`
	Trigger   text `json:"trigger_id"`
	Respond   text `json:"response_url"`
	Container struct {
		Message text `json:"message_ts"`
		Thread  text `json:"thread_ts"`
		Channel text `json:"channel_id"`
		View    text `json:"view_id"`
	} `json:"container"`
	Message struct {
		Thread text `json:"thread_ts"`
	} `json:"message"`
	Actions []action `json:"actions"`
	View    *view    `json:"view"`
}

type view struct {
	ID       text `json:"id"`
	Hash     text `json:"hash"`
	Callback text `json:"callback_id"`
	Private  text `json:"private_metadata"`
	State    struct {
		Values map[string]map[string]action `json:"values"`
	} `json:"state"`
}

// action is a button or a select that was used, and also the state of an input.
type action struct {
	ID      text     `json:"action_id"`
	Block   text     `json:"block_id"`
	Type    text     `json:"type"`
	TS      text     `json:"action_ts"`
	Value   text     `json:"value"`
	Option  option   `json:"selected_option"`
	Options []option `json:"selected_options"`
	User    text     `json:"selected_user"`
	Channel text     `json:"selected_channel"`
	Place   text     `json:"selected_conversation"`
	Date    text     `json:"selected_date"`
	Time    text     `json:"selected_time"`
	Files   files    `json:"files"`
}

// files are what somebody put into a window or beside a message.
type files []struct {
	ID   text  `json:"id"`
	Name text  `json:"name"`
	URL  text  `json:"url_private_download"`
	Priv text  `json:"url_private"`
	Size int64 `json:"size"`
}

// take adds the files to a list that is bounded. Of some, Slack tells only the id: those of people of other workspaces.
func (fs files) take(out []chat.File) []chat.File {
	for _, f := range fs {
		if len(out) < maxFiles && f.ID != "" {
			out = append(out, chat.File{ID: f.ID.id(), Name: clean(f.Name.id()), URL: cut(string(first(f.URL, f.Priv)), maxURL), Bytes: max(0, f.Size)})
		}
	}
	return out
}

type option struct {
	Value text `json:"value"`
}

func parseInteraction(raw []byte, h home) (act, error) {
	var p interaction
	if err := json.Unmarshal(raw, &p); err != nil {
		return act{}, fmt.Errorf("reading a click or a modal: %w", notes(err))
	}
	a := act{in: chat.Inbound{
		Team: p.Team.ID.id(), User: p.User.ID.id(), Trigger: cut(string(p.Trigger), maxID), Respond: cut(string(p.Respond), maxURL),
		Channel: first(p.Channel.ID.id(), p.Container.Channel.id()), ChannelName: clean(p.Channel.Name.id()),
		Message: p.Container.Message.id(), Thread: first(p.Container.Thread.id(), p.Message.Thread.id()),
		External: h.foreign(p.User.Team.id(), p.Team.ID.id(), p.Enterprise.ID.id()),
	}}
	if p.View != nil {
		a.readView(p.View)
	}
	switch p.Type {
	case "block_actions":
		if len(p.Actions) == 0 {
			return act{}, fmt.Errorf("%w: a click without a target", errPayload)
		}
		c := p.Actions[0]
		a.in.Kind, a.in.Action = chat.Click, c.ID.id()
		value, free := c.answer()
		switch {
		case slices.Contains(chat.SecretFields, string(c.Block)):
			value = "" // secrets come with the whole modal, when it is sent
		case free && c.Type != "button":
			value = clean(value)
		}
		a.in.Value, a.secrets = cut(value, maxValue), nil
		place := first(p.Container.Message.id(), p.Container.View.id())
		if place == "" || c.TS == "" {
			return act{}, fmt.Errorf("%w: a click without a place or a time", errPayload)
		}
		a.in.Key = "click:" + strings.Join([]string{place, c.ID.id(), c.TS.id(), p.User.ID.id()}, "/")
	case "view_submission", "view_closed":
		if p.View == nil || a.in.View.ID == "" {
			return act{}, fmt.Errorf("%w: a modal without an id", errPayload)
		}
		a.in.Kind = chat.Submit
		if p.Type == "view_closed" {
			a.in.Kind, a.secrets = chat.Dismiss, nil
		}
		a.in.Key = a.in.Kind + ":" + a.in.View.ID + "/" + a.in.View.Hash
	case "":
		return act{}, fmt.Errorf("%w: an interaction without a type", errPayload)
	default:
		a.ignored, a.secrets = clean(p.Type.id()), nil
	}
	return a, nil
}

// readView takes the values of the inputs; those of chat.SecretFields go to a.secrets only.
func (a *act) readView(v *view) {
	out := &chat.View{ID: v.ID.id(), Hash: v.Hash.id(), Callback: v.Callback.id(), Private: cut(string(v.Private), maxMeta), Fields: map[string]string{}}
	for _, block := range slices.Sorted(maps.Keys(v.State.Values)) {
		inputs := v.State.Values[block]
		for _, id := range slices.Sorted(maps.Keys(inputs)) {
			if a.field == "" {
				a.field = block
			}
			name := cut(block, maxID)
			if len(inputs) > 1 {
				name += "." + cut(id, maxID)
			}
			in := inputs[id]
			value, free := in.answer()
			if slices.Contains(chat.SecretFields, block) {
				if value = strings.TrimSpace(value); value != "" {
					if a.secrets == nil {
						a.secrets = map[string]config.Secret{}
					}
					a.secrets[name] = config.Secret(cut(value, maxField))
					out.Secrets = append(out.Secrets, block)
				}
				continue
			}
			if len(out.Fields) >= maxFields {
				continue
			}
			if free {
				value = clean(value)
			}
			if value != "" {
				out.Fields[cleanName(name)] = cut(value, maxField)
			}
			out.Files = in.Files.take(out.Files)
		}
	}
	a.in.View = out
}

// answer is what was chosen or typed; free says that a person could type anything.
func (c action) answer() (value string, free bool) {
	if c.Value != "" {
		return string(c.Value), true
	}
	if len(c.Options) > 0 {
		var all []string
		for _, o := range c.Options {
			all = append(all, cut(string(o.Value), maxValue))
		}
		return strings.Join(all, ","), false
	}
	return string(first(c.Option.Value, c.User, c.Channel, c.Place, c.Date, c.Time)), false
}

// foreign says whether somebody of the team userTeam is a stranger, for a payload of the given team and organisation.
func (h home) foreign(userTeam, team, enterprise string) bool {
	if userTeam == "" || userTeam == h.team || (enterprise != "" && (userTeam == enterprise || enterprise == h.enterprise)) {
		return false
	}
	return h.team != "" || userTeam != team
}

// text is a string in a payload; null and numbers are read too, other shapes as "": one odd field must not lose an act.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	*t = ""
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = text(s)
	case raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'):
		*t = text(raw)
	}
	return nil
}

func (t text) id() string { return cut(string(t), maxID) }

func first[S ~string](values ...S) S {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// notes drops what a JSON error may quote from the payload: it could be a secret.
func notes(err error) error {
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		return fmt.Errorf("%w: %s is a JSON %s", errPayload, cut(shape.Field, 80), cut(shape.Value, 10))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w: no JSON from byte %d on", errPayload, syntax.Offset)
	}
	return errPayload
}
