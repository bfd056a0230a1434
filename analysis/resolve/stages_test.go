package resolve

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// A stage that amends failures decides by what they are when it begins: in whatever order they stand, it decides the same.
func TestStagesDecideWhateverTheOrderOfFailures(t *testing.T) {
	known := knowledge.Whole()
	signs := known.Signatures()
	rnd := rand.New(rand.NewPCG(27, 1))
	decided := map[string]int{}
	for range 300 {
		f := &Facts{Known: known, Obs: &worker.Observations{Known: known}, sight: sight{ident: &identity{}, clock: &clock{}}}
		next := int64(0)
		at := func() worker.At {
			next += 1 + rnd.Int64N(9)
			return worker.At{Pos: worker.Pos{File: string(rune('a'+rnd.IntN(3))) + ".log", Line: next, Off: 100 * next, Len: 10},
				Stamp: line.Stamp{Kind: line.Epoch, Emitter: line.Container, Unix: 1000 + next}}
		}
		for range rnd.IntN(8) {
			p := &worker.Progress{At: at(), Step: next, Phase: worker.Training}
			f.Progress = append(f.Progress, ProgressPoint{p, f.At(p.At), NoRank})
		}
		for range 12 {
			s := signs[rnd.IntN(len(signs))]
			where := at()
			fl := &Failure{known: known, Rank: NoRank, At: &where, Kind: KindSign, T: f.At(where), Text: s.Meaning, Count: 1}
			if rnd.IntN(3) == 0 {
				fl.Kind, fl.Exc = KindException, &worker.Exception{At: where, Message: "shard took too long to download"}
				fl.Text = fl.Exc.Message
				s = knowledge.Signature{Mechanism: knowledge.Exception, Role: knowledge.CauseRole}
			}
			fl.is(Meaning{s.Mechanism, s.Role, s.Direct, s.ID})
			f.Failures = append(f.Failures, fl)
		}
		for range rnd.IntN(6) {
			p := &worker.Progress{At: at(), Step: next, Phase: worker.Training}
			f.Progress = append(f.Progress, ProgressPoint{p, f.At(p.At), NoRank})
		}
		if rnd.IntN(2) == 0 {
			f.Obs.Facts = []worker.Fact{{At: at(), Key: "exit_ok", Value: "training finished"}}
		}
		f.pace, f.Job.Training = newPace(&f.sight, f.Progress), len(f.Progress) > 0
		for name, stage := range map[string]func() []amendment{
			"reconsider": f.reconsider, "awaited": f.awaited, "pastStart": f.pastStart, "itemsMissing": f.itemsMissing,
			"parted": f.parted, "recovered": f.recovered, "backAgain": f.backAgain, "upAgain": f.upAgain,
			"survived": func() []amendment { back, _ := f.survived(); return back },
			"retold":   func() []amendment { all, _ := f.retold(); return all },
		} {
			decide := func() map[string]bool {
				out := map[string]bool{}
				for _, a := range stage() {
					out[fmt.Sprint(a.fl.At.Pos, a.to, a.why, a.at)] = true
				}
				return out
			}
			want := decide()
			decided[name] += len(want)
			rnd.Shuffle(len(f.Failures), func(i, j int) { f.Failures[i], f.Failures[j] = f.Failures[j], f.Failures[i] })
			if got := decide(); !maps.Equal(got, want) {
				t.Errorf("%s: %v, and in another order %v", name, want, got)
			}
		}
	}
	for _, name := range []string{"reconsider", "awaited", "pastStart", "recovered", "survived"} {
		if decided[name] == 0 {
			t.Errorf("%s decided nothing: what is made here does not try it", name)
		}
	}
}
