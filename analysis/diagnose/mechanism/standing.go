package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/explain"
	"faultline/knowledge/severity"
	"faultline/pattern"
)

// unsound is the most suspicious line of those that stand out, from a level on; nil where none does. A run that has one is not known to be
// well: nobody knows what the line means.
func unsound(f *resolve.Facts, from severity.Level) *novel.Line {
	for i := range f.Standing {
		if l := &f.Standing[i]; l.Stands() && l.Level >= from {
			return l
		}
	}
	return nil
}

// unsoundBefore is such a line that does not come of an ending: what a process prints while it is being ended is no reason why.
func unsoundBefore(f *resolve.Facts, end *resolve.End) *novel.Line {
	for i := range f.Standing {
		if l := &f.Standing[i]; l.Stands() && l.Known.Meaning == "" && !comesOf(f, l, end) {
			return l
		}
	}
	return nil
}

// asked are words of processes that tell of the signal they got, in lower case.
var asked = []string{"sigterm", "signal", "sigint", "sighup", "interrupt", "143"}

// sender is a line that stands out where a job got a signal from outside, and may say from whom; nil where none does. What stands below
// the loss of a peer in its file tells of that.
func sender(f *resolve.Facts) *novel.Line {
	t := troubles{}
	for _, fl := range f.Failures {
		if fl.LostPeer() {
			t.note(fl.At.Pos)
		}
	}
	for i := range f.Standing {
		l := &f.Standing[i]
		text := strings.ToLower(l.Text)
		switch {
		case t.precede(f, l, resolve.Moment{}):
		case l.Known.Meaning != "", slices.ContainsFunc(asked, func(w string) bool { return strings.Contains(text, w) }):
		case l.Stands(), l.Suspect() && l.Stop == nil:
			return l
		}
	}
	return nil
}

// partings are words of processes that are asked to end, in lower case.
var partings = []string{"sigterm", "signal 15", "signal: 15", "signal=15", "terminat", "sigint", "interrupt", "shutdown", "shutting down", "143", "cancel"}

// comesOf says that a line was printed because of an ending: below any line that tells of it, later, or in words of a process that is ended.
func comesOf(f *resolve.Facts, l *novel.Line, end *resolve.End) bool {
	if toldEnds(f).precede(f, l, end.T) {
		return true
	}
	text := strings.ToLower(l.Text)
	return slices.ContainsFunc(partings, func(w string) bool { return strings.Contains(text, w) })
}

// troubles are the first lines of files, by offset, that tell of something.
type troubles map[string]int64

func (t troubles) note(p worker.Pos) {
	if off, ok := t[p.File]; !ok || p.Off < off {
		t[p.File] = p.Off
	}
}

// precede says that such a line stands above a line that stands out, or that the line is of a later time than since.
func (t troubles) precede(f *resolve.Facts, l *novel.Line, since resolve.Moment) bool {
	if off, ok := t[l.File]; ok && off <= l.At.Off {
		return true
	}
	now := StandingTime(f, l)
	return now.Valid && since.Valid && !now.Before(since)
}

// beside are how many lines apart two lines may stand that tell of one event.
const beside = 40

// unreadBy is a line that nobody understands above the failure that a proposal rests on, by the same writer or by one who is not known; nil where none
// stands there.
func unreadBy(f *resolve.Facts, fl *resolve.Failure) *novel.Line {
	from := fl.At.Line
	if fl.Exc != nil && fl.Exc.Begin.Line > 0 {
		from = min(from, fl.Exc.Begin.Line)
	}
	for i := range f.Unread {
		l := &f.Unread[i]
		sameWriter := l.Rank == resolve.NoRank || fl.Rank == resolve.NoRank || l.Rank == fl.Rank
		if above := from - l.At.Line; sameWriter && l.File == fl.At.File && above > 0 && above <= beside {
			return l
		}
	}
	return nil
}

func toldEnds(f *resolve.Facts) troubles {
	t := troubles{}
	for _, e := range f.Ends {
		t.note(e.Line.Pos)
	}
	return t
}

// Leads keeps the lines that stand out and were printed before anything that is known to have failed or waited in vain: what is printed
// after that may follow from it.
func Leads(f *resolve.Facts) []*novel.Line {
	t, since := knownTroubles(f)
	return t.before(f, since)
}

// Apart keeps the lines that stand out and do not stand below a line that is known to have failed or waited in vain: schedulers, launchers and
// kernels often report late what happened first.
func Apart(f *resolve.Facts) []*novel.Line {
	t, _ := knownTroubles(f)
	return t.before(f, resolve.Moment{})
}

func (t troubles) before(f *resolve.Facts, since resolve.Moment) (out []*novel.Line) {
	for i := range f.Standing {
		if l := &f.Standing[i]; !t.precede(f, l, since) {
			out = append(out, l)
		}
	}
	return out
}

// knownTroubles are the first lines of files that are known to tell of a failure, an end or a wait in vain, and when the first of all was.
func knownTroubles(f *resolve.Facts) (t troubles, since resolve.Moment) {
	t = toldEnds(f)
	note := func(at worker.At) {
		t.note(at.Pos)
		since = since.Earliest(f.At(at))
	}
	for i := range f.Obs.Timeouts {
		note(f.Obs.Timeouts[i].At)
	}
	for _, fl := range f.Failures {
		if fl.Role != knowledge.InfoRole && fl.Role != knowledge.NoiseRole {
			note(*fl.At)
		}
	}
	return t, since
}

// StandingAt is where a line that stands out is.
func StandingAt(l *novel.Line) worker.At { return PlaceAt(l.File, l.At) }

// StandingTime is when a line that stands out was printed.
func StandingTime(f *resolve.Facts, l *novel.Line) resolve.Moment {
	p := line.Parse([]byte(l.Text))
	at := StandingAt(l)
	at.By, at.Stamp = &p.Who, cmp.Or(p.Stamp, l.At.Stamp)
	return f.At(at)
}

// PlaceAt is a place in a file as observations have it.
func PlaceAt(file string, p novel.Place) worker.At {
	return worker.At{Pos: worker.Pos{File: file, Line: p.Line, Off: p.Off, Len: p.Len}}
}

// besideIt makes of a proposal that the run is well, or was ended from outside, one that leaves open what a line that nobody knows means.
func (p *Proposal) besideIt(l *novel.Line, base float64, why string) {
	p.Rivals, p.Direct, p.Base, p.Why = append(p.Rivals, knowledge.Unknown), false, min(p.Base, base), why
	p.Against = append(p.Against, incident.Finding{Statement: "a line stands out that matches no known failure", Evidence: []incident.Evidence{QuoteAt(StandingAt(l), nil)}})
}

// looked is how many of the lines that stand out are looked up.
const looked = 12

// Explained proposes what the tables for people know of a line that stands out and that no reader made anything of: they know more wordings
// than the readers, and the C library's messages in its other languages; else what the line itself states. It is for runs that nothing else
// explains; nil where the tables know nothing either.
func Explained(s *Scene) *Proposal {
	f := s.Facts
	for i := range f.Standing[:min(len(f.Standing), looked)] {
		l := &f.Standing[i]
		if !l.Stands() || l.Known.Meaning != "" && len(f.Tails) > 0 {
			continue // the readers of logs knew it, and made nothing of it
		}
		p := &Proposal{Class: Local, Rivals: []knowledge.Slug{knowledge.Unknown}, Base: 0.8, Scope: "unknown", At: f.At(StandingAt(l))}
		if e, ok := told(f.Known, l); ok {
			p.Mechanism, p.Summary, p.Why = e.Mechanism, e.Meaning, "a line that stands out suggests it, but its format is unknown"
			p.For = []incident.Finding{finding(e.Title, QuoteAt(StandingAt(l), nil))}
		} else if !p.stated(f.Known, l) {
			continue
		}
		if l.Rank != resolve.NoRank {
			p.Ranks, p.Scope = []int{l.Rank}, "rank"
		}
		if l.Node != "" {
			p.Nodes = []string{l.Node}
		}
		if sets := parameterSets(f, worker.NoGrad); len(sets) > 0 && strings.Contains(l.Text, litUnfinished) {
			p.Summary = fmt.Sprintf("%s: %s got no gradient in the previous step, and DDP is waiting for them", sets[0].who(), sets[0].parameters(3))
			p.For = append(parameterFindings(s, worker.NoGrad, sets), p.For...)
			p.Now = reducerAdvice(litUnfinished, false)
		}
		return p
	}
	return nil
}

// told is the cause that the tables know of a line.
func told(known *knowledge.Catalogue, l *novel.Line) (explain.Entry, bool) {
	for _, e := range explain.TextBy(known, l.Sign.InEnglish(l.Text)).Entries {
		if e.Part {
			continue // some words of a known line are no sign of it
		}
		if e.Role == knowledge.CauseRole && e.Mechanism != "" && (e.Kind == explain.Line || e.Kind == explain.Errno || e.Kind == explain.Xid) {
			return e, true
		}
	}
	return explain.Entry{}, false
}

// announced is what an error begins with, or the class of an exception. Prose that speaks of an error has neither.
var announced = pattern.New(`\b[A-Za-z_.]*(?:Error|Exception)\b|\b(?:ERROR|FATAL|CRITICAL|[Ee]rror|[Ff]atal|panic)\b ?[:\])]`)

// mostStated is how many letters of a line are shown that states a cause.
const mostStated = 160

// stated makes of a proposal the cause that a line states by itself.
func (p *Proposal) stated(known *knowledge.Catalogue, l *novel.Line) bool {
	text := l.Text
	switch {
	case l.Stop != nil:
		text = l.Stop.Says()
	case !announced.MatchString(text):
		return false
	}
	cause, slug := resolve.Stated(known, text)
	if cause == nil || cause.Open || slug == knowledge.Exception {
		return false
	}
	p.Mechanism, p.Stated, p.Summary, p.Why = slug, cause, severity.Excerpt(text, mostStated), "no known failure matches this line; its words state it"
	p.For = []incident.Finding{finding(cause.Title, QuoteAt(StandingAt(l), nil))}
	return true
}
