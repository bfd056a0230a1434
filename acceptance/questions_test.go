package acceptance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/messages"
	"faultline/simulate"
)

// question is one that a person types under a verdict, with what an answer has to hold: any of some texts, all of them from the report's own
// facts. A report that cannot tell has to say so.
type question struct {
	kind, text string
	want       func(r *incident.Report) []string
}

const cannotTell = "an't tell"

func says(texts ...string) func(*incident.Report) []string {
	return func(*incident.Report) []string { return texts }
}

// questions are of 17 kinds, as somebody writes them who has only the thread; %d is the root's rank or 0, %s its node or the first.
var questions = []question{
	{"broken node", "is %s broken?", says("No evidence in these logs that", "should be excluded", "It failed on")},
	{"broken node", "can I still use %s", says("No evidence in these logs that", "should be excluded", "It failed on")},
	{"another node", "what about node-nobody-has?", says(cannotTell)},
	{"why a rank", "why do you blame rank %d?", func(r *incident.Report) []string { return partOf(r, -1) }},
	{"why not a rank", "why not rank 1?", func(r *incident.Report) []string { return partOf(r, 1) }},
	{"last line", "what did rank %d print last?", func(r *incident.Report) []string { return lastOfRank(r, -1) }},
	{"last line", "last output of rank 2", func(r *incident.Report) []string { return lastOfRank(r, 2) }},
	{"who waited", "who else waited?", says(" waited: ", "These logs show no rank waiting")},
	{"who waited", "how many ranks were waiting", says(" waited: ", "These logs show no rank waiting")},
	{"thanks", "thanks a lot", says("You're welcome")},
	{"next", "what next?", nextOf},
	{"next", "what should I do now", nextOf},
	{"resubmit", "can I resubmit?", nextOf},
	{"resubmit", "is it safe to restart it", nextOf},
	{"checkpoint", "which checkpoint can I resume from?", func(r *incident.Report) []string {
		if r.Action.ResumeFrom != nil {
			return []string{fmt.Sprintf("step %d", r.Action.ResumeFrom.Step), "step " + grouped(r.Action.ResumeFrom.Step)}
		}
		return []string{"no completed checkpoint"}
	}},
	{"sure", "how sure are you?", says("Confirmed", "Likely", "Can't tell", "Who: ")},
	{"when", "when did it start?", says("First: ", cannotTell)},
	{"missing", "is any log missing?", says("Missing: ")},
	{"owner", "who has to fix this?", ownerOf},
	{"owner", "who owns this", ownerOf},
	{"lost", "how much did we lose?", func(r *incident.Report) []string {
		if r.Action.Lost.Steps == nil && r.Action.Lost.GPUHours == nil {
			return []string{cannotTell}
		}
		return []string{"Lost: "}
	}},
	{"lost", "what did it cost in gpu hours", func(r *incident.Report) []string {
		if r.Action.Lost.Steps == nil && r.Action.Lost.GPUHours == nil {
			return []string{cannotTell}
		}
		return []string{"Lost: "}
	}},
	{"storage", "was it the storage?", says("torage")},
	{"storage", "is lustre to blame?", says("torage")},
	{"term", "what does all-reduce mean?", says("all-reduce", "All-reduce")},
	{"term", "what is a watchdog", says("watchdog", "Watchdog")},
	{"what happened", "what happened?", says("confirmed", "likely", "Can't tell")},
	{"what happened", "why did it fail", says("confirmed", "likely", "Can't tell")},
	{"lines", "show the lines around %f", func(r *incident.Report) []string {
		if len(r.KeyFiles) == 0 {
			return []string{cannotTell}
		}
		return []string{"%f: "}
	}},
}

// askedRank is a rank, or that of the root for -1.
func askedRank(r *incident.Report, rank int) int {
	switch {
	case rank >= 0:
		return rank
	case len(r.Verdict.Root.Ranks) > 0:
		return r.Verdict.Root.Ranks[0]
	}
	return 0
}

// partOf is what has to be said of the part of a rank.
func partOf(r *incident.Report, rank int) []string {
	rank = askedRank(r, rank)
	name := fmt.Sprintf("Rank %d ", rank)
	switch {
	case slices.Contains(r.Verdict.Root.Ranks, rank):
		return []string{name + "is where it failed first"}
	case slices.Contains(r.Verdict.Root.Frontier, rank):
		return []string{name + "is one of the ranks that may have failed first"}
	case slices.ContainsFunc(r.Ranks, func(s incident.RankState) bool { return s.Rank == rank }):
		return []string{name + "is not blamed"}
	}
	return []string{cannotTell}
}

// lastOfRank is what has to be said of the lines of a rank.
func lastOfRank(r *incident.Report, rank int) []string {
	rank = askedRank(r, rank)
	if slices.ContainsFunc(r.Timeline, func(e incident.Event) bool { return e.Rank != nil && *e.Rank == rank }) {
		return []string{"Last lines in the report"}
	}
	return []string{cannotTell}
}

func nextOf(r *incident.Report) []string {
	return []string{"resubmit", "Resubmit", "Nothing", "nothing", "again"}
}

func ownerOf(r *incident.Report) []string { return []string{"Owner: ", cannotTell, "Nobody"} }

func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// askedCases is over how many simulated incidents the questions are asked.
const askedCases = 20

// TestQuestionsUnderAVerdictAreAnswered asks what people ask, of 20 cases of different kinds: an answer from the report, or that it cannot tell.
func TestQuestionsUnderAVerdictAreAnswered(t *testing.T) {
	t.Parallel()
	answered, kinds := 0, map[string]bool{}
	for i, spec := range simulate.Grid(askedCases, 11, 0) {
		inc := play(t, spec)
		in := asked(t, inc)
		in.Sources = put(t, t.TempDir(), inc.Files)
		r := diagnosed(t.Context(), t, spec.Mechanism, in)
		if r == nil {
			continue
		}
		for _, q := range questions {
			text := filledIn(q.text, r)
			want := q.want(r)
			got := messages.Reply(r, text)
			answered++
			kinds[q.kind] = true
			if !slices.ContainsFunc(want, func(w string) bool { return strings.Contains(got, filledIn(w, r)) }) {
				t.Errorf("case %d (%s), %s: %q\n\tgot  %q\n\twant one of %q", i, r.Verdict.Mechanism, q.kind, text, got, want)
			}
			if notAJob.MatchString(got) {
				t.Errorf("case %d: %q is taken for a job: %q", i, text, got)
			}
		}
	}
	if answered < 60 || len(kinds) < 15 {
		t.Errorf("%d questions of %d kinds", answered, len(kinds))
	}
	t.Logf("%d questions of %d kinds", answered, len(kinds))
}

var notAJob = regexp.MustCompile(`(?i)job id`)

func filledIn(text string, r *incident.Report) string {
	rank, node, file := 0, "node0", "train.log:1"
	if v := r.Verdict.Root; len(v.Ranks) > 0 {
		rank = v.Ranks[0]
	}
	switch {
	case len(r.Verdict.Root.Nodes) > 0:
		node = r.Verdict.Root.Nodes[0]
	case len(r.Coverage.NodesSeen) > 0:
		node = r.Coverage.NodesSeen[0]
	}
	if len(r.KeyFiles) > 0 {
		file = fmt.Sprintf("%s:%d", r.KeyFiles[0].File, r.KeyFiles[0].Line)
	}
	return strings.NewReplacer("%d", fmt.Sprint(rank), "%s", node, "%f", file).Replace(text)
}
