package line

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestUnwrap(t *testing.T) {
	for _, tc := range []struct {
		name, raw, text string
		stamp           string // hour, minute and second; "" none
		partial, whole  bool
	}{
		{"Docker", `{"log":"[rank3]: ValueError: bad\n","stream":"stderr","time":"2024-05-01T10:00:07.123456789Z"}`, "[rank3]: ValueError: bad", "10:0:7", false, false},
		{"Docker escapes what browsers read, too", `{"log":"\u003cmodule\u003e said \"a\\nb\"\n","stream":"stdout","time":"2024-05-01T10:00:07Z"}`, `<module> said "a\nb"`, "10:0:7", false, false},
		{"a line end within is one", `{"log":"a\rb\n","stream":"stdout"}`, "a\rb", "", false, false},
		{"Docker cuts at 16 KiB", `{"log":"` + strings.Repeat("x", 16<<10) + `","stream":"stdout"}`, strings.Repeat("x", 16<<10), "", true, false},
		{"containerd", "2024-05-01T10:00:07.123456789Z stderr F RuntimeError: x", "RuntimeError: x", "10:0:7", false, false},
		{"CRI-O, in a zone, with a tag", "2024-05-01T10:00:07.1+02:00 stdout P:a half a li", "half a li", "10:0:7", true, false},
		{"an empty line of containerd", "2024-05-01T10:00:07.1Z stdout F ", "", "10:0:7", false, false},
		{"a logger's traceback", `{"asctime": "2024-05-01 10:00:07,120", "levelname": "ERROR", "message": "step failed", "exc_info": "Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\nValueError: x"}`,
			"step failed\nTraceback (most recent call last):\n  File \"/a.py\", line 3, in f\nValueError: x", "10:0:7", false, true},
		{"Google's", `{"insertId":"1","jsonPayload":{"message":"NCCL WARN x","rank":"3"},"timestamp":"2024-05-01T10:00:07.1Z"}`, "NCCL WARN x", "10:0:7", false, true},
		{"torchelastic's error file", `{"message": {"message": "RuntimeError: x", "extraInfo": {"py_callstack": "Traceback\n  y\n", "timestamp": "1700000000"}}}`, "RuntimeError: x\nTraceback\n  y", "", false, true},
		{"one within the other", `2024-05-01T10:00:07Z stderr F {"message":"\u00e9 \ud83d\ude00"}`, "é 😀", "10:0:7", false, true},
		{"cut off", `{"log":"Killed by \"x`, `Killed by "x`, "", false, false},
		{"Loki's", `{"labels":{"pod":"train-1","line":"x"},"line":"[rank3]: ValueError: bad","timestamp":"2024-05-01T10:00:07.1Z"}`, "[rank3]: ValueError: bad", "10:0:7", false, true},
		{"a benchmark's, with the stream", `{"event": "line", "data": "[rank3]: ValueError: bad\n", "pipe": "stderr"}`, "[rank3]: ValueError: bad", "", false, true},
		{"a sample of the data", `{"id": "7", "data": "ValueError: bad\n"}`, "-", "", false, false},
		{"Splunk's", `{"preview":false,"result":{"_raw":"[rank3]: ValueError: bad"}}`, "[rank3]: ValueError: bad", "", false, true},
		{"the journal's", `{"__REALTIME_TIMESTAMP":"1714557607123456","_HOSTNAME":"n3","PRIORITY":"3","MESSAGE":"[rank3]: ValueError: bad"}`, "[rank3]: ValueError: bad", "", false, true},
		{"OpenTelemetry's", `{"timeUnixNano":"1714557607123456000","severityText":"ERROR","body":{"stringValue":"[rank3]: ValueError: bad"}}`, "[rank3]: ValueError: bad", "", false, true},
		{"a line of a program", `{"msg":"step failed","file":"train.py","line":"42"}`, "step failed", "", false, true},
		{"the number of a line", `{"file":"train.py","line":42}`, "-", "", false, false},
		{"a member on a line of its own", `    "textPayload": "[rank3]: ValueError: \"x\"",`, `[rank3]: ValueError: "x"`, "", false, true},
		{"the last member", "\t\"message\": \"killed\"", "killed", "", false, true},
		{"a member that is no text", `    "retries": "3",`, "-", "", false, false},
		{"a member whose text goes on", `    "message": "it said`, "-", "", false, false},
		{"code that looks like a member", `    "message": "a" + b,`, "-", "", false, false},
		{"an object below a member", `    "message": {`, "-", "", false, false},
		{"a list is no text", `{"message":["a","b"],"log":"c\n"}`, "c", "", false, false},
		{"a step's record stays", `{"step": 7, "loss": 2.1, "message": "train"}`, "-", "", false, false},
		{"a step's record with a traceback", `{"step": 7, "message": "failed\nTraceback"}`, "failed\nTraceback", "", false, true},
		{"no text", `{"loss": 2.1, "lr": 1e-5}`, "-", "", false, false},
		{"Python's dictionary", `{'loss': 2.1, 'message': 'x'}`, "-", "", false, false},
		{"a stamp alone", "2024-05-01T10:00:07.1Z stderr was closed", "-", "", false, false},
		{"a stamp without zone", "2024-05-01T10:00:07.1 stderr F x", "-", "", false, false},
	} {
		var u Unwrapper
		e, ok := u.Unwrap([]byte(tc.raw))
		if !ok {
			if tc.text != "-" {
				t.Errorf("%s: no envelope", tc.name)
			}
			continue
		}
		stamp := ""
		if e.Stamp.Kind != NoStamp {
			stamp = fmt.Sprintf("%d:%d:%d", e.Stamp.Hour, e.Stamp.Minute, e.Stamp.Second)
		}
		if string(e.Text) != tc.text || stamp != tc.stamp || e.Partial != tc.partial || e.Whole != tc.whole {
			t.Errorf("%s: %.80q at %s, partial %v, whole %v", tc.name, e.Text, stamp, e.Partial, e.Whole)
		}
		checkEnvelope(t, []byte(tc.raw), &e)
	}
}

// checkEnvelope holds the places against the line.
func checkEnvelope(t *testing.T, raw []byte, e *Envelope) {
	t.Helper()
	last := 0
	for i := range len(e.Text) + 1 {
		p := e.Place(i)
		if p < last || p > len(raw) {
			t.Fatalf("byte %d of %q stands at %d of %d, behind %d", i, e.Text, p, len(raw), last)
		}
		if i < len(e.Text) && e.Text[i] > ' ' && e.Text[i] < 0x80 && p < len(raw) && raw[p] != e.Text[i] && raw[p] != '\\' {
			t.Fatalf("byte %d of %q is %q at its place", i, e.Text, raw[p])
		}
		last = p
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add([]byte(`{"log":"a\"b\\\u00e9\n","stream":"stderr","time":"2024-05-01T10:00:07.123456789Z"}`))
	f.Add([]byte("  \"message\": \"a\\nb\\u00e9\","))
	f.Add([]byte(`2024-05-01T10:00:07Z stderr F {"log":"{\"message\":\"a\\nb\\u00\"}\n"}`))
	f.Add([]byte(`{"a":[{"b":"]"}],"message":{"message":"x"},"error":"\ud83d\ude`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var u Unwrapper
		kept := bytes.Clone(b)
		if e, ok := u.Unwrap(b); ok {
			checkEnvelope(t, b, &e)
		}
		if !bytes.Equal(b, kept) {
			t.Fatal("it changed the line")
		}
	})
}

// A member "line" is the text of a record of Loki's, and in other records a line of code.
func TestALineIsTextOrANumber(t *testing.T) {
	for in, want := range map[string]string{
		`{"labels":{"pod":"a"},"line":"step 3 loss 2.1","timestamp":"2025-09-12T03:19:00Z"}`: "step 3 loss 2.1",
		`{"line":"88","text":"torch.OutOfMemoryError: CUDA out of memory."}`:                 "",
	} {
		var u Unwrapper
		if e, _ := u.Unwrap([]byte(in)); string(e.Text) != want {
			t.Errorf("%s: %q", in, e.Text)
		}
	}
}
