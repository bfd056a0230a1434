package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/scan"
)

// What NCCL itself prints: warnings with the peer they name, and the lines that tie a communicator's rank to a GPU.
// What they say is read in package artifact/nccl, which reads NCCL's own files too.

func ncclWarnHandlers() []handler {
	return []handler{
		{"NCCL warning", []string{"NCCL WARN"}, readNCCLWarn},
		{"communicator", nccl.Phases(), readCommInit},
	}
}

// readNCCLWarn reads "host:pid:tid [dev] file.cc:line [(function)] NCCL WARN text".
func readNCCLWarn(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("NCCL WARN"))
	if i < 0 {
		return false
	}
	if rec.excess {
		r.does |= other
		return true
	}
	text := bytes.TrimSpace(rec.Text[i+len("NCCL WARN"):])
	w := NCCLWarn{At: rec.At, Text: clip(text), Peer: nccl.Peer(text)}
	w.Signs = slices.Clone(r.signs(rec))
	emit(r, &r.obs.NCCLWarns, w)
	return true
}

// readCommInit reads a line about a communicator. The rank is the rank inside the communicator.
func readCommInit(r *reader, rec *record) bool {
	x, ok := nccl.ReadInit(rec.Text)
	if !ok {
		return false
	}
	emit(r, &r.obs.CommInits, CommInit{At: rec.At, BusID: x.Bus, Rank: x.Rank, NRanks: x.NRanks})
	return true
}

// callMark stands in NCCL's lines about operations that are called. A job prints millions of them: that there are any is all that is
// noted here, and package artifact/nccl reads the file once more.
const callMark = ": opCount "

// CallsKey is the fact that a file holds such lines.
const CallsKey = "nccl_calls"

func ncclCallHandlers() []handler {
	return []handler{{"NCCL call", []string{callMark}, func(r *reader, rec *record) bool {
		if !r.called && bytes.Contains(rec.Text, []byte(ncclInfo)) {
			r.called = true
			r.fact(rec, CallsKey, "yes")
		}
		return true
	}}}
}

// spoken hands a line of NCCL to the reader of NCCL's own logs, which knows what else it may say: networks, addresses, versions. Where
// calls are printed that reader needs every line, so the file is read once more, and what was gathered of it is of no use.
func (r *reader) spoken(l *scan.Line) {
	if l.TextOff == l.Off && r.decided {
		r.heard(l.Text, l.Off, l.No, l.Hits)
	}
}

// heard is spoken of a line that holds these literals.
func (r *reader) heard(text []byte, off, no int64, hits []uint16) {
	if r.called {
		return
	}
	for _, id := range hits {
		if !r.table.nccl[id] {
			continue
		}
		if r.nccl == nil {
			r.nccl = nccl.NewCollector(r.file)
		}
		text = bytes.TrimRight(text, "\r")
		from, n := 0, len(text)
		if r.margin != nil {
			from = r.margin(text)
			text, n = text[from:], n-from
		}
		if e, ok := r.passing.Unwrap(text); ok {
			text, n = e.Text, e.Place(len(e.Text))-e.Place(0)
			from += e.Place(0)
		}
		r.nccl.Take(text, nccl.At{Line: no, Off: off + int64(from), Len: n})
		return
	}
}

// said is what NCCL's lines said besides calls, where it speaks of communicators or of trouble.
func (r *reader) said() []*nccl.Log {
	if r.nccl == nil || r.called || len(r.obs.CommInits)+len(r.obs.NCCLWarns) == 0 {
		return nil
	}
	if l := r.nccl.Log(); l.Lines > 0 {
		return []*nccl.Log{l}
	}
	return nil
}
