package desk

import (
	"context"
	"strings"

	"faultline/knowledge"
	"faultline/knowledge/explain"
	"faultline/messages"
	"faultline/messages/redact"
)

// explainMore is how many entries beside the best one are named.
const explainMore = 3

// explain says what pasted words mean, to the person alone. It knows of no job, so nobody's rights matter to it.
func (a *act) explain(ctx context.Context, text string) error {
	text = redact.String(text)
	if strings.TrimSpace(text) == "" {
		return a.say(ctx, explainWhat, a.Command)
	}
	found := explain.TextBy(a.known(), text)
	if len(found.Entries) == 0 {
		paragraphs := []string{say(explainNothing)}
		if s := messages.Sounds(found); s != "" {
			paragraphs = append(paragraphs, fill("%s", s))
		}
		for _, e := range found.Nearest {
			paragraphs = append(paragraphs, brief(e))
		}
		return a.answer(ctx, append(paragraphs, say(explainFoot, a.Command)))
	}
	if found.Open {
		paragraphs := []string{fill("%s", messages.OpenText(found))}
		for _, e := range found.Entries {
			paragraphs = append(paragraphs, brief(e))
		}
		return a.answer(ctx, append(paragraphs, say(explainFoot, a.Command)))
	}
	told := messages.Explain(found.Entries[0])
	paragraphs := []string{fill(marked("*%s* (%s)"), told.Title, code(told.ID))}
	for _, line := range []string{told.Meaning, told.Role, told.Cause, told.Action, told.Trap, told.Cost, told.Whose, told.Do} {
		if line != "" {
			paragraphs = append(paragraphs, fill("%s", line))
		}
	}
	if told.Command != "" {
		paragraphs = append(paragraphs, fill("%s", code(told.Command)))
	}
	if told.Collect != "" {
		paragraphs = append(paragraphs, fill("%s", told.Collect))
	}
	for _, e := range found.Entries[1:min(len(found.Entries), 1+explainMore)] {
		paragraphs = append(paragraphs, brief(e))
	}
	return a.answer(ctx, append(paragraphs, say(explainFoot, a.Command)))
}

// known is what is known of wordings here.
func (d *Desk) known() *knowledge.Catalogue {
	if d.Known == nil {
		return knowledge.Whole()
	}
	return d.Known()
}

func brief(e explain.Entry) string { return fill("%s  %s", code(e.ID), e.Meaning) }
