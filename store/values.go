package store

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"faultline/workflow"
)

// stored makes arguments that both databases take.
func stored(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			out[i] = clean(v)
		case workflow.State:
			out[i] = clean(string(v))
		case workflow.Event:
			out[i] = clean(string(v))
		case workflow.PostKind:
			out[i] = clean(string(v))
		case time.Time:
			out[i] = micros(v)
		case []byte:
			if v == nil {
				v = []byte{}
			}
			out[i] = v
		default:
			out[i] = v
		}
	}
	return out
}

// targets makes what Scan can write to, and undoes stored.
func targets(into []any) []any {
	out := make([]any, len(into))
	for i, to := range into {
		switch p := to.(type) {
		case *string:
			out[i] = textTo[string]{p}
		case *workflow.State:
			out[i] = textTo[workflow.State]{p}
		case *workflow.Event:
			out[i] = textTo[workflow.Event]{p}
		case *workflow.PostKind:
			out[i] = textTo[workflow.PostKind]{p}
		case *time.Time:
			out[i] = timeTo{p}
		case *[]byte:
			out[i] = bytesTo{p}
		default:
			out[i] = to
		}
	}
	return out
}

// escaped marks text that PostgreSQL would refuse: the rest is its bytes in hexadecimal.
const escaped = "\x01hex:"

// clean is the text itself, unless no text column can hold it: logs contain NUL bytes and broken UTF-8.
func clean(s string) string {
	if !strings.ContainsRune(s, 0) && utf8.ValidString(s) && !strings.HasPrefix(s, escaped) {
		return s
	}
	return escaped + hex.EncodeToString([]byte(s))
}

type textTo[T ~string] struct{ to *T }

// Scan implements sql.Scanner.
func (t textTo[T]) Scan(from any) error {
	var s string
	switch v := from.(type) {
	case string:
		s = v
	case []byte:
		s = string(v)
	default:
		return fmt.Errorf("a text is stored as %T", from)
	}
	if code, ok := strings.CutPrefix(s, escaped); ok {
		b, err := hex.DecodeString(code)
		if err != nil {
			return fmt.Errorf("a stored text is damaged: %w", err)
		}
		s = string(b)
	}
	*t.to = T(s)
	return nil
}

// micros is a time as the databases keep it; 0 is none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

type timeTo struct{ to *time.Time }

// Scan implements sql.Scanner.
func (t timeTo) Scan(from any) error {
	var n sql.NullInt64
	if err := n.Scan(from); err != nil {
		return err
	}
	*t.to = time.Time{}
	if n.Int64 != 0 {
		*t.to = time.UnixMicro(n.Int64).UTC()
	}
	return nil
}

type bytesTo struct{ to *[]byte }

// Scan implements sql.Scanner.
func (b bytesTo) Scan(from any) error {
	*b.to = nil
	switch v := from.(type) {
	case []byte:
		*b.to = append(*b.to, v...)
	case nil:
	default:
		return fmt.Errorf("bytes are stored as %T", from)
	}
	return nil
}

// notBefore is the earliest time of something that is put off; 0, which is always over, when it is not: a clock that is
// set back must not delay what should be done at once.
func notBefore(now time.Time, after time.Duration) int64 {
	if after <= 0 {
		return 0
	}
	return micros(now.Add(after))
}

// flag is a truth as both databases keep it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
