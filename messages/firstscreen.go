package messages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"faultline/incident"
)

// The first screen decides; it never grows beyond this, whatever the report holds.
const (
	firstScreenLines = 12
	firstScreenWidth = 100
	labelWidth       = 15
	calmLines        = 7 // of a job that did not fail
)

// The labels of the first screen: nouns that a reader expects. Clues are numbered.
const (
	labelWhat       = "What happened"
	labelCandidates = "Candidates"
	labelClue       = "Clue"
	labelWhere      = "Where"
	labelConfidence = "Confidence"
	labelSeverity   = "Severity"
	labelTraining   = "Training"
	labelEvidence   = "Evidence"
	labelStuck      = "Stuck in"
	labelBefore     = "Seen before"
	labelCheck      = "Check before"
	labelReason     = "Likely reason"
	labelStorage    = "Storage"
	labelNext       = "Next step"
	labelOwner      = "Owner"
	labelConfirm    = "To confirm"
	labelAlso       = "Also useful"
	labelSave       = "Save now"
	labelMissing    = "Missing"
	labelCommand    = "Command"
)

// part is one answer of the first screen. Proof is the end of its text that says where to see it.
type part struct{ Label, Text, Proof string }

func screen(v *view) []part {
	r := v.Report
	if r.Triage != nil {
		return triageScreen(r.Triage)
	}
	var ps []part
	add := func(label, text string) {
		if text != "" {
			ps = append(ps, part{Label: label, Text: text})
		}
	}
	if besideOnly(r) {
		add(labelWhat, "The job's own logs would show how it ended.")
	} else if !unforeseen(r) && saysMore(r.Verdict.Summary, v.Headline) {
		add(labelWhat, sentence(r.Verdict.Summary)+proofText(r))
		ps[len(ps)-1].Proof = proofText(r)
	}
	if r.Verdict.Status == incident.NoFailure {
		add(labelConfidence, sureText(r))
		add(labelSeverity, severityText(r))
		do := "Nothing to do."
		if r.Action.Text != "" {
			do = sentence(r.Action.Text)
		}
		add(labelNext, do)
		add(labelMissing, gapsText(r))
		return ps
	}
	if text := candidatesText(r.Verdict); !saidIn(v.Headline, r.Verdict) {
		add(labelCandidates, text)
	}
	reasons := mostReasons
	if len(r.Verdict.Candidates) > 1 {
		reasons = 1
	}
	for i, s := range r.Standouts {
		add(fmt.Sprintf("%s %d", labelClue, i+1), clue(s, v.Headline, reasons))
	}
	add(labelWhere, whereText(r))
	add(labelConfidence, sureText(r))
	add(labelSeverity, severityText(r))
	add(labelTraining, capital(finishedText(r)))
	add(labelEvidence, besideText(r))
	add(labelStuck, waitsIn(r))
	add(labelBefore, beforeText(r.History))
	add(labelCheck, checkText(r))
	add(labelReason, likelyReason(r.Verdict))
	add(labelStorage, storageRow(r))
	add(labelNext, nextStep(r))
	add(labelOwner, ownerRow(r))
	add(confirms(r))
	add(labelMissing, gapsText(r))
	return fitWords(ps, screenWords-len(strings.Fields(v.Headline)))
}

// candidatesText names the causes that the evidence leaves standing, the likeliest first. Numbers stand beside them only where they differ:
// equal shares say nothing.
func candidatesText(v incident.Verdict) string {
	if len(v.Candidates) < 2 {
		return ""
	}
	level := true
	for _, c := range v.Candidates {
		level = level && c.Confidence == v.Candidates[0].Confidence
	}
	var names []string
	for _, c := range v.Candidates {
		name := mechanismTitle(c.Mechanism)
		if !level {
			name += fmt.Sprintf(" (%.2f)", float64(c.Confidence))
		}
		names = append(names, name)
	}
	return capital(strings.Join(names, " · ")) + "."
}

// saidIn tells whether the headline names the causes that are left.
func saidIn(headline string, v incident.Verdict) bool {
	for _, c := range v.Candidates {
		if !strings.Contains(headline, mechanismTitle(c.Mechanism)) {
			return false
		}
	}
	return true
}

// likelyReason is what the error's own message states, else the first suspect of a decided verdict.
func likelyReason(v incident.Verdict) string {
	if s := v.Stated; s != nil {
		t := strings.TrimSuffix(flat(s.Meaning), ".")
		if s.Code != "" {
			t += " (" + flat(s.Code) + ")"
		}
		return sentence(t)
	}
	if len(v.Candidates) > 1 || len(v.Suspects) == 0 {
		return ""
	}
	t := mechanismTitle(v.Suspects[0].Mechanism) + " (a guess"
	if why := v.Suspects[0].Why; why != "" {
		t += ": " + strings.TrimRight(flat(why), ".")
	}
	return sentence(t + ")")
}

// besideText is the first thing that the evidence beside the logs says, where nothing at all is decided.
func besideText(r *incident.Report) string {
	if v := r.Verdict; v.Status != incident.Inconclusive || v.Mechanism != "" && v.Mechanism != "unknown" {
		return ""
	}
	text, more := "", 0
	for _, a := range r.Artifacts {
		if a.Inline {
			continue
		}
		for _, f := range a.Findings {
			switch {
			case len(f.Evidence) == 0:
			case text == "":
				text = capital(flat(a.Title)) + ": " + sentence(lowered(f.Statement))
				if p := proofOf(f.Evidence[0]); p.Quote {
					text += " See " + p.Where + "."
				}
			default:
				more++
			}
		}
	}
	if more > 0 {
		text += " And " + count(more, "more finding") + "."
	}
	return text
}

// preflight is the kind of evidence that "bot check" leaves in the job's log.
const preflight = "preflight"

// checkText is what the check before the job warned of, where the job was started all the same: first of the nodes that the verdict names.
func checkText(r *incident.Report) string {
	for _, a := range r.Artifacts {
		if a.Kind != preflight {
			continue
		}
		var warnings []incident.Finding
		for _, f := range a.Findings {
			if strings.Contains(f.Statement, ": warning: ") {
				warnings = append(warnings, f)
			}
		}
		if len(warnings) == 0 {
			return ""
		}
		first := max(0, slices.IndexFunc(warnings, func(f incident.Finding) bool {
			node, _, _ := strings.Cut(f.Statement, ": ")
			return slices.Contains(r.Verdict.Root.Nodes, node)
		}))
		text := sentence(strings.Replace(flat(warnings[first].Statement), "warning: ", "", 1))
		if p := proofOf(warnings[first].Evidence[0]); p.Quote {
			text += " See " + p.Where + "."
		}
		if more := len(warnings) - 1; more > 0 {
			text += " And " + count(more, "more warning") + "."
		}
		return text
	}
	return ""
}

// storageRow says what the logs of the storage's daemons come to, where the verdict does not say it.
func storageRow(r *incident.Report) string {
	s := r.Storage
	switch {
	case s.Why == "":
		return ""
	case s.Judgement == "implicated":
		if s.Side == nil {
			return ""
		}
		t := storageSide(*s.Side)
		if len(s.Targets) > 0 {
			t += ": " + nodeList(s.Targets)
		}
		return sentence(capital(t))
	case s.Judgement == "cleared":
		return "Ruled out. " + sentence(strings.TrimSuffix(s.Why, ": look elsewhere"))
	case r.Verdict.Status == incident.Confirmed:
		return "" // it would change nothing
	}
	return "Can't tell. " + sentence(s.Why)
}

// storageSides say which part of the storage was at fault, by the report's word.
var storageSides = map[string]string{
	"client": "the job's own access", "network": "the network between storage nodes", "remote": "the remote store behind AIStore",
	"proxy": "AIStore proxy", "target": "AIStore target",
}

func storageSide(side string) string {
	if t, ok := storageSides[side]; ok {
		return t
	}
	return flat(side)
}

// waitsIn names the synchronisation point at which the first stuck group waits. A guess among more than two places is none.
func waitsIn(r *incident.Report) string {
	for _, g := range r.Groups {
		if g.Stuck == nil || g.Stuck.Sync == nil || len(g.Stuck.Sync.Points) == 0 {
			continue
		}
		what := flat(g.Stuck.Op)
		if g.Stuck.Size != nil && *g.Stuck.Size == 1 {
			what = "one-element " + what
		}
		if other(r.Verdict.Summary, g.Stuck) {
			what += " of another group"
		}
		at := g.Stuck.Sync.Points
		switch {
		case g.Stuck.Sync.Basis == "stack":
			return capital(what) + " in " + flat(at[0]) + ", from its stack."
		case len(at) == 1:
			return capital(what) + ", probably " + flat(at[0]) + "."
		case len(at) == 2:
			return capital(what) + ", probably " + flat(at[0]) + " or " + flat(at[1]) + "."
		}
		return ""
	}
	return ""
}

var collective = regexp.MustCompile(`\w+ #\d+\b`)

// other tells whether a summary names a collective that is not this one.
func other(summary string, s *incident.Stuck) bool {
	named := collective.FindString(summary)
	return named != "" && named != fmt.Sprintf("%s #%d", s.Op, s.Seq)
}

// sureText is the confidence in one of three words, and why. The word rests on the kind of proof and the number on how often such
// verdicts are right, so that side by side they seem to disagree: the number is shown only where it says how much is left open.
func sureText(r *incident.Report) string {
	v := r.Verdict
	t := capital(certaintyOf(r).String()) + "."
	if v.Status == incident.Inconclusive && len(v.Candidates) > 1 {
		one := "one of the candidates"
		if slices.ContainsFunc(v.Candidates, func(c incident.Candidate) bool { return c.Mechanism == "unknown" }) {
			one = "one of the named causes"
		}
		t = fmt.Sprintf("Can't tell which (%s, %.0f%% likely).", one, 100*float64(v.Confidence))
	}
	if v.Why != "" {
		t += " " + sentence(v.Why)
	}
	return t
}

// unplaced says why the headline names no rank and no node.
func unplaced(v incident.Verdict) string {
	switch {
	case where(v.Root) != "" && len(v.Candidates) > 1:
		return sentence(where(v.Root))
	case where(v.Root) != "":
		return ""
	case len(v.Root.Frontier) == 1:
		return "Possibly " + rankText(v.Root.Frontier) + "; not proven."
	case len(v.Root.Frontier) > 0:
		return "One of " + rankText(v.Root.Frontier) + "; can't tell which."
	case v.Root.Named != "":
		if strings.HasSuffix(v.Root.Named, incident.OfItsGroup) {
			return capital(flat(v.Root.Named)) + "; its global rank is not stated."
		}
		return capital(flat(v.Root.Named)) + ", according to other processes; not proven."
	case v.Root.Only != "" && v.Root.File != "":
		return fmt.Sprintf("Only in %s on %s, of %d logs; not proven to be at fault.", flat(v.Root.File), flat(v.Root.Only), v.Root.Of)
	case v.Root.Only != "":
		return "Only " + flat(v.Root.Only) + " reports it, of several nodes; not proven to be at fault."
	case len(v.Candidates) > 1:
		return "" // the confidence says it
	case v.Root.File != "":
		return fmt.Sprintf("Only in %s, of %d logs; no rank or node is proven.", flat(v.Root.File), v.Root.Of)
	case v.Scope == "all" && v.Status != incident.Inconclusive:
		return "The whole job; no rank or node stands out."
	}
	return nobody
}

// nobody is what is said where nothing is placed.
const nobody = "No rank or node is proven."

// whereText is what unplaced says, or where the first clue was written, where that is all there is.
func whereText(r *incident.Report) string {
	text := unplaced(r.Verdict)
	if from := ofClue(r.Standouts); text == nobody && from != "" {
		return "Clue 1 is from " + from + "; not proven to be at fault."
	}
	return text
}

// ofClue is where the most suspicious line was written, "" where nothing tells.
func ofClue(clues []incident.Standout) string {
	if len(clues) == 0 {
		return ""
	}
	switch c := clues[0]; {
	case c.Rank != nil && c.Node != "":
		return fmt.Sprintf("rank %d on %s", *c.Rank, flat(c.Node))
	case c.Rank != nil:
		return fmt.Sprintf("rank %d", *c.Rank)
	default:
		return flat(c.Node)
	}
}

// saysMore tells whether a summary holds anything that the headline does not.
func saysMore(summary, headline string) bool {
	s := strings.ToLower(strings.Trim(flat(summary), "."))
	return s != "" && !strings.Contains(strings.ToLower(headline), s)
}

// proofText is where to see what broke with one's own eyes.
func proofText(r *incident.Report) string {
	unexplained := len(r.Standouts) > 0 && r.Verdict.Mechanism == "unknown" // the clues are the proof
	if r.Verdict.Status == incident.NoFailure || unexplained || len(r.KeyFiles) == 0 || r.KeyFiles[0].Line == 0 {
		return ""
	}
	return " See " + fileLine(r.KeyFiles[0]) + "."
}
