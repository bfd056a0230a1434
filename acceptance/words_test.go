package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"faultline/eval"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/styletest"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/simulate"
)

// spokenCases is how many simulated incidents are read aloud.
func spokenCases() int {
	if brief() {
		return 40
	}
	return 100
}

// TestWhatPeopleReadIsPlain holds every text of the reports of simulated and real cases, in all formats that people read, against the style, and
// every next step against what is possible: no order to read what the bot has read, no command for a job that is over, no name left out that
// is known, no fact cut short.
func TestWhatPeopleReadIsPlain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch, "spoken")
	for _, spec := range simulate.Grid(spokenCases(), 7, 0) {
		inc, err := simulate.Generate(spec)
		if err == nil {
			err = simulate.Write(dir, inc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dirs := []string{dir}
	if haveCorpus() && !raced {
		dirs = append(dirs, corpus)
	}
	var mu sync.Mutex
	faults, reports := map[string][]string{}, 0
	_, err := eval.Run(t.Context(), dirs, eval.Options{Diagnose: func(ctx context.Context, in eval.CaseInput) (*incident.Report, error) {
		r, err := engine(ctx, in)
		if err != nil {
			return nil, err
		}
		found := heard(r)
		mu.Lock()
		defer mu.Unlock()
		reports++
		for _, f := range found {
			faults[f] = append(faults[f], in.ID)
		}
		return r, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if reports < spokenCases() {
		t.Errorf("only %d reports were read", reports)
	}
	var all []string
	for f := range faults {
		all = append(all, f)
	}
	slices.Sort(all)
	for _, f := range all {
		t.Errorf("%s (%d reports, such as %s)", f, len(faults[f]), faults[f][0])
	}
}

// heard names what is wrong with the texts of a report.
func heard(r *incident.Report) []string {
	var out []string
	for format, text := range spoken(r) {
		for _, b := range styletest.Banned(quoted.ReplaceAllString(text, "“”")) {
			out = append(out, "banned in "+format+": "+b)
		}
	}
	var b bytes.Buffer
	if err := messages.Markdown(&b, r); err != nil || strings.Contains(b.String(), "<log dir>") {
		out = append(out, "a command with a gap where the logs lie")
	}
	return slices.Concat(out, undoable(r), cutFacts(r), told(r))
}

var (
	quoted = regexp.MustCompile(`“[^”]*”|GiB of which`) // the latter is PyTorch's
	fenced = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	boxed  = regexp.MustCompile(`(?s)<(pre|code|script|style)\b.*?</(pre|code|script|style)>|<[^>]*>`)
)

// spoken are the bot's own words about a report, by format: quoted lines and commands apart.
func spoken(r *incident.Report) map[string]string {
	var md, html bytes.Buffer
	if messages.Markdown(&md, r) != nil || messages.HTML(&html, r, messages.Extras{}) != nil {
		panic("a buffer cannot be written to")
	}
	posts := []blockkit.Message{messages.FirstVerdict(r, nil), messages.Timeline(r), messages.FinalVerdict(r, "", false, false, nil)}
	return map[string]string{
		"the first screen": strings.Join(messages.FirstScreen(r, 0), " "), "the summary": messages.Brief(r),
		"Markdown": fenced.ReplaceAllString(md.String(), ""), "HTML": boxed.ReplaceAllString(html.String(), " "), "Slack": postText(posts),
	}
}

func postText(posts []blockkit.Message) string {
	var out strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if v["type"] == "rich_text_preformatted" {
				return
			}
			for _, x := range v {
				walk(x)
			}
		case string:
			out.WriteString(v + "\n")
		}
	}
	for _, p := range posts {
		b, err := json.Marshal(p)
		var v any
		if err == nil {
			err = json.Unmarshal(b, &v)
		}
		if err != nil {
			panic(err)
		}
		walk(v)
	}
	return out.String()
}

var (
	readHere    = regexp.MustCompile(`^(Read|Look at|Look for|Find|Compare) .*\b(traceback|wrote last|this line|in this report)\b`)
	ofLiveJob   = regexp.MustCompile(`--overlap|\bpy-spy dump\b|\bscontrol update JobId=|\bscancel\b`)
	placeholder = regexp.MustCompile(`(?:^|[^$A-Z_])\b(JOB|NODE|NODES|RANK|ROOT|TARGET)\b`)
)

// undoable says what is wrong with the things to do.
func undoable(r *incident.Report) (out []string) {
	known := map[string]bool{"JOB": r.Job.ID != nil, "NODE": len(r.Verdict.Root.Nodes) > 0, "NODES": len(r.Coverage.NodesExpected)+len(r.Coverage.NodesSeen) > 0,
		"RANK": len(r.Verdict.Root.Ranks) > 0, "ROOT": len(r.Verdict.Root.Nodes) > 0,
		"TARGET": r.Verdict.Root.Component != nil && strings.HasPrefix(*r.Verdict.Root.Component, knowledge.DaemonPrefix)}
	command := func(what, c string, now bool) {
		if now && over(r) && ofLiveJob.MatchString(c) {
			out = append(out, "a command for a job that is over: "+what)
		}
		for _, m := range placeholder.FindAllStringSubmatch(c, -1) {
			if known[m[1]] {
				out = append(out, fmt.Sprintf("%s is known: %s", m[1], what))
			}
		}
	}
	for _, a := range r.Recommendations {
		command(a.Text, a.Command, a.When == "now")
		if a.When == "now" && readHere.MatchString(a.Text) {
			out = append(out, "to read what was read: "+a.Text)
		}
		if strings.ContainsAny(a.Text, "{}") {
			out = append(out, "not filled in: "+a.Text)
		}
	}
	for _, n := range r.Verdict.Needs {
		command(n.What, n.Command, n.Obtainable != "next-time")
	}
	return out
}

// told says what is wrong with who stands where: the cause of a decided verdict has a row in the timeline, and no rank that the verdict
// does not name looks guilty on the map.
func told(r *incident.Report) (out []string) {
	v := &r.Verdict
	if v.Status == incident.NoFailure {
		return nil
	}
	guilty := []string{incident.Straggler, incident.Lagging, incident.LoneWaiter, incident.FirstFailure}
	for _, s := range r.Ranks {
		if slices.Contains(guilty, s.Role) && !slices.Contains(v.Root.Ranks, s.Rank) && !slices.Contains(v.Root.Frontier, s.Rank) {
			out = append(out, "on the map a rank looks guilty that the verdict does not name")
		}
	}
	i := slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Role == incident.Cause || l.Role == incident.Trigger })
	if v.Status == incident.Inconclusive || i < 0 || len(r.Chain[i].Evidence) == 0 {
		return out
	}
	lines := map[string]bool{}
	var note func(evs []incident.Evidence, shown func(string))
	note = func(evs []incident.Evidence, shown func(string)) {
		for _, e := range evs {
			shown(fmt.Sprintf("%s %s:%d", e.Kind, e.File, e.Line))
			note(e.Inputs, shown)
		}
	}
	note(r.Chain[i].Evidence, func(l string) { lines[l] = true })
	found := false
	for _, e := range r.Timeline {
		note(e.Evidence, func(l string) { found = found || lines[l] })
		found = found || strings.HasPrefix(e.Event, "last line of rank")
	}
	if !found {
		out = append(out, "the timeline does not show the cause")
	}
	return out
}

// over tells whether a job has ended, as far as its report says.
func over(r *incident.Report) bool {
	running := r.Verdict.Ending == incident.EndRunning || r.Verdict.Ending == incident.EndStalled || r.Verdict.Ending == incident.EndUnseen
	return !running && !strings.Contains(r.Action.Text, "don't cancel")
}

// cutFacts says whether the first screen cuts what happened.
func cutFacts(r *incident.Report) (out []string) {
	whole := r.Verdict.Summary
	for i, l := range messages.FirstScreen(r, 0) {
		if (i == 0 || strings.HasPrefix(l, "What happened")) && strings.Contains(l, "…") && !strings.Contains(whole, "…") {
			out = append(out, "cut: "+l)
		}
	}
	return out
}
