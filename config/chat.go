package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Slack is the app that people talk to.
type Slack struct {
	AppToken      Secret `yaml:"app_token"`      // xapp-…, for Socket Mode
	BotToken      Secret `yaml:"bot_token"`      // xoxb-…
	SigningSecret Secret `yaml:"signing_secret"` // for HTTP
	// Mode is socket (no way in from outside is needed), http (signed requests to ops.listen), or both.
	Mode    string `yaml:"mode"`
	Sockets int    `yaml:"sockets"`
	Command string `yaml:"command"`
	// Recycle: a socket that brought nothing for so long is opened anew: it may be connected and deaf.
	Recycle Duration `yaml:"recycle"`
	// APIURL is another Slack Web API than Slack's own: a look-alike on this machine. "" is Slack.
	APIURL string `yaml:"api_url"`
}

// Access says who may do what where no channel says otherwise.
type Access struct {
	// Direct allows direct messages to the bot.
	Direct bool `yaml:"direct"`
	// Channels that are not listed under channels are served too, with every cluster.
	AnyChannel bool `yaml:"any_channel"`
	// Admins may close, cancel and give access everywhere: user ids (U…) and user groups (S…).
	Admins []string `yaml:"admins"`
}

// Channel binds a channel to what may be seen in it.
type Channel struct {
	ID string `yaml:"id"`
	// Clusters by name; empty = all.
	Clusters []string `yaml:"clusters"`
	// Users are account names on the cluster whose jobs may be diagnosed here; empty = everybody's.
	Users []string `yaml:"users"`
	// Own: people see their own jobs too, by identities. Without users and own, everybody's jobs are shown.
	Own bool `yaml:"own"`
	// ReadOnly: here people read, and start nothing.
	ReadOnly bool `yaml:"read_only"`
	// External allows people of other workspaces, in a shared channel, to use the bot.
	External bool `yaml:"external"`
	// Trusted may close and give access to storage besides the person who asked: user ids (U…) and user groups (S…);
	// empty = everybody in the channel.
	Trusted []string `yaml:"trusted"`
}

// Questions says how long people have.
type Questions struct {
	RemindAfter Duration `yaml:"remind_after"`
	ExpireAfter Duration `yaml:"expire_after"`
}

// Data is where the bot keeps what must survive.
type Data struct {
	// Dir holds the SQLite database, reports, uploads and unpacked archives.
	Dir string `yaml:"dir"`
	// Postgres is a connection string; "" = SQLite in Dir.
	Postgres Secret `yaml:"postgres"`
	// Keep: settled investigations are removed after so long.
	Keep Duration `yaml:"keep"`
}

// Archive is an S3 bucket that closed incidents are copied to.
type Archive struct {
	Bucket    string   `yaml:"bucket"` // "" = no archive
	Prefix    string   `yaml:"prefix"`
	Endpoint  string   `yaml:"endpoint"` // "" = Amazon's
	Region    string   `yaml:"region"`
	AccessKey Secret   `yaml:"access_key"` // "" = as the AWS tools find it
	SecretKey Secret   `yaml:"secret_key"`
	Keep      Duration `yaml:"keep"` // 0 = for ever
}

// Ops is what administrators look at.
type Ops struct {
	// Listen serves /healthz, /readyz, /metrics, pages of cases and, in HTTP mode, /slack/…; "" = nothing.
	Listen string `yaml:"listen"`
}

// Web is the page of each case.
type Web struct {
	// URL is the address at which people reach what ops.listen serves below /case/; "" = no case has a page.
	URL string `yaml:"url"`
	// Expires: a page is refused so long after the last change of its case.
	Expires Duration `yaml:"expires"`
}

// SlackModes are the values of slack.mode.
var SlackModes = []string{"socket", "http", "both"}

// maxSockets is what Slack allows one app.
const maxSockets = 10

func (c *Config) validateChat(bad func(path, format string, args ...any), choice func(path, value string, choices []string)) {
	choice("slack.mode", c.Slack.Mode, SlackModes)
	for _, tok := range []struct {
		path, prefix, what string
		value              Secret
	}{
		{"slack.app_token", "xapp-", "an app-level token", c.Slack.AppToken},
		{"slack.bot_token", "xoxb-", "a bot token", c.Slack.BotToken},
	} {
		if v := tok.value.Reveal(); v != "" && !strings.HasPrefix(v, tok.prefix) {
			bad(tok.path, "is not %s, which starts with %s", tok.what, tok.prefix)
		}
	}
	if c.Slack.Sockets < 1 || c.Slack.Sockets > maxSockets {
		bad("slack.sockets", "%d is not between 1 and %d, the range Slack allows", c.Slack.Sockets, maxSockets)
	}
	if !strings.HasPrefix(c.Slack.Command, "/") || len(c.Slack.Command) < 2 || strings.ContainsAny(c.Slack.Command, " \t") {
		bad("slack.command", "%q is not a slash command such as /diagnose", c.Slack.Command)
	}
	if c.Slack.APIURL != "" {
		if u, err := url.Parse(c.Slack.APIURL); err != nil || u.Host == "" || !strings.HasSuffix(u.Path, "/") {
			bad("slack.api_url", "%q is not a URL ending with a slash, such as http://127.0.0.1:8080/api/", c.Slack.APIURL)
		}
	}
	if c.Slack.Mode != "socket" && c.Ops.Listen == "" {
		bad("slack.mode", "%s needs ops.listen so that Slack can reach the bot", c.Slack.Mode)
	}
	if c.Ops.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Ops.Listen); err != nil {
			bad("ops.listen", "%q is not host:port", c.Ops.Listen)
		}
	}
	c.validateWeb(bad)
	seen := map[string]bool{}
	for i, ch := range c.Channels {
		at := fmt.Sprintf("channels[%d]", i)
		switch {
		case !slackID(ch.ID, "CGD"):
			bad(at+".id", "%q is not a channel ID. Channel IDs start with C (in Slack: channel name, then About)", ch.ID)
		case seen[ch.ID]:
			bad(at+".id", "%q is listed twice", ch.ID)
		}
		seen[ch.ID] = true
		for j, name := range ch.Clusters {
			if !slices.ContainsFunc(c.Clusters, func(cl Cluster) bool { return cl.Name == name }) {
				bad(fmt.Sprintf("%s.clusters[%d]", at, j), "there is no cluster %q", name)
			}
		}
		people(bad, at+".trusted", ch.Trusted)
	}
	people(bad, "access.admins", c.Access.Admins)
	for user := range c.Identities {
		if !slackID(user, "UW") {
			bad("identities", "%q is not a Slack user ID. User IDs start with U", user)
		}
	}
	for _, d := range []struct {
		path  string
		value Duration
	}{{"questions.remind_after", c.Questions.RemindAfter}, {"questions.expire_after", c.Questions.ExpireAfter}, {"slack.recycle", c.Slack.Recycle}} {
		if d.value.Std() < time.Second {
			bad(d.path, "%s is too short", d.value)
		}
	}
}

func (c *Config) validateWeb(bad func(path, format string, args ...any)) {
	if c.Web.URL == "" {
		return
	}
	u, err := url.Parse(c.Web.URL)
	plain := err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
	if !plain || u.Scheme != "https" && u.Scheme != "http" {
		bad("web.url", "is not a URL such as https://faultline.example.org, without user or query")
	}
	if c.Ops.Listen == "" {
		bad("web.url", "needs ops.listen, which serves the pages")
	}
	if c.Web.Expires.Std() < time.Hour {
		bad("web.expires", "%s is shorter than an hour", c.Web.Expires)
	}
}

func people(bad func(path, format string, args ...any), path string, ids []string) {
	for i, id := range ids {
		if !slackID(id, "UWS") {
			bad(fmt.Sprintf("%s[%d]", path, i), "%q is neither a user ID (U…) nor a user group ID (S…)", id)
		}
	}
}

func (c *Config) validateStores(bad func(path, format string, args ...any)) {
	if c.Data.Dir != "" && !filepath.IsAbs(c.Data.Dir) {
		bad("data.dir", "%q is not an absolute path, and the bot may be started from any directory", c.Data.Dir)
	}
	const day = 24 * time.Hour
	if c.Data.Keep.Std() < day {
		bad("data.keep", "%s is shorter than a day, and Slack may resend an event for that long", c.Data.Keep)
	}
	if k := c.Archive.Keep.Std(); k != 0 && k < day {
		bad("archive.keep", "%s is shorter than a day; 0 keeps it forever", c.Archive.Keep)
	}
	if c.Archive.Endpoint != "" {
		if u, err := url.Parse(c.Archive.Endpoint); err != nil || u.Host == "" {
			bad("archive.endpoint", "%q is not a URL such as https://s3.example.org", c.Archive.Endpoint)
		}
	}
	if (c.Archive.AccessKey == "") != (c.Archive.SecretKey == "") {
		bad("archive.access_key", "set both access_key and secret_key, or neither")
	}
}

func slackID(s, kinds string) bool {
	return len(s) > 2 && strings.ContainsRune(kinds, rune(s[0])) && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
