package messages

import (
	"fmt"

	"faultline/messages/blockkit"
)

// stepSigns begin a line of progress; the words say it too where the sign alone could be missed.
var stepSigns = map[string]struct{ sign, word string }{
	StepTodo: {"▫️", ""}, StepDoing: {"⏳", ""}, StepDone: {"✅", ""}, StepFailed: {"❌", "failed"}, StepSkipped: {"➖", "skipped"}, StepWaiting: {"✋", "waiting for you"},
}

// supersededShown is how many earlier verdicts the case file shows, the newest last.
const supersededShown = 5

// CaseFile is the one message of a case that is edited in place: what was asked, how far it is, what is known, what waits.
func CaseFile(c Case) blockkit.Message {
	name := "Job " + line(c.Job)
	if c.Job == "" {
		name = "A job without an id"
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
		text += ": " + head
		verdict = append(verdict, para(strong(head)))
		verdict = append(verdict, partsOf(parts, couldBe, "Where", "How sure", "Do now", "Missing")...)
	}
	es := []blockkit.RichElement{opening(c)}
	es = append(es, progress(c)...)
	blocks := append(blockkit.Blocks{heading(light + name)}, rich(es...)...)
	blocks = append(blocks, rich(append(overturned(c.Superseded), verdict...)...)...)
	blocks = append(blocks, rich(bullets(c.Notes)...)...)
	if waits := bullets(c.Open); len(waits) > 0 {
		blocks = append(blocks, rich(append([]blockkit.RichElement{para(strong("Waiting for an answer:"))}, waits...)...)...)
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

// opening says who asked and what goes on.
func opening(c Case) blockkit.RichElement {
	var is blockkit.Inlines
	if c.Requester != "" {
		is = append(is, run("Asked by "), person(c.Requester), run(". "))
	}
	switch {
	case c.Final:
		is = append(is, run("Settled: nothing goes on here any more."))
	case c.Doing != "":
		is = append(is, run("Now: "+line(c.Doing)+"."))
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
		case c.Final && (s.State == StepDone || s.State == StepTodo):
			continue
		case c.Final && s.State == StepWaiting:
			look.sign, look.word = "➖", "nobody answered"
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
		es = append(es, para(run(count(more, "still earlier verdict")+" no longer holding")))
	}
	for _, h := range heads {
		es = append(es, para(struck(line(h)), run(" (no longer holds)")))
	}
	return es
}
