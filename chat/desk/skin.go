package desk

import (
	"strings"

	"faultline/incident"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// What an investigation has to say, in the looks of package messages.

func verdictMessage(r *incident.Report, buttons []messages.Button) blockkit.Message {
	m := messages.FirstVerdict(r, buttons)
	if r.Verdict.Status == incident.NoFailure {
		said := threadNoFailure
		if e := r.Verdict.Ending; e == incident.EndUnseen || e == incident.EndRunning || e == incident.EndStalled {
			said = threadNoEnd
		}
		m = withParagraph(m, say(said))
	}
	return m
}

// lookMessage is the verdict of a first look at large logs.
func lookMessage(r *incident.Report) blockkit.Message {
	return withParagraph(messages.FirstVerdict(r, nil), say(threadLook))
}

func questionMessage(inv *workflow.Investigation, q workflow.Question, settled string) blockkit.Message {
	ask := messages.Ask{Kind: q.Kind, Text: q.Text, Why: q.Why, Commands: q.Commands, Items: q.Items, Perishing: q.Perishing}
	if settled != "" {
		ask.Answered = "Closed"
		return withParagraph(messages.QuestionPost(ask), settled)
	}
	if c, ok := collectionOf(q); ok {
		ask.Commands, ask.How = nil, c.how()
	}
	ask.WhereToFind, ask.Buttons = whereToFind(q), questionButtons(inv, q)
	until := ""
	if !q.Due.IsZero() {
		until = q.Due.UTC().Format(timeForm)
	}
	switch {
	case until == "" || q.Kind == workflow.AskRunning:
		return messages.QuestionPost(ask)
	case q.Kind == workflow.AskLogs: // without one log there is nothing to go on with
		return withParagraph(messages.QuestionPost(ask), say(askedUntil, until))
	}
	ask.Deadline = until
	return messages.QuestionPost(ask)
}

// timeForm is how a point in time is shown; people of one channel live in several zones.
const timeForm = "15:04 on 2 January (UTC)"

// withParagraph adds a sentence of ours, in which people are shown by name. A post that was full before stays within
// Slack's limits: what then does not fit is cut, and said so.
func withParagraph(m blockkit.Message, text string) blockkit.Message {
	extra := message([]string{text})
	m.Text += "\n" + extra.Text
	m.Blocks = append(m.Blocks, extra.Blocks...)
	fitted, _ := blockkit.FitOne(m)
	return fitted
}

// headline is the verdict in one line.
func headline(r *incident.Report) string {
	const wide = 1000
	lines := messages.FirstScreen(r, wide)
	if len(lines) == 0 {
		return r.Verdict.Mechanism
	}
	return strings.TrimSpace(lines[0])
}
