package messages

import (
	"strings"

	"faultline/messages/blockkit"
)

// Isolation is one round of a search for a culprit, or how that search ended.
type Isolation struct {
	Title string
	Parts []IsolationPart
	// Buttons say how a test ended, a row for each test.
	Buttons [][]Button
	Foot    string
}

// IsolationPart is a sentence with what can be pasted.
type IsolationPart struct{ Text, Command string }

// IsolationPost shows it in the thread of the incident.
func IsolationPost(i Isolation) blockkit.Message {
	title := line(i.Title)
	var es []blockkit.RichElement
	for _, p := range i.Parts {
		if text := sentence(line(p.Text)); text != "" {
			es = append(es, para(run(text)))
		}
		if c := strings.TrimSpace(safe(p.Command)); c != "" {
			es = append(es, commandBox(c))
		}
	}
	groups := []blockkit.Blocks{{heading(title)}, rich(es...)}
	for _, row := range i.Buttons {
		groups = append(groups, pressable(row))
	}
	return post(title, append(groups, small(line(i.Foot)))...)
}
