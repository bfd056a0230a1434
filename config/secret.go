package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a value that is never printed, logged or marshalled, by whatever way somebody tries.
type Secret string

const masked = "(secret)"

// Reveal is the only way to the value. Call it where the value is used and keep the result nowhere.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (Secret) String() string { return masked }

// Format implements fmt.Formatter: %x and %#v would show the bytes otherwise.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// MarshalText implements encoding.TextMarshaler, for JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }
