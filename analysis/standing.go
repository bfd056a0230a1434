package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/filename"
	"faultline/analysis/history"
	"faultline/analysis/line"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// What is looked at for lines that stand out, in bytes: of all files together, and of each at least. Of very many files it is less of each:
// what one of them says, most say, and whatever follows a file's last step is looked at in any case.
const (
	standingBudget = 4 << 20
	standingLeast  = 64 << 10
	standingMost   = 32 << 20
	standingFew    = 16 << 10
)

// standingEach is how much of each of so many files is looked at.
func standingEach(files int) int64 {
	files = max(files, 1)
	least := min(standingLeast, max(standingFew, standingMost/files))
	return int64(max(least, standingBudget/files))
}

// mostStanding is how many lines are kept for the report, mostShapes how many shapes for comparisons with later runs.
const (
	mostStanding = 64
	mostShapes   = 256
	mostCited    = 4 // files of a decided verdict that are looked at
)

// newcomers keeps what was read of the files by the reader of the unforeseen: conclusions are derived more than once.
type newcomers struct {
	once  sync.Once
	files []*novel.File
	err   error
}

// standing are the lines that stand out, whatever they say, the most suspicious first.
func (in *Input) standing(ctx context.Context, f *resolve.Facts, past *history.Book) (lines []novel.Line, shapes []string, err error) {
	in.newcomers.once.Do(func() {
		sources := in.Sources
		if len(sources) == 0 {
			sources = in.Evidence
		}
		in.newcomers.files, in.newcomers.err = in.unforeseen(ctx, f, sources)
	})
	if err := in.newcomers.err; err != nil {
		return nil, nil, err
	}
	w := world(f)
	usual, known := past.Usual(f.Job.Name)
	w.HasGood, w.Good = known, func(template uint64) bool { return usual[shape(template)] }
	w.Tables = len(in.Sources) == 0
	lines = novel.Weigh(in.newcomers.files, w, math.MaxInt)
	for i := range lines {
		if lines[i].Level > severity.Calm && len(shapes) < mostShapes {
			shapes = append(shapes, shape(lines[i].Template))
		}
	}
	slices.Sort(shapes)
	lines = lines[:min(len(lines), mostStanding)]
	if w.Tables {
		in.hosts(lines)
	}
	markRead(lines, f.Obs)
	return lines, slices.Compact(shapes), nil
}

// unread are the lines that sound bad, and that nobody made anything of, in the files that the cause of a decided verdict cites; alike those
// that state the same cause as the message at its root.
func (in *Input) unread(ctx context.Context, f *resolve.Facts, r *incident.Report) (out, alike []novel.Line, err error) {
	cited := map[string]bool{}
	for _, l := range r.Chain {
		for _, e := range l.Evidence {
			if len(cited) < mostCited && (l.Role == incident.Trigger || l.Role == incident.Cause) {
				cited[e.File] = true
			}
		}
	}
	sources := slices.DeleteFunc(slices.Clone(in.Sources), func(s incident.Source) bool { return !cited[s.Name] })
	files, err := in.unforeseen(ctx, f, sources)
	if err != nil {
		return nil, nil, err
	}
	lines := novel.Weigh(files, world(f), math.MaxInt)
	markRead(lines, f.Obs)
	for i := range lines {
		if lines[i].Unread() && len(out) < mostStanding {
			out = append(out, lines[i])
		}
		if s := r.Verdict.Stated; s != nil && lines[i].Level >= severity.Warning && len(alike) < mostStanding {
			if c, _ := resolve.Stated(f.Known, lines[i].Text); c != nil && c.Name() == s.Cause {
				alike = append(alike, lines[i])
			}
		}
	}
	return out, alike, nil
}

// shape writes a template's hash as reports and histories have it.
func shape(template uint64) string { return fmt.Sprintf("%016x", template) }

// hosts gives lines of evidence the nodes that the names of their files state.
func (in *Input) hosts(lines []novel.Line) {
	var names []string
	for _, s := range in.Evidence {
		names = append(names, s.Name)
	}
	named := filename.Parse(names)
	for i := range lines {
		if l := &lines[i]; l.Node == "" {
			l.Node = resolve.ShortHost(named[l.File].Host)
		}
	}
}

// telling says that evidence of a kind that nobody knows holds a line that stands out: then it is worth a report, of that line.
func (in *Input) telling(ctx context.Context) bool {
	for _, s := range in.Evidence {
		f, err := scan.Open(s.Path)
		if err != nil {
			continue
		}
		file, err := novel.Read(ctx, s.Name, f, novel.Options{LastStep: -1, Size: s.Bytes})
		f.Close()
		if err != nil || file.Binary {
			continue
		}
		for _, l := range novel.Weigh([]*novel.File{file}, novel.World{}, 1) {
			if l.Level >= severity.Failed {
				return true
			}
		}
	}
	return false
}

// markRead marks the lines of which the readers of logs made something: what they mean for the job is decided elsewhere.
func markRead(lines []novel.Line, obs *worker.Observations) {
	type place struct {
		file string
		line int64
	}
	at := map[place]*novel.Line{}
	files := map[string][]*novel.Line{}
	for i := range lines {
		l := &lines[i]
		at[place{l.File, l.At.Line}] = l
		files[l.File] = append(files[l.File], l)
	}
	unread := map[place]bool{}
	for i := range obs.Unclassified {
		unread[place{obs.Unclassified[i].File, obs.Unclassified[i].Line}] = true
	}
	obs.Filter(func(o worker.At) bool {
		if l := at[place{o.File, o.Line}]; l != nil && !unread[place{o.File, o.Line}] {
			l.Known.Read = true
		}
		return true
	})
	for i := range obs.NCCLWarns {
		w := &obs.NCCLWarns[i]
		if l := at[place{w.File, w.Line}]; l != nil && len(w.Signs) == 0 {
			l.Known.Read, l.Known.Form = false, true
		}
	}
	for i := range obs.Exceptions {
		x := &obs.Exceptions[i]
		for _, l := range files[x.File] {
			if x.Begin.Line > 0 && x.Begin.Line <= l.At.Line && l.At.Line <= x.Line {
				l.Known.Read = true
			}
		}
	}
}

// unforeseen reads the logs once more; where there are none, the evidence beside them. A file that cannot be read to its end counts as far
// as it goes: that it is cut is said elsewhere.
func (in *Input) unforeseen(ctx context.Context, f *resolve.Facts, sources []incident.Source) ([]*novel.File, error) {
	known := sizes(f, sources)
	budget := standingEach(len(sources))
	files := make([]*novel.File, len(sources))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(in.workers())
	for i, s := range sources {
		g.Go(func() error {
			src, err := scan.Open(s.Path)
			if err != nil {
				return nil // reading the logs said so
			}
			defer src.Close()
			o := *known[s.Name]
			if o.Lines > 0 { // else nobody counted them, and the numbers of its last ones are not known
				o.Budget, o.Skip = budget, func(n int64) error { return scan.Skip(src, n) }
			}
			files[i], _ = novel.Read(reading, s.Name, src, o)
			return reading.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("looking for lines that stand out: %w", err)
	}
	return slices.DeleteFunc(files, func(f *novel.File) bool { return f == nil }), nil
}

// sizes are what is known of files before they are read once more.
func sizes(f *resolve.Facts, sources []incident.Source) map[string]*novel.Options {
	known := map[string]*novel.Options{}
	of := func(file string) *novel.Options {
		if known[file] == nil {
			known[file] = &novel.Options{LastStep: -1}
		}
		return known[file]
	}
	for i := range f.Progress {
		if p, o := &f.Progress[i], of(f.Progress[i].File); p.Off > o.LastStep {
			o.LastStep, o.StepLine = p.Off, p.Line
		}
	}
	for i := range f.Tails {
		o := of(f.Tails[i].File)
		o.Size, o.Lines = f.Tails[i].Bytes, f.Tails[i].Lines
	}
	for _, s := range sources {
		of(s.Name)
	}
	return known
}

// world answers what the weigher asks from the facts.
func world(f *resolve.Facts) novel.World {
	lineOf := func(file string, at novel.Place, who *line.Who) worker.At {
		return worker.At{Pos: worker.Pos{File: file, Line: at.Line, Off: at.Off, Len: at.Len}, By: who}
	}
	when := func(file string, at novel.Place, text string) resolve.Moment {
		p := line.Parse([]byte(text))
		l := lineOf(file, at, &p.Who)
		l.Stamp = cmp.Or(p.Stamp, at.Stamp)
		return f.At(l)
	}
	newest, writers, kernels := newestStep(f), writersOf(f), kernelsOf(f)
	return novel.World{
		Stepped: len(f.Progress) > 0,
		Place: func(file string, at novel.Place, who *line.Who) (int, string) {
			l := lineOf(file, at, who)
			rank, ok := f.RankOf(l)
			if !ok {
				rank = resolve.NoRank
			}
			node := f.NodeOf(l)
			if node == "" {
				node = kernels[file]
			}
			return rank, node
		},
		Behind: func(file string, at novel.Place, text string) (bool, bool) {
			t := when(file, at, text)
			if !t.Valid || !newest.Valid {
				return false, false
			}
			return !t.Before(newest), true
		},
		When: func(file string, at novel.Place, text string) (float64, bool) {
			t := when(file, at, text)
			return t.T, t.Valid
		},
		Ranks:   ranksOf(f),
		Names:   f.NodeNamer(),
		Known:   func(text string) novel.Known { return catalogued(f.Known, text) },
		Writers: func(file string) int { return writers[file] },
	}
}

// ranksOf are the ranks of the job: all, where its size is known, else those that are seen.
func ranksOf(f *resolve.Facts) []int {
	var ranks []int
	if n := f.Job.WorldSize; n > 0 {
		for i := range n {
			ranks = append(ranks, i)
		}
		return ranks
	}
	for _, r := range f.Ranks {
		ranks = append(ranks, r.ID)
	}
	return ranks
}

func newestStep(f *resolve.Facts) (newest resolve.Moment) {
	for i := range f.Progress {
		newest = newest.Latest(f.Progress[i].T)
	}
	return newest
}

// writersOf is how many ranks write each file.
func writersOf(f *resolve.Facts) map[string]int {
	writers := map[string]int{}
	for i := range f.Tails {
		ranks := map[int]bool{}
		for j := range f.Tails[i].Writers {
			w := &f.Tails[i].Writers[j]
			if r, ok := f.RankOf(w.At(f.Tails[i].File, w.First)); ok {
				ranks[r] = true
			}
		}
		writers[f.Tails[i].File] = len(ranks)
	}
	return writers
}

// kernelsOf are the nodes whose kernels' logs are at hand, by file.
func kernelsOf(f *resolve.Facts) map[string]string {
	kernels := map[string]string{}
	for _, e := range f.Kernel {
		if e.Node != "" {
			kernels[e.At.File] = e.Node
		}
	}
	return kernels
}

// catalogued is what the tables of failures, and those for people, say of a line.
func catalogued(known *knowledge.Catalogue, text string) novel.Known {
	var k novel.Known
	var roles []knowledge.Role
	for _, id := range known.Match(nil, []byte(text)) {
		s := known.Entry(id)
		k.Meaning, roles = cmp.Or(k.Meaning, s.Meaning), append(roles, s.Role)
	}
	if len(roles) == 0 {
		messages := known.Messages()
		for i := range messages {
			if m := &messages[i]; m.Role != "" && m.In(text) {
				roles = append(roles, m.Role)
			}
		}
	}
	all := func(of ...knowledge.Role) bool {
		return len(roles) > 0 && !slices.ContainsFunc(roles, func(r knowledge.Role) bool { return !slices.Contains(of, r) })
	}
	k.Noise, k.Echo = all(knowledge.NoiseRole, knowledge.InfoRole), all(knowledge.ConsequenceRole)
	return k
}

// unsettled says that a report leaves room for what nobody foresaw: nothing explains the run, something may remain unexplained, nobody is named
// who began it, it is held to be sound, or nobody says who ended it.
func unsettled(r *incident.Report) bool {
	v := &r.Verdict
	rootless := v.Status == incident.Inconclusive && len(v.Root.Ranks)+len(v.Root.Nodes) == 0
	open := slices.ContainsFunc(v.Candidates, func(c incident.Candidate) bool { return c.Mechanism == string(knowledge.Unknown) })
	return open || rootless || v.Status == incident.NoFailure || knowledge.Slug(v.Mechanism).Is(knowledge.BySomebody)
}
