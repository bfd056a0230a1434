// Package redact is the one redactor in front of everything that is shown, posted, attached, exported or archived. It masks
// what training scripts print and should not (keys, tokens, passwords, signed URLs), and makes hostile text harmless.
//
// It errs towards masking where a name says "password", and towards leaving text alone where a log of a training job is
// full of the same word ("tokens", "pad_token"): a report whose numbers are gone is of no use.
package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"faultline/pattern"
)

// Mask is what stands in place of a secret.
const Mask = "[masked]"

// maxPasses bounds the search for a text that another pass would not change. Two are enough for every text we know.
const maxPasses = 8

// String returns s sanitised (valid UTF-8, no control characters but newline and tab) and with every recognised
// secret masked. String(String(s)) equals String(s).
func String(s string) string {
	s = sanitize(s)
	for range maxPasses {
		t := mask(s)
		if t == s {
			break
		}
		s = t
	}
	return s
}

func mask(s string) string {
	if len(s) < 6 { // shorter than any rule's shortest match
		return s
	}
	lower := strings.ToLower(s)
	for i := range rules {
		if r := &rules[i]; containsAny(lower, r.hints) {
			s = r.apply(s)
		}
	}
	return s
}

func containsAny(s string, hints []string) bool {
	for _, h := range hints {
		if strings.Contains(s, h) {
			return true
		}
	}
	return false
}

// rule finds one family of secrets.
type rule struct {
	name string
	// hints are lower-case literals, one of which must occur before the expression is tried.
	hints []string
	re    *pattern.Regexp
	// secret is the number of the group to mask; 0 masks the whole match.
	secret int
	// keep, if set, looks at the groups of a match and says that it is ordinary text.
	keep func(groups []string) bool
}

func (r *rule) apply(s string) string {
	locs := r.re.FindAllStringSubmatchIndex(s, -1)
	if locs == nil {
		return s
	}
	var b strings.Builder
	last := 0
	for _, loc := range locs {
		from, to := loc[2*r.secret], loc[2*r.secret+1]
		if from < 0 || from < last || (r.keep != nil && r.keep(groups(s, loc))) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(maskLines(s[from:to]))
		last = to
	}
	b.WriteString(s[last:])
	return b.String()
}

// maskLines keeps the number of lines, so that the lines around a masked key keep their numbers.
func maskLines(secret string) string {
	return Mask + strings.Repeat("\n"+Mask, strings.Count(secret, "\n"))
}

func groups(s string, loc []int) []string {
	g := make([]string, len(loc)/2)
	for i := range g {
		if loc[2*i] >= 0 {
			g[i] = s[loc[2*i]:loc[2*i+1]]
		}
	}
	return g
}

// value of an assignment: masked already, quoted, or up to the next separator.
const value = `(\[masked\]|"[^"\n]*"|'[^'\n]*'|\\"[^"\\\n]*\\"|[^\s"'\\,;&<>(){}\[\]|` + "`" + `]+)`

// assign is what stands between a name and its value in shells, YAML, JSON, Python and escaped JSON.
const assign = `(?:\\?["'])?\s{0,2}(?::=|=>|=|:)\s{0,2}`

// rules are applied in order; each source names the issuer's documented form.
var rules = []rule{
	{name: "private key", hints: []string{"private key"},
		re: pattern.New(`(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`)},
	// AWS IAM identifiers: a four-letter prefix and 16 of A–Z 2–7; the 40-character secret often stands right after it.
	{name: "AWS key", hints: []string{"akia", "asia", "abia", "acca"},
		re: pattern.New(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b(?:[\s:,"']{1,4}[A-Za-z0-9/+]{40}\b)?`)},
	{name: "GitHub", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		re: pattern.New(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`)},
	{name: "GitLab", hints: []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "gloas-"},
		re: pattern.New(`\bgl(?:pat|dt|rt|cbt|ptt|oas)-[A-Za-z0-9_.-]{16,}`)},
	{name: "Slack", hints: []string{"xox", "xapp-", "hooks.slack.com"},
		re: pattern.New(`\b(?:xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,})|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{8,}`)},
	{name: "Hugging Face", hints: []string{"hf_", "api_org_"},
		re: pattern.New(`\b(?:hf|api_org)_[A-Za-z0-9]{30,}`)},
	{name: "OpenAI, Anthropic", hints: []string{"sk-"},
		re: pattern.New(`\bsk-(?:(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{12,}|[A-Za-z0-9]{20,})`)},
	{name: "Google", hints: []string{"aiza", "ya29.", "gocspx-"},
		re: pattern.New(`\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}`)},
	{name: "NVIDIA", hints: []string{"nvapi-"},
		re: pattern.New(`\bnvapi-[A-Za-z0-9_-]{20,}`)},
	{name: "other issuers", hints: []string{"npm_", "pypi-", "dckr_pat_", "dop_v1_", "wandb_v1_", "r8_", "gsk_", "sg."},
		re: pattern.New(`\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{40,}|wandb_v1_[A-Za-z0-9_]{20,}|r8_[A-Za-z0-9]{37}|gsk_[A-Za-z0-9]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})`)},
	// JSON Web Tokens (RFC 7519); AIStore's AuthN tokens are JWTs. The header is base64url of `{"`.
	{name: "JWT", hints: []string{"eyj"},
		re: pattern.New(`\beyJ[A-Za-z0-9_-]{14,}(?:\.[A-Za-z0-9_=-]+){0,4}`)},
	{name: "authorization header", hints: []string{"authorization"},
		re:     pattern.New(`(?i)\b(?:proxy-)?authorization` + assign + `(?:b?\\?["'])?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,3})?(\[masked\]|AWS4-HMAC-SHA256[^\n"']*|[^\s"'\\,;{}()\[\]]{4,})`),
		secret: 1},
	{name: "bearer", hints: []string{"bearer"},
		re:     pattern.New(`(?i)\bbearer[ :=]{1,3}([A-Za-z0-9._~+/=-]{12,})`),
		secret: 1, keep: func(g []string) bool { return !strings.ContainsAny(g[1], "0123456789") }},
	{name: "basic", hints: []string{"basic "},
		re:     pattern.New(`\b[Bb]asic +([A-Za-z0-9+/]{8,}={0,2})`),
		secret: 1, keep: func(g []string) bool { return !userAndPassword(g[1]) }},
	// wandb login <40 hex digits>; a bare run of 40 hex digits is a git commit.
	{name: "wandb login", hints: []string{"wandb"},
		re:     pattern.New(`(?i)\bwandb[\s"',.(\[]{1,4}login[^\n]{0,40}?\b([0-9a-f]{40}|[A-Za-z0-9]{86})\b`),
		secret: 1},
	{name: "user info of a URL", hints: []string{"://"},
		re:     pattern.New(`\b[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#"'<>\\]+)@`),
		secret: 1, keep: func(g []string) bool { return g[1] == "git" }},
	{name: "signed URL", hints: []string{"sig", "x-amz-", "x-goog-", "awsaccesskeyid", "key-pair-id", "policy="},
		re:     pattern.New(`(?i)(?:(?:[?&;]|\\u0026|%26)(?:sig|signature|se?curity[_-]token|awsaccesskeyid|googleaccessid|key-pair-id|policy)|\bx-(?:amz|goog)-(?:signature|credential|security-token)|\bawsaccesskeyid)(?:=|%3d)(\[masked\]|[^&\s"'<>#\\]+)`),
		secret: 1},
	{name: "AWS signature", hints: []string{"signature="},
		re: pattern.New(`\bSignature=([0-9a-f]{32,})`), secret: 1},
	// A name that says so. The name's end decides: password, passwd, …_secret, api_key, secret_access_key, account_key.
	{name: "named secret", hints: []string{"passw", "passphrase", "secret", "key", "_pat", "pwd"},
		re:     pattern.New(`(?i)\b([a-z0-9_.-]{0,60}(?:passwo?r?d|passphrase|(?:^|[^a-z0-9])pwd|secret|secret[_-]?access[_-]?key|secret[_-]?key|(?:api|access|account|private|auth|signing|encryption|license|shared|storage|subscription|master)[_-]?key|_pat))` + assign + value),
		secret: 2, keep: keepNamed},
	{name: "named token", hints: []string{"token"},
		re:     pattern.New(`(?i)\b([a-z0-9_.-]{0,60}token)` + assign + value),
		secret: 2, keep: keepToken},
	// "password 'x'": no sign between, but quotes that a value wears.
	{name: "quoted password", hints: []string{"passw", "passphrase"},
		re:     pattern.New(`(?i)\b(?:password|passwd|passphrase)\s{1,3}["']([^"'\n]{3,200})["']`),
		secret: 1},
	{name: "flag", hints: []string{"--"},
		re:     pattern.New(`(?i)(--?(?:[a-z0-9]+[_-]){0,4}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key))["',]{0,3}\s{1,3}` + value),
		secret: 2, keep: func(g []string) bool {
			return strings.HasPrefix(g[2], "-") || keepFlag(g)
		}},
}

func keepFlag(g []string) bool {
	if strings.HasSuffix(strings.ToLower(g[1]), "token") {
		return keepToken(g)
	}
	return keepNamed(g)
}

func unquote(v string) string { return strings.Trim(v, `"'\`) }

// nothing tells values that hide nothing.
func nothing(v string) bool {
	switch strings.ToLower(v) {
	case "", "none", "null", "nil", "true", "false", "yes", "no", "unset", "empty", "missing", "required", "not", "...":
		return true
	}
	return strings.Trim(v, "*x.-") == "" || strings.HasPrefix(v, "$") || (strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">"))
}

func keepNamed(g []string) bool {
	v := unquote(g[2])
	if nothing(v) {
		return true
	}
	name := strings.ToLower(g[1])
	if strings.HasSuffix(name, "key") && (digits(v) || len(v) < 6) {
		return true
	}
	return strings.HasSuffix(name, "pwd") && strings.HasPrefix(v, "/") // PWD=/home/…: a folder
}

// modelTokens are the words before "token" that belong to tokenisers and language models.
var modelTokens = pattern.New(`(?i)(?:pad|eos|bos|eot|eod|unk|sep|cls|mask|special|stop|start|end|begin|prefix|suffix|middle|image|img|audio|video|text|next|new|last|first|per|each|one|special_|loss|byte|sub|word|prompt|target|source|input|output|think|tool)[_-]?token$`)

func keepToken(g []string) bool {
	v := unquote(g[2])
	if nothing(v) || digits(v) || len(v) < 8 || modelTokens.MatchString(g[1]) {
		return true
	}
	if v == Mask {
		return false
	}
	// Prose such as "unexpected token: identifier": a value of letters only counts where the name is a setting's.
	letters := strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	return letters && len(v) < 20 && !strings.ContainsAny(g[1], "_-")
}

func digits(s string) bool { return strings.Trim(s, "0123456789.+-eE") == "" }

// userAndPassword tells whether a base64 text decodes to "user:password" (RFC 7617), which "Basic configuration" does not.
func userAndPassword(s string) bool {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || !utf8.Valid(raw) {
		return false
	}
	for _, c := range raw {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return strings.Contains(string(raw), ":")
}
