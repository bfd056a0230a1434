package correlate

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// hearsLate is how many seconds after a client gave a batch up the target that serves it notices: when it writes into a connection that
// the client has closed.
const hearsLate = 30.0

// servedBy is the target that served a batch which a client gave up, "" where that is not known: the only one that was still sending
// the answer to a batch when a client had gone. The client's own line names neither the request nor the target.
func (x *inquiry) servedBy(c *Client) string {
	if !x.clock.Known() || !c.T.Valid || c.T.Unc > 5 || !slices.Contains(c.Marks, Mark{Reason, answerCut}) {
		return ""
	}
	id := ""
	for _, p := range x.cutAnswers() {
		if after := p.t + x.clock.Shift - c.T.T; after < -1 || after > hearsLate+x.clock.Unc {
			continue
		}
		if id != "" && id != x.self(p.d) {
			return ""
		}
		id = x.self(p.d)
	}
	return id
}

// cutAnswers are the records of targets that could not send the answer to a batch.
func (x *inquiry) cutAnswers() []point {
	if x.cuts == nil {
		x.cuts = slices.DeleteFunc(x.records(Mark{Reason, answerCut}), func(p point) bool {
			return !strings.Contains(p.event.Text, "get-batch") || !strings.Contains(p.event.Text, "failed to transmit") || x.daemons[p.d].Role != aislog.Target
		})
		if x.cuts == nil {
			x.cuts = []point{}
		}
	}
	return x.cuts
}

// lasted says that a trouble itself, and not what it led to, went on after the job's last step, whatever the clocks' uncertainty, and until
// shortly before a line: only then can it have held a request that was still under way. Load counts for as long as requests felt it.
func (x *inquiry) lasted(t *trouble, c *Client) bool {
	over := x.job(t.heldUntil(t.to))
	return over.T >= c.T.T-lateTold && x.Facts.StepsSince(resolve.Moment{Valid: true, T: over.T - over.Unc}) == 0
}

// cut says which target served the batch that the ranks in question gave up last, "" where that is not known. Whether it was slow, or
// the network, or the client, this does not tell.
func (x *inquiry) cut(a *Answer) string {
	for i := len(x.lines) - 1; i >= 0; i-- {
		c := &x.lines[i]
		if !x.asked(c) || x.Facts.StepsSince(c.T) > 0 {
			continue
		}
		if id := x.servedBy(c); id != "" {
			a.Goes = append([]incident.Evidence{clientQuote(c)}, a.Goes...)
			return fmt.Sprintf("%s was still sending the batch that %s gave up", id, x.who())
		}
	}
	return ""
}
