package correlate

import (
	"testing"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
)

func TestTheMomentInAnAddress(t *testing.T) {
	for s, want := range map[string]string{
		"REQ_URL:http://h:1/v1/objects/b/o?provider=ais&pid=p-0&utm=dn1p1hdkg600.": "2026-11-22T11:13:17.965Z",
		"http://h:1/v1/objects/b/o?utm=dn1p1hdkg600&pid=p-0":                       "2026-11-22T11:13:17.965Z",
		"&utm=":                        "",
		"&utm=abc":                     "",
		"&utm=zzzzzzzzzzzzzz":          "",
		"nothing of the kind":          "",
		"a word that ends in xutm=dn1": "",
		"utm=dn1p1hdkg600":             "",
	} {
		got, ok := sentAt(s)
		if text := time.UnixMilli(int64(got * 1000)).UTC().Format("2006-01-02T15:04:05.000Z"); ok != (want != "") || ok && text != want {
			t.Errorf("%q: %s, %v; want %s", s, text, ok, want)
		}
	}
}

func at(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t
}

// asked is a line of the job that tells of a redirect at 11:13:17 UTC, by the job's clock.
func asked(clock string) Client {
	text := "ErrObjNotFound: STATUS:404, MESSAGE:t[t-2]: ais://b/o does not exist, REQ_URL:http://h:1/v1/objects/b/o?provider=ais&pid=p-0&utm=dn1p1hdkg600."
	return Client{Text: text, Marks: marksOf(text), T: resolve.Moment{Valid: true, T: float64(at(clock).Unix())}}
}

func daemon(id, from, to, zone string) *aislog.Daemon {
	d := &aislog.Daemon{ID: id, Role: aislog.Target, Zone: zone}
	d.Covered.From, d.Covered.To = aislog.Time{Wall: at(from), Proof: aislog.FirstLine}, aislog.Time{Wall: at(to), Proof: aislog.FirstLine}
	return d
}

func TestTheMomentInAnAddressTiesTheClocks(t *testing.T) {
	for _, c := range []struct {
		name     string
		daemons  []*aislog.Daemon
		lines    []Client
		proof    string
		quarters int
	}{
		{"the log of the target that is named is short", []*aislog.Daemon{daemon("t-2", "2026-11-22T11:12:50Z", "2026-11-22T11:13:37Z", "")}, []Client{asked("2026-11-22T20:13:18Z")}, Likely, 36},
		{"it is long, and its zone is stated", []*aislog.Daemon{daemon("t-2", "2026-11-20T11:12:50Z", "2026-11-22T21:13:37Z", "UTC")}, []Client{asked("2026-11-22T20:13:18Z")}, Proven, 36},
		{"it is long, and its zone is not stated", []*aislog.Daemon{daemon("t-2", "2026-11-20T11:12:50Z", "2026-11-22T21:13:37Z", "")}, []Client{asked("2026-11-22T20:13:18Z")}, Unproven, 0},
		{"another target's log is short", []*aislog.Daemon{daemon("t-7", "2026-11-22T11:12:50Z", "2026-11-22T11:13:37Z", "")}, []Client{asked("2026-11-22T20:13:18Z")}, Unproven, 0},
		{"the job's clocks do not agree", []*aislog.Daemon{daemon("t-2", "2026-11-22T11:12:50Z", "2026-11-22T11:13:37Z", "")}, []Client{asked("2026-11-22T20:13:18Z"), asked("2026-11-22T15:13:18Z")}, Unproven, 0},
		{"the job's clock is off by minutes", []*aislog.Daemon{daemon("t-2", "2026-11-22T11:12:50Z", "2026-11-22T11:13:37Z", "UTC")}, []Client{asked("2026-11-22T20:18:18Z")}, Unproven, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &inquiry{Question: Question{Facts: &resolve.Facts{YearProven: true}}, daemons: c.daemons, lines: c.lines}
			x.relate()
			x.tie()
			if k := &x.clock; k.Proof != c.proof || k.Known() && k.Shift != float64(c.quarters)*quarter {
				t.Errorf("it is %s, %v s apart; want %s, %v", k.Proof, k.Shift, c.proof, float64(c.quarters)*quarter)
			}
		})
	}
}
