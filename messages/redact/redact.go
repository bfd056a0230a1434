// Package redact is the one redactor in front of everything that is shown, posted, attached, exported or archived. It masks
// what training scripts print and should not (keys, tokens, passwords, signed URLs), and makes hostile text harmless.
//
// It errs towards masking where a name says "password", and towards leaving text alone where a log of a training job is
// full of the same word ("tokens", "pad_token"): a report whose numbers are gone is of no use.
package redact

import (
	"cmp"
	"encoding/base64"
	"slices"
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
func String(s string) string { return masker{known()}.text(s) }

// masker finds secrets by the formats of issuers and by what needs no table.
type masker struct{ issuers issuers }

func (m masker) text(s string) string {
	s = sanitize(s)
	for range maxPasses {
		t := render(s, outside(m.find(view{text: s}, 0), public(s)))
		if t == s {
			break
		}
		s = t
	}
	return s
}

// maxDepth bounds how often a text is decoded in search of secrets: base64 of JSON with percent-encoding has three layers.
const maxDepth = 3

// find returns the places of a text that hold secrets, as it is and as it reads once decoded, and where it goes on in the next line.
func (m masker) find(v view, depth int) []span {
	if len(v.text) < 6 { // shorter than any rule's shortest match
		return nil
	}
	var found []span
	add := func(from, to int) { found = append(found, span{from, to}) }
	m.layers(v, depth, add)
	if lines, joins := joined(v); len(joins) > 0 {
		m.across(lines, joins, depth, add)
	}
	return found
}

// layers adds the secrets of a view, as it is and decoded, by their places in the original.
func (m masker) layers(v view, depth int, add func(from, to int)) {
	for range maxDepth {
		m.in(v.text, depth, func(from, to int) {
			if from, to = v.source(from, to); to > from {
				add(from, to)
			}
		})
		next, more := decoded(v)
		if !more {
			return
		}
		v = next
	}
}

// in adds the secrets of one view.
func (m masker) in(text string, depth int, add func(from, to int)) {
	lower := strings.ToLower(text)
	for _, list := range [][]rule{rules, shapes} {
		for i := range list {
			if r := &list[i]; containsAny(lower, r.hints) {
				r.everywhere(text, add)
			}
		}
	}
	m.issuers.find(text, add)
	findNamed(text, add)
	findDrawn(text, add)
	if strings.Contains(text, "\n") {
		findKeyLines(text, add)
	}
	m.encoded(text, depth, add)
}

// encoded adds words of base64 that hold a secret.
func (m masker) encoded(text string, depth int, add func(from, to int)) {
	if depth >= maxDepth-1 {
		return
	}
	try := func(from, to int) bool {
		inner, ok := base64Text(text[from:to])
		if ok = ok && len(m.find(view{text: inner}, depth+1)) > 0; ok {
			add(from, to)
		}
		return ok
	}
	for at := 0; at < len(text); at++ {
		from := at
		for at < len(text) && (alnum(text[at]) || strings.IndexByte("+/_-=", text[at]) >= 0) {
			at++
		}
		if at-from < 16 || try(from, at) {
			continue
		}
		if i := strings.LastIndexAny(strings.TrimRight(text[from:at], "="), "/="); i >= 0 && at-from-i > 16 { // the end of a path, the value of a setting
			try(from+i+1, at)
		}
	}
}

// across adds the secrets that are broken over two lines: what goes on in the next line has to look drawn, or it is that line's own.
func (m masker) across(lines view, joins []int, depth int, add func(from, to int)) {
	text := lines.text
	for i, join := range joins {
		line := len(text)
		if i+1 < len(joins) {
			line = joins[i+1]
		}
		end := goesOn(text[:line], join)
		if end == 0 || join == 0 || !longWordByte(text[join-1]) {
			continue
		}
		from, to := max(0, join-2048), min(line, end+200)
		if i > 1 {
			from = max(from, joins[i-2])
		}
		m.layers(view{text: text[from:to]}, depth, func(f, t int) {
			if f, t = from+f, from+t; f < join && t > join {
				add(lines.source(f, max(t, end)))
			}
		})
	}
}

// goesOn returns where a word that begins a line ends, if it looks like the rest of something drawn; 0 else.
func goesOn(text string, at int) int {
	end := at
	for end < len(text) && longWordByte(text[end]) {
		end++
	}
	rest := view{text: text[at:end]}
	for range 2 {
		rest, _ = decoded(rest)
	}
	n, letters, kinds := changes(rest.text)
	if letters >= 4 && kinds[0]+kinds[1] > 0 && (drawn(rest.text) || n >= 3 || n >= 2 && letters < 16 || kinds[2] > 0 && letters >= 8 && isHex(rest.text)) {
		return end
	}
	return 0
}

// longWordByte tells what a secret and its encodings are made of.
func longWordByte(c byte) bool {
	return alnum(c) || c >= utf8.RuneSelf || strings.IndexByte("+/_-=.~%\\", c) >= 0
}

// span is a part of a text.
type span struct{ from, to int }

// render puts the mask in the place of spans.
func render(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var b strings.Builder
	last := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(s[last:from])
		b.WriteString(maskLines(s[from:to]))
		last = to
	}
	b.WriteString(s[last:])
	return b.String()
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
	lines bool // it may match more than one line
	// secret is the number of the group to mask; 0 masks the whole match.
	secret int
	// keep, if set, looks at the groups of a match and says that it is ordinary text.
	keep func(groups []string) bool
}

// everywhere looks for a rule in a text: line by line, unless what it looks for has several.
func (r *rule) everywhere(text string, add func(from, to int)) {
	if r.lines || !strings.Contains(text, "\n") {
		r.find(text, add)
		return
	}
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		if line := text[start:end]; containsAny(strings.ToLower(line), r.hints) {
			r.find(line, func(from, to int) { add(start+from, start+to) })
		}
		start = end + 1
	}
}

func (r *rule) find(s string, add func(from, to int)) {
	for _, loc := range r.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := loc[2*r.secret], loc[2*r.secret+1]
		if from >= 0 && (r.keep == nil || !r.keep(groups(s, loc))) {
			add(from, to)
		}
	}
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

// assign is what stands between a name and its value in shells, YAML, JSON, Python and escaped JSON.
const assign = `(?:\\?["'])?\s{0,2}(?::=|=>|=|:)\s{0,2}`

// rules are applied in order; each source names the issuer's documented form.
var rules = []rule{
	{name: "private key", lines: true, hints: []string{"private key"},
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
	{name: "authorization header", lines: true, hints: []string{"authorization"},
		re:     pattern.New(`(?i)\b(?:proxy-)?authorization` + assign + `(?:b?\\?["'])?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,3})?(\[masked\]|AWS4-HMAC-SHA256[^\n"']*|[^\s"'\\,;{}()\[\]]{4,})`),
		secret: 1, keep: func(g []string) bool { return strings.Trim(g[1], "abcdefghijklmnopqrstuvwxyz") == "" }},
	{name: "bearer", hints: []string{"bearer"},
		re:     pattern.New(`(?i)\bbearer[ :=]{1,3}["']?([A-Za-z0-9._~+/=-]{12,})`),
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
