package slack

import (
	"slices"
	"strings"
)

// method is what the server knows of one Web API method.
type method struct {
	// scope is what the token must have; "a|b" means any of them, according to the kind of the channel.
	scope string
	// app methods take an app-level token, all others the bot's.
	app bool
	// perMinute is the tier's number of calls in a minute, for the whole workspace.
	perMinute int
	do        func(*Server, *call) (reply, *apiError)
}

// Slack's tiers, in calls per minute. chat.postMessage has a rule of its own: about one in a second per channel.
const (
	tier1 = 1
	tier2 = 20
	tier3 = 50
	tier4 = 100
	// Slack calls these "special"; they are far above what a bot needs.
	special = 600
)

const (
	readScopes    = "channels:read|groups:read|im:read"
	historyScopes = "channels:history|groups:history|im:history"
)

var methods = map[string]method{
	"auth.test":                    {"", false, special, (*Server).authTest},
	"apps.connections.open":        {"connections:write", true, tier1 * 60, (*Server).connectionsOpen},
	"chat.postMessage":             {"chat:write", false, special, (*Server).chatPost},
	"chat.update":                  {"chat:write", false, tier3, (*Server).chatUpdate},
	"chat.delete":                  {"chat:write", false, tier3, (*Server).chatDelete},
	"chat.postEphemeral":           {"chat:write", false, tier4, (*Server).chatEphemeral},
	"chat.getPermalink":            {"", false, special, (*Server).chatPermalink},
	"conversations.info":           {readScopes, false, tier3, (*Server).conversationInfo},
	"conversations.open":           {"im:write", false, tier3, (*Server).conversationOpen},
	"conversations.replies":        {historyScopes, false, tier3, (*Server).conversationReplies},
	"conversations.history":        {historyScopes, false, tier3, (*Server).conversationHistory},
	"users.info":                   {"users:read", false, tier4, (*Server).userInfo},
	"usergroups.users.list":        {"usergroups:read", false, tier2, (*Server).groupUsers},
	"views.open":                   {"", false, tier4, (*Server).viewsOpen},
	"views.push":                   {"", false, tier4, (*Server).viewsPush},
	"views.update":                 {"", false, tier4, (*Server).viewsUpdate},
	"views.publish":                {"", false, tier4, (*Server).viewsPublish},
	"files.getUploadURLExternal":   {"files:write", false, tier4, (*Server).filesGetUploadURL},
	"files.completeUploadExternal": {"files:write", false, tier4, (*Server).filesComplete},
	"files.info":                   {"files:read", false, tier4, (*Server).filesInfo},
	"files.delete":                 {"files:write", false, tier3, (*Server).filesDelete},
	"reactions.add":                {"reactions:write", false, tier3, (*Server).reactionsAdd},
}

// MethodScopes lists every Web API method that the server knows with the scope it needs: "" for none, and "a|b|c" for
// methods whose scope depends on the kind of channel (public, private, direct message, in this order).
func MethodScopes() map[string]string {
	out := map[string]string{}
	for name, m := range methods {
		out[name] = m.scope
	}
	return out
}

// eventScopes are the scopes without a method: those of commands and events.
var eventScopes = []string{"commands", "app_mentions:read"}

// allBotScopes is every scope that a bot token can use here.
func allBotScopes() []string {
	out := slices.Clone(eventScopes)
	for _, name := range sortedKeys(methods) {
		if methods[name].app || methods[name].scope == "" {
			continue
		}
		for _, scope := range strings.Split(methods[name].scope, "|") {
			if !slices.Contains(out, scope) {
				out = append(out, scope)
			}
		}
	}
	return out
}
