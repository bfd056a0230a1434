package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Identity is who the bot is.
type Identity struct {
	Team, TeamName, Enterprise string
	User, Bot                  string // ids
	URL                        string // of the workspace
}

// Report is what Probe found out.
type Report struct {
	Identity
	Granted []string // scopes of the bot token
	Missing []Missing
}

// Missing is a feature that does not work.
type Missing struct {
	Scope    string // what to add to the app; alternatives are separated by " or "
	Feature  string
	Optional bool
}

// FatalError says that the bot cannot work with these tokens, and how to fix it.
type FatalError struct{ Msg string }

func (e *FatalError) Error() string { return e.Msg }

// Self is who the bot is, as the newest Probe found out; empty before the first.
func (c *Client) Self() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.self
}

// Probe asks Slack who the bot is and what it may do. A FatalError is for the person who installs the bot; other errors
// may pass (Slack cannot be reached). With sockets it also asks whether Socket Mode can be used.
func (c *Client) Probe(ctx context.Context, sockets bool) (Report, error) {
	if err := c.checkTokens(sockets); err != nil {
		return Report{}, err
	}
	var me struct {
		URL        text `json:"url"`
		Team       text `json:"team"`
		TeamID     text `json:"team_id"`
		User       text `json:"user_id"`
		Bot        text `json:"bot_id"`
		Enterprise text `json:"enterprise_id"`
	}
	if err := c.call(ctx, "auth.test", url.Values{}, &me); err != nil {
		return Report{}, plainly(err, "bot token", "xoxb-", "slack.bot_token")
	}
	r := Report{Identity: Identity{Team: string(me.TeamID), TeamName: clean(me.Team.id()), Enterprise: string(me.Enterprise),
		User: string(me.User), Bot: string(me.Bot), URL: string(me.URL)}}
	c.mu.Lock()
	c.self = r.Identity
	r.Granted = slices.Clone(c.scopes)
	c.mu.Unlock()
	r.Missing = missing(r.Granted)
	if r.Bot == "" {
		return r, &FatalError{"The bot token belongs to a person, not to a bot. Use the “Bot User OAuth Token” from the app's “OAuth & Permissions” page; it begins with xoxb-."}
	}
	if sockets {
		if err := c.callAs(ctx, c.cfg.AppToken, "apps.connections.open", url.Values{}, nil); err != nil {
			return r, plainly(err, "app-level token", "xapp-", "slack.app_token")
		}
	}
	return r, nil
}

// checkTokens finds what can be seen without asking.
func (c *Client) checkTokens(sockets bool) error {
	bot, app := c.cfg.BotToken.Reveal(), c.cfg.AppToken.Reveal()
	switch {
	case bot == "":
		return &FatalError{"No bot token. Find it on the app's “OAuth & Permissions” page; it begins with xoxb-."}
	case strings.HasPrefix(bot, "xapp-") && strings.HasPrefix(app, "xoxb-"):
		return &FatalError{"The two tokens are swapped: the bot token begins with xoxb-, the app-level token with xapp-."}
	case strings.HasPrefix(bot, "xapp-"):
		return &FatalError{"The bot token is an app-level token (xapp-…). The bot token is on the app's “OAuth & Permissions” page and begins with xoxb-."}
	case strings.HasPrefix(bot, "xoxp-"):
		return &FatalError{"The bot token is a person's token (xoxp-…). The bot token is on the app's “OAuth & Permissions” page and begins with xoxb-."}
	case bot != strings.TrimSpace(bot):
		return &FatalError{"The bot token has spaces or newlines around it."}
	case !sockets:
	case app == "":
		return &FatalError{"No app-level token, which Socket Mode needs. Find it on the app's “Basic Information” page, under “App-Level Tokens”; it begins with xapp-."}
	case !strings.HasPrefix(app, "xapp-"):
		return &FatalError{"That is not an app-level token: those begin with xapp- and are on the app's “Basic Information” page, under “App-Level Tokens”."}
	case app != strings.TrimSpace(app):
		return &FatalError{"The app-level token has spaces or newlines around it."}
	}
	return nil
}

// plainly says in words what Slack's answer to a first call means.
func plainly(err error, which, prefix, key string) error {
	var why string
	switch code(err) {
	case "invalid_auth", "not_authed":
		why = "Slack doesn't recognize it. Copy all of it again; it begins with " + prefix + "."
	case "token_revoked", "token_expired":
		why = "it was revoked or has expired. Make a new one on the app's pages."
	case "account_inactive":
		why = "the app was removed from the workspace, or its bot user was disabled. Reinstall the app."
	case "not_allowed_token_type", "invalid_token_type":
		why = "it is the wrong type of token; the right one begins with " + prefix + "."
	case "missing_scope", "no_permission":
		var e *APIError
		need := ""
		if errors.As(err, &e) && e.Needed != "" {
			need = " " + e.Needed
		}
		why = "it lacks the scope" + need + ". Add it on the app's pages and reinstall the app."
	case "org_login_required", "team_access_not_granted", "ekm_access_denied", "access_denied":
		why = "a workspace admin has to approve the app first (" + code(err) + ")."
	case "http_404":
		why = "the Web API URL is wrong: nothing answers there."
	default:
		return fmt.Errorf("asking Slack about the %s (%s): %w", which, key, err)
	}
	return &FatalError{fmt.Sprintf("The %s (%s) cannot be used: %s", which, key, why)}
}

// missing compares what is granted with what is called.
func missing(granted []string) []Missing {
	if granted == nil { // Slack did not say
		return nil
	}
	var list []Missing
	for _, m := range slices.Concat(EventScopes, Scopes) {
		if m.App || len(m.Scopes) == 0 || slices.ContainsFunc(m.Scopes, func(s string) bool { return slices.Contains(granted, s) }) {
			continue
		}
		gap := Missing{Scope: strings.Join(m.Scopes, " or "), Feature: m.For, Optional: m.Optional}
		if !slices.Contains(list, gap) {
			list = append(list, gap)
		}
	}
	return list
}
