package messages

import (
	"fmt"
	"strings"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// stepSigns begin a line of progress; the words say it too where the sign alone could be missed.
var stepSigns = map[string]struct{ sign, word string }{
	StepTodo: {"▫️", ""}, StepDoing: {"⏳", ""}, StepDone: {"✅", ""}, StepFailed: {"❌", "failed"}, StepSkipped: {"➖", "skipped"}, StepWaiting: {"✋", "waiting for you"},
}

// How much of each the case file shows: it is read in one look, and the thread has the rest.
const (
	supersededShown = 2  // earlier verdicts, the newest last
	caseNotes       = 3  // the newest notes
	caseSentence    = 90 // characters of a note, an earlier verdict or a question
	caseStep        = 200
)

// CaseFile is the one message of a case that is edited in place: what was asked, how far it is, what is known, what waits.
func CaseFile(c Case) blockkit.Message {
	name := "Job " + line(c.Job)
	if c.Job == "" {
		name = "A job without an ID"
	}
	if c.Cluster != "" {
		name += " on " + line(c.Cluster)
	}
	light, text := "⏳ ", name
	var verdict []blockkit.RichElement
	if c.Report != nil {
		v := newView(c.Report)
		head, parts := screenOf(v)
		light = lightOf(v)
		text = brief(v, name)
		if c.Disputed {
			verdict = append(verdict, para(strong("⚠️ Disputed: "), run(head)))
		} else {
			verdict = append(verdict, para(strong(head)))
		}
		verdict = append(verdict, caseParts(v.Report, parts)...)
	}
	es := []blockkit.RichElement{opening(c)}
	es = append(es, progress(c)...)
	blocks := append(blockkit.Blocks{heading(light + name)}, rich(es...)...)
	blocks = append(blocks, rich(append(overturned(c.Superseded), verdict...)...)...)
	blocks = append(blocks, rich(bullets(oneLook(c.Notes[max(0, len(c.Notes)-caseNotes):]))...)...)
	if len(c.Open) > 0 {
		waits := line(c.Open[0])
		if more := len(c.Open) - 1; more > 0 {
			waits = fmt.Sprintf("%s, and %d more", cutAfter(waits, caseSentence), more)
		}
		blocks = append(blocks, rich(labelled("Open", cutAfter(waits, 2*caseSentence)))...)
		text += fmt.Sprintf(" (%s open)", count(len(c.Open), "question"))
	}
	if c.Report == nil && c.Doing != "" {
		text += ": " + line(c.Doing)
	}
	var id string
	if c.ID != "" {
		id = "Case " + line(c.ID)
	}
	return post(light+text, blocks, pressable(c.Buttons), small(id))
}

// caseParts are the first screen in one look: the causes that are left, the confidence without its reason, the severity, the next step.
func caseParts(r *incident.Report, parts []part) []blockkit.RichElement {
	short := func(p part) part { p.Text = cutAfter(p.Text, caseStep); return p }
	var out []part
	for _, p := range parts {
		switch p.Label {
		case labelCandidates, labelSeverity:
			out = append(out, short(p))
		case labelConfidence:
			p.Text, _, _ = strings.Cut(p.Text, ". ")
			out = append(out, part{Label: p.Label, Text: sentence(p.Text)})
		case labelNext:
			if r.Triage == nil {
				p.Text = nextStep(r)
			}
			out = append(out, short(p))
		case triageLabels[incident.SignStep]:
			out = append(out, short(p))
		}
	}
	return partsOf(out)
}

// cutAfter ends a text after the last whole sentence within most characters; a first sentence that is longer ends after a word.
func cutAfter(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if i := strings.LastIndex(text[:most], ". "); i > 0 {
		return text[:i+1]
	}
	return cut(text, most)
}

// oneLook are sentences short enough for the case file.
func oneLook(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = cutAfter(line(t), caseSentence)
	}
	return out
}

// opening says who asked and what goes on.
func opening(c Case) blockkit.RichElement {
	var is blockkit.Inlines
	if c.Requester != "" {
		is = append(is, run("Asked by "), person(c.Requester), run(". "))
	}
	if c.Owner != "" {
		is = append(is, run("Owner: "), person(c.Owner), run(". "))
	}
	switch {
	case c.Final:
		is = append(is, run("Closed."))
	case c.Doing != "" && c.Report == nil:
		is = append(is, run("Now: "+line(c.Doing)+"."))
	}
	if c.Page != "" {
		is = append(is, run(" "), blockkit.Link{URL: c.Page, Text: "Report page"})
	}
	return blockkit.RichSection{Elements: is}
}

// progress is one line for each step. When all is over, only what did not go as planned is worth a line.
func progress(c Case) []blockkit.RichElement {
	var es []blockkit.RichElement
	for i, s := range c.Steps {
		if i == slackItems {
			return append(es, para(run("… and "+count(len(c.Steps)-i, "more step"))))
		}
		look, ok := stepSigns[s.State]
		if !ok {
			look.sign, look.word = "▫️", line(s.State)
		}
		switch {
		case (c.Final || c.Report != nil) && (s.State == StepDone || s.State == StepTodo || s.State == StepSkipped):
			continue
		case c.Final && s.State == StepWaiting:
			look.sign, look.word = "➖", "no answer"
		case c.Final && s.State == StepDoing:
			look.sign, look.word = "➖", "not finished"
		}
		t := look.sign + " " + line(s.Title)
		if look.word != "" {
			t += " (" + look.word + ")"
		}
		if s.Note != "" {
			t += ": " + line(s.Note)
		}
		es = append(es, para(run(t)))
	}
	return es
}

// overturned are earlier verdicts, struck through.
func overturned(heads []string) []blockkit.RichElement {
	var es []blockkit.RichElement
	if more := len(heads) - supersededShown; more > 0 {
		heads = heads[more:]
		es = append(es, para(run(count(more, "earlier verdict")+" withdrawn")))
	}
	for _, h := range heads {
		es = append(es, para(struck(cutAfter(line(h), caseSentence)), run(" (withdrawn)")))
	}
	return es
}
