package messages

import (
	"strings"
	"testing"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// What a person is asked to read of one case, in own words. Quoted lines and commands, in boxes, are apart.
const (
	caseBudget      = 90
	decidedBudget   = 400
	undecidedBudget = 250
	screenBudget    = 120
	mostPosts       = 4
)

// ownWords counts the words that a post says itself: not the quoted lines, the commands and the buttons.
func ownWords(m blockkit.Message) int {
	n := 0
	for l := range strings.Lines(asText(m.Blocks)) {
		if strings.HasPrefix(l, "    | ") || strings.HasPrefix(l, "[") {
			continue
		}
		for w := range strings.FieldsSeq(l) {
			if strings.ContainsFunc(w, isWordRune) {
				n++
			}
		}
	}
	return n
}

func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func words(s string) int {
	return len(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' }))
}

// TestACaseIsReadInOneLook holds the budgets of the case file, the thread and the first screen.
func TestACaseIsReadInOneLook(t *testing.T) {
	for name, fixture := range slackFixtures {
		r := fixture()
		if n := ownWords(CaseFile(someCase(r))); n > caseBudget {
			t.Errorf("%s: the case file has %d words", name, n)
		}
		posts := []blockkit.Message{FirstVerdict(r, someButtons), Timeline(r), QuestionPost(someAsk()), FinalVerdict(r, "U024ADA", false, false, nil)}
		if len(posts) > mostPosts {
			t.Errorf("%s: %d posts", name, len(posts))
		}
		budget, n := decidedBudget, 0
		if r.Verdict.Status == incident.Inconclusive {
			budget = undecidedBudget
		}
		var each []int
		for _, m := range posts {
			each = append(each, ownWords(m))
			n += each[len(each)-1]
		}
		t.Logf("%s: case file %d, thread %d %v", name, ownWords(CaseFile(someCase(r))), n, each)
		if n > budget {
			t.Errorf("%s: the thread has %d words %v, at most %d", name, n, each, budget)
		}
		if n := words(strings.Join(FirstScreen(r, 0), " ")); n > screenBudget {
			t.Errorf("%s: the first screen has %d words", name, n)
		}
	}
}

// TestNoPostSaysTheSameTwice: no paragraph of more than a few words is in two posts of a thread.
func TestNoPostSaysTheSameTwice(t *testing.T) {
	for name, fixture := range slackFixtures {
		r := fixture()
		seen := map[string]bool{}
		for _, m := range []blockkit.Message{FirstVerdict(r, nil), Timeline(r), FinalVerdict(r, "U024ADA", false, false, nil)} {
			for l := range strings.Lines(asText(m.Blocks)) {
				l = strings.TrimSpace(l)
				if words(l) > 4 && seen[l] {
					t.Errorf("%s says twice: %s", name, l)
				}
				seen[l] = true
			}
		}
	}
}
