// Package analysis turns the files of one job into a verified report. It is pure: no network, no clock, no randomness.
package analysis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/artifact/nccl"
	"faultline/analysis/correlate"
	"faultline/analysis/diagnose"
	"faultline/analysis/figures"
	"faultline/analysis/resolve"
	"faultline/analysis/scan"
	"faultline/analysis/triage"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// RulesVersion names the set of signatures and mechanisms. It changes when a verdict may.
const RulesVersion = "2026-11"

// Input is everything the engine may know.
type Input struct {
	Sources []incident.Source
	// Storage are logs of storage daemons. They are evidence beside the job's files: no rank or node is there, or missing,
	// because of them. Logs of daemons among Sources are taken for such, by their first line.
	Storage []incident.Source
	// Evidence is what people hand in beside logs, of any kind that is known; what is not is named in the warnings. Such files among
	// Sources are taken for evidence, by their content.
	Evidence []incident.Source
	// Baseline are runs of nccl-tests that count as good, to compare others with; Bandwidth is what these have to reach on the bus, in
	// GB/s, where somebody states it, else 0.
	Baseline  []incident.Source
	Bandwidth float64
	// JobID selects among several jobs; "" when there is only one.
	JobID string
	// Nodes are the expected nodes, expanded; nil when nobody states them. WorldSize likewise, 0 = not stated.
	Nodes     []string
	WorldSize int
	// JobZone is that of the job's clocks where somebody states it; nil where nobody does.
	JobZone *time.Location
	// Gaps are what whoever brought the files knows to be missing, or not looked at, in a few words each.
	Gaps []string
	// Covered are expected nodes whose output is in the files, whether or not a line names them.
	Covered []string
	// NodesFrom says who states the nodes, for the report: "sacct"; "" = the person who asks.
	NodesFrom string
	// History are files that tell of earlier runs (docs/history.md). Cluster and User say of this run what its logs may not:
	// a user is a key, in the form that the history has. Neither is ever shown.
	History       []incident.Source
	Cluster, User string
	// JobName is the job's name where its logs do not state it: runs of the same name are comparable.
	JobName string
	// Workers bounds the goroutines that read files; 0 means GOMAXPROCS. It never changes the report.
	Workers int
	// Progress, if set, is called now and then with the bytes read so far and the bytes there are (both as stored).
	Progress func(done, total int64)
	// Skim makes this a first look: of a file larger than this many bytes only about as much is searched, most of it at
	// the end. Line numbers and quotations are right, the verdict may not be the last word, and the report says so. 0 =
	// everything is read.
	Skim int64
	// Unhashed leaves the SHA-256 of cited files out of the report, where nobody would see it: a sixth of a run's time.
	Unhashed bool
	// Version is the engine's version for the report.
	Version string
	// Known is what is known of the wordings of lines; nil is everything that package knowledge holds.
	Known *knowledge.Catalogue
	// Moment is when a job that still runs is looked at: the report then holds its triage, unless the logs hold the job's end. nil: it has
	// ended.
	Moment *triage.Moment
	// Opener opens the files; nil opens whatever this process may read.
	Opener scan.Opener

	records []incident.Source // of the sources those that hold SLURM's own records
	book    *accounting.Book  // what was read of them
	daemons []aislog.Daemon   // what was read of Storage
	notes   []string          // what of Storage and Evidence was not read
	both    []given           // of the sources those that are logs and evidence beside them
	handed  resolve.Handed
	spoken  []*nccl.Log     // what NCCL says in Sources
	beside  map[string]bool // the names of the files that hold what was handed

	earlierLogs []incident.Source // of History, what are logs of an earlier run
	preceding   *resolve.Preceding

	// kept is what is still known of the text of compressed files.
	kept *keeper
	// newcomers is what the reader of the unforeseen found in the files.
	newcomers *newcomers
}

// workers is how many goroutines read files.
func (in *Input) workers() int {
	if in.Workers > 0 {
		return in.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Diagnose reads all sources and reports. Files that cannot be read are named in the report's warnings and coverage;
// only when none can be read, ErrNothingToRead is returned. Several jobs without a choice give a *MultipleJobsError.
func Diagnose(ctx context.Context, in Input) (*incident.Report, error) {
	if err := separate(ctx, &in); err != nil {
		return nil, err
	}
	facts, notes, err := daemons(ctx, in)
	if err != nil {
		return nil, err
	}
	in.daemons, in.notes = facts, append(in.notes, notes...)
	if len(in.Sources) == 0 && in.book == nil && len(in.Evidence) == 0 && len(in.Storage) > 0 {
		return nil, fmt.Errorf("%w: these are only storage daemons' logs: give the job's logs too", ErrNothingToRead)
	}
	sources, id, err := selectJob(in.Sources, in.JobID, in.book)
	if several, ok := errors.AsType[*MultipleJobsError](err); ok {
		return nil, describe(ctx, several, in)
	}
	if err != nil {
		return nil, err
	}
	in.Sources, in.JobID = sources, id
	chosen := map[string]bool{}
	for _, s := range sources {
		chosen[s.Name] = true
	}
	in.both = slices.DeleteFunc(in.both, func(b given) bool { return !chosen[b.source.Name] })
	if err := readEvidence(ctx, &in); err != nil {
		return nil, err
	}
	earlier, err := recall(ctx, &in)
	if err != nil {
		return nil, err
	}
	if err := precede(ctx, &in); err != nil {
		return nil, err
	}
	in.kept, in.newcomers = newKeeper(), new(newcomers)
	obs, failed, err := read(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(failed) == len(in.Sources) && in.book == nil && in.handed.Empty() && !in.telling(ctx) {
		why := slices.Concat(failed, in.notes) // where only evidence was given, it says what is wrong with it
		return nil, fmt.Errorf("%w: %s", ErrNothingToRead, strings.Join(why[:min(len(why), 1)], ""))
	}
	if in.spoken, err = spoken(ctx, in, obs); err != nil {
		return nil, err
	}
	if err := crashed(ctx, &in, obs); err != nil {
		return nil, err
	}
	return conclude(ctx, in, obs, failed, earlier)
}

// read maps every file to observations and merges them. The order of files and the number of workers do not matter:
// merging is a set union.
func read(ctx context.Context, in Input) (*worker.Observations, []string, error) {
	sc, err := worker.ScannerOf(in.Known)
	if err != nil {
		return nil, nil, fmt.Errorf("compile the literals to scan for: %w", err)
	}
	var total, done int64
	for _, s := range in.Sources {
		total += s.Bytes
	}
	all := worker.NewCollection(maxProgress)
	var mu sync.Mutex
	var failed []string
	g, ctx := errgroup.WithContext(ctx)
	n := in.workers()
	g.SetLimit(n)
	for _, s := range in.Sources {
		g.Go(func() error {
			obs, err := readFile(ctx, in, s, sc, n > 1)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				mu.Lock()
				failed = append(failed, fmt.Sprintf("%s: %v", s.Name, err))
				mu.Unlock()
			}
			if obs != nil {
				all.Add(obs)
			}
			if d := atomic.AddInt64(&done, s.Bytes); in.Progress != nil {
				mu.Lock()
				in.Progress(d, total)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	sort.Strings(failed)
	obs := all.Observations()
	obs.Known = in.Known
	return obs, failed, nil
}

// maxProgress bounds the progress lines that are kept of all files together: a long job on many nodes prints hundreds of
// millions of them.
const maxProgress = 1 << 16

// headOfSkim is the part of a first look that goes to the beginning of a file: who is who is said there.
const headOfSkim = 4

// largeFile is from how many bytes on one file is worth more than one processor. Decompressing costs as much as searching.
const (
	largeFile       = 256 << 20
	largeCompressed = 1 << 20
)

func readFile(ctx context.Context, in Input, s incident.Source, sc *worker.Scanner, ahead bool) (*worker.Observations, error) {
	f, err := in.Opener.Open(s.Path)
	if err != nil {
		return &worker.Observations{Tails: []worker.Tail{{File: s.Name, ReadError: "cannot be opened"}}}, plain(err)
	}
	defer f.Close()
	size, isPlain := scan.PlainSize(f)
	if ahead && (isPlain && size > largeFile || !isPlain && s.Bytes > largeCompressed) {
		sc = sc.By(sc.Ahead(1))
	}
	if !isPlain {
		sc = sc.By(in.kept.keep(sc.Scanner, s.Name, len(in.Sources)))
	}
	if skim := in.Skim; isPlain && skim > 0 {
		sc = sc.By(sc.Ends(skim/headOfSkim, skim-skim/headOfSkim, size))
	}
	obs, err := worker.Read(ctx, s.Name, f, sc)
	if err != nil {
		return obs, plain(err)
	}
	if err := byShape(ctx, in, s, obs); err != nil {
		return obs, plain(err)
	}
	if obs.Empty() {
		for i := range obs.Tails {
			obs.Tails[i].Silent = true
		}
	}
	return obs, nil
}

// byShape reads the steps of a file in which no wording showed any.
func byShape(ctx context.Context, in Input, s incident.Source, obs *worker.Observations) error {
	if len(obs.Progress)+len(obs.Phases) > 0 || in.Skim > 0 {
		return nil
	}
	f, err := in.Opener.Open(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := worker.Summed(ctx, s.Name, f)
	if err != nil || found == nil {
		return err
	}
	obs.Progress, obs.Phases = found.Progress, found.Phases
	return nil
}

// firstLook marks a report that did not search everything: what it did not see may overturn it, so nothing is confirmed.
func firstLook(r *incident.Report, skim int64) {
	if r.Verdict.Status == incident.Confirmed {
		r.Verdict.Status = incident.Probable
	}
	const most = 0.8
	v := &r.Verdict
	v.Confidence = min(v.Confidence, most)
	for i := range v.Candidates {
		v.Candidates[i].Confidence = min(v.Candidates[i].Confidence, v.Confidence)
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("quick first look: in files larger than %.1f MB, only the beginning and the end were searched", float64(skim)/1e6))
}

// attempts bounds how often the engine re-derives its conclusions after the verifier rejected a quotation.
const attempts = 3

// opinion resolves and diagnoses by one catalogue.
func opinion(ctx context.Context, in Input, obs *worker.Observations, handed resolve.Handed, files verify.Files, earlier diagnose.Earlier) (*incident.Report, error) {
	facts, err := resolve.Resolve(ctx, resolve.Input{Obs: obs, Accounting: in.book, Daemons: in.daemons, Handed: handed, Spoken: in.spoken, Sources: in.Sources, Nodes: in.Nodes, NodesFrom: in.NodesFrom, Covered: in.Covered, WorldSize: in.WorldSize, JobZone: in.JobZone, JobID: in.JobID, JobName: in.JobName})
	if err != nil {
		return nil, err
	}
	if len(facts.Daemons) > 0 {
		if facts.Said, err = said(ctx, in.Opener, files, in.kept, correlate.Wanted(facts)); err != nil {
			return nil, err
		}
	}
	facts.LastWords = in.lastWords(ctx, facts)
	around, err := said(ctx, in.Opener, files, in.kept, figures.Around(facts))
	if err != nil {
		return nil, err
	}
	figures.Dismiss(facts, around)
	if err := in.nearer(ctx, facts, files); err != nil {
		return nil, err
	}
	if err := in.onset(ctx, facts, files); err != nil {
		return nil, err
	}
	if err := compared(ctx, in, facts, files); err != nil {
		return nil, err
	}
	in.snapshots(ctx, facts)
	r, err := weighed(ctx, in, facts, earlier)
	if err != nil {
		return nil, err
	}
	steps, err := said(ctx, in.Opener, files, in.kept, append(figures.Wanted(facts), figures.Pictured(facts, r.Course)...))
	if err != nil {
		return nil, err
	}
	maps.Copy(steps, facts.Restated)
	r.Figures = figures.Of(facts, steps)
	figures.Times(r, facts)
	if r.Course != nil {
		figures.Fill(r.Course, facts, steps)
	}
	if in.Moment == nil {
		return r, nil
	}
	lines, err := said(ctx, in.Opener, files, in.kept, triage.Wanted(facts))
	if err != nil {
		return nil, err
	}
	maps.Copy(lines, facts.Restated)
	if t := triage.Look(facts, r, *in.Moment, in.Sources, lines); t.State != incident.StateEnded {
		r.Triage = t
	}
	return r, nil
}

// weighed is the verdict on facts, once more with the lines that stand out where no known failure explains them.
func weighed(ctx context.Context, in Input, facts *resolve.Facts, earlier diagnose.Earlier) (*incident.Report, error) {
	r := diagnose.RunAfter(facts, earlier)
	r.Trail = facts.Trail()
	if !unsettled(r) {
		var err error
		if facts.Unread, facts.Alike, err = in.unread(ctx, facts, r); err != nil || len(facts.Unread)+len(facts.Alike) == 0 {
			return r, err
		}
		if r = diagnose.RunAfter(facts, earlier); !unsettled(r) {
			r.Trail = facts.Trail()
			return r, nil
		}
	}
	var shapes []string
	var err error
	if facts.Standing, shapes, err = in.standing(ctx, facts, earlier.Book); err != nil {
		return nil, err
	}
	if r = diagnose.RunAfter(facts, earlier); r.Verdict.Status == incident.NoFailure {
		r.Shapes = shapes
	}
	r.Trail = facts.Trail()
	return r, nil
}

// conclude resolves, diagnoses and verifies. Observations whose quotation the verifier rejects are withdrawn and
// everything that rests on them is derived again, without them.
func conclude(ctx context.Context, in Input, obs *worker.Observations, failed []string, earlier diagnose.Earlier) (*incident.Report, error) {
	verifier, files, sums := verify.Verifier{Open: in.Opener}, verify.Files{}, map[string]string{}
	for _, s := range in.everything() {
		files[s.Name] = s.Path
		if s.SHA256 != "" || !in.Unhashed {
			sums[s.Name] = s.SHA256
		}
	}
	var withdrawn []string
	for try := 0; ; try++ {
		r, err := draft(ctx, in, obs, failed, files, earlier)
		if err != nil {
			return nil, err
		}
		res, failures, err := verifier.ReportAndHash(ctx, files, r, sums)
		if err != nil {
			return nil, fmt.Errorf("verify the report: %w", err)
		}
		if bad := misquoted(failures); len(bad) > 0 && try < attempts {
			withdrawn = append(withdrawn, reasons(failures)...)
			obs = without(obs, bad)
			rejected := func(file string, off int64) bool { return bad[position{file, off}] }
			in.book, in.daemons = in.book.Without(rejected), aislog.Without(in.daemons, rejected)
			continue
		}
		// What is left are counts, sets and absences that do not hold as written: they are withdrawn one by one; the
		// quotations they summed up stand by themselves. In files that are being written others fail the next time.
		for round := 0; len(failures) > 0; round++ {
			if round == attempts {
				return nil, fmt.Errorf("the report failed verification: %s: %s", failures[0].Path, failures[0].Reason)
			}
			withdrawn = append(withdrawn, reasons(failures)...)
			links, gaps := backed(r)
			prune(r, failures)
			dropBare(r, links, gaps)
			if res, failures, err = verifier.ReportAndHash(ctx, files, r, nil); err != nil {
				return nil, fmt.Errorf("verify the pruned report: %w", err)
			}
		}
		res.Withdrawn = append([]string{}, withdrawn...)
		r.Verification = res
		if err := hashCited(ctx, in.Opener, in.everything(), sums, r); err != nil {
			return nil, err
		}
		return r, nil
	}
}

// draft is the report that observations add up to, with its quotations, before anybody has verified it.
func draft(ctx context.Context, in Input, obs *worker.Observations, failed []string, files verify.Files, earlier diagnose.Earlier) (*incident.Report, error) {
	r, err := judge(ctx, in, obs, in.handed, files, earlier)
	if err != nil {
		return nil, err
	}
	if !in.handed.Empty() && len(in.Sources) > 0 {
		without, err := judge(ctx, in, obs, resolve.Handed{}, files, earlier)
		if err != nil {
			return nil, err
		}
		diagnose.Revise(r, without, in.beside)
	}
	r.Engine = incident.Engine{Version: in.Version, RulesVersion: RulesVersion, Site: in.Known.Site().Files}
	for _, f := range failed {
		r.Warnings = append(r.Warnings, "not read completely: "+f)
	}
	r.Warnings = append(r.Warnings, in.notes...)
	r.Coverage.Gaps = slices.Concat(in.Gaps, r.Coverage.Gaps)
	if in.Skim > 0 {
		firstLook(r, in.Skim)
	}
	if err := fillQuotes(ctx, in.Opener, files, in.kept, r); err != nil {
		return nil, err
	}
	computeRatios(r)
	links, gaps := backed(r)
	pruneUncountable(r, uncountable(in, obs))
	dropBare(r, links, gaps)
	return r, nil
}

// misquoted are the places of quotations that the verifier rejects.
func misquoted(failures []verify.Failure) map[position]bool {
	bad := map[position]bool{}
	for _, f := range failures {
		if f.Evidence.Kind == incident.KindQuote {
			bad[position{f.Evidence.File, f.Evidence.Offset}] = true
		}
	}
	return bad
}

func reasons(failures []verify.Failure) (out []string) {
	for _, f := range failures {
		out = append(out, fmt.Sprintf("%s: %s", f.Path, f.Reason))
	}
	return out
}

// uncountable are the files in which records cannot be counted line by line: a terminal wrapped them over several lines,
// or only their ends were searched.
func uncountable(in Input, obs *worker.Observations) map[string]bool {
	out := map[string]bool{}
	for _, t := range obs.Tails {
		if t.Joined {
			out[t.File] = true
		}
	}
	for _, s := range in.Sources {
		if in.Skim > 0 && s.Bytes > in.Skim {
			out[s.Name] = true
		}
	}
	return out
}
