package correlate

import (
	"fmt"
	"testing"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
)

// lineOf is a line of rank 5, so many seconds after the stall by the job's clock, nine hours ahead of the daemons'.
func lineOf(text string, after float64) Client {
	return Client{Text: text, Marks: marksOf(text), ours: true, Rank: 5, T: resolve.Moment{Valid: true, Unc: 0.5, T: float64(at(stall).Unix()) + 9*3600 + after}}
}

// untied is a cluster whose clocks nothing relates to the job's yet, with logs of so many minutes around the stall, from the daemons'
// start on.
func untied(minutes int, lines ...Client) *inquiry {
	x := examined(lines...)
	x.clock = Clock{}
	x.Stall.T += 9 * 3600
	for i, d := range x.daemons {
		*d = *daemon(d.ID, at(stall).Add(-time.Duration(minutes)*time.Minute).Format(time.RFC3339), at(stall).Add(time.Minute).Format(time.RFC3339), "")
		d.Targets, d.Runs, d.Addresses = 3, []aislog.Run{{Started: true}}, []string{fmt.Sprintf("10.0.0.%d:51081", i+1)}
	}
	x.listen()
	x.relate()
	return x
}

const readTimeout = "Retrying in 1.10 seconds as it raised ReadTimeout: HTTPConnectionPool(host='10.0.0.2', port=51081): Read timed out. (read timeout=20)."

// A daemon whose log begins with its start was reached at a time that its log covers: of short logs only one distance is left.
func TestServiceTiesTheClocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		minutes int
		text    string
		whole   bool
		proof   string
	}{
		{"the log is short", 3, readTimeout, true, Likely},
		{"the log reaches back far", 300, readTimeout, true, Unproven},
		{"the daemon may have been there before its log begins", 3, readTimeout, false, Unproven},
		{"it took no connection", 3, "ConnectTimeout: HTTPConnectionPool(host='10.0.0.2', port=51081): Max retries exceeded", true, Unproven},
		{"another machine was reached", 3, "ReadTimeout: HTTPConnectionPool(host='10.0.9.9', port=51081): Read timed out.", true, Unproven},
	} {
		x := untied(c.minutes, lineOf(c.text, 0))
		for _, d := range x.daemons {
			d.Runs[0].Started = c.whole
		}
		if x.tie(); x.clock.Proof != c.proof || c.proof == Likely && x.clock.Shift != 9*3600 {
			t.Errorf("%s: %s, %v s", c.name, x.clock.Proof, x.clock.Shift)
		}
	}
}

const (
	clientCut = "Batch stream truncated at index 0/16. Falling back to direct AIStore API calls for remaining objects."
	daemonCut = "W 11:13:00.000000 moss:684 get-batch[gbt] err: Warning: failed to transmit GET response [ work:age:8ms ]"
)

// Both sides write of an answer that is cut off at once: one match may be chance, two are none.
func TestAnswersThatAreCutOffTieTheClocks(t *testing.T) {
	for _, c := range []struct {
		name           string
		client, daemon []float64 // seconds after the stall
		proof          string
	}{
		{"one", []float64{0}, []float64{-0.1}, Likely},
		{"two", []float64{0, 7}, []float64{-0.1, 6.9}, Proven},
		{"two lines about one record", []float64{0, 0.1}, []float64{-0.1}, Likely},
		{"the second is seconds apart", []float64{0, 7}, []float64{-0.1, 4}, Likely},
		{"none", nil, []float64{0}, Unproven},
	} {
		x := untied(300)
		for _, after := range c.client {
			x.lines = append(x.lines, lineOf(clientCut, after))
		}
		for _, after := range c.daemon {
			x.told(1, aislog.BatchFailed, "", daemonCut, -after)
		}
		if x.tie(); x.clock.Proof != c.proof || c.proof == Proven && x.clock.Shift != 9*3600 {
			t.Errorf("%s: %s, %v s", c.name, x.clock.Proof, x.clock.Shift)
		}
	}
}

// Two independent signs are a proof: something is missed at once after it was taken, and the logs cover that at one distance only.
func TestTwoSignsAreAProof(t *testing.T) {
	for minutes, proof := range map[int]string{3: Proven, 300: Likely} {
		miss := missed404("o/000258", 2)
		miss.T.T += 9 * 3600
		x := untied(minutes, miss, lineOf(readTimeout, 5))
		x.all = []*trouble{x.deletion("list:[o/000258]", 1)}
		if x.tie(); x.clock.Proof != proof {
			t.Errorf("%d minutes: %s %+v", minutes, x.clock.Proof, x.clock.Basis)
		}
	}
}

// A process that stands still takes connections. What is not reached was cut off.
func TestWhatIsNotReachedDidNotStandStill(t *testing.T) {
	for text, stood := range map[string]bool{
		readTimeout: true,
		"ConnectTimeout: HTTPConnectionPool(host='10.0.0.1', port=51081): Max retries exceeded": false,
		"ConnectTimeout: HTTPConnectionPool(host='10.0.0.3', port=51081): Max retries exceeded": true,
	} {
		x := examined(lineOf(text, 0))
		for i, d := range x.daemons {
			d.Addresses = []string{fmt.Sprintf("10.0.0.%d:51081", i+1)}
		}
		x.listen()
		x.counting()
		found := false
		for _, s := range x.silence(0) {
			found = found || s.still != nil
		}
		if found != stood {
			t.Errorf("%q: stood still %v", text, found)
		}
	}
}
