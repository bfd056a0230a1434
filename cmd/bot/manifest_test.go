package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"faultline/chat/slack"
	"faultline/config"
	simslack "faultline/simulate/slack"
)

// manifest is what the tests read of slack-manifest.yaml.
type manifest struct {
	Features struct {
		AppHome struct {
			Home     bool `yaml:"home_tab_enabled"`
			Messages bool `yaml:"messages_tab_enabled"`
		} `yaml:"app_home"`
		Commands []struct {
			Command string `yaml:"command"`
			Hint    string `yaml:"usage_hint"`
		} `yaml:"slash_commands"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot  []string `yaml:"bot"`
			User []string `yaml:"user"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
		Interactivity struct {
			On bool `yaml:"is_enabled"`
		} `yaml:"interactivity"`
		Sockets  bool `yaml:"socket_mode_enabled"`
		Rotation bool `yaml:"token_rotation_enabled"`
		Org      bool `yaml:"org_deploy_enabled"`
	} `yaml:"settings"`
}

func readManifest(t *testing.T) (manifest, string) {
	t.Helper()
	raw, err := os.ReadFile("../../slack-manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m, string(raw)
}

// leftOut are methods that the bot can do without, and whose scopes the manifest withholds on purpose.
var leftOut = []string{"conversations.history", "conversations.replies"}

func TestTheManifestGrantsWhatIsCalledAndNothingElse(t *testing.T) {
	m, raw := readManifest(t)
	used := map[string]bool{}
	for _, method := range slices.Concat(slack.Scopes, slack.EventScopes) {
		if method.App || slices.Contains(leftOut, method.Name) {
			if !method.App && !method.Optional {
				t.Errorf("%s is left out, and the bot cannot do without it", method.Name)
			}
			continue
		}
		// Alternatives depend on the kind of channel: the bot is used in all kinds.
		for _, scope := range method.Scopes {
			used[scope] = true
			if !slices.Contains(m.OAuth.Scopes.Bot, scope) {
				t.Errorf("%s needs %s, which the manifest does not grant", method.Name, scope)
			}
		}
	}
	for _, scope := range m.OAuth.Scopes.Bot {
		if !used[scope] {
			t.Errorf("the manifest grants %s, which nothing needs", scope)
		}
		if !regexp.MustCompile(`(?m)^ +- ` + regexp.QuoteMeta(scope) + ` # .{10,}$`).MatchString(raw) {
			t.Errorf("the manifest does not say why %s is granted", scope)
		}
	}
	if len(m.OAuth.Scopes.User) > 0 {
		t.Error("the bot acts for nobody")
	}
}

// The look-alike was written by others from Slack's documentation: what it demands must be what the transport believes.
func TestTheTransportAndTheLookalikeAgreeOnScopes(t *testing.T) {
	demanded := simslack.MethodScopes()
	for _, method := range slack.Scopes {
		want, known := demanded[method.Name]
		if !known {
			t.Errorf("the look-alike does not know %s", method.Name)
			continue
		}
		if got := strings.Join(method.Scopes, "|"); got != want {
			t.Errorf("%s: the transport believes in %q, the look-alike in %q", method.Name, got, want)
		}
	}
}

var methodName = regexp.MustCompile(`"((?:api|apps|auth|bots|calls|canvases|chat|conversations|files|pins|reactions|search|team|usergroups|users|views)\.[A-Za-z.]+)"`)

// A method that is called and not listed would be a scope that nobody granted.
func TestEveryMethodThatIsCalledIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range slack.Scopes {
		listed[m.Name] = true
	}
	files, err := filepath.Glob("../../chat/slack/*.go")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{"apps.connections.open": true} // slack-go calls it for the sockets
	for _, file := range append(files, "doctor_socket.go") {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "methods.go" {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range methodName.FindAllStringSubmatch(string(raw), -1) {
			called[m[1]] = true
			if !listed[m[1]] {
				t.Errorf("%s calls %s, which is not in slack.Scopes", file, m[1])
			}
		}
	}
	for name := range listed {
		if !called[name] {
			t.Errorf("%s is in slack.Scopes and never called", name)
		}
	}
}

func TestTheManifestIsTheAppThatTheProgramExpects(t *testing.T) {
	m, _ := readManifest(t)
	if len(m.Features.Commands) != 1 || m.Features.Commands[0].Command != config.Default().Slack.Command {
		t.Errorf("the commands %+v are not slack.command", m.Features.Commands)
	}
	if len(m.Features.Commands) == 1 && m.Features.Commands[0].Hint == "" {
		t.Error("the command has no usage hint")
	}
	if !slices.Equal(m.Settings.Events.Bot, []string{"app_home_opened", "app_mention"}) {
		t.Errorf("events: %q", m.Settings.Events.Bot)
	}
	if !m.Settings.Sockets || !m.Settings.Interactivity.On || m.Settings.Rotation || m.Settings.Org || !m.Features.AppHome.Home || !m.Features.AppHome.Messages {
		t.Errorf("settings: %+v, %+v", m.Settings, m.Features.AppHome)
	}
}
