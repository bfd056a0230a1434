package messages

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"reflect"
	"strings"

	"faultline/incident"
	"faultline/messages/blockkit"
	"faultline/messages/redact"
)

// triageLabels are the signs of a running job as the screen labels them.
var triageLabels = map[string]string{
	incident.SignAge: "Running for", incident.SignStep: "Step", incident.SignLoss: "Loss", incident.SignStepTime: "Step time", incident.SignThroughput: "Throughput",
	incident.SignMemory: "GPU memory", incident.SignSave: "Last save", incident.SignLines: "Last line", incident.SignWaiting: "Waiting", incident.SignFailure: labelWhat,
}

// Labels and bounds of the screen of a running job.
const (
	labelAbsent  = "Not in the logs"
	labelTimes   = "Ages"
	triageLines  = 34
	triageProofs = 2 // places that one row names
)

// triageTones are the colours of severities.
var triageTones = map[string]string{incident.TriageCritical: "bad", incident.TriageWarning: "open", incident.TriageNote: "good", incident.TriageNone: "good"}

// triageClocks say what the ages on the screen rest on.
var triageClocks = map[string]string{
	incident.ClockFiles:   "from file modification times: the logs have no time zone",
	incident.ClockAssumed: "at least: the logs' time zone is unknown",
	incident.ClockNone:    "unknown: neither the lines nor the files have a time",
}

// triageScreen are the answers about a running job in the order in which one asks, then what to do.
func triageScreen(t *incident.Triage) []part {
	severity := capital(flat(t.Severity))
	if t.Wastes != nil {
		severity += " (" + gpuHours(*t.Wastes) + " lost per hour)"
	}
	ps := []part{{Label: labelSeverity, Text: severity}}
	for _, s := range t.Signs {
		text := flat(s.Text)
		if s.Level != incident.TriageNone {
			text = s.Level + ": " + text
		}
		proof := triageProof(s.Evidence)
		ps = append(ps, part{Label: triageLabels[s.Name], Text: sentence(text) + proof, Proof: proof})
	}
	if len(t.Absent) > 0 {
		ps = append(ps, part{Label: labelAbsent, Text: strings.Join(t.Absent, ", ")})
	}
	if why := triageClocks[t.Clock]; why != "" {
		ps = append(ps, part{Label: labelTimes, Text: why})
	}
	return append(ps, part{Label: labelNext, Text: flat(t.Next.Text)})
}

// triageProof names the lines that a row rests on.
func triageProof(list []incident.Evidence) string {
	var places []string
	for _, e := range list {
		if e.Kind == incident.KindQuote && len(places) < triageProofs {
			places = append(places, fmt.Sprintf("%s:%d", path.Base(flat(e.File)), e.Line))
		}
	}
	if len(places) == 0 {
		return ""
	}
	return " (" + strings.Join(places, ", ") + ")"
}

// Triage writes the screen of a job that still runs: what it is, how bad it is, its signs with the lines that prove them, what to do. Of a
// job that has ended it is the first screen of its report.
func Triage(w io.Writer, r *incident.Report, style Style) error {
	if style.Width == 0 {
		style.Width = defaultWidth
	}
	style.Width = min(max(style.Width, minWidth), defaultWidth)
	t := &term{w: bufio.NewWriter(w), Style: style}
	v := newView(r)
	name := "Job"
	if id := v.Report.Job.ID; id != nil {
		name = "Job " + flat(*id)
	}
	tone := map[string]string{"bad": red, "good": green, "open": yellow}[v.Tone]
	command, known := firstCommand(v)
	if t := v.Report.Triage; t != nil {
		command, known = flat(t.Next.Command), t.Next.Command != ""
	} else {
		name += " has ended"
	}
	t.wrapped("", tone, name+": "+v.Headline)
	for _, p := range v.Screen {
		t.triageRow(p)
	}
	if known {
		t.line(t.paint(bold, pad(labelCommand, triageColumn)) + command)
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write the triage: %w", err)
	}
	return nil
}

// triageColumn is where the texts of the screen begin.
const triageColumn = labelWidth + 2

func (t *term) triageRow(p part) {
	label := pad(p.Label, triageColumn)
	for i, l := range wrap(p.Text, t.Width-triageColumn) {
		if i > 0 {
			label = strings.Repeat(" ", triageColumn)
		}
		t.line(t.paint(bold, label) + l)
	}
}

// TriageSchema names the version of the JSON form.
const TriageSchema = "faultline.triage/v1"

// TriageJSON writes the triage for programs: the report's, with what it is of; null where the job has ended.
func TriageJSON(w io.Writer, r *incident.Report) error {
	out := redact.Report(r)
	fillLists(reflect.ValueOf(out).Elem())
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Schema       string                `json:"schema"`
		Engine       incident.Engine       `json:"engine"`
		Job          incident.Job          `json:"job"`
		Triage       *incident.Triage      `json:"triage"`
		Verdict      incident.Verdict      `json:"verdict"`
		Verification incident.Verification `json:"verification"`
		Warnings     []string              `json:"warnings"`
	}{TriageSchema, out.Engine, out.Job, out.Triage, out.Verdict, out.Verification, out.Warnings})
	if err != nil {
		return fmt.Errorf("write the triage as JSON: %w", err)
	}
	return nil
}

// TriagePost is the answer in the thread about a job that still runs.
func TriagePost(r *incident.Report, buttons []Button) blockkit.Message {
	v := newView(r)
	var known, do []blockkit.RichElement
	for _, p := range v.Screen {
		if p.Label == labelNext {
			do = append(do, labelled(p.Label, p.Text))
			continue
		}
		known = append(known, labelled(p.Label, p.Text))
	}
	if c := v.Report.Triage.Next.Command; pastable(c) {
		do = append(do, commandBox(c))
	}
	return post(lightOf(v)+brief(v, ""), blockkit.Blocks{heading(lightOf(v) + v.Headline)}, rich(known...), blockkit.Blocks{blockkit.Divider{}}, rich(do...),
		pressable(buttons), small("A snapshot of a running job, not a final report.", v.Reread))
}
