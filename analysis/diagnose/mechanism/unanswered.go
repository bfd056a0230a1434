package mechanism

import (
	"slices"
	"strings"

	"faultline/analysis/novel"
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
	return fl.Exc != nil && (fl.Sign == "" || fl.StatesOpenly()) && notAnswered(fl.Exc) && (len(fl.Exc.Cause) == 0 || notAnswered(&fl.Exc.Cause[0]))
}

func notAnswered(x *worker.Exception) bool {
	class := x.Type[strings.LastIndexAny(x.Type, ".:")+1:]
	return noAnswer[class] || class == "OSError" && unreached.MatchString(x.Message)
}

// differing proposes exceptions. Where most ranks met the same in a library and few raised another, those few are the ones that the others
// noticed: what fails in a collective fails on all its ranks but the one at fault.
func differing(s *Scene, fls []*resolve.Failure) *Proposal {
	if len(fls) == 0 {
		return nil
	}
	few := fewDiffer(s.Facts, earliest(fls))
	if len(few) == 0 {
		return propose(s, knowledge.Exception, Local, fls)
	}
	p := propose(s, knowledge.Exception, Local, few)
	p.Failures = fls
	return p
}

// fewDiffer are the exceptions of the few ranks that did not meet what most met in a library; nil where there are none, or where most are
// proven to have met it before.
func fewDiffer(f *resolve.Facts, fls []*resolve.Failure) []*resolve.Failure {
	ranks, most := map[string]map[int]bool{}, ""
	for _, fl := range fls {
		if fl.Rank == resolve.NoRank {
			return nil // whose it is has to be known
		}
		t := novel.Template(fl.Text)
		if ranks[t] == nil {
			ranks[t] = map[int]bool{}
		}
		if ranks[t][fl.Rank] = true; len(ranks[t]) > len(ranks[most]) {
			most = t
		}
	}
	var few []*resolve.Failure
	for _, fl := range fls {
		switch {
		case novel.Template(fl.Text) != most:
			few = append(few, fl)
		case ownWords(f, fl):
			return nil
		}
	}
	for t := range ranks {
		if t != most && fewer*len(ranks[t]) > len(ranks[most]) {
			return nil
		}
	}
	return few
}

// fewer is how many times as many ranks must have met one thing as any other that counts as raised by few.
const fewer = 3

// raisedFirst proposes the exceptions that are no consequence. Of those that say only that something did not answer it names
// nobody, and leaves open what it was.
func raisedFirst(s *Scene) *Proposal {
	var all, plain, waited []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		switch {
		case fl.Mechanism != knowledge.Exception || fl.Role != knowledge.CauseRole:
			continue
		case unanswered(fl):
			waited = append(waited, fl)
		default:
			plain = append(plain, fl)
		}
		all = append(all, fl)
	}
	switch {
	case len(waited) == 0 || len(plain) > 0 && slices.ContainsFunc(waited, func(w *resolve.Failure) bool {
		return !slices.ContainsFunc(plain, func(fl *resolve.Failure) bool { return !moment(w).Before(moment(fl)) })
	}):
		return differing(s, all) // the clocks say which was first
	case len(plain) > 0:
		return differing(s, plain)
	}
	p := propose(s, knowledge.Exception, Local, waited)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
	p.Rivals, p.Base, p.Direct, p.Echo = []knowledge.Slug{knowledge.PeerLost, knowledge.Unknown}, 0.9, false, true
	p.Why = "it shows that something did not respond, but not what: another process in the job may have died, or the program's own server"
	return p
}

// statedElse adds what else the causes may be that the messages of the first failures state. What a library says of a value may be said of the
// data as well as of the code.
func (p *Proposal) statedElse(f *resolve.Facts) {
	for _, fl := range p.First {
		if s, ok := fl.Stated(); ok {
			p.Rivals = append(p.Rivals, unnamed(p, s.LooksLike)...)
			p.Direct = p.Direct && ownWords(f, fl)
		}
	}
}
