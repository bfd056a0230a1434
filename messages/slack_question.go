package messages

import (
	"strings"

	"faultline/messages/blockkit"
)

// questionCommands bounds the commands under a question.
const questionCommands = 5

// QuestionPost asks for something: what, why, where to find it, with commands that can be pasted. Once it is answered its
// buttons are gone and the answer stands in their place.
func QuestionPost(q Ask) blockkit.Message {
	asked := line(q.Text)
	sign := "❓ "
	if q.Perishing {
		sign = "⏰ "
	}
	if q.Answered != "" {
		sign = "✅ "
	}
	var es []blockkit.RichElement
	if q.Answered != "" {
		es = append(es, para(strong(sentence(line(q.Answered)))))
		return post(sign+asked+"\n"+line(q.Answered), blockkit.Blocks{heading(sign + asked)}, rich(es...))
	}
	if q.Perishing && q.Why == "" {
		es = append(es, para(strong("Get this first: it won't be kept for long.")))
	}
	es = append(es, bullets(q.Items)...)
	if q.Why != "" {
		es = append(es, labelled("Why", sentence(line(q.Why))))
	}
	if q.How != "" {
		es = append(es, labelled("How", sentence(line(q.How))))
	}
	if q.WhereToFind != "" {
		es = append(es, labelled("Where to find it", sentence(line(q.WhereToFind))))
	}
	for i, c := range q.Commands {
		if i == questionCommands {
			es = append(es, para(run("… and "+count(len(q.Commands)-i, "more command"))))
			break
		}
		if c = strings.TrimSpace(safe(c)); c != "" {
			es = append(es, commandBox(c))
		}
	}
	until := ""
	if q.Deadline != "" {
		until = sentence("Waiting until " + line(q.Deadline) + ", then continuing without it")
	}
	return post(sign+asked+"\n"+line(q.Why), blockkit.Blocks{heading(sign + asked)}, rich(es...), pressable(q.Buttons), small(until))
}

// Note is a plain sentence, or a few.
func Note(text string, buttons []Button) blockkit.Message {
	text = blockkit.Clip(strings.TrimSpace(safe(text)), 3*slackSentence)
	if text == "" {
		text = "Nothing to add."
	}
	return post(text, rich(para(run(text))), pressable(buttons))
}

// NextStep is what the next run can leave.
type NextStep struct{ What, Command string }

// RestPost says that nothing is left to ask for: what stays open, and what to do so that the next run decides it.
func RestPost(open string, next []NextStep) blockkit.Message {
	const head = "Nothing more needed"
	es := []blockkit.RichElement{para(strong(line(open)))}
	if len(next) > 0 {
		es = append(es, para(run("To confirm on the next run:")))
	}
	for _, n := range next {
		es = append(es, para(run("• "+sentence(capital(line(n.What))))))
		if c := strings.TrimSpace(safe(n.Command)); c != "" {
			es = append(es, commandBox(c))
		}
	}
	return post(head+". "+line(open), blockkit.Blocks{heading(head)}, rich(es...))
}
