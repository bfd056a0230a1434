package blockkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// deepest bounds how far objects may be nested; the deepest thing of Block Kit has about a dozen levels.
const deepest = 40

// parse reads one JSON value with numbers as they are written. A key that stands twice is an error: which of the two
// counts, every reader decides for itself.
func parse(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := value(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func value(dec *json.Decoder, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("more than %d levels", deepest)
	}
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		out := map[string]any{}
		for dec.More() {
			t, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key, _ := t.(string)
			if _, twice := out[key]; twice {
				return nil, fmt.Errorf("the key %q stands twice in one object", key)
			}
			if out[key], err = value(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return out, err
	case json.Delim('['):
		out := []any{}
		for dec.More() {
			v, err := value(dec, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err = dec.Token()
		return out, err
	}
	return t, nil
}

// pointer writes a key as a part of a JSON pointer (RFC 6901).
func pointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
