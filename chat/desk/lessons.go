package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages/redact"
	"faultline/workflow"
)

// lesson is what cases of a channel say of one thing that was done about a failure.
type lesson struct {
	remedy        knowledge.Remedy // without a slug: nobody but the people has a name for it
	key           string           // what was done, however it is put
	words         string           // the newest of them, in the people's words
	worked, tried int
	cases         []string // in which it worked, the newest first
}

// How many cases are looked through, and how many of them are named.
const (
	lessonCases = 50
	lessonNamed = 4
)

// lessons are what other cases of the channel say helped against the failure of this one, what helped most often first. They are counted
// anew each time: what is forgotten is not counted.
func (d *Desk) lessons(ctx context.Context, inv workflow.Investigation) ([]lesson, error) {
	mechanism := failureOf(inv.Summary())
	if mechanism == "" {
		return nil, nil
	}
	rows, err := d.Store.Find(ctx, workflow.Query{Team: inv.Home.Team, Channel: inv.Home.Channel, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("looking for earlier cases: %w", err)
	}
	var out []lesson
	looked := 0
	for _, s := range rows {
		if s.ID == inv.ID || failureOf(s) != mechanism || looked == lessonCases {
			continue
		}
		looked++
		other, err := d.Store.Load(ctx, s.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking at case %s: %w", s.ID, err)
		}
		if words, worked, told := taught(&other); told {
			out = learn(out, other.ID, mechanism, words, worked)
		}
	}
	slices.SortStableFunc(out, func(a, b lesson) int { return cmp.Or(b.worked-a.worked, a.tried-b.tried) })
	return out, nil
}

// failureOf is what a case says broke, as people left it; "" where it does not say one thing.
func failureOf(s workflow.Summary) knowledge.Slug {
	switch {
	case s.Outcome == "wrong":
		return knowledge.Slug(s.TrueMechanism)
	case s.Status == incident.Confirmed || s.Status == incident.Probable:
		return knowledge.Slug(s.Mechanism)
	}
	return ""
}

// taught is what was done in a case, and whether it worked: as the next run showed, else as people said when they closed it.
func taught(inv *workflow.Investigation) (words string, worked, told bool) {
	if o := inv.Outcome; o != nil {
		words = o.Fix
	}
	if f := inv.Fix; f != nil && f.Text != "" {
		words = f.Text
	}
	if words == "" {
		return "", false, false
	}
	switch f := inv.Fix; {
	case f == nil || f.Outcome == "" || f.Outcome == workflow.NotProven:
		return words, true, inv.Outcome != nil && inv.Outcome.Fix != ""
	default:
		return words, f.Outcome == incident.Fixed, true
	}
}

// learn counts a case.
func learn(list []lesson, id string, m knowledge.Slug, words string, worked bool) []lesson {
	r, known := knowledge.RemedyIn(m, words)
	key := "remedy " + r.Slug
	if !known {
		r, key = knowledge.Remedy{}, "words "+strings.ToLower(strings.Join(strings.Fields(words), " "))
	}
	i := slices.IndexFunc(list, func(l lesson) bool { return l.key == key })
	if i < 0 {
		i, list = len(list), append(list, lesson{remedy: r, key: key, words: redact.String(words)})
	}
	list[i].tried++
	if worked {
		list[i].worked++
		list[i].cases = append(list[i].cases, id)
	}
	return list
}

// counted is how often it worked, with the cases.
func (l lesson) counted() string {
	text := fmt.Sprintf("%d of %s", l.worked, count(l.tried, "time"))
	if n := min(len(l.cases), lessonNamed); n > 0 {
		text += ": " + strings.Join(l.cases[:n], ", ")
	}
	return text
}

// Lessons is the Lessons of a workflow.Flow: what this channel's cases say of a case, in words of ours. People's own words stay in their
// cases, from which they can be forgotten.
func (d *Desk) Lessons(ctx context.Context, inv workflow.Investigation) ([]string, error) {
	var out []string
	past, err := d.earlierRuns(ctx, inv)
	if err != nil {
		return nil, err
	}
	if past != nil {
		out = past.recalled(redact.Report(inv.Report))
	}
	list, err := d.lessons(ctx, inv)
	if err != nil || len(list) == 0 || list[0].worked == 0 {
		return out, err
	}
	best := list[0]
	if best.remedy.Slug == "" {
		return append(out, say(lessonTheirs, best.counted())), nil
	}
	return append(out, say(lessonWorked, strings.TrimSuffix(best.remedy.Does, "."), best.counted())), nil
}

// fixes answers what helps against the failure of a case: what is known, and what this channel's cases say.
func (a *act) fixes(ctx context.Context, inv workflow.Investigation) error {
	mechanism := failureOf(inv.Summary())
	if mechanism == "" {
		return a.say(ctx, fixesNone, inv.ID)
	}
	list, err := a.lessons(ctx, inv)
	if err != nil {
		return err
	}
	out := []string{say(fixesHead, mechanismTitle(string(mechanism)))}
	for _, r := range knowledge.Remedies(mechanism) {
		text := fill("• %s Risk: %s Check: %s", r.Does, r.Risk, r.Verify)
		if i := slices.IndexFunc(list, func(l lesson) bool { return l.remedy.Slug == r.Slug }); i >= 0 {
			text += " " + say(fixesHere, list[i].counted())
		}
		out = append(out, text)
	}
	for _, l := range list {
		if l.remedy.Slug == "" {
			out = append(out, say(fixesTheirs, l.words, l.counted()))
		}
	}
	return a.answer(ctx, out)
}
