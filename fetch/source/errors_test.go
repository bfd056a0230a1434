package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestEveryKindIsASentenceThatNamesItsObject(t *testing.T) {
	for _, k := range []Kind{NotFound, Denied, Outside, Foreign, NotRegular, BadName, Changed, HostKey, UnknownHost, Credentials, Expired,
		NoBucket, Unreachable, Lost, TimedOut, Busy, TooMuch, DiskFull, Failed} {
		text := (&Error{Kind: k, Place: "login.example.org", Name: "/logs/a"}).Error()
		if strings.Contains(text, "%") || !strings.Contains(text, "/logs/a") && !strings.Contains(text, "login.example.org") {
			t.Errorf("%s: %s", k, text)
		}
	}
	if len(words) != 19 {
		t.Errorf("%d kinds have words; the list above is not complete", len(words))
	}
}

func TestHostileNamesDoNotShapeSentences(t *testing.T) {
	text := (&Error{Kind: Denied, Name: "/a\n\x1b[31m%s\xff" + strings.Repeat("x", 10000)}).Error()
	if strings.ContainsAny(text, "\n\x1b") || len(text) > 1000 || !strings.Contains(text, "%s") {
		t.Errorf("%q", text)
	}
}

func TestTheKindOfAnError(t *testing.T) {
	denied := &Error{Kind: Denied, Err: fs.ErrPermission}
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{nil, ""},
		{context.Canceled, ""},
		{fmt.Errorf("reading: %w", context.DeadlineExceeded), TimedOut},
		{fmt.Errorf("reading: %w", denied), Denied},
		{errors.New("what"), Failed},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
	if !errors.Is(denied, fs.ErrPermission) {
		t.Error("the cause is lost")
	}
}

func TestEachErrorOfAJoinedOne(t *testing.T) {
	a, b, c := &Error{Kind: Denied, Name: "/a"}, &Error{Kind: Outside, Name: "/b"}, &Error{Kind: Lost}
	if got := Each(errors.Join(a, errors.Join(b, c))); len(got) != 3 || !errors.Is(got[2], c) {
		t.Errorf("got %v", got)
	}
	if got := Each(a); len(got) != 1 || Each(nil) != nil {
		t.Errorf("got %v", got)
	}
}
