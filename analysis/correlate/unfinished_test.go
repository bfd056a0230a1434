package correlate

import (
	"strings"
	"testing"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
)

// A time-out that names a target is its doing where it took such a request and ended none since.
func TestARequestThatHangs(t *testing.T) {
	put := []aislog.Growth{{Name: "put.n", N: 1}}
	for _, c := range []struct {
		name      string
		text      string
		begun     []string // of the line of counters 20 s before the time-out
		after     []aislog.Growth
		judgement string
	}{
		{"a PUT came, and none ended", readTimeout, []string{"put"}, nil, Implicated},
		{"others ended", readTimeout, []string{"put"}, put, Open},
		{"it failed", readTimeout, []string{"put"}, []aislog.Growth{{Name: "err.put.n", N: 1}}, Open},
		{"a store behind it was asked", readTimeout, []string{"put"}, []aislog.Growth{{Name: "remais.head.n", N: 1}}, Open},
		{"none came", readTimeout, nil, nil, Open},
		{"one ended when the client had given up", readTimeout, []string{"put"}, nil, Implicated},
		{"another target timed out", "ReadTimeout: HTTPConnectionPool(host='10.0.0.3', port=51081): Read timed out.", []string{"put"}, nil, Open},
	} {
		line := lineOf(c.text, 0)
		line.T.T -= 9 * 3600
		line.Fault = "timeout"
		x := examined(line)
		for i, d := range x.daemons {
			d.Addresses = []string{[]string{"10.0.0.1:51081", "10.0.0.2:51081", "10.0.0.3:51081"}[i]}
		}
		x.listen()
		x.slowAt(1, 20, nil)
		x.slowAt(1, 0, nil)
		x.daemons[1].Intervals[0].Begun, x.daemons[1].Intervals[1].By = c.begun, c.after
		if strings.HasPrefix(c.name, "one ended") {
			x.slowAt(1, -10, nil)
			x.daemons[1].Intervals[2].By = put
		}
		a, _ := x.judged(x.unended()...)
		if blamed := a.Blamed(); a.Judgement != c.judgement || c.judgement == Implicated && (len(blamed) != 1 || blamed[0] != "t-2") {
			t.Errorf("%s: %s (%s), %v", c.name, a.Judgement, a.Why, blamed)
		}
	}
}

// Who is slow itself does not reach others either: what it alone tells of them is its own doing.
func TestWhoIsInTroubleComplainsOfOthers(t *testing.T) {
	for also, roots := range map[bool]int{false: 1, true: 2} {
		x := examined()
		x.slowAt(2, 10, map[string]float64{"get.redir.ns": 40})
		x.told(2, aislog.KeepAliveFailed, "p-1", "failed to fast-kalive p[p-1]: context deadline exceeded", 5)
		if also {
			x.told(0, aislog.KeepAliveFailed, "p-1", "failed to fast-kalive p[p-1]: context deadline exceeded", 5)
		}
		x.all = x.troubles()
		if got := x.roots(); len(got) != roots {
			t.Errorf("another one complains, too: %v; %d troubles by themselves", also, len(got))
		}
	}
}

// Whom a daemon does not reach because its own operating system gives it no socket is not in trouble; the daemon is, and says of what.
func TestWhoReachedALimitIsNoWitnessAgainstOthers(t *testing.T) {
	for limited, about := range map[bool]string{false: "p-1", true: "t-3"} {
		x := examined()
		x.told(2, aislog.KeepAliveFailed, "p-1", "t[t-3] => p[p-1] failed after 3 attempts", 5)
		if limited {
			x.told(2, aislog.LimitReached, "", "net/http err: http: Accept error: accept tcp [::]:51081: accept4: too many open files; retrying in 1s", 65)
		}
		x.all = x.troubles()
		if len(x.all) != 1 || x.all[0].about != about {
			t.Errorf("at a limit: %v; %v", limited, x.all)
			continue
		}
		if said := x.statement(x.all[0]); limited && said != "t-3 reached a limit of its operating system: too many open files (1 record)" {
			t.Error(said)
		}
	}
}

// A request had waited since before the line by which it is told: by the client's own words, or by the latency that the daemon counts.
func TestWhenAWaitBegan(t *testing.T) {
	for text, want := range map[string]float64{readTimeout: 20, "Read timed out.": 0, "(read timeout=None)": 0, "(read timeout=86400)": 0} {
		if got := waitOf(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for sec, before := range map[float64]float64{45: 120, 200: 260} {
		x := examined()
		x.counting()
		x.slowAt(0, 60, map[string]float64{"put.ns": sec})
		found := false
		for _, s := range x.silence(0) {
			if s.still != nil {
				found = true
				if got := float64(at(stall).Unix()) - s.from; got != before {
					t.Errorf("waited %v s: it began %v s before the stall, not %v", sec, got, before)
				}
			}
		}
		if !found {
			t.Errorf("waited %v s: it is not seen", sec)
		}
	}
}

// A request that failed while the others waited was part of the wait, though the rank went on when they had given up.
func TestARequestThatFailedWithinTheWait(t *testing.T) {
	for _, c := range []struct {
		name      string
		after     float64 // the stall, s
		gaveUp    float64 // 0: nobody is known to have waited
		judgement string
	}{
		{"while they waited", 8, 20, Open},
		{"after they gave up", 28, 20, Cleared},
		{"before it", -40, 20, Cleared},
		{"nobody waited", 8, 0, Cleared},
	} {
		line := lineOf(resetText, c.after)
		line.T.T -= 9 * 3600
		line.Fault, line.Over = "reset", true
		x := examined(line)
		if c.gaveUp > 0 {
			x.GaveUp = resolve.Moment{Valid: true, T: x.Stall.T + c.gaveUp}
		}
		a, _ := x.judged()
		if a.Judgement != c.judgement {
			t.Errorf("%s: %s (%s)", c.name, a.Judgement, a.Why)
		}
	}
}

const resetText = "Retrying aistore.sdk.request_client.RequestClient.request in 1.10 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
