package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
)

// Trend is something that many runs show together, and that chance does not explain.
type Trend struct {
	Kind string `json:"kind"` // node, setting, change, time-of-day, duration, precursor
	What string `json:"what"`
	// Failed of With runs that have it failed, and FailedElse of Without that have it not; for the kinds of time, and for precursors, With counts
	// failures alone.
	Failed     int `json:"failed"`
	With       int `json:"with"`
	FailedElse int `json:"failed_else"`
	Without    int `json:"without"`
	// Ratio is that of both shares, null where none of the others failed, or for a precursor that of what was met to what chance lets expect; Chance is that of so many by accident, times all that was looked at.
	Ratio     *float64 `json:"risk_ratio"`
	Chance    float64  `json:"chance"`
	Statement string   `json:"statement"`
}

// Fewest runs of which a trend may be told: below them one accident more or less decides.
const (
	fewestRuns     = 12
	fewestFailures = 5
	fewestWith     = 4
	mostTrends     = 12
	// unlikely is the limit of each kind of trend: for all six together it is little more than rare.
	unlikely     = rare / 5
	mostSettings = 400
)

// failing says that a run failed by something that is known or not, and not that people or the scheduler ended it.
func (r *Run) failing() bool {
	return !r.Completed && r.Status != "" && r.Status != incident.NoFailure && r.Origin != "none" &&
		!slices.Contains([]string{string(knowledge.Cancelled), string(knowledge.Preempted)}, r.Mechanism)
}

// Trends are those of all runs of a book: which node, setting or change failures go with, at which time of day they come, and after how
// long. It is silent where the numbers are small.
func (b *Book) Trends() []Trend {
	var runs []*Run
	failures := 0
	for _, r := range b.Runs {
		if r.Completed || r.failing() {
			runs = append(runs, r)
			if r.failing() {
				failures++
			}
		}
	}
	if len(runs) < fewestRuns || failures < fewestFailures {
		return nil
	}
	out := slices.Concat(compared(runs, "node", nodesOf), compared(runs, "setting", settingsOf), compared(runs, "change", changesOf(runs)), hours(runs), durations(runs), precursors(runs))
	slices.SortStableFunc(out, func(x, y Trend) int { return cmp.Or(cmp.Compare(x.Chance, y.Chance), strings.Compare(x.What, y.What)) })
	return out[:min(len(out), mostTrends)]
}

func nodesOf(r *Run) []string {
	if len(r.RootNodes) > 0 || r.Completed {
		var out []string
		for n := range r.nodes {
			if r.Completed || slices.Contains(r.RootNodes, n) {
				out = append(out, n)
			}
		}
		return out
	}
	return nil
}

func settingsOf(r *Run) []string {
	var out []string
	for _, m := range []map[string]string{r.Versions, r.Arguments} {
		for k, v := range m {
			out = append(out, clip(k)+"="+clip(v))
		}
	}
	return out
}

// changesOf are what a run was set up with otherwise than the run of its name before it.
func changesOf(runs []*Run) func(*Run) []string {
	before := map[*Run]*Run{}
	byName := map[string]*Run{}
	inOrder := slices.Clone(runs)
	slices.SortStableFunc(inOrder, func(x, y *Run) int {
		tx, okx := moment(x.Start)
		ty, oky := moment(y.Start)
		if okx && oky {
			return cmp.Or(tx.Compare(ty), strings.Compare(x.ID, y.ID))
		}
		return later(x, y)
	})
	for _, r := range inOrder {
		if r.Name == "" {
			continue
		}
		before[r] = byName[r.Name]
		byName[r.Name] = r
	}
	return func(r *Run) []string {
		was := before[r]
		if was == nil {
			return nil
		}
		seen := map[string]bool{}
		for _, d := range Differences(was.Record, r.Record) {
			switch d.What {
			case Version, Argument:
				seen[clip(d.Name)] = true
			case WorldSize, Framework:
				seen[d.What] = true
			case NodesAdded:
				seen["new nodes"] = true
			}
		}
		var out []string
		for k := range seen {
			out = append(out, k)
		}
		return out
	}
}

// tally counts the runs with a feature, and those of them that failed.
type tally struct{ with, failed int }

func (t *tally) add(r *Run) {
	t.with++
	if r.failing() {
		t.failed++
	}
}

// compared are the features that failures go with: the share that failed of the runs that have one, against the others. Fisher's exact test,
// one-sided, times the number of features that were looked at.
func compared(runs []*Run, kind string, features func(*Run) []string) []Trend {
	counts := map[string]*tally{}
	var all tally
	for _, r := range runs {
		all.add(r)
		for _, f := range features(r) {
			if counts[f] == nil {
				counts[f] = &tally{}
			}
			counts[f].add(r)
		}
	}
	var looked []string
	for f, c := range counts {
		if c.with >= fewestWith && c.with < all.with {
			looked = append(looked, f)
		}
	}
	slices.Sort(looked)
	if len(looked) > mostSettings { // one of many is met by accident: nothing is said
		return nil
	}
	var out []Trend
	for _, f := range looked {
		if t := against(kind, f, *counts[f], all, len(looked)); t.Chance < unlikely && t.Statement != "" {
			out = append(out, t)
		}
	}
	return out
}

// against compares the runs with a feature with all others; without a statement they failed no more often.
func against(kind, feature string, c, all tally, looked int) Trend {
	t := Trend{Kind: kind, What: feature, Failed: c.failed, With: c.with, FailedElse: all.failed - c.failed, Without: all.with - c.with}
	t.Chance = min(1, float64(looked)*fisher(c.failed, c.with, all.failed, all.with))
	share, other := float64(c.failed)/float64(c.with), float64(t.FailedElse)/float64(t.Without)
	if share <= other {
		return t
	}
	often := ""
	if other > 0 {
		ratio := math.Round(10*share/other) / 10
		t.Ratio = &ratio
		often = fmt.Sprintf("%.1f times as often, ", ratio)
	}
	t.Statement = fmt.Sprintf(sentences[kind], feature, c.failed, c.with) + fmt.Sprintf(", against %d of the %d others (%schance %s)", t.FailedElse, t.Without, often, odds(t.Chance))
	return t
}

var sentences = map[string]string{
	"node":    "%s was the culprit in %d of the %d runs it broke or completed",
	"setting": "with %s, %d of %d runs failed",
	"change":  "after a change of %s, %d of %d runs failed",
}

func odds(p float64) string {
	if p < 1e-4 {
		return "below 1 in 10,000"
	}
	return fmt.Sprintf("1 in %.0f", 1/p)
}

// fisher is the chance that of n runs, drawn from all of which K failed, at least k did.
func fisher(k, n, failed, all int) float64 {
	sum := 0.0
	for i := k; i <= min(n, failed); i++ {
		if n-i > all-failed {
			continue
		}
		sum += math.Exp(choose(failed, i) + choose(all-failed, n-i) - choose(all, n))
	}
	return math.Min(sum, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lg(n) - lg(k) - lg(n-k)
}

// hours looks for a time of day at which failures come and good runs do not end: Rayleigh's test of their ends on a clock.
func hours(runs []*Run) []Trend {
	var bad, good []float64
	for _, r := range runs {
		end, ok := moment(r.End)
		if !ok {
			continue
		}
		angle := 2 * math.Pi * float64(end.Hour()*60+end.Minute()) / (24 * 60)
		if r.failing() {
			bad = append(bad, angle)
		} else {
			good = append(good, angle)
		}
	}
	if len(bad) < fewestFailures {
		return nil
	}
	mean, p := rayleigh(bad)
	if p >= unlikely {
		return nil
	}
	if len(good) >= fewestFailures { // jobs may all end at night
		if other, also := rayleigh(good); also < 5*rare && math.Cos(other-mean) > 0.5 {
			return nil
		}
	}
	hour := math.Mod(mean/(2*math.Pi)*24+24, 24)
	at := time.Duration(hour * float64(time.Hour)).Round(15 * time.Minute)
	text := fmt.Sprintf("%02d:%02d", int(at.Hours())%24, int(at.Minutes())%60)
	return []Trend{{Kind: "time-of-day", What: text, Failed: len(bad), With: len(bad), Without: len(good), Chance: p,
		Statement: fmt.Sprintf("failures cluster around %s as the logs write it: %d failures, chance %s", text, len(bad), odds(p))}}
}

// rayleigh is the mean direction of angles, and the chance that as many without one lie so close together.
func rayleigh(angles []float64) (mean, chance float64) {
	var x, y float64
	for _, a := range angles {
		x, y = x+math.Cos(a), y+math.Sin(a)
	}
	n := float64(len(angles))
	r := math.Hypot(x, y)
	return math.Atan2(y, x), math.Exp(math.Sqrt(1+4*n+4*(n*n-r*r)) - (1 + 2*n))
}

// lengths are how many hours the runs of one name took, and those of them that failed.
type lengths struct{ failed, all []float64 }

// near is how far running times may lie from their middle to be the same, as a share of it.
const near = 0.05

// durations looks for a running time after which runs of one name fail again and again: a token that expires, a disk that fills.
func durations(runs []*Run) []Trend {
	jobs := map[string]*lengths{}
	for _, r := range runs {
		start, ok := moment(r.Start)
		end, ok2 := moment(r.End)
		if r.Name == "" || !ok || !ok2 || !end.After(start) {
			continue
		}
		if jobs[r.Name] == nil {
			jobs[r.Name] = &lengths{}
		}
		jobs[r.Name].add(r, end.Sub(start).Hours())
	}
	var out []Trend
	for name, l := range jobs {
		if len(l.failed) < fewestFailures {
			continue
		}
		k, middle, chance := l.together()
		if chance = min(1, float64(len(jobs))*chance); chance >= unlikely {
			continue
		}
		out = append(out, Trend{Kind: "duration", What: clip(name), Failed: k, With: len(l.failed), Chance: chance,
			Statement: fmt.Sprintf("%d of %d failures of %s came %.1f h after the start (within 5%%), chance %s", k, len(l.failed), clip(name), middle, odds(chance))})
	}
	return out
}

func (l *lengths) add(r *Run, hours float64) {
	l.all = append(l.all, hours)
	if r.failing() {
		l.failed = append(l.failed, hours)
	}
}

// together is how many failures lie near their middle, and the chance of that had each come at any time up to the longest run's.
func (l *lengths) together() (k int, middle, chance float64) {
	slices.Sort(l.failed)
	middle = l.failed[len(l.failed)/2]
	for _, d := range l.failed {
		if math.Abs(d-middle) <= near*middle {
			k++
		}
	}
	chances := make([]float64, len(l.failed)-1) // the one in the middle is near itself
	for i := range chances {
		chances[i] = min(1, 2*near*middle/slices.Max(l.all))
	}
	return k, middle, atLeast(k-1, chances)
}

// soon is within how many seconds before a failure something counts as its precursor.
const soon = 120

// precursorWords are kinds of precursors in a sentence. Another writer's kinds are not told.
var precursorWords = map[string]string{incident.BeforeSave: "a checkpoint save", incident.BeforeEvaluation: "an evaluation"}

// precursors are what runs did shortly before they failed, more often than they would have at any moment: each run is its own measure. Had the
// failure come at any time of a run with n saves, one would have begun within soon before it with the chance of n·soon over the run's length.
func precursors(runs []*Run) []Trend {
	var out []Trend
	for kind, words := range precursorWords {
		var chances []float64
		met, expected := 0, 0.0
		for _, r := range runs {
			i := slices.IndexFunc(r.Before, func(p incident.Precursor) bool { return p.Kind == kind })
			if i < 0 || !r.failing() {
				continue
			}
			p := r.Before[i]
			chance := min(1, float64(p.N)*soon/p.Over)
			chances = append(chances, chance)
			expected += chance
			if p.Last <= soon {
				met++
			}
		}
		if len(chances) < fewestFailures || met < fewestWith {
			continue
		}
		chance := min(1, float64(len(precursorWords))*atLeast(met, chances))
		if chance >= unlikely {
			continue
		}
		ratio := math.Round(10*float64(met)/expected) / 10
		out = append(out, Trend{Kind: "precursor", What: kind, Failed: met, With: len(chances), Ratio: &ratio, Chance: chance,
			Statement: fmt.Sprintf("%s began within %d minutes before %d of %d failures of runs with one, where %.1f would be expected (%.1f times as often, chance %s)",
				words, soon/60, met, len(chances), expected, ratio, odds(chance))})
	}
	return out
}
