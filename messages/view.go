package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/messages/redact"
)

// view holds the words of a report, made once for all formats. Every string in it is redacted.
type view struct {
	Report   *incident.Report // redacted
	Headline string           // what broke and where, without a full stop
	Tone     string           // "bad", "open", "good": which colour the headline has
	Screen   []part           // the first screen, headline not included
	Decision []pair
	Facts    []pair
	Chain    []linkView
	Timeline []eventView
	Clocks   []linkView // which clocks show another time
	Groups   []groupView
	Coverage []pair
	Guesses  []hypothesisView
	Advice   []adviceView
	Verified string
	Reread   string // Verified in a few words
	Storage  string
	// Artifacts is the evidence beside the logs.
	Artifacts []artifactView
	Earlier   earlierView
	Daemons   storageView
	Course    courseView
	Times     timesView
	Lanes     laneView
	Map       rankMap
}

type pair struct{ Label, Text string }

// proof is one piece of evidence in words.
type proof struct {
	Where string // file:line, or how it was counted
	Text  string // the quoted line or the statement
	Quote bool
}

type linkView struct {
	Role, Statement string
	Proofs          []proof
}

// seenRole is what a verdict that is not decided starts from: those who waited are no cause.
const seenRole = "seen"

type eventView struct {
	Kind, Time, Uncertain, Who, Event string
	Own                               string // what its own clock shows, to stand behind the event
	Proofs                            []proof
}

type hypothesisView struct {
	Title, Slug, Status string
	For, Against        []linkView
	WouldDecide         []string
}

type adviceView struct{ When, Text, Command string }

func newView(r *incident.Report) *view {
	v := &view{Report: redact.Report(r)}
	r = v.Report
	fillable(r)
	v.Map = buildMap(r)
	v.Headline, v.Tone = headline(r)
	v.Decision = decision(r)
	v.Facts = facts(r)
	v.Coverage = coverage(r)
	for _, l := range r.Chain {
		role := l.Role
		if r.Verdict.Status == incident.Inconclusive && role == incident.Cause {
			role = seenRole
		}
		v.Chain = append(v.Chain, linkView{role, sentence(l.Statement), proofs(l.Evidence)})
	}
	for _, e := range r.Timeline {
		v.Timeline = append(v.Timeline, eventRow(e))
	}
	v.Clocks = clockNotes(r)
	v.Groups = groupViews(r)
	v.Guesses = guesses(r)
	v.Advice = advice(r)
	v.Verified, v.Reread = verified(r), reread(r.Verification)
	v.Storage = storage(r.Storage)
	v.Earlier = earlier(r.History)
	v.Daemons = storageLogs(r.Storage)
	v.Artifacts = artifactViews(r.Artifacts)
	v.Course = course(r.Course)
	v.Times = times(r)
	v.Lanes = laneViewOf(r.Lanes)
	r.Warnings, r.Verification.Withdrawn = fewOf(r.Warnings), fewOf(r.Verification.Withdrawn)
	v.Screen = screen(v)
	return v
}

// fillable takes the commands away that hold a gap nobody can fill: where the logs lie.
func fillable(r *incident.Report) {
	for i, n := range r.Verdict.Needs {
		if strings.Contains(n.Command, "<log dir>") {
			r.Verdict.Needs[i].Command = ""
		}
	}
}

// mostWarnings bounds a list of sentences for people; the JSON report has them all.
const mostWarnings = 20

func fewOf(list []string) []string {
	if more := len(list) - mostWarnings; more > 1 {
		return append(slices.Clone(list[:mostWarnings]), fmt.Sprintf("… and %s more in the JSON report", grouped(int64(more))))
	}
	return list
}

func eventRow(e incident.Event) eventView {
	row := eventView{Kind: e.Kind, Event: capital(flat(e.Event)), Own: ownClock(e), Proofs: proofs(e.Evidence), Time: "no time"}
	if e.Time != nil {
		row.Time = flat(*e.Time)
	}
	if e.Uncertainty != nil && *e.Uncertainty > 0 {
		row.Uncertain = plusMinus(*e.Uncertainty)
	}
	var who []string
	if e.Rank != nil {
		who = append(who, "rank "+strconv.Itoa(*e.Rank))
	}
	if e.Node != "" {
		who = append(who, flat(e.Node))
	}
	row.Who = strings.Join(who, " · ")
	return row
}

// plusMinus is an uncertainty: one of hours is that of a time zone.
func plusMinus(seconds float64) string {
	const hour = 3600
	if seconds >= hour {
		return "time zone not proven"
	}
	return "±" + strconv.FormatFloat(seconds, 'f', -1, 64) + " s"
}

// proofs puts evidence into words; the inputs of a derived statement follow it.
func proofs(evs []incident.Evidence) []proof {
	var out []proof
	for _, e := range evs {
		out = append(out, proofOf(e))
		if e.Kind == incident.KindDerived {
			out = append(out, proofs(e.Inputs)...)
		}
	}
	return out
}

func proofOf(e incident.Evidence) proof {
	files := ""
	switch len(e.Files) {
	case 0:
	case 1:
		files = " in " + flat(e.Files[0])
	default:
		files = " in " + count(len(e.Files), "file")
	}
	switch e.Kind {
	case incident.KindQuote:
		return proof{flat(e.File) + ":" + strconv.FormatInt(e.Line, 10), strings.TrimRight(e.Text, "\n"), true}
	case incident.KindCount:
		return proof{Where: "counted", Text: grouped(e.N) + " × " + predicateText(e.Predicate) + files}
	case incident.KindAbsence:
		return proof{Where: "searched", Text: "no " + predicateText(e.Predicate) + files + " (" + bytesText(e.Bytes) + " searched to the end)"}
	case incident.KindSet:
		key := ""
		if e.Capture != nil {
			key = " for " + strings.TrimLeft(flat(e.Capture.Key+e.Capture.Member), "[(")
		}
		return proof{Where: "collected", Text: "only the values " + valuesText(e.Values) + key + " in lines with " + predicateText(e.Predicate) + files}
	case incident.KindInventory:
		return proof{Where: "inventory", Text: fmt.Sprintf("%d of %d seen; missing: %s (expected from %s)", len(e.Expected)-len(missing(e)), len(e.Expected), orNone(valuesText(missing(e))), flat(e.From))}
	case incident.KindRecord:
		return proof{Where: strings.TrimSuffix(flat(e.File)+" "+flat(e.Place), " "), Text: membersText(e.Predicate)}
	case incident.KindDerived:
		return proof{Where: "derived", Text: formulaText(e.Formula) + " = " + flat(e.Result)}
	}
	return proof{Where: e.Kind, Text: flat(e.Text)}
}

// membersText writes what a record holds: "state = scheduled, collective_seq_id = 4711".
func membersText(p *incident.Predicate) string {
	if p == nil {
		return ""
	}
	var out []string
	for _, m := range p.Members {
		out = append(out, flat(m.Name)+" = "+flat(m.Value))
	}
	return strings.Join(out, ", ")
}

func missing(e incident.Evidence) []string {
	seen := make(map[string]bool, len(e.Seen))
	for _, s := range e.Seen {
		seen[s] = true
	}
	var out []string
	for _, s := range e.Expected {
		if !seen[s] {
			out = append(out, s)
		}
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// valuesText writes a list of numbers as ranges and anything else as names.
func valuesText(values []string) string {
	ns := make([]int, 0, len(values))
	for _, s := range values {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nodeList(values)
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 {
		return ""
	}
	return shortRanges(ns)
}

func predicateText(p *incident.Predicate) string {
	if p == nil {
		return "line"
	}
	var parts []string
	for _, l := range p.Literals {
		parts = append(parts, "“"+clip(flat(l), 60)+"”")
	}
	for _, f := range p.Fields {
		parts = append(parts, "“"+clip(flat(f.Key+f.Value), 60)+"”")
	}
	for _, m := range p.Members {
		if m.Name != "schema" {
			parts = append(parts, "“"+clip(flat(m.Name+": "+m.Value), 60)+"”")
		}
	}
	s := strings.Join(parts, " + ")
	for i, m := range p.NotMembers {
		if i == 4 {
			s += fmt.Sprintf(" and %d more", len(p.NotMembers)-i)
			break
		}
		s += " without “" + clip(flat(m.Name+": "+m.Value), 60) + "”"
	}
	if len(p.Not) > 0 {
		s += " without “" + clip(flat(strings.Join(p.Not, "”, “")), 60) + "”"
	}
	return s
}

func formulaText(f string) string {
	switch f {
	case "time-minus-ms":
		return "line's timestamp − its duration in milliseconds"
	case "ratio":
		return "later value ÷ earlier value"
	case "missing":
		return "expected but absent"
	}
	return f
}

func advice(r *incident.Report) []adviceView {
	var out []adviceView
	for _, when := range []string{"now", "structural", "next-time"} {
		for _, a := range r.Recommendations {
			if a.When == when {
				out = append(out, adviceView{whenText(when), sentence(a.Text), strings.TrimSpace(a.Command)})
			}
		}
	}
	return out
}

func whenText(when string) string {
	switch when {
	case "now":
		return "Now"
	case "structural":
		return "To prevent it"
	case "next-time":
		return "Collect next time"
	}
	return when
}

// obtainText says whether a missing piece can still be had.
func obtainText(o string) string {
	switch o {
	case "now":
		return "available now"
	case "perishing":
		return "won't be kept for long: get it now"
	case "next-time":
		return "next run only"
	}
	return o
}

func guesses(r *incident.Report) []hypothesisView {
	var out []hypothesisView
	for _, status := range []string{"accepted", "open", "rejected"} {
		for _, h := range r.Hypotheses {
			if h.Status == status {
				out = append(out, hypothesisView{mechanismTitle(h.Mechanism), h.Mechanism, statusText(status), findings(h.For), findings(h.Against), h.WouldDecide})
			}
		}
	}
	return out
}

func statusText(s string) string {
	switch s {
	case "accepted":
		return "supported"
	case "rejected":
		return "ruled out"
	}
	return s
}

func findings(fs []incident.Finding) []linkView {
	var out []linkView
	for _, f := range fs {
		out = append(out, linkView{Statement: sentence(f.Statement), Proofs: proofs(f.Evidence)})
	}
	return out
}

// reread is how many citations were checked against the raw files, and how many held.
func reread(v incident.Verification) string {
	var held, checked int
	for _, x := range []incident.Ratio{v.Quotes, v.Counts, v.Absences, v.Sets, v.Derived, v.Records} {
		held, checked = held+x.Held, checked+x.Checked
	}
	if checked == 0 {
		return "No citations to re-read."
	}
	return fmt.Sprintf("%d of %s re-read.", held, count(checked, "citation"))
}

// verified says what re-reading proved, and no more than that.
func verified(r *incident.Report) string {
	var parts []string
	for _, x := range []struct {
		incident.Ratio
		noun string
	}{
		{r.Verification.Quotes, "quotation"}, {r.Verification.Counts, "count"}, {r.Verification.Absences, "“not found” claim"},
		{r.Verification.Sets, "rank or node set"}, {r.Verification.Derived, "derived value"}, {r.Verification.Records, "record"},
	} {
		if x.Checked > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", x.Held, count(x.Checked, x.noun)))
		}
	}
	if len(parts) == 0 {
		return "Nothing to re-read: this report cites no lines."
	}
	s := strings.Join(parts, ", ")
	if i := strings.LastIndex(s, ", "); i >= 0 {
		s = s[:i] + " and" + s[i+1:]
	}
	s = "Checked against the raw files and confirmed: " + s + "."
	if n := len(r.Verification.Withdrawn); n > 0 {
		s += " " + capital(count(n, "claim")) + " failed the re-check and " + map[bool]string{true: "was", false: "were"}[n == 1] + " withdrawn."
	}
	return s
}

func storage(s incident.Storage) string {
	var t string
	switch s.Status {
	case "", "not-needed":
		return ""
	case "not-provided":
		t = "Storage not examined: no storage logs were read."
	case "partial":
		t = "Storage only partly examined."
	default:
		t = "Storage examined."
	}
	switch s.Judgement {
	case "implicated":
		t += " It is part of the cause."
	case "cleared":
		t += " It is not part of the cause."
	case "open":
		t += " Can't tell whether it is part of the cause."
	}
	if s.Why != "" {
		t += " " + sentence(s.Why)
	}
	if s.Side != nil && *s.Side != "" {
		t += " At fault: " + storageSide(*s.Side) + "."
	}
	if len(s.Targets) > 0 {
		t += " Targets: " + nodeList(s.Targets) + "."
	}
	if s.Window != nil && *s.Window != "" {
		t += " Window: " + flat(*s.Window) + "."
	}
	return t
}
