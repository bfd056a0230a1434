package analysis

import (
	"bytes"
	"testing"

	"faultline/incident"
)

func TestAStepIsFoundWhereItsLineStatesIt(t *testing.T) {
	for _, c := range []struct {
		line, value, key, token string // no key: not to be found
	}{
		{"Training epoch 0, iteration 12/499999 | lr: 2.9e-05 | global_step: 12 | loss: 1.2", "12", " iteration ", "12/499999"},
		{" [2026-11-12 10:12:12] iteration       12/  500000 | consumed samples: 12 |", "12", "iteration       ", "12/"},
		{"[2026-03-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=120, skipped=0", "120", "step=", "120"},
		{"[titan] 2026-01-02 03:04:05,006 - root - INFO - step: 7  loss: 7.7777", "7", "step: ", "7"},
		{"  1%|█     | 120/50000 [01:02<09:11:02,  1.20s/it]", "120", "| ", "120/50000"},
		{"loss 0.12 after 12 tokens", "12", "", ""},
		{"step 1.12 of 5", "12", "", ""},
		{"step 12:00:01", "12", "", ""},
		{"\x1b[32mstep: 12\x1b[0m", "12", "", ""},
		{"", "12", "", ""},
	} {
		f, ok := place([]byte(c.line), c.value)
		if c.key == "" {
			if ok {
				t.Errorf("%q: %s found as %+v", c.line, c.value, f)
			}
			continue
		}
		if !ok || f.Value != c.token || !bytes.HasSuffix([]byte(c.key), []byte(f.Key)) {
			t.Errorf("%q: found %+v (%v), expected %q after the end of %q", c.line, f, ok, c.token, c.key)
			continue
		}
		if i := bytes.Index([]byte(c.line), []byte(f.Key)); c.line[i+len(f.Key):][:len(f.Value)] != f.Value {
			t.Errorf("%q: what follows the first %q is not %q", c.line, f.Key, f.Value)
		}
	}
}

func TestAFieldThatIsNotFoundIsNoCondition(t *testing.T) {
	p := placed(&incident.Predicate{Literals: []string{"loss"}, Fields: []incident.Field{{Value: "12"}, {Key: "loss ", Value: "0.12"}}}, []byte("loss 0.12 after 12 tokens"))
	if len(p.Fields) != 1 || p.Fields[0].Key != "loss " || len(p.Literals) != 1 {
		t.Errorf("left %+v", p)
	}
	if p := placed(&incident.Predicate{Fields: []incident.Field{{Value: "12"}}}, []byte("x")); p != nil {
		t.Errorf("left %+v of a predicate that says nothing", p)
	}
}

// Whatever stands in a line, what is found is what the verifier finds: the token after the first occurrence of the key.
func FuzzPlace(f *testing.F) {
	f.Add([]byte("iteration 12/500"), "12")
	f.Add([]byte("step step 1 1\rstep 1"), "1")
	f.Fuzz(func(t *testing.T, raw []byte, value string) {
		got, ok := place(raw, value)
		if !ok {
			return
		}
		seg := raw[bytes.LastIndexByte(raw, '\r')+1:]
		i := bytes.Index(seg, []byte(got.Key))
		if got.Key == "" || i < 0 || !bytes.HasPrefix(seg[i+len(got.Key):], []byte(got.Value)) || len(got.Value) < len(value) {
			t.Errorf("%q in %q: %+v", value, raw, got)
		}
	})
}
