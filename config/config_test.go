package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"faultline/config/strict"
)

func noEnv(string) (string, bool) { return "", false }

func TestBadFilesAreRefusedWithLineAndHint(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown key", "clusters:\n- logs:\n    root: [/logs]\n", `c.yaml:3: unknown key "root"; did you mean "roots"?`},
		{"unknown section", "loging:\n  level: info\n", `c.yaml:1: unknown key "loging"; did you mean "logging"?`},
		{"nothing like it", "xyzzy: 1\n", `c.yaml:1: unknown key "xyzzy"`},
		{"wrong type", "limits:\n\n  workers: many\n", "c.yaml:3: "},
		{"not YAML", "clusters: [\n", "c.yaml:"},
		{"duplicate key", "output:\n  color: auto\n  color: never\n", "c.yaml:3: "},
		{"bad choice", "# x\nlogging:\n  level: inf\n", `c.yaml:3: logging.level: "inf" is not one of debug, info, warn, error; did you mean "info"?`},
		{"relative root", "clusters:\n- logs:\n    roots:\n    - /a\n    - logs\n", `c.yaml:5: clusters[0].logs.roots[1]: "logs" is not an absolute path`},
		{"pattern of every job", "clusters:\n- logs:\n    patterns: ['*.out']\n", `c.yaml:3: clusters[0].logs.patterns[0]: "*.out" contains no {job}`},
		{"pattern that climbs", "clusters:\n- logs: {patterns: ['../{job}']}\n", "must stay under the roots"},
		{"bad glob", "clusters:\n- logs: {patterns: ['[{job}']}\n", "is not a glob"},
		{"host that is an option", "clusters:\n- login_host: -oProxyCommand=x\n", "is not a [user@]host"},
		{"negative", "limits: {workers: -1}\n", "c.yaml:1: limits.workers: -1 is not between"},
		{"a spool for less than a job", "limits: {job_mb: 100, spool_mb: 50}\n", "limits.spool_mb: 50 is less than the limit for one job"},
		{"a negative rate", "clusters:\n- name: west\n  logs: {roots: [/a], rate_mb: -1}\n", "clusters[0].logs.rate_mb: -1 is negative"},
		{"unset variable", "clusters:\n- name: ${NOPE}\n", "c.yaml:2: clusters[0].name: the environment variable NOPE is not set"},
		{"two clusters without names", "clusters:\n- login_host: a\n- login_host: b\n", "with several clusters, each needs a name"},
		{"token of another kind", "slack:\n  bot_token: xapp-1\n", "c.yaml:2: slack.bot_token: is not a bot token"},
		{"pages that nobody serves", "web: {url: 'https://faultline.example.org'}\n", "web.url: needs ops.listen"},
		{"pages without a host", "ops: {listen: '127.0.0.1:1'}\nweb: {url: '/case'}\n", "web.url"},
		{"pages by another protocol", "ops: {listen: '127.0.0.1:1'}\nweb: {url: 'ftp://faultline.example.org'}\n", "web.url"},
		{"pages with a password", "ops: {listen: '127.0.0.1:1'}\nweb: {url: 'https://u:p@faultline.example.org'}\n", "web.url"},
		{"pages that expire at once", "ops: {listen: '127.0.0.1:1'}\nweb: {url: 'https://faultline.example.org', expires: 1m}\n", "web.expires"},
		{"http without an address", "slack:\n  mode: http\n", "needs ops.listen"},
		{"no duration", "questions:\n  remind_after: soon\n", "is not a duration such as 90s"},
		{"unknown cluster of a channel", "clusters:\n- name: west\nchannels:\n- id: C1A\n  clusters: [east]\n", `there is no cluster "east"`},
		{"name instead of a channel id", "channels:\n- id: '#training'\n", "is not a channel ID"},
		{"half a key pair", "archive: {access_key: a}\n", "set both access_key and secret_key"},
		{"storage without a name", "storage:\n- endpoint: http://a:1\n", "people choose the storage by name"},
		{"storage address that is none", "storage:\n- name: a\n  endpoint: ais:51080\n", "c.yaml:3: storage[0].endpoint: is not a proxy URL"},
		{"storage address with a password", "storage:\n- name: a\n  endpoint: http://u:p@ais:51080\n", "storage[0].endpoint: is not a proxy URL"},
		{"certificate checked and not checked", "storage:\n- {name: a, endpoint: 'https://a', ca_file: /a, skip_verify: true}\n", "contradicts ca_file"},
		{"half a certificate", "storage:\n- {name: a, endpoint: 'https://a', cert_file: /a}\n", "storage[0].cert_file: and key_file must be set together"},
		{"a key below nowhere", "storage:\n- {name: a, endpoint: 'https://a', cert_file: /a, key_file: b}\n", "storage[0].key_file: \"b\" is not an absolute path"},
		{"storage of an unknown cluster", "storage:\n- {name: a, endpoint: 'https://a', clusters: [b]}\n", `there is no cluster "b"`},
		{"allowed address instead of a host", "storage_access:\n  allow: ['http://ais']\n", "c.yaml:2: storage_access.allow[0]: \"http://ais\" is not host"},
		{"everything allowed", "storage_access: {allow: ['*']}\n", "is not host"},
		{"watch without a channel", "clusters:\n- name: west\n  slurm: {commands: local}\n  watch:\n  - every: 2m\n", `clusters[0].watch[0].channel: "" is not a channel ID`},
		{"watch of a cluster that nobody can ask", "clusters: [{name: west, watch: [{channel: C1A}]}]\naccess: {any_channel: true}\n", "clusters[0].watch: needs slurm.commands or slurm.rest"},
		{"watch of a channel that is not served", "clusters:\n- name: west\n  slurm: {commands: local}\n  watch:\n  - channel: C1A\n", `c.yaml:5: clusters[0].watch[0].channel: "C1A" is not one of the configured channels`},
		{"watch of a channel without the cluster", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A}]}, {name: east}]\nchannels: [{id: C1A, clusters: [east]}]\n", `may not see the cluster "west"`},
		{"watch where people see their own jobs", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A}]}]\nchannels: [{id: C1A, own: true}]\n", "a watch belongs to no one"},
		{"watch without pause", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A, every: 90s}]}]\naccess: {any_channel: true}\n", "1m30s is not a whole number of minutes"},
		{"watch that sleeps", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A, every: 2h}]}]\naccess: {any_channel: true}\n", "between 1m0s and 30m0s"},
		{"digest at no time", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A, digest: 8am}]}]\naccess: {any_channel: true}\n", `"8am" is not a time of day`},
		{"watch of a cluster without a name", "clusters: [{watch: [{channel: C1A}]}]\naccess: {any_channel: true}\n", "a watched cluster needs a name"},
		{"watch that posts nothing", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A, per_hour: -1}]}]\naccess: {any_channel: true}\n", "per_hour: -1 is not between"},
		{"watch with a bad glob", "clusters: [{name: west, slurm: {commands: local}, watch: [{channel: C1A, exclude_names: ['[x']}]}]\naccess: {any_channel: true}\n", "is not a glob"},
		{"short secret of a webhook", "clusters: [{name: west, hook_secret: abc, watch: [{channel: C1A}]}]\naccess: {any_channel: true}\nops: {listen: ':1'}\n", "hook_secret: is shorter than 16"},
		{"webhook that nobody can reach", "clusters: [{name: west, hook_secret: 0123456789abcdef, watch: [{channel: C1A}]}]\naccess: {any_channel: true}\n", "needs ops.listen"},
		{"short secret for pushing", "clusters: [{name: west, push: {secrets: [0123456789abcdef, abc]}}]\nops: {listen: ':1'}\n", "clusters[0].push.secrets[1]: is shorter than 16"},
		{"pushing that nobody can reach", "clusters: [{name: west, push: {secrets: [0123456789abcdef]}}]\n", "clusters[0].push.secrets: needs ops.listen"},
		{"pushing for a cluster without a name", "clusters: [{push: {secrets: [0123456789abcdef]}}]\nops: {listen: ':1'}\n", "needs a name, for its push URL"},
		{"pushed for a moment", "clusters: [{name: west, push: {secrets: [0123456789abcdef], keep: 1m}}]\nops: {listen: ':1'}\n", "push.keep: 1m0s is less than an hour"},
		{"open brace", "clusters:\n- name: ${NOPE\n", "no closing brace"},
		{"missing value file", "clusters:\n- name: file:/does/not/exist\n", "c.yaml:2: clusters[0].name: reading the value from the file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(c.text), noEnv)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllBadValuesAreNamedAtOnce(t *testing.T) {
	_, err := Parse("c.yaml", []byte("output: {format: pdf, color: blue}\nlimits: {workers: 99999}\n"), noEnv)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, path := range []string{"output.format", "output.color", "limits.workers"} {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s is not in %v", path, err)
		}
	}
}

func TestDefaultsAreValidAndStayWhereTheFileIsSilent(t *testing.T) {
	def := Default()
	if err := def.Validate(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "# only a comment\n", "slack: {}\n", "output:\nlogging:\n"} {
		got, err := Parse("c.yaml", []byte(text), noEnv)
		if err != nil || !reflect.DeepEqual(got, def) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestValuesAreExpandedAfterParsing(t *testing.T) {
	secretFile := filepath.Join(t.TempDir(), "name")
	if err := os.WriteFile(secretFile, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SET": "x: [not yaml", "EMPTY": "", "FILE": secretFile}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for in, want := range map[string]string{
		"plain":                   "plain",
		"${SET}":                  "x: [not yaml",
		"a-${SET}-${EMPTY}b":      "a-x: [not yaml-b",
		"${EMPTY:-d}":             "d",
		"${UNSET:-}":              "",
		"${UNSET:-a:-b}":          "a:-b",
		"$${SET}":                 "${SET}",
		"$HOME":                   "$HOME",
		"file:${FILE}":            "from-file",
		"see file:" + "elsewhere": "see file:elsewhere",
	} {
		text, err := yaml.Marshal(map[string]any{"identities": map[string]string{"U1A": in}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("c.yaml", text, lookup)
		if err != nil || got.Identities["U1A"] != want {
			t.Errorf("%q: %q, %v; want %q", in, got.Identities["U1A"], err, want)
		}
	}
}

func TestTheExampleIsValidAndHasEveryKey(t *testing.T) {
	file := filepath.Join("..", "config.example.yaml")
	if _, err := Load(file); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	where := strict.Lines(raw)
	text := strings.Split(string(raw), "\n")
	for _, path := range strict.Paths(reflect.TypeFor[Config](), "") {
		line := where(path)
		if line == 0 {
			t.Errorf("%s is not in %s", path, file)
			continue
		}
		name := path[strings.LastIndexByte(path, '.')+1:]
		for line > 0 && !strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(text[line-1]), "- "), name+":") {
			line-- // a list's or section's own line is above its first item
		}
		if line < 2 || !strings.HasPrefix(strings.TrimSpace(text[line-2]), "#") {
			t.Errorf("%s is not explained by a comment above it", path)
		}
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	const value = "hunter2-hunter2"
	holder := struct{ Token Secret }{value}
	var buf bytes.Buffer
	slog.New(slog.NewTextHandler(&buf, nil)).Info("x", "token", holder.Token, "all", holder)
	fmt.Fprintf(&buf, "%s %v %+v %#v %q %v", holder.Token, holder.Token, holder, holder, holder.Token, &holder)
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		out, err := marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		buf.Write(out)
	}
	fmt.Fprintf(&buf, "%x", holder.Token)
	if strings.Contains(buf.String(), "hunter2") || strings.Contains(buf.String(), fmt.Sprintf("%x", value)) {
		t.Errorf("printed: %s", buf.String())
	}
	if holder.Token.Reveal() != value {
		t.Error("the value is lost")
	}
}

func TestHostPatternsMatchHostsAndPorts(t *testing.T) {
	for _, c := range []struct {
		pattern, host, port string
		want                bool
	}{
		{"ais.example.org", "ais.example.org", "51080", true},
		{"ais.example.org", "AIS.example.org", "443", true},
		{"ais.example.org", "xais.example.org", "51080", false},
		{"ais.example.org", "ais.example.org.evil.org", "51080", false},
		{"ais.example.org:51080", "ais.example.org", "51080", true},
		{"ais.example.org:51080", "ais.example.org", "51081", false},
		{"*.example.org", "a.b.example.org", "1", true},
		{"*.example.org", "example.org", "1", false},
		{"*.example.org", ".example.org", "1", false},
		{"*.example.org", "evilexample.org", "1", false},
		{"10.0.0.1", "10.0.0.1", "1", true},
		{"[::1]:8080", "0:0:0:0:0:0:0:1", "8080", true},
		{"[::1]:8080", "::1", "8081", false},
		{"::1", "::1", "8081", true},
	} {
		if got := HostPattern(c.pattern).Matches(c.host, c.port); got != c.want {
			t.Errorf("%s on %s port %s: %v", c.pattern, c.host, c.port, got)
		}
		if !HostPattern(c.pattern).valid() {
			t.Errorf("%s is refused", c.pattern)
		}
	}
	for _, p := range []HostPattern{"", "*", "*.", "a*b", "a:0", "a:70000", "a:x", "a:", "http://a", "a/b", "[a-z].org", "a b"} {
		if p.valid() {
			t.Errorf("%q is accepted", p)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("clusters: [{logs: {roots: [/a], patterns: ['{job}*']}}]\noutput: {format: json}\n")
	f.Add("clusters: [{name: '${A:-b}'}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") {
			t.Skip("would read files of this machine")
		}
		c, err := Parse("c.yaml", []byte(text), noEnv)
		if err == nil && c.Validate() != nil {
			t.Errorf("accepted what is not valid: %q", text)
		}
	})
}
