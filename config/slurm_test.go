package config

import (
	"errors"
	"strings"
	"testing"
)

func TestWhomToAskAndWhereLogsAreIsChecked(t *testing.T) {
	const good = `
clusters:
  - name: west
    ssh: {address: "login:22", user: bot, key_file: /k, known_hosts: [/h], jump: [{address: gate, user: bot, agent: /a}]}
    slurm: {commands: ssh, rest: {url: "https://rest:6820", token_file: /t}}
    logs: {source: ssh, roots: [/home], templates: ["{user}/e-%j-%n.out", "{root}/{job}/x"]}
  - name: east
    logs: {source: s3, roots: ["", "a/b"], s3: {bucket: logs}}
`
	none := func(string) (string, bool) { return "", false }
	if _, err := Parse("f", []byte(good), none); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"commands: ssh|commands: shh":                         `clusters[0].slurm.commands: "shh" is neither local nor ssh; did you mean "ssh"?`,
		"user: bot, key_file|user: '', key_file":              "clusters[0].ssh.user: is empty",
		"key_file: /k, |":                                     "clusters[0].ssh.key_file: is empty, and so is agent",
		"key_file: /k|key_file: k":                            `clusters[0].ssh.key_file: "k" is not an absolute path`,
		"agent: /a|agent: a":                                  `clusters[0].ssh.jump[0].agent: "a" is not an absolute path`,
		`"login:22"|"bot@login"`:                              `clusters[0].ssh.address: "bot@login" is neither host nor host:port`,
		"known_hosts: [/h], |":                                "clusters[0].ssh.known_hosts: is empty",
		"https://rest:6820|rest:6820":                         "clusters[0].slurm.rest.url: is not a URL",
		", token_file: /t|":                                   "clusters[0].slurm.rest.token_file: is empty",
		"source: ssh|source: nfs":                             `clusters[0].logs.source: "nfs" is not one of mounted, ssh, s3`,
		"roots: [/home], |":                                   "clusters[0].logs.roots: is empty",
		"roots: [/home]|roots: [home]":                        `clusters[0].logs.roots[0]: "home" is not an absolute path`,
		"{root}/{job}/x|x":                                    "clusters[0].logs.templates[1]: \"x\" contains none of %j, %A and {job}",
		"{root}/{job}/x|../{job}":                             "clusters[0].logs.templates[1]: \"../{job}\" must stay under the roots",
		"{root}/{job}/x|?{job}":                               "clusters[0].logs.templates[1]: \"?{job}\" has an unsupported wildcard",
		`"a/b"|"/a"`:                                          `clusters[1].logs.roots[1]: "/a" is not a bucket prefix`,
		"{bucket: logs}|{bucket: ''}":                         "clusters[1].logs.s3.bucket: \"\" is not a bucket name",
		"{bucket: logs}|{bucket: logs, access_key: x}":        "clusters[1].logs.s3.access_key: goes with secret_key",
		"{bucket: logs}|{bucket: logs, endpoint: s3.local}":   "clusters[1].logs.s3.endpoint: is not a URL",
		"name: east\n|name: east\n    slurm: {settle: -1s}\n": "clusters[1].slurm.settle: -1s is negative",
		`roots: ["", "a/b"]|templates: ["%j"]`:                "clusters[1].logs.templates[0]: needs slurm.commands or slurm.rest",
	} {
		old, now, _ := strings.Cut(from, "|")
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the file", old)
		}
		_, err := Parse("f", []byte(strings.Replace(good, old, now, 1)), none)
		var field *FieldError
		if err == nil || !errors.As(err, &field) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", from, err, want)
		}
	}
}
