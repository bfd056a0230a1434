package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Kind is what went wrong.
type Kind string

// The kinds.
const (
	NotFound    Kind = "not-found"
	Denied      Kind = "denied"
	Outside     Kind = "outside"
	Foreign     Kind = "foreign"
	NotRegular  Kind = "not-regular"
	BadName     Kind = "bad-name"
	Changed     Kind = "changed"
	HostKey     Kind = "host-key"
	UnknownHost Kind = "unknown-host-key"
	Credentials Kind = "credentials"
	Expired     Kind = "expired"
	NoBucket    Kind = "no-bucket"
	Unreachable Kind = "unreachable"
	Lost        Kind = "lost"
	TimedOut    Kind = "timed-out"
	Busy        Kind = "busy"
	TooMuch     Kind = "too-much"
	DiskFull    Kind = "disk-full"
	Failed      Kind = "failed"
)

// words say each kind: a clause without its final stop that names the remedy. %[1]s is the file or pattern, %[2]s the place.
// Transient is what may be gone when the same is tried again a little later.
var words = map[Kind]struct {
	text      string
	transient bool
}{
	NotFound:    {"there is no file %[1]s on %[2]s", false},
	Denied:      {"%[1]s on %[2]s exists but I can't read it: its owner must give my account read permission (a group, or an ACL)", false},
	Outside:     {"%[1]s on %[2]s leads outside the directories I may read: ask the bot's administrator to add its target to the roots", false},
	Foreign:     {"%[1]s on %[2]s is one account's link to another account's file, so I don't read it", false},
	NotRegular:  {"%[1]s on %[2]s isn't a regular file but a directory, device, socket or pipe", false},
	BadName:     {"%[1]s isn't a valid path or pattern on %[2]s: use an absolute path with closed brackets and no NUL bytes", false},
	Changed:     {"%[1]s on %[2]s was replaced or truncated while I read it", false},
	HostKey:     {"the host key of %[2]s doesn't match known_hosts, so I don't connect. If the host was reinstalled, ask the bot's administrator to verify the fingerprint and replace the entry", false},
	UnknownHost: {"the host key of %[2]s is not in known_hosts, so I don't connect. Ask the bot's administrator to verify the fingerprint and add it", false},
	Credentials: {"%[2]s rejects my key: ask the bot's administrator to check the account and its key", false},
	Expired:     {"the credentials for %[2]s have expired: ask the bot's administrator to renew them", false},
	NoBucket:    {"the bucket for %[2]s doesn't exist: ask the bot's administrator to check its name and the endpoint", false},
	Unreachable: {"can't reach %[2]s: check its address, and that my machine may connect to it", true},
	Lost:        {"the connection to %[2]s was lost", true},
	TimedOut:    {"%[2]s didn't respond in time", true},
	Busy:        {"%[2]s is too busy to respond", true},
	TooMuch:     {"%[1]s on %[2]s exceeds my limit", false},
	DiskFull:    {"my disk has no room for %[1]s: ask the bot's administrator to free up space or move the spool", false},
	Failed:      {"can't read %[1]s on %[2]s", false},
}

// Error is a failure as a sentence for people. It holds no credentials.
type Error struct {
	Kind  Kind
	Place string // "login.example.org", "s3://bucket", "this machine"
	Name  string // the file or pattern, "" where it is not about one
	More  string // what else is known: a limit, the server's word
	Err   error  // why, may be nil
}

func (e *Error) Error() string {
	name := "the files"
	if e.Name != "" {
		name = Shown(e.Name)
	}
	place := "this machine"
	if e.Place != "" {
		place = Shown(e.Place)
	}
	text := words[e.Kind].text
	switch {
	case strings.Contains(text, "%[1]s") && strings.Contains(text, "%[2]s"):
		text = fmt.Sprintf(text, name, place)
	case strings.Contains(text, "%[1]s"):
		text = fmt.Sprintf(text, name)
	default:
		text = strings.ReplaceAll(text, "%[2]s", place)
	}
	if e.More != "" {
		text += " (" + Shown(e.More) + ")"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of an error of a source; "" for nil, Failed for what no source says, "" when a context was cancelled.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return Failed
}

// Transient says whether the same may succeed when it is tried again.
func (k Kind) Transient() bool { return words[k].transient }

// Each lists the errors that an error of Glob joins.
func Each(err error) []error {
	if err == nil {
		return nil
	}
	many, ok := any(err).(interface{ Unwrap() []error }) // not one that an *Error wraps
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range many.Unwrap() {
		list = append(list, Each(e)...)
	}
	return list
}

// shownRunes is how much of a name is shown.
const shownRunes = 300

// Shown is text of others as it may stand in a sentence: one line, bounded, without control characters.
func Shown(text string) string {
	if len(text) > 8*shownRunes {
		text = text[:8*shownRunes]
	}
	runes := []rune(strings.ToValidUTF8(text, "?"))
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	if len(runes) > shownRunes {
		return string(runes[:shownRunes]) + "…"
	}
	return string(runes)
}
