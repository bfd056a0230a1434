package slack

import "time"

// Method is one thing that this package asks of Slack, with what it needs.
type Method struct {
	Name string
	// Scopes: the app needs one of each group. Groups are alternatives by the kind of channel: public, private, direct.
	Scopes []string
	// App methods need the app-level token instead.
	App bool
	// PerMinute is how often Slack lets it be called in a workspace.
	PerMinute int
	// For is the feature that does not work without it, in words for the person who installs the app.
	For string
	// Optional features are missed by nobody who does not use them.
	Optional bool
}

// Slack's tiers, per minute and workspace. "Special" methods are bounded by other rules or far above our use.
const (
	tier2   = 20
	tier3   = 50
	tier4   = 100
	special = 300
)

// Scopes is everything that this package calls. The app manifest and `bot doctor` are held against it.
var Scopes = []Method{
	{Name: "auth.test", PerMinute: special, For: "anything at all"},
	{Name: "apps.connections.open", Scopes: []string{"connections:write"}, App: true, PerMinute: special, For: "receiving anything over Socket Mode"},
	{Name: "chat.postMessage", Scopes: []string{"chat:write"}, PerMinute: special, For: "posting reports"},
	{Name: "chat.update", Scopes: []string{"chat:write"}, PerMinute: tier3, For: "keeping the case file up to date"},
	{Name: "chat.delete", Scopes: []string{"chat:write"}, PerMinute: tier3, For: "bot forget"},
	{Name: "chat.postEphemeral", Scopes: []string{"chat:write"}, PerMinute: tier4, For: "answers that only one person sees"},
	{Name: "chat.getPermalink", PerMinute: special, For: "links to case files"},
	{Name: "views.open", PerMinute: tier4, For: "windows with questions"},
	{Name: "views.update", PerMinute: tier4, For: "windows with questions"},
	{Name: "views.publish", PerMinute: tier4, For: "the home tab"},
	{Name: "files.getUploadURLExternal", Scopes: []string{"files:write"}, PerMinute: tier4, For: "attaching the rank map and the full report"},
	{Name: "files.completeUploadExternal", Scopes: []string{"files:write"}, PerMinute: tier4, For: "attaching the rank map and the full report"},
	{Name: "files.delete", Scopes: []string{"files:write"}, PerMinute: tier3, For: "bot forget"},
	{Name: "files.info", Scopes: []string{"files:read"}, PerMinute: tier4, For: "taking logs that people upload, and knowing where an attached report was posted", Optional: true},
	{Name: "conversations.open", Scopes: []string{"im:write"}, PerMinute: tier3, For: "private answers", Optional: true},
	{Name: "conversations.info", Scopes: []string{"channels:read", "groups:read", "im:read"}, PerMinute: tier3, For: "knowing that a channel is shared with another company"},
	{Name: "usergroups.users.list", Scopes: []string{"usergroups:read"}, PerMinute: tier2, For: "permissions by user group", Optional: true},
	{Name: "conversations.history", Scopes: []string{"channels:history", "groups:history", "im:history"}, PerMinute: tier3,
		For: "checking whether a message arrived after a broken connection (without it, the message is posted again with a remark)", Optional: true},
	{Name: "conversations.replies", Scopes: []string{"channels:history", "groups:history", "im:history"}, PerMinute: tier3,
		For: "checking whether a thread reply arrived after a broken connection (without it, the reply is posted again with a remark)", Optional: true},
}

// EventScopes are the scopes without a method of their own: what makes Slack send something.
var EventScopes = []Method{
	{Name: "slash command", Scopes: []string{"commands"}, For: "/diagnose"},
	{Name: "app_mention", Scopes: []string{"app_mentions:read"}, For: "answering mentions in a thread", Optional: true},
}

func perMinute(method string) int {
	for _, m := range Scopes {
		if m.Name == method {
			return m.PerMinute
		}
	}
	return special
}

// Spacing of what people see: posts of one channel, and edits of one message.
const (
	postSpacing = 1100 * time.Millisecond
	editSpacing = 3 * time.Second
)
