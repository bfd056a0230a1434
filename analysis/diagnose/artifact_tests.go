package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// testsArtifact says what the runs of nccl-tests show: wrong values, who is slow, and whether the numbers belong together.
func testsArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "nccl-tests", Title: "nccl-tests runs",
		Limits: "They measure the fabric and GPUs at the time of the test, not of the job. Compare bus bandwidth: it is algorithm bandwidth times a factor for the collective and number of ranks."}
	runs := f.TestRuns()
	if len(runs) == 0 {
		return a, false
	}
	for _, r := range runs {
		a.Files = appendNew(a.Files, r.File)
	}
	slices.Sort(a.Files)
	a.Findings = append(a.Findings, wrongValues(runs)...)
	stated, limit := baselineFindings(f)
	a.Findings = append(a.Findings, stated...)
	a.Limits += limit
	compared := f.CompareTests()
	for i := range compared {
		if len(compared[i].Slow) > 0 && len(a.Findings) < maxFindings-2 {
			a.Findings = append(a.Findings, slowFinding(&compared[i]))
		}
	}
	a.Findings = append(a.Findings, unended(runs)...)
	a.Findings = append(a.Findings, oddFindings(runs)...)
	for i := range compared {
		if c := &compared[i]; len(c.Slow) == 0 && len(a.Findings) < maxFindings {
			low := c.Good[len(c.Good)-1]
			a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%d runs of %s on %d ranks agree: bus bandwidth between %s and %s GB/s at %s", len(c.Good), c.Collective, c.Ranks,
				decimal(low.Bus), decimal(c.Best.Bus), sizeWords(c.Size)), Evidence: []incident.Evidence{mechanism.MeasuredEvidence(&low), mechanism.MeasuredEvidence(&c.Best)}})
		}
	}
	for i := range runs {
		if len(a.Findings) >= maxFindings-1 || i == 4 {
			break
		}
		r := &runs[i]
		row, bus, ok := r.Peak()
		if !ok {
			continue
		}
		m := resolve.Measured{TestRun: *r, Row: row, Bus: bus}
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s reached a bus bandwidth of %s GB/s at %s", runName(r), decimal(bus), sizeWords(row.Size)), Evidence: []incident.Evidence{mechanism.MeasuredEvidence(&m)}})
	}
	return a, true
}

func runName(r *resolve.TestRun) string {
	name := cmp.Or(r.Collective, "a test")
	if n := r.Took(); n > 0 {
		name += " over " + plural(n, "rank", "ranks")
	}
	if len(r.Hosts) > 0 {
		name += " on " + several(r.Hosts, "host")
	}
	return name
}

func sizeWords(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for i < len(units)-1 && n >= 1024 && n%1024 == 0 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + " " + units[i]
}

// wrongQuote is the place that says how many elements were wrong.
func wrongQuote(file string, row *nccltests.Row) incident.Evidence {
	switch {
	case row.Record == "":
		return mechanism.RowEvidence(file, row)
	case row.Out.Wrong > 0:
		return mechanism.MemberEvidence(file, row.Record+".out_of_place", "nwrong", row.Out.WrongValue)
	}
	return mechanism.MemberEvidence(file, row.Record+".in_place", "nwrong", row.In.WrongValue)
}

// boundsQuote is where a test says that it failed.
func boundsQuote(r *resolve.TestRun) incident.Evidence {
	if r.JSON {
		return mechanism.MemberEvidence(r.File, "out_of_bounds", "okay", "false")
	}
	return mechanism.QuotePlace(r.File, r.OutOfBoundsAt, &incident.Predicate{Literals: []string{"FAILED"}})
}

// wrongValues: elements that came out wrong are data that was corrupted, on the way or in memory.
func wrongValues(runs []resolve.TestRun) []incident.Finding {
	var bad, good [][]string
	var ev []incident.Evidence
	var first *resolve.TestRun
	elements := int64(0)
	for i := range runs {
		r := &runs[i]
		sum := int64(0)
		for k := range r.Rows {
			if n := r.Rows[k].Wrong(); n > 0 {
				sum += n
				if len(ev) < 3 {
					ev = append(ev, wrongQuote(r.File, &r.Rows[k]))
				}
			}
		}
		switch {
		case sum > 0 || r.Failed:
			if r.Failed && len(ev) < 4 {
				ev = append(ev, boundsQuote(r))
			}
			bad = append(bad, r.Hosts)
			elements += sum
			if first == nil {
				first = r
			}
		case r.OutOfBounds == 0 && r.HasAverage:
			good = append(good, r.Hosts)
		}
	}
	if first == nil {
		return nil
	}
	text := "wrong values: " + runName(first)
	if elements > 0 {
		text += fmt.Sprintf(" returned %d wrong elements", elements)
	} else {
		text += " returned values off by more than rounding error"
	}
	if len(bad) > 1 {
		text += fmt.Sprintf(" (and %s)", plural(len(bad)-1, "other run", "other runs"))
	}
	text += ": data is corrupted in transit or in GPU memory, which training doesn't detect. " + accuseWords(resolve.Accuse(bad, good), "wrong")
	return []incident.Finding{{Statement: strings.TrimSpace(text), Evidence: ev}}
}

// accuseWords says who explains the bad tests, and how far that is proven.
func accuseWords(c resolve.Culprit, what string) string {
	if len(c.Hosts) == 0 {
		return ""
	}
	switch c.Kind {
	case "node":
		if len(c.Hosts) == 1 {
			return fmt.Sprintf("suspect %s: it is in every %s run, and every other host is in a good one", c.Hosts[0], what)
		}
	case "path":
		if len(c.Hosts) == 1 {
			return fmt.Sprintf("intermittent: %s was good in another run", c.Hosts[0])
		}
		return fmt.Sprintf("each of %s is good with other partners: suspect the path between them, or an intermittent fault", several(c.Hosts, "host"))
	case "set":
		if len(c.Hosts) == 1 {
			return fmt.Sprintf("suspect %s or its path to the other hosts; a run with another partner would settle it", c.Hosts[0])
		}
		return fmt.Sprintf("suspect one or more of %s, or a path between them: these runs can't tell which; pair each with a known-good host", several(c.Hosts, "host"))
	}
	return ""
}

func slowFinding(c *resolve.Comparison) incident.Finding {
	var names []string
	ev, who := []incident.Evidence{}, capitalised(accuseWords(c.Culprit, "slow"))
	slices.Reverse(c.Slow) // the worst first
	for i := range c.Slow {
		names = append(names, fmt.Sprintf("%s (%s GB/s)", strings.Join(c.Slow[i].Hosts[:min(len(c.Slow[i].Hosts), 4)], " with "), decimal(c.Slow[i].Bus)))
		if i < 3 {
			ev = append(ev, mechanism.MeasuredEvidence(&c.Slow[i]))
		}
	}
	ev = append(ev, mechanism.MeasuredEvidence(&c.Best))
	if before := sameHosts(c); before != "" {
		who = before
	}
	return incident.Finding{Statement: fmt.Sprintf("%s on %d ranks at %s is slow on %s; the best comparable run has a bus bandwidth of %s GB/s. %s", c.Collective, c.Ranks, sizeWords(c.Size), several(names, "run"),
		decimal(c.Best.Bus), who), Evidence: ev}
}

// sameHosts says so where the only slow run was fast over the same hosts in another file: an earlier run that was handed in with it.
func sameHosts(c *resolve.Comparison) string {
	if len(c.Slow) != 1 {
		return ""
	}
	slow := &c.Slow[0]
	for i := range c.Good {
		g := &c.Good[i]
		if !slices.Equal(g.Hosts, slow.Hosts) {
			continue
		}
		switch {
		case g.Began != "" && g.Began < slow.Began:
			return fmt.Sprintf("The same %s reached %s GB/s on %s, but no longer on %s", hostsWord(g.Hosts), decimal(g.Bus), g.Began, slow.Began)
		case slow.Began != "" && slow.Began < g.Began:
			return fmt.Sprintf("The same %s reached %s GB/s again on %s: it has cleared up, or it is intermittent", hostsWord(g.Hosts), decimal(g.Bus), g.Began)
		}
		return fmt.Sprintf("The same %s reached %s GB/s in another run: it is intermittent, or something changed in between", hostsWord(g.Hosts), decimal(g.Bus))
	}
	return ""
}

func hostsWord(hosts []string) string {
	if len(hosts) == 1 {
		return "host"
	}
	return plural(len(hosts), "host", "hosts")
}

func capitalised(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unended: tests that failed, or stopped without a result.
func unended(runs []resolve.TestRun) []incident.Finding {
	var out []incident.Finding
	for i := range runs {
		r := &runs[i]
		if len(out) == 2 {
			break
		}
		switch {
		case len(r.Errors) > 0:
			e := r.Errors[0]
			out = append(out, incident.Finding{Statement: fmt.Sprintf("%s failed, as reported by %s", runName(r), e.Host), Evidence: []incident.Evidence{mechanism.QuotePlace(r.File, e.Place, &incident.Predicate{Literals: []string{"Test "}})}})
		case !r.HasAverage && len(r.Rows) > 0:
			last := &r.Rows[len(r.Rows)-1]
			out = append(out, incident.Finding{Statement: fmt.Sprintf("%s has no result: its last line is for %s; it hung, was killed, or its output is truncated", runName(r), sizeWords(last.Size)), Evidence: []incident.Evidence{mechanism.RowEvidence(r.File, last)}})
		case !r.HasAverage && !r.JSON:
			out = append(out, incident.Finding{Statement: fmt.Sprintf("%s has no result for any size; it hung, was killed, or its output is truncated", runName(r)), Evidence: []incident.Evidence{mechanism.QuotePlace(r.File, r.Start, nil)}})
		}
	}
	return out
}

// oddFindings: bandwidths that do not belong together.
func oddFindings(runs []resolve.TestRun) []incident.Finding {
	for i := range runs {
		r := &runs[i]
		odd, _ := r.Odd()
		if len(odd) == 0 {
			continue
		}
		f, ok := nccltests.Factor(r.Collective, r.Ranks())
		text := fmt.Sprintf("the numbers from %s are inconsistent at %s: ", runName(r), sizeWords(odd[0].Size))
		if ok {
			text += fmt.Sprintf("bus bandwidth is not %s times algorithm bandwidth, or that is not size over time; ", decimal(f))
		} else {
			text += "algorithm bandwidth is not size over time; "
		}
		return []incident.Finding{{Statement: text + "the table mixes several runs or was edited, so it is not compared with others", Evidence: []incident.Evidence{mechanism.RowEvidence(r.File, &odd[0])}}}
	}
	return nil
}
