package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/knowledge"
)

// signHandlers looks every line up in the tables of package knowledge: their first literals are its literals, or, where
// every other line of a log holds that, their longest.
func signHandlers(known *knowledge.Catalogue) []handler {
	var literals []string
	everyday := frequent()
	for _, s := range known.Signatures() {
		l := s.Literals[0]
		if everyday[l] {
			l = slices.MaxFunc(s.Literals, func(a, b string) int { return len(a) - len(b) })
		}
		literals = append(literals, l)
	}
	return []handler{{"signature", literals, readSigns}}
}

// readSigns emits what a line says by itself. Final lines of tracebacks carry their signs in the Exception; noise is
// understood, not kept; but for what a site takes for noise, which is counted.
func readSigns(r *reader, rec *record) bool {
	if rec.Taken || r.bareFinal(rec) {
		return false
	}
	if rec.excess {
		if rec.storm.signed {
			r.does |= other
		}
		return rec.storm.signed
	}
	ids := r.signs(rec)
	for _, id := range ids {
		s := r.table.known.Entry(id)
		if s.Role == knowledge.NoiseRole && s.Mutes == nil || merelyInforms(rec, s) || r.came(s, rec.Text) || s.Says&knowledge.OfAnyChild != 0 && beside.Match(rec.Msg) {
			continue
		}
		g := Sign{At: rec.At, ID: id}
		if s.Keeps() || s.Mutes != nil || rec.Who.Global == line.Unknown && bytes.Contains(rec.Text, []byte("[Rank ")) {
			g.Text = clip(rec.Text)
		}
		emit(r, &r.obs.Signs, g)
	}
	if rec.storm != nil {
		rec.storm.signed = len(ids) > 0
	}
	return len(ids) > 0
}

// merelyInforms tells whether a line that would prove a cause is of a level below warning: libraries report there what they tried and do
// without.
func merelyInforms(rec *record, s *knowledge.Signature) bool {
	return s.Role == knowledge.CauseRole && (rec.Prefix.Severity == 'I' || rec.Prefix.Severity == 'V')
}

// bareFinal reports whether readBareFinal takes the record for a traceback's final line.
func (r *reader) bareFinal(rec *record) bool {
	if own(rec) {
		return false
	}
	typ, msg, ok := rec.finalLine()
	return ok && exceptionName(typ) &&
		(rec.Who.Global != line.Unknown || bytes.IndexByte(typ, '.') >= 0 || loaderWorker(msg) != line.Unknown ||
			// What a signature says of such a line is read as it was: it is more than that something was raised.
			rec.Prefix.Len == 0 && len(msg) > 0 && builtin[string(typ)] && len(r.table.known.Match(nil, rec.Text)) == 0)
}

// builtin are exceptions of Python itself, and PyTorch's as they are printed without their module.
var builtin = map[string]bool{
	"ArithmeticError": true, "AssertionError": true, "AttributeError": true, "EOFError": true, "Exception": true, "FileNotFoundError": true,
	"FloatingPointError": true, "IndexError": true, "ImportError": true, "KeyError": true, "MemoryError": true, "ModuleNotFoundError": true,
	"NameError": true, "NotImplementedError": true, "OSError": true, "OutOfMemoryError": true, "OverflowError": true, "PermissionError": true,
	"RecursionError": true, "RuntimeError": true, "SystemError": true, "TypeError": true, "UnboundLocalError": true, "UnicodeDecodeError": true,
	"ValueError": true, "ZeroDivisionError": true,
}
