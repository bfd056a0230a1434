package slack

import (
	"encoding/json"

	"faultline/messages/blockkit"
)

// The validators that count unless a test brings others.
var (
	defaultMessageValidator = strictly(blockkit.ValidateMessage)
	defaultViewValidator    = strictly(blockkit.ValidateView)
)

// strictly turns the Block Kit checks into a Validator.
func strictly(check func(json.RawMessage) []blockkit.Problem) Validator {
	return func(raw json.RawMessage) []Problem {
		var out []Problem
		for _, p := range check(raw) {
			if p.Code == "no_text" || p.Code == "message_truncated" {
				continue // these are the method's to say
			}
			out = append(out, Problem{Pointer: p.Pointer, Text: p.Text, Code: p.Code})
		}
		return out
	}
}
