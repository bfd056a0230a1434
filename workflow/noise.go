package workflow

import (
	"slices"
	"time"
)

// Noise is what an investigation remembers of how much it has said. The outbox enforces UnaskedMost; this decides what counts, and
// tells people when it is reached.
type Noise struct {
	Answers int         // how many messages may still answer the last act of a person
	Said    []time.Time // when the newest messages were written that nobody asked for, at most UnaskedMost
	Told    time.Time   // when people last read that more is held
}

// answersMost bounds the answers to one act: a whole report with its questions has fewer messages.
const answersMost = 40

// reporting says that the notice brings the first report, or its files, to a person who asked for them. Each happens once. What a job that is
// watched looks like comes again and again.
func (inv *Investigation) reporting(n Notice) bool {
	if inv.Ended != nil || inv.Watch.By != "" && inv.momentary() {
		return false
	}
	return n.Report != nil && inv.Verdicts == 0 || n.Event == Verified && inv.Final+inv.Refiled == 0
}

// answers marks the posts that answer somebody: those of the first report, and what an act brings until the investigation rests.
func (inv *Investigation) answers(posts []Post, reporting bool) {
	for i := range posts {
		if p := &posts[i]; p.Unasked() && (reporting || inv.Noise.Answers > 0) {
			p.Answer = true
			inv.Noise.Answers = max(inv.Noise.Answers-1, 0)
		}
	}
}

// Speak counts the posts that nobody asked for. Where there are more than an hour has room for, it adds the line that says so, in the
// last place that is left; line writes it.
func (inv *Investigation) Speak(now time.Time, posts []Post, line func(*Investigation) (Post, error)) ([]Post, error) {
	said := slices.DeleteFunc(slices.Clone(inv.Noise.Said), func(at time.Time) bool { return now.Sub(at) >= UnaskedPer })
	var unasked []int // their places among the posts
	for i, p := range posts {
		if p.Unasked() {
			unasked = append(unasked, i)
		}
	}
	more := len(unasked)
	room := max(UnaskedMost-1-len(said), 0) // besides the line
	if len(unasked) > room && now.Sub(inv.Noise.Told) >= UnaskedPer {
		p, err := line(inv)
		if err != nil {
			return nil, err
		}
		posts = slices.Insert(posts, unasked[room], p)
		inv.Noise.Told = now
		more++
	}
	said = append(said, slices.Repeat([]time.Time{now}, more)...)
	inv.Noise.Said = said[max(0, len(said)-UnaskedMost):]
	return posts, nil
}
