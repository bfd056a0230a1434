package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/knowledge"
)

// signHandlers looks every line up in the tables of package knowledge: their first literals are its literals, or, where
// every other line of a log holds that, their longest.
func signHandlers() []handler {
	var literals []string
	everyday := frequent()
	for _, s := range knowledge.Signatures() {
		l := s.Literals[0]
		if everyday[l] {
			l = slices.MaxFunc(s.Literals, func(a, b string) int { return len(a) - len(b) })
		}
		literals = append(literals, l)
	}
	return []handler{{"signature", literals, readSigns}}
}

// readSigns emits what a line says by itself. Final lines of tracebacks carry their signs in the Exception; noise is
// understood, not kept.
func readSigns(r *reader, rec *record) bool {
	if rec.Taken || bareFinal(rec) {
		return false
	}
	if rec.excess {
		return rec.storm.signed
	}
	ids := r.signs(rec)
	for _, id := range ids {
		if s, _ := knowledge.Lookup(id); s.Role == knowledge.NoiseRole {
			continue
		}
		emit(r, &r.obs.Signs, Sign{At: rec.At, ID: id})
	}
	if rec.storm != nil {
		rec.storm.signed = len(ids) > 0
	}
	return len(ids) > 0
}

// bareFinal reports whether readBareFinal takes the record for a traceback's final line.
func bareFinal(rec *record) bool {
	if own(rec) {
		return false
	}
	typ, msg, ok := finalLine(rec.Msg)
	return ok && exceptionName(typ) &&
		(rec.Who.Global != line.Unknown || bytes.IndexByte(typ, '.') >= 0 || loaderWorker(msg) != line.Unknown)
}
