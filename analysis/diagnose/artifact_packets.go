package diagnose

import (
	"fmt"
	"slices"
	"strconv"

	"faultline/analysis/artifact/packets"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// packetsArtifact says what captures show of connections over TCP.
func packetsArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "packets", Title: "Captured packets",
		Limits: "A capture shows what passed through one host: a segment seen twice was lost after it, or reordered before it. To find where packets are lost, capture at both ends. RDMA traffic doesn't show up."}
	for _, c := range f.Handed.Captures {
		a.Files = append(a.Files, c.File)
	}
	if len(a.Files) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	for _, c := range f.Handed.Captures {
		for i := range c.Capture.Flows {
			if len(a.Findings) >= maxFindings-1 || i == 4 {
				break
			}
			if x, ok := flowFinding(c.File, c.Capture, &c.Capture.Flows[i]); ok {
				a.Findings = append(a.Findings, x)
			}
		}
		if c.Capture.Cut {
			a.Limits += " " + c.File + " ends in the middle of a packet."
		}
		if c.Capture.More > 0 {
			a.Limits += fmt.Sprintf(" %s has more connections than are analyzed.", c.File)
		}
	}
	return a, true
}

// flowFinding says what went wrong in one direction of a connection; false where nothing did.
func flowFinding(file string, c *packets.Capture, f *packets.Flow) (incident.Finding, bool) {
	var parts []string
	var ev []incident.Evidence
	quote := func(s packets.Sample, members ...incident.Member) {
		if !s.There {
			return
		}
		if !c.Binary {
			ev = append(ev, mechanism.QuotePlace(file, s.Place, &incident.Predicate{Literals: []string{"Flags ["}}))
			return
		}
		ev = append(ev, incident.Evidence{Kind: incident.KindRecord, File: file, Place: fmt.Sprintf("packets[%d]", s.Index),
			Predicate: &incident.Predicate{Members: append([]incident.Member{{Name: "src", Value: f.Src}, {Name: "dst", Value: f.Dst}}, members...)}})
	}
	sequence := func(s packets.Sample) []incident.Member {
		return []incident.Member{{Name: "seq", Value: strconv.FormatUint(uint64(s.Seq), 10)}, {Name: "data", Value: strconv.Itoa(s.Len)}}
	}
	if f.Again > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d data segments were retransmitted or reordered (%.2g%%)", f.Again, f.Data, 100*float64(f.Again)/float64(f.Data)))
		quote(f.Before, sequence(f.Before)...)
		quote(f.FirstAgain, sequence(f.FirstAgain)...)
	}
	if f.Zero > 0 {
		parts = append(parts, fmt.Sprintf("its window closed %d times: %s stopped accepting data for a while because its program wasn't reading", f.Zero, f.Src))
		quote(f.FirstZero, incident.Member{Name: "window", Value: "0"})
	}
	if f.Resets > 0 {
		parts = append(parts, fmt.Sprintf("%s reset the connection %d times: it was closed, or nothing was listening there", f.Src, f.Resets))
		quote(f.FirstReset, incident.Member{Name: "rst", Value: "true"})
	}
	if len(ev) == 0 {
		return incident.Finding{}, false
	}
	text := fmt.Sprintf("from %s to %s: ", f.Src, f.Dst)
	for i, p := range parts {
		if i > 0 {
			text += "; "
		}
		text += p
	}
	return incident.Finding{Statement: text, Evidence: ev}, true
}
