package mechanism

import (
	"fmt"
	"math"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// alteredBefore says what changed in how the run trains shortly before a line: findings, and one sentence that puts them together; "" where nothing did.
func alteredBefore(f *resolve.Facts, c *resolve.Course, p *resolve.Point) (why string, found []incident.Finding) {
	var batch, rate, resumed *resolve.Turn
	turns := f.Before(c, p)
	for i := range turns {
		t := &turns[i]
		switch t.Kind {
		case worker.NumericBatch:
			batch = t
			found = append(found, finding(fmt.Sprintf("the global batch changed from %g to %g", t.Was, t.Is), QuoteAt(t.At, nil)))
		case worker.NumericRate:
			rate = t
			found = append(found, finding(fmt.Sprintf("the learning rate changed from %.3g to %.3g", t.Was, t.Is), QuoteAt(t.At, nil)))
		case resolve.TurnResumed:
			resumed = t
			found = append(found, finding(fmt.Sprintf("the run went back from step %.0f to step %.0f", t.Was, t.Is), QuoteAt(t.At, nil)))
		}
	}
	switch {
	case batch != nil && batch.Was > 0:
		return scaled(f, c, p, batch, rate), found
	case rate != nil:
		return fmt.Sprintf("the learning rate changed from %.3g to %.3g just before", rate.Was, rate.Is), found
	case resumed != nil:
		return "the run had just resumed: an optimizer state or data position that was lost on load looks like this", found
	}
	return "", nil
}

// scaled compares what the learning rate did with what the rules say for the new batch: linear for SGD, square root for Adam and its kin.
func scaled(f *resolve.Facts, c *resolve.Course, p *resolve.Point, batch, rate *resolve.Turn) string {
	k := batch.Is / batch.Was
	text := fmt.Sprintf("the global batch changed from %g to %g just before", batch.Was, batch.Is)
	rule := fmt.Sprintf("for %.3g times the batch the linear rule is %.3g times the learning rate, the square-root rule %.3g times", k, k, math.Sqrt(k))
	switch n, _, printed := f.Rate(c, p); {
	case rate != nil:
		return fmt.Sprintf("%s, and the learning rate by %.3g times; %s", text, rate.Is/rate.Was, rule)
	case printed:
		return fmt.Sprintf("%s; the learning rate stayed near %.3g; %s (%.2g or %.2g)", text, n.Value, rule, n.Value*k, n.Value*math.Sqrt(k))
	}
	return text + "; " + rule
}

// spent is a learning rate so far below its highest that nothing is learned with it.
const spent = 0.02

// exhausted says that the schedule had run out of learning rate at a line; "" where the log does not show that.
func exhausted(f *resolve.Facts, c *resolve.Course, p *resolve.Point) (why string, found []incident.Finding) {
	n, top, ok := f.Rate(c, p)
	if !ok || top == 0 || n.Value > spent*top {
		return "", nil
	}
	return fmt.Sprintf("the learning rate had fallen to %.3g, from %.3g at its highest", n.Value, top),
		[]incident.Finding{finding(fmt.Sprintf("the learning rate was %s", n.Text), QuoteAt(n.At, nil))}
}
