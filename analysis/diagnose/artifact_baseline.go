package diagnose

import (
	"fmt"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// sizesShown is for how many sizes a finding says what was expected and measured.
const sizesShown = 4

// baselineFindings compares the runs with what somebody stated as good, the worst first. The second result adds to what the kind
// cannot say.
func baselineFindings(f *resolve.Facts) ([]incident.Finding, string) {
	compared, without, who := f.AgainstBaseline()
	var out []incident.Finding
	slow := 0
	for i := range compared {
		c := &compared[i]
		if !c.Slow {
			continue
		}
		if slow++; slow > 3 {
			continue
		}
		text := fmt.Sprintf("%s falls short of %s: bus bandwidth %s", runName(&c.TestRun), baseName(c), sizesWords(c))
		if slow == 1 {
			if n := slowOf(compared); len(compared) > 1 {
				text += fmt.Sprintf(". It is the worst of %d runs; %d are slow", len(compared), n)
			}
			if words := accuseWords(who, "slow"); words != "" {
				text += ". " + capitalised(words)
			}
		}
		out = append(out, incident.Finding{Statement: text, Evidence: againstEvidence(c)})
	}
	if slow == 0 && len(compared) > 0 {
		c := &compared[0]
		text := fmt.Sprintf("%s meets %s: bus bandwidth %s", runName(&c.TestRun), baseName(c), sizesWords(c))
		if len(compared) > 1 {
			text = fmt.Sprintf("all %d runs meet %s; the lowest, %s, has a bus bandwidth of %s", len(compared), baseName(c), runName(&c.TestRun), sizesWords(c))
		}
		out = append(out, incident.Finding{Statement: text, Evidence: againstEvidence(c)})
	}
	for _, r := range f.TestRuns() {
		if !r.Below || len(out) > 4 {
			continue
		}
		e := mechanism.QuotePlace(r.File, r.AverageAt, &incident.Predicate{Literals: []string{"FAILED"}})
		if r.JSON {
			e = mechanism.MemberEvidence(r.File, "average_bus_bandwidth", "okay", "false")
		}
		out = append(out, incident.Finding{Statement: fmt.Sprintf("%s itself reports that its average bus bandwidth of %s GB/s is below 90%% of NCCL_TESTS_MIN_BW", runName(&r), decimal(r.Average)),
			Evidence: []incident.Evidence{e}})
	}
	limit := ""
	if len(without) > 0 {
		limit = fmt.Sprintf(" The baseline has no run of the same collective on as many hosts and ranks for %s", runName(&without[0]))
		if len(without) > 1 {
			limit += fmt.Sprintf(" and %s", plural(len(without)-1, "other run", "other runs"))
		}
		limit += "."
	}
	return out, limit
}

func slowOf(all []resolve.Against) int {
	n := 0
	for i := range all {
		if all[i].Slow {
			n++
		}
	}
	return n
}

func baseName(c *resolve.Against) string {
	if c.Base.Run == nil {
		return "the given " + decimal(c.Sizes[0].Want) + " GB/s"
	}
	if c.Base.Began != "" {
		return "the baseline of " + c.Base.Began
	}
	return "the baseline"
}

// sizesWords lists the largest sizes: measured, expected, share.
func sizesWords(c *resolve.Against) string {
	var out []string
	for i := len(c.Sizes) - 1; i >= 0 && len(out) < sizesShown; i-- {
		s := &c.Sizes[i]
		out = append(out, fmt.Sprintf("%s GB/s instead of %s at %s (%.0f%%)", decimal(s.Got.Bus), decimal(s.Want), sizeWords(s.Got.Row.Size), 100*s.Got.Bus/s.Want))
	}
	return strings.Join(out, ", ")
}

func againstEvidence(c *resolve.Against) []incident.Evidence {
	var out []incident.Evidence
	for i := len(c.Sizes) - 1; i >= 0 && i >= len(c.Sizes)-sizesShown; i-- {
		s := &c.Sizes[i]
		if out = append(out, mechanism.MeasuredEvidence(&s.Got)); s.Base.Run != nil {
			out = append(out, mechanism.MeasuredEvidence(&s.Base))
		}
	}
	return out
}
