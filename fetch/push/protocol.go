// Package push is how a job's owner hands the job's logs to the bot, which then needs no right to read where they lie: the
// client (bot push), the endpoint in bot serve, and the shelf where it is written down what was handed in for which job.
//
// A push is three kinds of calls below /push/<cluster>/<job>: POST offer says what there is and is answered with what is here of
// it already; PUT <sha256>?at=N&of=SIZE brings a piece of one content; POST done makes the offer count. Each call is signed, all
// may be repeated, and nothing is kept between them that a restart could lose.
package push

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"faultline/config"
	"faultline/fetch/slurm"
)

// Path is below what the handler serves; cluster and job follow.
const Path = "/push/"

// Offer says what there is of a job.
type Offer struct {
	Job     string `json:"job"`
	Restart int    `json:"restart"`          // which run: how often the job was started before
	Submit  int64  `json:"submit,omitempty"` // seconds since 1970; 0 = not known. Ids are given again
	User    string `json:"user"`             // the account that sends it
	Host    string `json:"host"`             // where it was sent from
	// Nodes are those that logs should come from, and From who says so.
	Nodes     []string `json:"nodes,omitempty"`
	NodesFrom string   `json:"nodes_from,omitempty"`
	// Notes are sentences: what the cluster says, which logs are missing.
	Notes []string `json:"notes,omitempty"`
	Files []File   `json:"files"`
}

// File is one file of an offer.
type File struct {
	Name    string    `json:"name"` // what a report calls it
	Path    string    `json:"path"` // where it lay
	Host    string    `json:"host,omitempty"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	Written time.Time `json:"written"`
	Owner   string    `json:"owner,omitempty"`
	Fact    bool      `json:"fact,omitempty"` // what the cluster says, no log
}

// Answer is what the endpoint says to a call that it did.
type Answer struct {
	// Here are the bytes that are here of each content, by sum.
	Here map[string]int64 `json:"here,omitempty"`
	// Of done: how much there is of the job now, with what was handed in before, and for how long it is kept.
	Files int           `json:"files,omitempty"`
	Bytes int64         `json:"bytes,omitempty"`
	Keep  time.Duration `json:"keep,omitempty"`
}

// refusal is what it says to one that it did not do.
type refusal struct {
	Error string `json:"error"`
}

// The bounds of an offer. What is longer is cut, for what is said of files must not keep them from being read.
const (
	maxOffer = 32 << 20
	maxPiece = 16 << 20
	maxName  = 512
	maxNotes = 50
	maxNote  = 1000
	maxNodes = 100_000
	// skew is how far the clock of a caller may be off.
	skew = 5 * time.Minute
)

const (
	headerTime      = "X-Faultline-Time"
	headerUser      = "X-Faultline-User"
	headerDigest    = "X-Faultline-Content-SHA256"
	headerSignature = "X-Faultline-Signature"
)

// sign signs a call: its time, who makes it, its method, the address from Path on, and the digest of its body.
func sign(key []byte, stamp, user, method, target, digest string) string {
	if i := strings.Index(target, Path); i > 0 { // whatever is in front of the bot may have taken something off
		target = target[i:]
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{"push", stamp, user, method, target, digest}, "\n")))
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// UserKey is the key with which one account, and nobody else, may push: a secret of its own made from the cluster's.
func UserKey(secret config.Secret, user string) config.Secret {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte("push user\n" + user))
	return config.Secret(hex.EncodeToString(mac.Sum(nil)))
}

// Token is what a person keeps in a file: the cluster's secret, or "user:key".
type Token struct {
	User string // "" = the cluster's own
	Key  config.Secret
}

// ParseToken reads it.
func ParseToken(text string) Token {
	text = strings.TrimSpace(text)
	user, key, ok := strings.Cut(text, ":")
	if b, err := hex.DecodeString(key); ok && err == nil && len(b) == sha256.Size && user != "" {
		return Token{user, config.Secret(key)}
	}
	return Token{Key: config.Secret(text)}
}

// verdict is what a signature is worth.
type verdict int

const (
	refused verdict = iota
	late            // the clocks differ: nothing else was looked at
	shared          // by the cluster's secret
	proven          // by the user's own
)

// check says whether a call knows one of the secrets, before its body is read: the digest that it states is signed.
func check(secrets []config.Secret, r *http.Request, now time.Time) verdict {
	stamp, user := r.Header.Get(headerTime), r.Header.Get(headerUser)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return refused
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > skew {
		return late
	}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		got := shared
		if user != "" {
			s, got = UserKey(s, user), proven
		}
		want := sign([]byte(s.Reveal()), stamp, user, r.Method, r.URL.RequestURI(), r.Header.Get(headerDigest))
		if hmac.Equal([]byte(want), []byte(r.Header.Get(headerSignature))) {
			return got
		}
	}
	return refused
}

// clean makes an offer harmless: names that lead nowhere, one line each, all of it bounded. It is false where the offer is none.
func (o *Offer) clean(job string) bool {
	id, err := slurm.ParseID(o.Job)
	if err != nil || o.Job != job || id.String() != job || id.Tasks != "" || o.Restart < 0 || o.Restart > 1_000_000 {
		return false
	}
	o.User, o.Host, o.NodesFrom = line(o.User, maxName), line(o.Host, maxName), line(o.NodesFrom, maxName)
	o.Nodes, o.Notes = o.Nodes[:min(len(o.Nodes), maxNodes)], o.Notes[:min(len(o.Notes), maxNotes)]
	for i := range o.Nodes {
		o.Nodes[i] = line(o.Nodes[i], 255)
	}
	for i := range o.Notes {
		o.Notes[i] = line(o.Notes[i], maxNote)
	}
	for i := range o.Files {
		f := &o.Files[i]
		if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != f.SHA256 || f.Size < 0 {
			return false
		}
		f.Name, f.Path, f.Owner = name(f.Name), name(f.Path), line(f.Owner, maxName)
		if f.Path != "" {
			f.Path = "/" + f.Path
		}
		if f.Name == "" {
			f.Name = "log"
		}
		f.Host = o.Host
	}
	return true
}

// name is a relative path that stays where it is put: no element climbs, none is hidden or empty.
func name(s string) string {
	s = strings.TrimPrefix(path.Clean("/"+line(strings.ReplaceAll(s, `\`, "/"), 4*maxName)), "/")
	if len(s) > maxName { // the end tells files apart
		s = strings.TrimPrefix(path.Clean("/"+strings.ToValidUTF8(s[len(s)-maxName:], "")), "/")
	}
	return s
}

// line is text of others on one line, without control characters.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
