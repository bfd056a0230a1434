package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"faultline/pattern"
)

var prefixForm = pattern.New(`^(?:\[[^\]\n]{1,40}\]:?[ \t]?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*Z?[ \t]?|[\w.-]{1,40}:[ \t]|\d{1,6}:[ \t]){0,4}`)

// shapes are files and commands in which a place, not a name, says that something is secret.
var shapes = []rule{
	{name: "netrc", lines: true, hints: []string{"password"}, secret: 1,
		re: pattern.New(`\blogin\s+\S+(?:\s+|\n[^\n]{0,60}?)password[ \t]+(\S+)`)},
	{name: "Docker auth", hints: []string{`"auth"`}, secret: 1,
		re: pattern.New(`"auth"\s{0,2}:\s{0,2}"([A-Za-z0-9+/=]{8,})"`), keep: func(g []string) bool { return !userAndPassword(g[1]) }},
	{name: "pgpass", hints: []string{":*:", ":5432:", ":5433:", ":6432:"}, secret: 1,
		re: pattern.New(`(?:^|\s)[A-Za-z0-9.*-]+:(?:\d{3,5}|\*):[\w.*-]+:[\w.*-]+:([^\s:]{5,})[ \t]*$`), keep: func(g []string) bool { return !chosen(g[1]) || isHex(g[1]) }},
	{name: "password hash", hints: []string{"$1$", "$2", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "$pbkdf2", "$scrypt"}, re: pattern.New(`\$(?:apr1|1|2[abxy]|5|6|y|argon2id?|pbkdf2[a-z0-9-]*|scrypt)\$[^\s:"']{8,}`)},
	{name: "Ansible vault", lines: true, hints: []string{"ansible_vault"}, secret: 1, re: pattern.New(`\$ANSIBLE_VAULT;[^\n]*((?:\n[^\n]*[0-9a-f]{20,}[ \t]*)+)`)},
	{name: "PuTTY key", lines: true, hints: []string{"private-lines"}, secret: 1, re: pattern.New(`Private-Lines: \d+((?:\n[^\n]*[A-Za-z0-9+/=]{16,}[ \t]*)+)`)},
	{name: "PuTTY MAC", hints: []string{"private-mac"}, secret: 1, re: pattern.New(`Private-MAC: ([0-9a-f]{32,})`)},
	{name: "JWK", hints: []string{`"kty"`}, secret: 1, re: pattern.New(`"(?:d|p|q|dp|dq|qi|k)"\s{0,2}:\s{0,2}"([A-Za-z0-9_-]{16,})"`)},
	{name: "cookie jar", hints: []string{"\t/"}, secret: 1, re: pattern.New(`(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t(\S+)`)},
	{name: "cookie header", hints: []string{"cookie"}, secret: 1, re: pattern.New(`(?i)\bcookie["']?\s{0,2}[:=]\s{0,2}["']?((?:[\w.-]+=[^\s;"']+;?\s?)+)`)},
	{name: "key of a user", lines: true, hints: []string{`"username"`}, secret: 1, re: pattern.New(`"username"\s{0,2}:\s{0,2}"[^"\n]*"\s{0,2},\s{0,4}"key"\s{0,2}:\s{0,2}"([^"\n]{16,})"`)},
	{name: "Kubernetes secret", lines: true, hints: []string{"kind: secret"}, secret: 1, re: pattern.New(`(?m)(?:^|\s)(?:data|stringData):[ \t]*((?:\n[^\n]*  [\w.-]+: \S+[ \t]*)+)`)},
	// Flags of one letter mean something else in every program.
	{name: "user and password of curl", hints: []string{"curl", "wget", "http"}, secret: 1, re: pattern.New(`\b(?:curl|http|https)\b[^\n|]*?\s(?:-u|--user)[ =]?["']?[^\s:"']{1,80}:([^\s"']{3,})`)},
	{name: "-p of a login", hints: []string{" -p"}, secret: 1, re: pattern.New(`\b(?:docker|podman|nerdctl|helm|az|oc|skopeo|buildah|sshpass|oras)\b[^\n|]*?\s-p[ =]?["']?([^\s"']{3,})`)},
	{name: "-p of a database", hints: []string{"-p"}, secret: 1, re: pattern.New(`\b(?:mysql|mysqldump|mysqladmin|mariadb|7z|7za|mongo|mongosh)\b[^\n|]*?\s-p["']?([^\s"']{3,})`)},
	{name: "-a of Redis", hints: []string{"redis-cli"}, secret: 1, re: pattern.New(`\bredis-cli\b[^\n|]*?\s-a ["']?([^\s"']{3,})`)},
	{name: "-w of LDAP", hints: []string{"ldap"}, secret: 1, re: pattern.New(`\bldap(?:search|modify|add|whoami|passwd|delete)\b[^\n|]*?\s-w ["']?([^\s"']{3,})`)},
	{name: "-P of zip", hints: []string{"zip"}, secret: 1, re: pattern.New(`\b(?:zip|unzip)\b[^\n|]*?\s-P ["']?([^\s"']{3,})`)},
	{name: "password on standard input", hints: []string{"sudo -s", "stdin"}, secret: 1, re: pattern.New(`\b(?:echo|printf)(?: -n)? ["']?([^\s"'|]{3,})["']?[ \t]*\|[^\n]*(?:sudo -S|--?password-stdin|--stdin|-passin stdin)`)},
	{name: "passin", hints: []string{"pass:"}, secret: 1, re: pattern.New(`-(?:passin|passout|pass|k) pass:([^\s"']{3,})`)},
	{name: "user%password", hints: []string{"-u ", "--user"}, secret: 1, re: pattern.New(`\b(?:smbclient|rpcclient|net|smbget)\b[^\n|]*?\s(?:-U|--user)[ =]?["']?[^\s%"']{1,80}%([^\s"']{3,})`)},
	{name: "from literal", hints: []string{"--from-literal"}, secret: 1, re: pattern.New(`--from-literal[= ]["']?[\w.-]+=([^\s"']+)`)},
	{name: "identified by", hints: []string{"identified by"}, secret: 1, re: pattern.New(`(?i)\bidentified by ["']?([^\s"';]{3,})`)},
	{name: "SIP and HTTP digest", hints: []string{"response="}, secret: 1, re: pattern.New(`(?i)\bdigest\b[^\n]*\bresponse="?([0-9a-f]{32})`)},
}

// marked are formats with their sign in the middle or at the end. They are looked for in long words only.
var marked = []rule{
	{name: "Azure client secret", hints: []string{"Q~"}, re: pattern.New(`\b[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,}`)},
	{name: "Azure DevOps", hints: []string{"AZDO"}, re: pattern.New(`\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b`)},
	{name: "Asana", hints: []string{"/"}, re: pattern.New(`\b[0-2]/\d{16}(?:/\d{16})?:[0-9a-f]{32}`)},
	{name: "Mailchimp", hints: []string{"-us"}, re: pattern.New(`\b[0-9a-f]{32}-us\d{1,2}\b`)},
	{name: "Telegram", hints: []string{":A"}, re: pattern.New(`\b\d{8,10}:A[A-Za-z0-9_-]{34}`)},
	{name: "RapidAPI", hints: []string{"msh"}, re: pattern.New(`\b[0-9a-z]{10}msh[0-9a-z]{15}p1[0-9a-z]{6}jsn[0-9a-z]{12}`)},
	{name: "New Relic license", hints: []string{"NRAL"}, re: pattern.New(`\b[0-9a-f]{36}NRAL\b`)},
	{name: "fal", hints: []string{":"}, re: pattern.New(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9a-f]{32}\b`)},
	{name: "Kubernetes bootstrap", hints: []string{"."}, re: pattern.New(`\b[a-z0-9]{6}\.([a-z0-9]{16})\b`), keep: func(g []string) bool { return !drawn(g[1]) || isHex(g[1]) }},
	{name: "Terraform Cloud", hints: []string{".atlasv1."}, re: pattern.New(`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}`)},
	{name: "Discord bot", hints: []string{"."}, re: pattern.New(`\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`), keep: func(g []string) bool { return !drawn(g[0]) }},
	{name: "ngrok", hints: []string{"_"}, re: pattern.New(`\b2[A-Za-z0-9]{26}_[A-Za-z0-9]{15,}`)},
	{name: "Baseten", hints: []string{"."}, re: pattern.New(`\b([A-Za-z0-9]{8}\.[A-Za-z0-9]{32})\b`), keep: func(g []string) bool { return !mixed(g[1], 20) }},
	{name: "Okta", hints: []string{"00"}, re: pattern.New(`\b00([A-Za-z0-9_-]{40})\b`), keep: func(g []string) bool { return !mixed(g[1], 20) }},
}

// keyLine tells a line that holds nothing but base64, as the lines of a key do.
func keyLine(line string) (from int, full bool) {
	s := strings.TrimRight(line, " \t")
	from = strings.LastIndexAny(s, " \t]:") + 1
	body := strings.TrimRight(s[from:], "=")
	if body == "" {
		return from, false
	}
	for i := range len(body) {
		if c := body[i]; !alnum(c) && c != '+' && c != '/' {
			return from, false
		}
	}
	return from, len(s)-from >= 60 && len(s)-from <= 76 && !isHex(body)
}

// findKeyLines adds the lines of a key without its head: full lines of base64 one below the other, and the shorter one that ends them.
func findKeyLines(text string, add func(from, to int)) {
	run := 0
	var prefix string
	for start := 0; start <= len(text); {
		end := lineEnd(text, start)
		line := text[start:end]
		from, full := keyLine(line)
		p := shape(line[:from])
		ends := !full && run > 0 && p == prefix && from < len(line) && lastOfKey(line[from:])
		switch {
		case full && (run == 0 || p == prefix):
			run++
			prefix = p
			if _, _, kinds := changes(line[from:]); kinds[0] > 5 && kinds[1] > 5 || run > 1 {
				add(start+from, end)
			}
		case ends:
			add(start+from, end)
			run = 0
		default:
			run = 0
		}
		start = end + 1
	}
}

// lastOfKey tells the last line of a key: base64, padded, or not to be read as a word.
func lastOfKey(s string) bool {
	body := strings.TrimRight(strings.TrimSpace(s), "=")
	for i := range len(body) {
		if c := body[i]; !alnum(c) && c != '+' && c != '/' {
			return false
		}
	}
	return len(body) >= 2 && (strings.HasSuffix(strings.TrimSpace(s), "=") || drawn(body) || len(body) >= 24)
}

// base64Text returns what a word says in base64, where that is text.
func base64Text(word string) (string, bool) {
	word = strings.TrimRight(word, "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		enc = base64.RawURLEncoding
	}
	raw, err := enc.DecodeString(word)
	if err != nil {
		raw, err = enc.DecodeString(word[:len(word)-len(word)%4]) // cut off
	}
	if err != nil || !utf8.Valid(raw) || len(raw) < 6 {
		return "", false
	}
	for _, c := range raw {
		if c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return "", false
		}
	}
	return string(raw), true
}
