package severity

import "strings"

// advices begin sentences that tell the reader what to do or what may be the reason, in lower case.
var advices = []string{"possible cause", "possible reason", "possible solution", "probable cause", "solution:", "suggestion:", "suggested ", "hint:", "tip:", "note:", "please ", "to fix ", "to avoid ",
	"to resolve ", "to debug ", "for debugging ", "try ", "consider ", "make sure ", "in addition, you can ", "you can ", "you may ", "you should ", "if you ", "if this ", "see also ", "for more ",
	"refer to ", "check that ", "check if ", "check whether ", "workaround"}

// Advises says that a message tells its reader what to do, or what may be the reason: not what happened.
func Advises(message string) bool {
	m := strings.ToLower(strings.TrimLeft(message, " \t*-•>#"))
	for _, a := range advices {
		if strings.HasPrefix(m, a) {
			return true
		}
	}
	return false
}
