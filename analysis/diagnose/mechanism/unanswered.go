package mechanism

import (
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/pattern"
)

// noAnswer are exceptions that say only that something did not answer, or could not be reached.
var noAnswer = map[string]bool{"TimeoutError": true, "timeout": true, "Again": true, "ConnectionRefusedError": true, "ConnectionResetError": true,
	"RemoteDisconnected": true, "ServerDisconnectedError": true}

// unreached are the numbers by which the system says the same: 101 network unreachable, 104 reset, 110 timed out, 111 refused,
// 112 host down, 113 no route.
var unreached = pattern.New(`^\[Errno 1(?:01|04|10|11|12|13)\]`)

// unanswered says that a rank which waits for one that died raises this as well as a program whose own server is down.
func unanswered(fl *resolve.Failure) bool {
	return fl.Exc != nil && fl.Sign == "" && notAnswered(fl.Exc) && (len(fl.Exc.Cause) == 0 || notAnswered(&fl.Exc.Cause[0]))
}

func notAnswered(x *worker.Exception) bool {
	class := x.Type[strings.LastIndexAny(x.Type, ".:")+1:]
	return noAnswer[class] || class == "OSError" && unreached.MatchString(x.Message)
}

// raisedFirst proposes the exceptions that are no consequence. Of those that say only that something did not answer it names
// nobody, and leaves open what it was.
func raisedFirst(s *Scene) *Proposal {
	var plain, waited []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		switch {
		case fl.Mechanism != knowledge.Exception || fl.Role != knowledge.CauseRole:
		case unanswered(fl):
			waited = append(waited, fl)
		default:
			plain = append(plain, fl)
		}
	}
	switch {
	case len(waited) == 0 || len(plain) > 0 && slices.ContainsFunc(waited, func(w *resolve.Failure) bool {
		return !slices.ContainsFunc(plain, func(fl *resolve.Failure) bool { return !moment(w).Before(moment(fl)) })
	}):
		return fromFailures(s, knowledge.Exception) // the clocks say which was first
	case len(plain) > 0:
		return propose(s, knowledge.Exception, Local, plain)
	}
	p := propose(s, knowledge.Exception, Local, waited)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
	p.Rivals, p.Base, p.Direct, p.Echo = []knowledge.Slug{knowledge.PeerLost, knowledge.Unknown}, 0.9, false, true
	p.Why = "it shows that something did not respond, but not what: another process in the job may have died, or the program's own server"
	return p
}
