// Package secrets plants secrets in text: issuer × carrier × encoding × wrapping, with known truth. It writes what scripts, tools and
// configuration files print, and knows nothing of the redactor that is measured with it.
package secrets

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

//go:embed issuers.txt
var issuersText string

// LeftOutSeed chooses the tenth of the issuers for which no rule was written before the measurement.
const LeftOutSeed = 20261126

// Issuer is one format of secrets.
type Issuer struct {
	Name    string
	Setting string // the environment variable that usually holds it
	format  string
	Plain   bool // nothing in the secret tells it from an identifier
	LeftOut bool
}

// Issuers are all formats, in the order of their table.
func Issuers() []Issuer {
	var all []Issuer
	for line := range strings.Lines(issuersText) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		name, plain := strings.CutSuffix(f[0], "*")
		all = append(all, Issuer{Name: name, Setting: f[1], format: f[2], Plain: plain})
	}
	for _, i := range rand.New(rand.NewPCG(LeftOutSeed, 1)).Perm(len(all))[:len(all)/10] {
		all[i].LeftOut = true
	}
	return all
}

var slot = regexp.MustCompile(`\{(h|H|d|a|U|L|A|w|B|u)(\d*)\}`)

var alphabets = map[string]string{
	"h": "0123456789abcdef", "H": "0123456789ABCDEF", "d": "0123456789", "a": "abcdefghijklmnopqrstuvwxyz0123456789",
	"U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "L": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"A": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	"B": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
}

// New makes one secret.
func (i Issuer) New(r *rand.Rand) string { return fill(i.format, r) }

func fill(format string, r *rand.Rand) string {
	return slot.ReplaceAllStringFunc(format, func(s string) string {
		m := slot.FindStringSubmatch(s)
		if m[1] == "u" {
			return fill("{h8}-{h4}-4{h3}-a{h3}-{h12}", r)
		}
		n, _ := strconv.Atoi(m[2])
		b := make([]byte, n)
		for k := range b {
			b[k] = alphabets[m[1]][r.IntN(len(alphabets[m[1]]))]
		}
		// What ends in a dash is printed without it often enough to be no test.
		if last := b[n-1]; last == '-' || last == '_' {
			b[n-1] = 'x'
		}
		if first := b[0]; first == '-' || first == '_' {
			b[0] = 'x'
		}
		return string(b)
	})
}

// Form is one planted secret.
type Form struct {
	Issuer, Carrier, Encoding, Wrapping string
	LeftOut                             bool
	Text                                string
	// Parts must not be found in what is shown: the secret as it is in the text, in pieces of a readable size.
	Parts []string
}

// Name tells a form from others.
func (f Form) Name() string {
	return fmt.Sprintf("%s in %s, %s, %s", f.Issuer, f.Carrier, f.Encoding, f.Wrapping)
}

// Leaks returns a part of the secret that a text still shows; "" where none is left. Line ends and characters that cannot be seen
// do not hide a part.
func (f Form) Leaks(shown string) string {
	shown = invisible.Replace(shown)
	for _, p := range f.Parts {
		if strings.Contains(shown, p) {
			return p
		}
	}
	return ""
}

var invisible = strings.NewReplacer("\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", "\ufffd", "")

// partSize is what a piece of a secret must have to count as leaked.
const partSize = 10

// parts cuts a secret into pieces; the first one is left out where an issuer's prefix, which may stay, would be most of it.
func parts(secret string) []string {
	if len(secret) <= partSize+2 {
		return []string{secret}
	}
	var out []string
	for i := len(secret); i >= partSize; i -= partSize {
		if p := secret[i-partSize : i]; i-partSize >= partSize || len(secret) < 24 {
			out = append(out, p)
		}
	}
	return out
}

// All returns the forms: some of each issuer, passwords that people choose, and files as a whole. The same seed gives the same forms.
func All(seed uint64) []Form {
	var all []Form
	for k, i := range Issuers() {
		r := rand.New(rand.NewPCG(seed, uint64(k)))
		for n := range perIssuer {
			all = append(all, plant(i, n, r))
		}
	}
	r := rand.New(rand.NewPCG(seed, 1<<32))
	for range 260 {
		all = append(all, password(r))
	}
	for n := range 240 {
		all = append(all, wholeFile(n, r))
	}
	return all
}

const perIssuer = 10

// plant puts a secret into a carrier that suits it, in an encoding, in a wrapping.
func plant(i Issuer, n int, r *rand.Rand) Form {
	secret := i.New(r)
	list := carriers
	if !i.Plain && n%3 == 0 {
		list = bareCarriers
	}
	c := list[r.IntN(len(list))]
	for strings.ContainsAny(secret, "/:@") && c.url || len(secret) < 16 && c.bare {
		c = list[r.IntN(len(list))]
	}
	e := encodings[0]
	if r.IntN(3) == 0 {
		e = encodings[r.IntN(len(encodings))]
	}
	w := wrappings[0]
	if r.IntN(3) == 0 {
		w = wrappings[r.IntN(len(wrappings))]
	}
	return form(i.Name, i.Setting, secret, i.LeftOut, c, e, w, r)
}

func form(issuer, setting, secret string, leftOut bool, c carrier, e encoding, w wrapping, r *rand.Rand) Form {
	f := Form{Issuer: issuer, Carrier: c.name, Encoding: e.name, Wrapping: w.name, LeftOut: leftOut}
	value := secret
	if e.value != nil {
		value = e.value(secret, r)
	}
	text := c.fill(setting, value)
	shown := value
	if c.encodes != nil {
		shown = c.encodes(value)
	}
	if e.text != nil {
		before := text
		text = e.text(before)
		shown = e.text(shown)
		if e.opaque {
			shown = text // the whole text is one encoded word
		}
		text = "[rank3]: payload " + text
	}
	f.Parts = parts(invisible.Replace(e.seen(shown)))
	f.Text = w.apply(text, shown, r)
	return f
}

// password is one that a person chose.
func password(r *rand.Rand) Form {
	pw := []string{"hunter2", "Tr0ub4dor&3", "s3cr3t!", "Winter2026!", "P@ssw0rd1", "qwerty123", "correct-horse-battery-staple", "letmein99", "Zebra#77", "m0unta1n", "Gr4nite_Peak", "k33p0ut"}[r.IntN(12)]
	setting := []string{"DB_PASS", "DB_PASSWORD", "password", "passwd", "pw", "PGPASSWORD", "MYSQL_PWD", "smtp_pass", "rabbitmq_password", "credentials", "REDIS_PASSWORD", "ldap_bind_pw", "keystore_password", "SSHPASS", "admin_passwd", "Password"}[r.IntN(16)]
	list := append(append([]carrier{}, carriers...), passwordCarriers...)
	c := list[r.IntN(len(list))]
	for strings.ContainsAny(pw, "&#!") && (c.url || c.shell) {
		c = list[r.IntN(len(list))]
	}
	return form("password", setting, pw, false, c, encodings[0], wrappings[[]int{0, 0, 0, 1, 2, 4}[r.IntN(6)]], r)
}
