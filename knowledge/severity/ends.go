package severity

import "bytes"

// ends says that all that sounds bad in a line is how something ended: an exit status, a signal that others send, the words of launchers and
// schedulers for it. Signals by which processors stop a program say why.
func ends(low, line []byte) bool {
	for _, r := range reasons {
		if bytes.Contains(low, r) {
			return false
		}
	}
	told, why := endStatus(low), false
	words(low, line, func(s Sign) {
		word := low[s.At : s.At+s.Len]
		told = told || endWords[string(word)]
		why = why || !endWords[string(word)] && !bareWords[string(word)]
	})
	if p := phrase(low, line); p.Level > Calm {
		word := low[p.At : p.At+p.Len]
		told = told || endPhrases[string(word)]
		why = why || !endPhrases[string(word)]
	}
	words := bytes.Fields(line)
	bare := len(words) > 0 && len(words) <= 2 && string(words[len(words)-1]) == "FAILED" // "train.py FAILED"
	return (told || bare) && !why
}

// reasons are words by which a line says why something ended.
var reasons = [][]byte{[]byte("due to"), []byte("because"), []byte("reason"), []byte("out of memory"), []byte("oom"), []byte("connection"), []byte("time limit"), []byte("what():")}

// endWords tell of an end, bareWords only that something is wrong, both in lower case.
var (
	endWords = map[string]bool{"killed": true, "terminated": true, "terminating": true, "cancelled": true, "canceled": true, "interrupted": true, "aborted": true, "aborting": true,
		"shutdown": true, "quit": true, "sigkill": true, "sigabrt": true, "childfailederror": true, "calledprocesserror": true, "processexitedexception": true, "signalexception": true}
	bareWords  = map[string]bool{"error": true, "errors": true, "failed": true, "failure": true, "fail": true, "fatal": true, "exception": true, "warning": true, "traceback": true}
	endPhrases = map[string]bool{"terminate called": true, "was killed": true, "has been killed": true, "abnormal termination": true}
)

// endStatuses stand before the exit status of a process, or before the number of the signal that ended it.
var endStatuses = [][]byte{[]byte("exit code"), []byte("exitcode"), []byte("exit status"), []byte("exited with code"), []byte("exited with status"), []byte("exited with"),
	[]byte("return code"), []byte(" rc"), []byte("returned code"), []byte("non-zero status"), []byte("terminated by signal"), []byte("killed by signal"), []byte("got signal")}

// faults are the signals that tell what a process did wrong: SIGILL, SIGBUS, SIGFPE, SIGSEGV.
var faults = map[int]bool{4: true, 7: true, 8: true, 11: true}

// endStatus says that a line in lower case states how a process ended, and no fault of its own.
func endStatus(low []byte) bool {
	for _, w := range endStatuses {
		_, rest, ok := bytes.Cut(low, w)
		if !ok {
			continue
		}
		rest = bytes.TrimLeft(rest[:min(len(rest), 12)], " :=-")
		n, digits := 0, 0
		for ; digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9'; digits++ {
			n = n*10 + int(rest[digits]-'0')
		}
		if digits > 0 && n > 0 && !faults[n] && !faults[n-128] {
			return true
		}
	}
	return false
}
