package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
)

// minutes is a duration as a person writes it down afterwards.
func minutes(d time.Duration) string {
	switch m := d.Minutes(); {
	case m < 1:
		return "less than a minute"
	case m < 90:
		return strconv.Itoa(int(m+0.5)) + " min"
	default:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
}

func (p *postmortem) impact(v *view, s Story) {
	r := v.Report
	add := func(label, text string) {
		if text != "" {
			p.Impact = append(p.Impact, pair{label, text})
		}
	}
	if s.ID != "" {
		add("Incident", flat(s.ID))
	}
	add(labelConfidence, certaintyOf(r).String())
	add("GPU", gpuText(r))
	add(labelSeverity, severityText(r))
	add("Lost", cmp.Or(lostCost(r, s.Price), lostUnknown(r)))
	name := ""
	if n := r.Job.Name; n != nil && *n != "" {
		name = flat(*n) + ": "
	}
	if w := r.Job.WorldSize; w != nil {
		add("Job", name+count(*w, "rank")+onNodes(r))
	} else if n := len(r.Ranks); n > 0 {
		add("Job", name+"at least "+count(n, "rank")+onNodes(r))
	}
	if from, to := r.Job.StartTime, r.Job.EndTime; from != nil && to != nil {
		add("Ran", fromTo(flat(*from), flat(*to)))
	}
	if idle, ok := idled(r); ok {
		add("GPUs idle", minutes(idle)+" from the first failure to the end of the job"+idleCost(r, idle, s.Price))
	}
	if r.Verdict.Status != incident.NoFailure {
		add("Next run", nextRun(r))
	}
}

// fromTo is a time of day to another, with the second's date where it is another day.
func fromTo(from, to string) string {
	day, clock, ok := strings.Cut(from, "T")
	if last, end, both := strings.Cut(to, "T"); ok && both {
		if last == day {
			return day + " " + clock + " to " + end
		}
		return day + " " + clock + " to " + last + " " + end
	}
	return from + " to " + to
}

// gpuText is the number of the GPU of the one rank at the root, where its hardware is at fault and its local rank is known.
func gpuText(r *incident.Report) string {
	if len(r.Verdict.Root.Ranks) != 1 || !knowledge.Slug(r.Verdict.Mechanism).Is(knowledge.OneGPU) {
		return ""
	}
	i := slices.IndexFunc(r.Ranks, func(s incident.RankState) bool { return s.Rank == r.Verdict.Root.Ranks[0] })
	if i < 0 || r.Ranks[i].LocalRank == nil {
		return ""
	}
	local := *r.Ranks[i].LocalRank
	return fmt.Sprintf("%d on %s, by local rank %d (unless CUDA_VISIBLE_DEVICES reorders them)", local, flat(r.Ranks[i].Node), local)
}

func onNodes(r *incident.Report) string {
	n := 0
	switch stated := r.Job.NodesCount; {
	case stated != nil:
		n = *stated
	case len(r.Coverage.RanksMissing) == 0:
		n = len(r.Coverage.NodesSeen)
	}
	if n > 0 {
		return " on " + count(n, "node")
	}
	return ""
}

// idled is the time from the first event of the cause, or from when ranks began to wait, to the last line, where both have a time and it is
// worth a word.
func idled(r *incident.Report) (time.Duration, bool) {
	if r.Job.EndTime == nil || len(r.Chain) == 0 {
		return 0, false
	}
	end, ok := wallClock(*r.Job.EndTime)
	if !ok {
		return 0, false
	}
	for _, e := range r.Timeline {
		if e.Time == nil || e.Kind != incident.EventWait && !cites(r.Chain[0].Evidence, e.Evidence) {
			continue
		}
		if began, ok := wallClock(*e.Time); ok && end.Sub(began) >= time.Minute {
			return end.Sub(began), true
		}
		return 0, false
	}
	return 0, false
}

func wallClock(s string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func idleCost(r *incident.Report, d time.Duration, price Price) string {
	least, n := "", len(r.Ranks)
	if w := r.Job.WorldSize; w != nil {
		n = *w
	} else if n > 0 {
		least = "at least "
	}
	if n == 0 {
		return ""
	}
	hours := d.Hours() * float64(n)
	return " (" + least + gpuHours(hours) + price.of(hours) + ")"
}

// lostCost is what is lost; of what goes on, what an hour of it costs.
func lostCost(r *incident.Report, price Price) string {
	text := lostText(r.Action.Lost)
	if h := r.Action.Lost.GPUHours; h != nil {
		return text + price.of(*h)
	}
	if s := r.Severity; s != nil && s.Per == incident.PerHour {
		return gpuHours(s.GPUHours) + price.of(s.GPUHours) + " in each hour that it goes on"
	}
	return text
}

// lostUnknown says why it is not known what is lost.
func lostUnknown(r *incident.Report) string {
	if r.Verdict.Status == incident.NoFailure || r.Verdict.Ending == incident.EndRunning || r.Action.ResumeFrom != nil {
		return ""
	}
	text := "steps unknown: these logs show no completed checkpoint"
	idle, _ := idled(r)
	if trained := ranFor(r) - idle; trained > 0 && r.Job.ResumedFrom == nil {
		text += "; at most what this run did in " + minutes(trained)
	}
	return text
}
