package worker

import (
	"bytes"
	"strconv"
)

// What NCCL's RAS client prints (ncclras, NCCL 2.24 … 2.30; src/ras/client_support.cc): a snapshot of communicators. A
// mismatch in one snapshot is no verdict: counts differ for an instant in every healthy run. Ranks are ranks inside the
// communicator. Facts:
//
//	ras_errors    the Errors column of one row: OK, MISMATCH, INCOMPLETE, ERROR or several, joined by commas
//	ras_status    its Status column: NOCOMM, INIT, RUNNING, FINALIZE, ABORT
//	ras_ranks     ranks per communicator of that row
//	ras_missing   a rank that gave no data of a communicator
//	ras_dead      "<node> <pid>" of a process that the RAS network cannot reach
//	ras_launched  "<operation> <number of ranks>" of one group of ranks that launched equally many
//	ras_rank      "<rank> <operation>" of a rank that stands apart

func rasHandlers() []handler {
	return []handler{
		{"RAS row", []string{"RUNNING ", "NOCOMM ", "FINALIZE ", "ABORT ", "INIT "}, readRASRow},
		{"RAS missing", []string{"Missing communicator data from ", "The missing rank"}, readRASMissing},
		{"RAS dead", []string{"considered dead (unreachable via the RAS network)"}, readRASDead},
		{"RAS counts", []string{"launched up to operation ", "not launched any operations"}, readRASCounts},
	}
}

func (r *reader) fact(rec *record, key, value string) {
	emit(r, &r.obs.Facts, Fact{At: rec.At, Key: key, Value: value})
}

var (
	rasStatus = map[string]bool{"NOCOMM": true, "INIT": true, "RUNNING": true, "FINALIZE": true, "ABORT": true}
	rasErrors = map[string]bool{"OK": true, "MISMATCH": true, "ERROR": true, "INCOMPLETE": true}
)

// readRASRow reads a row of the summary table: six numbers (the fourth may be a range, "7-8"), status, errors.
func readRASRow(r *reader, rec *record) bool {
	f := bytes.Fields(rec.Text)
	if len(f) < 8 {
		return false
	}
	f = f[len(f)-8:] // launchers' labels may stand in front
	if !rasStatus[string(f[6])] {
		return false
	}
	for e := range bytes.SplitSeq(f[7], []byte(",")) {
		if !rasErrors[string(e)] {
			return false
		}
	}
	for i := range 6 {
		_, n := intAt(f[i])
		if n == 0 || n < len(f[i]) && (i != 3 || f[i][n] != '-') {
			return false
		}
	}
	r.fact(rec, "ras_errors", string(f[7]))
	r.fact(rec, "ras_status", string(f[6]))
	r.fact(rec, "ras_ranks", string(f[4]))
	return true
}

// readRASMissing reads "Missing communicator data from 2 ranks" with what stands under it: "The missing ranks: 3, 5" (up
// to 2.26) or one "Rank 3 -- GPU 3 managed by process 4242 on node 10.0.0.7" each.
func readRASMissing(r *reader, rec *record) bool {
	if i := bytes.Index(rec.Text, []byte("The missing rank")); i >= 0 {
		if j := bytes.IndexByte(rec.Text[i:], ':'); j >= 0 && !rec.Cut {
			for _, v := range intList(rec.Text[i+j+1:]) {
				r.fact(rec, "ras_missing", strconv.Itoa(v))
			}
		}
		return true
	}
	_, rest := intAfterRest(rec.Text, "Missing communicator data from ")
	if rest == nil {
		return false
	}
	if !bytes.HasPrefix(rest, []byte(" rank")) {
		return true // processes: they are no ranks
	}
	r.follow(rec, 64, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		v, rest := intAfterRest(bytes.TrimSpace(rec.Msg), "Rank ")
		if rest == nil || !bytes.HasPrefix(rest, []byte(" -- ")) {
			return ended
		}
		r.fact(rec, "ras_missing", strconv.FormatInt(v, 10))
		return taken
	})
	return true
}

// readRASDead reads the processes under "1 job process is considered dead (unreachable via the RAS network)": "Process
// 4242 on node 10.0.0.7 managing GPU 5".
func readRASDead(r *reader, rec *record) bool {
	r.follow(rec, 64, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		pid, rest := intAfterRest(bytes.TrimSpace(rec.Msg), "Process ")
		f := bytes.Fields(rest)
		if len(f) < 4 || string(f[0]) != "on" || string(f[1]) != "node" || string(f[3]) != "managing" {
			return ended
		}
		r.fact(rec, "ras_dead", clip(f[2])+" "+strconv.FormatInt(pid, 10))
		return taken
	})
	return true
}

// readRASCounts reads "30 ranks have launched up to operation 640", "Rank 5 has launched up to operation 1579 -- GPU 5 …"
// and "Rank 5 has not launched any operations …".
func readRASCounts(r *reader, rec *record) bool {
	b := bytes.TrimSpace(rec.Msg)
	op, launched := rec.wholeAfter(b, "launched up to operation ")
	if !launched {
		if !bytes.Contains(b, []byte("not launched any operations")) {
			return false
		}
		op = 0
	}
	if n, rest := intAfterRest(b, "Rank "); rest != nil && bytes.HasPrefix(rest, []byte(" has ")) {
		r.fact(rec, "ras_rank", strconv.FormatInt(n, 10)+" "+strconv.FormatInt(op, 10))
		return true
	}
	n, k := intAt(b)
	if k == 0 || !bytes.HasPrefix(b[k:], []byte(" ranks have ")) {
		return false
	}
	r.fact(rec, "ras_launched", strconv.FormatInt(op, 10)+" "+strconv.FormatInt(n, 10))
	return true
}
