package history

import (
	"fmt"
	"math"
	"slices"

	"faultline/incident"
)

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
