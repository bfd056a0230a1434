// Package chat holds what every chat transport brings and needs: something a person did, and the few calls that cannot
// wait in the outbox. chat/slack speaks to Slack, chat/desk decides what is answered.
package chat

import (
	"context"
	"errors"
	"time"

	"faultline/config"
	"faultline/messages"
	"faultline/messages/blockkit"
)

// The kinds of what people do.
const (
	Command = "command" // a slash command
	Mention = "mention" // the bot was mentioned, perhaps in a thread
	Click   = "click"   // a button or a select under a message
	Submit  = "submit"  // a modal was sent
	Dismiss = "dismiss" // a modal was closed
	Home    = "home"    // the app's home tab was opened
)

// Inbound is one thing a person did, in words of ours. Its JSON form is what the store keeps: no secret is ever in it.
type Inbound struct {
	// Key is the same for every delivery of the same act: event id, trigger id, message+action+time, view+hash.
	Key         string
	Kind        string
	Team        string
	Channel     string // "" in modals
	ChannelName string
	User        string
	External    bool   // the user belongs to another workspace
	Text        string // of a command or a mention, redacted
	Trigger     string // opens a modal, within 3 s of At
	Respond     string // response_url
	Message     string // ts of the message that was clicked
	Thread      string // ts of the thread's head, where it happened in one
	Action      string // action_id of the click
	Value       string // of the button or the chosen option
	View        *View
	Files       []File // put beside a mention
	Warned      bool   // a secret was typed where everybody could read it; the text was removed
	At          time.Time
}

// Access is how to reach a storage cluster: by the name of a configured access, or by what somebody typed.
type Access struct {
	Profile  string
	Endpoint string
	Token    config.Secret
	TLS      string // messages.TLSVerify, …
	CA       string // PEM
}

// View is what came back from a modal.
type View struct {
	ID, Hash, Callback, Private string
	// Fields are the values by block id; a field whose name is in SecretFields is missing here: it is in the Vault.
	Fields map[string]string
	// Secrets are the names of the SecretFields that were filled.
	Secrets []string `json:",omitempty"`
	Files   []File
}

// File is a file that a person uploaded.
type File struct {
	ID, Name, URL string
	Bytes         int64
}

// SecretFields are the block ids of modal inputs whose values never reach the store.
var SecretFields = []string{messages.FieldToken}

// Vault keeps secrets in memory for a short while, by Inbound.Key.
type Vault interface {
	Put(key string, secrets map[string]config.Secret)
	// Take removes and returns them; nil after a restart or when the time is over.
	Take(key string) map[string]config.Secret
}

// ErrTriggerExpired says that a modal was opened too late: Slack allows 3 seconds.
var ErrTriggerExpired = errors.New("the click is too old to open a window")

// Surface is what the desk asks of the transport at once. Everything that is posted goes through the outbox instead.
type Surface interface {
	// OpenView opens a modal and returns its id.
	OpenView(ctx context.Context, trigger string, v blockkit.View) (id string, err error)
	// UpdateView replaces an open modal.
	UpdateView(ctx context.Context, id string, v blockkit.View) error
	// PublishHome sets a user's home tab.
	PublishHome(ctx context.Context, user string, v blockkit.View) error
	// Replace puts another message in the place of one that the outbox does not know.
	Replace(ctx context.Context, channel, ts string, m blockkit.Message) error
	// Direct returns the channel of the direct messages with a user.
	Direct(ctx context.Context, user string) (channel string, err error)
	// ChannelInfo tells what permissions depend on. Cached for some minutes.
	ChannelInfo(ctx context.Context, channel string) (ChannelInfo, error)
	// InGroup says whether a user belongs to a user group. Cached for some minutes.
	InGroup(ctx context.Context, group, user string) (bool, error)
	// Download copies an uploaded file to a path, at most limit bytes.
	Download(ctx context.Context, f File, path string, limit int64) error
}

// ChannelInfo describes a channel.
type ChannelInfo struct {
	Name                              string
	Direct, Private, Shared, Archived bool // Shared: people of other workspaces are in it
	Member                            bool // the bot is in it
}
