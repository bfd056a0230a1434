package worker

import (
	"fmt"
	"strings"
	"testing"
)

// stormLog is a log in which one rank prints the lines in turn, n times, with the number of the time in each.
func stormLog(n int, lines ...string) *strings.Builder {
	var b strings.Builder
	for i := range n {
		for _, l := range lines {
			fmt.Fprintf(&b, "[rank3]: "+l+"\n", i)
		}
	}
	return &b
}

// calm lets a log go on for long enough that its last bytes are no part of the storm.
func calm(b *strings.Builder) string {
	for range 4000 {
		b.WriteString("a line about nothing at all, as logs have them by the thousand\n")
	}
	return b.String()
}

func TestAStormIsCountedLineByLine(t *testing.T) {
	const n = 3000
	b := stormLog(n, "AISBatchLoaderError: batch %d failed after 3 attempts: GET http://ais/v1/objects: 503",
		"ConnectionResetError: [Errno 104] Connection reset by peer (%d)", "request %d failed: connection reset, retry 2/5")
	obs := observe(t, calm(b))
	loader, retries := 0, 0
	for k := range obs.IOs.All() {
		switch v := k.IO(); v.Kind {
		case IOLoader:
			loader += 1 + v.More
		case IORetry:
			retries++
		}
	}
	resets := 0
	for _, v := range obs.Resets {
		resets += 1 + v.More
	}
	if loader != n || retries != n || resets != n {
		t.Errorf("%d errors of loaders, %d retries, %d resets, not %d of each", loader, retries, resets, n)
	}
	if got := len(obs.Resets); got > stormFull+n/stormRare+2*stormFull {
		t.Errorf("%d resets are kept of %d", got, n)
	}
	if got := len(obs.Exceptions); got > 2*(stormFull+stormLong/stormStride+n/stormRare) || got < 2*stormFull {
		t.Errorf("%d exceptions are kept of %d", got, 2*n)
	}
	if obs.UnclassifiedN != 0 {
		t.Errorf("%d lines of known kinds are not understood", obs.UnclassifiedN)
	}
}

// In one minute one line stands for others; the last of each minute is kept, and a line that may separate the runs of a job
// separates what is counted, too.
func TestALineStandsForOthersOfItsMinuteAndRun(t *testing.T) {
	var b strings.Builder
	line := func(i int) string {
		return fmt.Sprintf("2025-09-12 03:%02d:%02d,%03d - trainer - ERROR - worker: ConnectionResetError: [Errno 104] Connection reset by peer\n", i/100%60, i/2%50, i%1000)
	}
	for i := range 1000 {
		b.WriteString(line(i))
		if i == 549 {
			b.WriteString("slurmstepd: error: *** JOB 4242 ON node1 CANCELLED AT 2025-09-12T03:05:30 DUE TO PREEMPTION ***\n")
		}
	}
	obs := observe(t, calm(&b))
	byMinute, minutes := map[int8]int{}, map[int8]int64{}
	before := 0
	for _, v := range obs.Resets {
		byMinute[v.Stamp.Minute] += 1 + v.More
		minutes[v.Stamp.Minute] = v.Line
		if v.Line <= 550 {
			before += 1 + v.More
		}
	}
	for m := range int8(10) {
		last := int64(m)*100 + 100
		if m >= 5 {
			last += int64(len(obs.Ends))
		}
		if byMinute[m] != 100 || minutes[m] != last {
			t.Errorf("minute %d: %d lines, the last is %d", m, byMinute[m], minutes[m])
		}
	}
	if len(obs.Ends) != 1 || before != 550 || len(obs.Resets) > stormFull+10+2 {
		t.Errorf("%d ends of runs, %d resets above them, %d kept", len(obs.Ends), before, len(obs.Resets))
	}
}

func TestAnotherExceptionIsFoundInAStorm(t *testing.T) {
	b := stormLog(2000, "ValueError: sample %d has no label")
	b.WriteString("[rank3]: ValueError: the vocabulary has changed\n[rank3]: OddError: nobody knows this\n")
	b.WriteString(stormLog(2000, "ValueError: sample %d has no label").String())
	found := 0
	for _, e := range observe(t, calm(b)).Exceptions {
		if e.Message == "the vocabulary has changed" || e.Type == "OddError" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 exceptions of other kinds are found", found)
	}
}

// What stands under the final line of an exception belongs to it, and is no error of its own, in a storm as elsewhere.
func TestWhatAnExceptionSaysStaysItsOwnInAStorm(t *testing.T) {
	obs := observe(t, calm(stormLog(1500, "DistBackendError: NCCL error in: NCCLUtils.hpp:%d", "  Last error: something odd, errno %d", "oops %d")))
	if obs.UnclassifiedN != 0 {
		t.Errorf("%d lines of messages are taken for errors", obs.UnclassifiedN)
	}
	if n := len(obs.Exceptions); n > stormFull+1500/stormStride+1 {
		t.Errorf("%d exceptions are kept", n)
	}
}

// A traceback that a writer prints over and over is kept once in a while: the last of each minute is there, and none is lost
// from the count.
func TestTracebacksOfAStormStandForEachOther(t *testing.T) {
	const n = 4000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/opt/data.py\", line 12, in read\n"+
			"[rank3]:     raise OSError(5, name)\n[rank3]: OSError: [Errno 5] Input/output error: '/data/%d.tar'\n", i)
		if i == n/2 {
			b.WriteString("[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/opt/other.py\", line 7, in write\n[rank3]: ValueError: bad shape\n")
		}
	}
	obs := observe(t, calm(&b))
	count, last, other := 0, 0, 0
	for _, e := range obs.Exceptions {
		if e.Type == "ValueError" {
			other++
			continue
		}
		count += 1 + e.More
		fmt.Sscanf(e.Message, "[Errno 5] Input/output error: '/data/%d.tar'", &last)
		if len(e.Signs) == 0 || len(e.Frames) != 1 {
			t.Fatalf("an exception with the signs %v and %d frames: %s", e.Signs, len(e.Frames), e.Message)
		}
	}
	if count != n || last != n-1 || other != 1 {
		t.Errorf("%d exceptions, the last one of %d, and %d others; not %d, %d and 1", count, last, other, n, n-1)
	}
	if kept := len(obs.Exceptions); kept > stormFull+n/stormStride+3 {
		t.Errorf("%d exceptions are kept of %d", kept, n)
	}
}
