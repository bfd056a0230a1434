package slack

import "strings"

// Workspace is the team that the look-alike pretends to host: who is there, where they talk, and the one app installed.
type Workspace struct {
	TeamID        string      `json:"team_id"`
	TeamName      string      `json:"team_name"`
	Domain        string      `json:"domain"`
	AppID         string      `json:"app_id"`
	BotID         string      `json:"bot_id"`
	BotUser       string      `json:"bot_user"`
	SigningSecret string      `json:"signing_secret"`
	Commands      []string    `json:"commands"`
	BotEvents     []string    `json:"bot_events"`
	Users         []User      `json:"users"`
	Channels      []Channel   `json:"channels"`
	Groups        []UserGroup `json:"groups"`
	Tokens        []Token     `json:"tokens"`
}

// User is a member of the workspace, a guest of a shared channel, or the bot itself.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	TZ       string `json:"tz"`
	IsBot    bool   `json:"is_bot"`
	// External users come from another workspace over a shared channel; the API says so with is_stranger and team_id.
	External bool `json:"external"`
	Deleted  bool `json:"deleted"`
}

// Channel is a public or private channel, or (IM set) the direct messages of one user with the bot.
type Channel struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Private   bool     `json:"private"`
	Archived  bool     `json:"archived"`
	ExtShared bool     `json:"ext_shared"`
	IM        string   `json:"im"`
	Members   []string `json:"members"`
}

// UserGroup is a named set of users, such as @oncall.
type UserGroup struct {
	ID     string   `json:"id"`
	Handle string   `json:"handle"`
	Users  []string `json:"users"`
}

// Token opens the API. Tokens that begin with xapp- are app-level tokens, all others are the bot's.
type Token struct {
	Value   string   `json:"value"`
	Scopes  []string `json:"scopes"`
	Revoked bool     `json:"revoked"`
}

func (t Token) appLevel() bool { return strings.HasPrefix(t.Value, "xapp-") }

// Names of the default workspace, for tests and for the playground.
const (
	TeamID     = "T0FAULTSIM"
	AppID      = "A0FAULTBOT"
	BotUser    = "U0FAULTBOT"
	Alice      = "U0ALICE001" // the requester
	Bob        = "U0BOB00001" // a second user
	Mallory    = "U0EXTERN01" // from another workspace
	Training   = "C0TRAINING" // the main channel; the bot is in it
	Private    = "C0PRIVATE1" // private, the bot is in it
	Outside    = "C0OUTSIDE1" // public, the bot is not in it
	Secret     = "C0SECRET01" // private, the bot is not in it
	Archive    = "C0ARCHIVE1" // archived
	Shared     = "C0SHARED01" // shared with another workspace
	OnCall     = "S0ONCALL01"
	BotToken   = "xoxb-sim"
	AppToken   = "xapp-sim"
	SignSecret = "sim-signing-secret" // #nosec G101 -- of a simulation
)

// DefaultWorkspace is a small team with one channel of every kind. The tokens have all scopes that any served method
// needs; a test that wants to see missing_scope takes some away.
func DefaultWorkspace() Workspace {
	everyone := []string{Alice, Bob, BotUser}
	return Workspace{
		TeamID: TeamID, TeamName: "Faultline Simulation", Domain: "faultline-sim",
		AppID: AppID, BotID: "B0FAULTBOT", BotUser: BotUser, SigningSecret: SignSecret,
		Commands:  []string{"/diagnose"},
		BotEvents: []string{"app_mention", "app_home_opened"},
		Users: []User{
			{ID: Alice, Name: "alice", RealName: "Alice Meyer", TZ: "Europe/Berlin"},
			{ID: Bob, Name: "bob", RealName: "Bob Tanaka", TZ: "America/Los_Angeles"},
			{ID: Mallory, Name: "mallory", RealName: "Mallory Vendor", TZ: "America/New_York", External: true},
			{ID: BotUser, Name: "faultline", RealName: "Faultline", TZ: "Etc/UTC", IsBot: true},
		},
		Channels: []Channel{
			{ID: Training, Name: "training", Members: everyone},
			{ID: Private, Name: "training-private", Private: true, Members: everyone},
			{ID: Outside, Name: "outside", Members: []string{Alice, Bob}},
			{ID: Secret, Name: "secret", Private: true, Members: []string{Alice}},
			{ID: Archive, Name: "old-runs", Archived: true, Members: everyone},
			{ID: Shared, Name: "shared-vendor", ExtShared: true, Members: append([]string{Mallory}, everyone...)},
		},
		Groups: []UserGroup{{ID: OnCall, Handle: "oncall", Users: []string{Bob}}},
		Tokens: []Token{
			{Value: BotToken, Scopes: allBotScopes()},
			{Value: AppToken, Scopes: []string{"connections:write"}},
		},
	}
}
