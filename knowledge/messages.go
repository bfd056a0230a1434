package knowledge

import (
	"slices"
	"strings"
)

// Message is what a library prints, for people who look it up. It takes no part in diagnosis: the engine reads such an
// error as the exception that it is, and who is at fault follows from the ranks, not from the words. So a wording may
// stand here that is too short or too common for a Signature.
type Message struct {
	ID ID
	// Literals: the line must contain all of them, in order.
	Literals  []string
	Role      Role
	Mechanism Slug   // slug under which a job that ended with it is mostly filed, or ""
	Meaning   string // one sentence for people
	Cause     string // what mostly brings it about
	Check     string // what to look at first; a second line is a command
	// Collect are settings that make the next run say more: "NAME=VALUE", each explained in the table of variables.
	Collect []string
	Source  string // project and file the wording comes from
	Example string
}

// messages are those of all tables; where two hold for a line, the earlier explains it first.
var messages = slices.Concat(meshMessages, wrapperMessages, groupMessages, libraryMessages, siteMessages)

// In says that a line holds the message's literals, in order.
func (m *Message) In(line string) bool {
	for _, l := range m.Literals {
		i := strings.Index(line, l)
		if i < 0 {
			return false
		}
		line = line[i+len(l):]
	}
	return true
}
