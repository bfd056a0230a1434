package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"faultline/analysis/line"
)

// wrapped puts each line of a text into an envelope.
func wrapped(text, with string) string {
	var b strings.Builder
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch with {
		case "docker": // Go's encoder: it escapes <, > and &
			rec, _ := json.Marshal(map[string]string{"log": l + "\n", "stream": "stderr", "time": fmt.Sprintf("2024-06-03T17:48:01.%09dZ", i)})
			b.Write(append(rec, '\n'))
		case "cri":
			fmt.Fprintf(&b, "2024-06-03T17:48:01.%09dZ stderr F %s\n", i, l)
		case "parts":
			for len(l) > 40 {
				fmt.Fprintf(&b, "2024-06-03T17:48:01.%09dZ stderr P %s\n", i, l[:40])
				l = l[40:]
			}
			fmt.Fprintf(&b, "2024-06-03T17:48:01.%09dZ stderr F %s\n", i, l)
		}
	}
	return b.String()
}

const inEnvelope = `[rank3]: Traceback (most recent call last):
[rank3]:   File "/opt/train/loop.py", line 41, in <module>
[rank3]:     raise ValueError("a \"bad\" sample <7>")
[rank3]: ValueError: a "bad" sample <7>
[rank4]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.
all is well
`

func TestWhatStandsInAnEnvelopeIsRead(t *testing.T) {
	plain := observe(t, inEnvelope)
	for _, with := range []string{"docker", "cri", "parts"} {
		text := wrapped(inEnvelope, with)
		obs := observe(t, text)
		if len(obs.Exceptions) != 1 || len(obs.Timeouts) != 1 {
			t.Errorf("%s: %d exceptions, %d timeouts", with, len(obs.Exceptions), len(obs.Timeouts))
			continue
		}
		x, want := &obs.Exceptions[0], &plain.Exceptions[0]
		if x.Type != want.Type || x.Message != want.Message || len(x.Frames) != 1 || x.Frames[0] != want.Frames[0] || x.Who().Global != 3 || x.Stamp.Kind != line.Zoned {
			t.Errorf("%s: %+v", with, x)
		}
		if to := &obs.Timeouts[0]; to.Work.Seq != 1580 || to.Who().Global != 4 || to.Stamp.Hour != 17 {
			t.Errorf("%s: %+v", with, to)
		}
		if raw := text[x.Off : x.Off+int64(x.Len)]; !strings.HasPrefix(raw, "[rank3]: ValueError: a") {
			t.Errorf("%s: cites %q", with, raw)
		}
		if tail := &obs.Tails[0]; tail.Last.Stamp.Kind != line.Zoned || tail.Lines != int64(strings.Count(text, "\n")) {
			t.Errorf("%s: tail %+v", with, tail)
		}
	}
}

func TestATracebackInOneLineOfJSON(t *testing.T) {
	text := `{"asctime": "2024-05-01 10:00:07,120", "levelname": "ERROR", "rank": 3, "message": "step 7 failed", "exc_info": "Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\n    g()\nValueError: bad\tsample\nwith a second line"}
{"asctime": "2024-05-01 10:00:08,120", "levelname": "INFO", "message": "RuntimeError: in a sentence of its own"}
`
	obs := observe(t, text)
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	x := &obs.Exceptions[0]
	if x.Type != "ValueError" || x.Message != "bad\tsample" || len(x.Frames) != 1 || x.Frames[0].File != "/a.py" || x.Stamp.Second != 7 || x.Line != 1 {
		t.Errorf("got %+v", x)
	}
	if raw := text[x.Off : x.Off+int64(x.Len)]; raw != `ValueError: bad\tsample` {
		t.Errorf("cites %q", raw)
	}
}

// What the launcher's agent prints in several lines of JSON, each its own record, is one traceback all the same.
func TestATracebackOverManyRecords(t *testing.T) {
	var b strings.Builder
	for l := range strings.SplitSeq("Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\n    g()\nKeyError: 'x'", "\n") {
		rec, _ := json.Marshal(map[string]string{"message": l, "timestamp": "2024-05-01T10:00:07Z"})
		b.Write(append(rec, '\n'))
	}
	obs := observe(t, b.String())
	if len(obs.Exceptions) != 1 || obs.Exceptions[0].Type != "KeyError" || len(obs.Exceptions[0].Frames) != 1 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestPartsOfALineThatIsNeverEnded(t *testing.T) {
	text := "2024-06-03T17:48:01Z stderr P [rank3]: RuntimeError: a\n2024-05-01T10:00:01Z stdout P other\n2024-05-01T10:00:02Z stderr F [rank4]: RuntimeError: b\n"
	obs := observe(t, text)
	if len(obs.Exceptions) != 2 || obs.Exceptions[0].Message != "a" || obs.Exceptions[1].Who().Global != 4 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}
