package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAConfigurationWithSecretsThatOthersMayReadIsTold(t *testing.T) {
	const token = "slack: {bot_token: not-a-real-token}\n"
	for _, c := range []struct {
		name, yaml string
		mode       os.FileMode
		want       string
	}{
		{"a token for the world", token, 0o644, "everybody"},
		{"a token for a group", token, 0o640, "its group"},
		{"a token for its owner", token, 0o600, ""},
		{"a shared secret", "clusters: [{name: a, hook_secret: aaaaaaaaaaaaaaaaaaaa}]\n", 0o644, "chmod 600"},
		{"a list of secrets", "clusters: [{name: a, push: {secrets: [aaaaaaaaaaaaaaaaaaaa]}}]\n", 0o644, "chmod 600"},
		{"from the environment", "slack: {bot_token: \"${SLACK_BOT_TOKEN}\"}\n", 0o644, ""},
		{"nothing secret", "limits: {workers: 3}\n", 0o644, ""},
	} {
		file := filepath.Join(t.TempDir(), "faultline.yaml")
		if err := os.WriteFile(file, []byte(c.yaml), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		got := Exposed(file)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "not-a-real-token") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
