package redact

import (
	"strings"

	"faultline/pattern"
)

// strength is how surely a name announces a secret.
type strength int

const (
	silent strength = iota
	// weak names have other meanings as well (a tokenizer's token, a dictionary's key): the value has to look like a secret.
	weak
	strong
)

// strongEnds end names whose value is a secret whatever it looks like. They are compared with the name's words put together.
var strongEnds = strings.Fields("password passwort passwd passphrase passcode kennwort contraseña motdepasse пароль 密码 パスワード secret secrets credential credentials creds apikey accesskey secretkey " +
	"secretaccesskey privatekey accountkey sharedkey presharedkey storagekey signingkey encryptionkey masterkey subscriptionkey licensekey servicekey deploykey functionkey clientkeydata authtoken authkey accesstoken refreshtoken " +
	"bearertoken apitoken privatetoken identitytoken registrytoken sessionid sessiontoken webhooksecret connectionstring hmackey adminkey appkey secretvalue otpsecret")

// strongWords are names of one word, or the last word of a longer name.
var strongWords = set("pw pwd pat jwt sid psk sshpass pgpassword mysqlpwd pword")

// weakWords end names that may announce a secret.
var weakWords = set("token key auth session cookie signature sig oauth bearer webhook trigger dsn pin otp authtoken license cred tokens keys login")

// ordinaryBefore are the words in front of a weak one that give it another meaning.
var ordinaryBefore = set("pad eos bos eot eod unk sep cls mask special stop start end begin prefix suffix middle image img audio video text next new last first per each one loss byte sub word prompt target source " +
	"input output think tool cache primary sort store foreign partition hash dict state group dedup idempotency public pub ssh host object row shard lookup index map unexpected missing sampling max min num total draft generated query attention attn prng rng " +
	"random dropout by config kv forward backward fwd bwd train eval missing metric verifying verification tensor parameter buffer module column join unique composite config")

// passBefore turn "pass" into a step of the computation.
var passBefore = set("forward backward fwd bwd first second third last next single one two multi train eval prefill decode by low high band per each warmup optimizer compiler")

// nameStrength tells how surely a name announces a secret: DB_PASS, awsSecretAccessKey, --hf-token, client-key-data.
func nameStrength(name string) strength {
	words := nameWords(name)
	for len(words) > 1 && ornaments[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return silent
	}
	last := words[len(words)-1]
	joined := strings.Join(words[max(0, len(words)-3):], "")
	for _, end := range strongEnds {
		if strings.HasSuffix(joined, end) {
			return strong
		}
	}
	before := ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case last == "pass" && !passBefore[before], last == "dbpass", last == "userpass":
		if before == "" {
			return weak
		}
		return strong
	case strongWords[last]:
		return strong
	case weakWords[last] && !ordinaryBefore[before]:
		return weak
	case strings.HasSuffix(last, "token") && !ordinaryBefore[strings.TrimSuffix(last, "token")], strings.HasSuffix(last, "pwd"), last == "dnkey":
		return weak
	}
	return silent
}

// ornaments say nothing about what a name means.
var ornaments = set("value env var str string plain plaintext text raw b64 base64 encoded data header prod dev staging test live")

// nameWords cuts a name at its signs and where upper case begins.
func nameWords(name string) []string {
	var words []string
	start := 0
	flush := func(end int) {
		if end > start {
			if w := strings.TrimRight(strings.ToLower(name[start:end]), "0123456789"); w != "" {
				words = append(words, w)
			}
		}
		start = end
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
			flush(i)
			start = i + 1
		case i > 0 && upper(c) && lower(name[i-1]):
			flush(i)
		}
	}
	flush(len(name))
	return words
}

func nameByte(c byte) bool { return alnum(c) || c == '_' || c == '-' || c == '.' || c >= 0x80 }

// nameHints are what a text must hold for the search for names to be worth while.
var nameHints = []string{"pass", "pw", "secret", "token", "key", "cred", "auth", "sess", "cookie", "sig", "pat", "sid", "psk", "jwt", "dsn", "kennwort", "contrase", "пароль", "密码", "パスワード", "bearer", "hook", "trigger", "pin", "otp", "license", "login"}

// separator is what may stand between a name and its value; the groups tell the kinds apart.
var separator = pattern.New(`^(?:` +
	`(["'\x60)\]]{0,2}[ \t]{0,4}(?::=|=>|->|=|:)[ \t]{0,4}(?:[>|]-?[ \t]*)?)` + // 1: a sign
	`|(["']?\s{0,2},\s{0,2}["']?value["']?\s{0,2}[:=]\s{0,2}|["']\s{1,2}value=|["']\s{0,2}\{(?:\s|\n[^\n]{0,60}?)default\s{0,2}=\s{0,2})` + // 2: "name": NAME, "value": …
	`|(["'],\s{0,2}["'\[]?)` + // 3: 'name', 'value'
	`|(>)` + // 4: <name>…
	`|([ \t]{1,2}\|[ \t]{1,2})` + // 5: a table
	`|([ \t]{1,3}(?:is now|is|was|ist|lautet:?|set to|=)[ \t]{1,3})` + // 6: prose
	`|([ \t]{1,4})` + // 7: nothing but space
	`)`)

// findNamed adds the values that stand behind names of secrets.
func findNamed(text string, add func(from, to int)) {
	if !containsAny(strings.ToLower(text), nameHints) {
		return
	}
	for at := 0; at < len(text); {
		if !nameByte(text[at]) {
			at++
			continue
		}
		from := at
		for at < len(text) && nameByte(text[at]) {
			at++
		}
		if at-from > 120 {
			continue
		}
		name := strings.TrimLeft(text[from:at], "-.")
		s := nameStrength(name)
		if phrase := wordBefore(text, from) + name; s == weak && nameStrength(phrase) == strong {
			name, s = phrase, strong
		}
		if s != silent {
			if f, t := valueAfter(text, from, at, name, s); t > f {
				add(f, t)
				at = max(at, t)
			}
		}
	}
}

// wordBefore is the word in front of a name of several words: "API key".
func wordBefore(text string, at int) string {
	if at < 2 || text[at-1] != ' ' {
		return ""
	}
	from := at - 1
	for from > 0 && alnum(text[from-1]) && at-from < 12 {
		from--
	}
	return text[from:at-1] + "_"
}

// valueAfter returns where the secret behind a name stands; nothing where what follows is none.
func valueAfter(text string, from, end int, name string, s strength) (int, int) {
	m := separator.FindStringSubmatchIndex(text[end:min(len(text), end+240)])
	if m == nil {
		return 0, 0
	}
	at := end + m[1]
	kind := 1
	for m[2*kind] < 0 {
		kind++
	}
	flag := from < len(text) && text[from] == '-'
	if kind == 3 && !flag && (from == 0 || !quote(text[from-1])) {
		return 0, 0
	}
	nextLine := false
	if kind == 1 && restOfLineEmpty(text, at) {
		if at = valueOfNextLine(text, at); at < 0 {
			return 0, 0
		}
		nextLine = true
	}
	f, t, quoted := valueAt(text, at)
	if t <= f {
		return 0, 0
	}
	if kind == 1 && text[at-1] == '=' && at < len(text) && text[at] == '=' { // a comparison
		return 0, 0
	}
	if !quoted && (t < len(text) && text[t] == '(' || reference(text[f:t])) { // code in a traceback
		return 0, 0
	}
	v := value{name: name, text: unquote(text[f:t]), strength: s, quoted: quoted, flag: flag, sign: kind < 6 || flag, nextLine: nextLine}
	v.sign = v.sign || kind == 6 && (drawn(v.text) || isHex(v.text) && len(v.text) >= 32)
	if nextLine && !quoted && !restOfLineEmpty(text, t) && !drawn(v.text) {
		return 0, 0
	}
	if !v.secret() {
		return 0, 0
	}
	if quoted && !v.sign { // a sentence keeps its quotes
		return f + 1, t - 1
	}
	return f, t
}

// reference tells code that names a value elsewhere: cfg.hub.token.
func reference(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if p == "" || digit(p[0]) || len(p) > 24 || strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			return false
		}
	}
	return len(parts) > 1
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func restOfLineEmpty(text string, at int) bool {
	for ; at < len(text) && text[at] != '\n'; at++ {
		if c := text[at]; c != ' ' && c != '\t' && c != ',' && c != ';' {
			return false
		}
	}
	return true
}

// valueOfNextLine is where the text of the next line begins; -1 where there is none.
func valueOfNextLine(text string, at int) int {
	eol := at + strings.IndexByte(text[at:], '\n')
	if eol < at {
		return -1
	}
	start := strings.LastIndexByte(text[:eol], '\n') + 1
	rest := text[eol+1:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return eol + 1 + lineStart(text[start:eol], rest)
}

// maxValue bounds how far the end of a value is looked for.
const maxValue = 8 << 10

// valueAt is the value at a place, with its quotes.
func valueAt(text string, at int) (from, to int, quoted bool) {
	if strings.HasPrefix(text[at:], Mask) {
		return at, at + len(Mask), false
	}
	text = text[:min(len(text), at+maxValue)]
	if strings.HasPrefix(text[at:], `\"`) || strings.HasPrefix(text[at:], `\'`) {
		if end := strings.Index(text[at+2:], text[at:at+2]); end >= 0 && !strings.Contains(text[at+2:at+2+end], "\n") {
			return at, at + 2 + end + 2, true
		}
		return 0, 0, false
	}
	for at+2 < len(text) && quote(text[at]) && quote(text[at+1]) && alnum(text[at+2]) { // quotes within quotes
		at++
	}
	if at < len(text) && quote(text[at]) {
		if end := strings.IndexByte(text[at+1:], text[at]); end >= 0 && !strings.Contains(text[at+1:at+1+end], "\n") {
			return at, at + end + 2, true
		}
		at++ // it opens and never closes: cut
	}
	to = at
	for to < len(text) && !valueEnds(text, to) {
		to++
	}
	for to > at && strings.IndexByte(".:!?", text[to-1]) >= 0 && (to == len(text) || text[to] == ' ' || text[to] == '\n') && text[to-1] != '!' {
		to--
	}
	return at, to, false
}

// valueEnds tells where a value without quotes ends. An ampersand belongs to it unless another setting follows.
func valueEnds(text string, i int) bool {
	switch c := text[i]; c {
	case ' ', '\t', '\n', '"', '\'', '`', ',', ';', '<', '>', '(', ')', '{', '}', '[', ']', '|', '\\':
		return true
	case '&':
		rest := text[i+1:]
		eq := strings.IndexByte(rest, '=')
		return eq > 0 && eq < 40 && strings.IndexFunc(rest[:eq], func(r rune) bool { return r >= 0x80 || !nameByte(byte(r)) }) < 0
	}
	return false
}

// value is what stands behind a name.
type value struct {
	name, text string
	strength   strength
	quoted     bool
	flag       bool
	nextLine   bool
	sign       bool // a sign joins them; not words, not space alone
}

// secret tells whether a value is a secret, behind its name.
func (v value) secret() bool {
	if v.text == Mask {
		return v.sign
	}
	if nothing(v.text) || strings.HasPrefix(v.text, "-") && v.flag || strings.HasPrefix(v.text, "/") && !mixed(v.text, 12) { // a path
		return false
	}
	lower := strings.ToLower(v.name)
	switch {
	case v.strength == strong && v.sign:
		if strings.HasSuffix(lower, "key") || strings.HasSuffix(lower, "id") {
			return !digits(v.text) && len(v.text) >= 6
		}
		return !flagWord(v.text)
	case v.strength == strong && v.quoted:
		return len(v.text) >= 3 && !strings.Contains(v.text, " ")
	case v.strength == strong:
		return chosen(v.text)
	case strings.HasSuffix(lower, "pwd"):
		return v.sign && len(v.text) >= 4
	case strings.HasSuffix(lower, "token") && v.sign:
		return !(v.nextLine && !drawn(v.text)) && tokenValue(v)
	case strings.HasSuffix(lower, "key"):
		return keyValue(v)
	case lower == "pass" || strings.HasSuffix(lower, "_pass"):
		return v.sign && chosen(v.text)
	case strings.HasPrefix(v.text, "/") || strings.Contains(v.text, "://"):
		return false
	}
	return v.sign && len(v.text) >= 12 && (mixed(v.text, 12) || drawn(v.text) && len(v.text) >= 16) || drawn(v.text) && mixed(v.text, 20)
}

// flagWord tells words that say whether there is a secret, not which.
func flagWord(s string) bool { return flagWords[strings.ToLower(strings.Trim(s, ".,"))] }

var flagWords = set("required optional incorrect invalid wrong expired unknown default disabled enabled provided hidden redacted masked prompt stdin ok set present loaded found rejected accepted failed env file anonymous")

// chosen tells what a person or a program chose as a secret from a word of a sentence.
func chosen(s string) bool {
	if len(s) < 5 || strings.HasPrefix(s, "/") || strings.Contains(s, "://") || digits(s) {
		return false
	}
	n, letters, kinds := changes(s)
	if strings.ContainsAny(s, "=:") && !drawn(s) {
		return false
	}
	return letters >= 12 && 10*n >= 3*letters || kinds[2] > 0 && letters > kinds[2] || strings.ContainsAny(s, "!@#$%^&*~+") || strings.Count(s, "-") > 1
}

// tokenValue leaves the tokens of tokenizers alone.
func tokenValue(v value) bool {
	t := v.text
	if digits(t) || len(t) < 8 || flagWord(t) || strings.HasPrefix(t, "<") {
		return false
	}
	onlyLetters := strings.Trim(t, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	if strings.Trim(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && strings.Contains(t, "_") { // the name of a variable
		return false
	}
	return !onlyLetters || len(t) >= 20 || strings.ContainsAny(v.name, "_-")
}

// keyValue tells the key to a service from the key of a dictionary: by what the value looks like, and the more so where the name says
// whose key it is.
func keyValue(v value) bool {
	t := v.text
	if strings.HasPrefix(t, "/") || len(t) < 16 || digits(t) {
		return false
	}
	if len(nameWords(v.name)) > 1 && v.sign && !strings.ContainsAny(t, "/") {
		return isHex(t) && len(t) >= 32 || uuid(t) || drawn(t)
	}
	return mixed(t, 20)
}
