package analysis

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/filename"
	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/pattern"
)

// maxRecords is the largest file that may be the accounting of a job: logs beyond it are not asked for it.
const maxRecords = 16 << 20

// separate takes the files out of the sources that are no logs of the job: what SLURM keeps of it, what the daemons of the storage
// wrote, and the dumps of the ranks' flight recorders. They are evidence like logs, but no node or file of the job is missing
// without them, and none is there because of them.
func separate(ctx context.Context, in *Input) error {
	in.both = nil
	looks := make([]looked, len(in.Sources))
	rooms := &sync.Pool{New: func() any { return new(bytes.Buffer) }}
	g, looking := errgroup.WithContext(ctx)
	g.SetLimit(in.workers())
	few := smallTogether(in.Sources)
	for i, s := range in.Sources {
		g.Go(func() error {
			room := rooms.Get().(*bytes.Buffer)
			defer rooms.Put(room)
			looks[i] = look(looking, in.Opener, s, room, few)
			return looking.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var logs []incident.Source
	var books []*accounting.Book
	apart := false
	for i, s := range in.Sources {
		switch l := &looks[i]; l.kind {
		case daemonLog:
			in.Storage = append(slices.Clip(in.Storage), s)
			apart = true
		case evidence:
			in.Evidence = append(slices.Clip(in.Evidence), s)
			apart = true
		case evidenceToo:
			in.both = append(in.both, given{source: s, kinds: l.kinds, log: l.kinds == nil})
			logs = append(logs, s)
		case slurmRecords:
			if l.err != nil {
				l.book.Warnings = append(l.book.Warnings, fmt.Sprintf("%s: %v", s.Name, l.err))
			}
			books = append(books, l.book)
			in.records = append(in.records, s)
		default:
			logs = append(logs, s)
		}
	}
	if len(books) > 0 || apart {
		in.Sources = logs
	}
	handed, err := separateHanded(ctx, in)
	if err != nil {
		return err
	}
	if books = append(books, handed...); len(books) > 0 {
		in.book = accounting.Merge(books...)
	}
	return nil
}

// statedJob is the job's number as SLURM's own lines and its environment have it.
var statedJob = pattern.New(`(?:SLURM_JOB_?ID["']?[=: ]{1,3}"?|\*\*\* (?:STEP|JOB) )(\d{1,10})\b`)

// jobsOf are the jobs that the names of logs state, or else what they begin with, and the one that was asked for.
func jobsOf(in *Input) map[string]bool {
	out := map[string]bool{}
	if in.JobID != "" {
		out[in.JobID] = true
	}
	names := make([]string, len(in.Sources))
	for i, s := range in.Sources {
		names[i] = s.Name
	}
	for _, n := range filename.Parse(names) {
		if n.Job != "" {
			out[n.Job] = true
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, s := range in.Sources {
		if head, err := headOf(in.Opener, s, logHead); err == nil {
			for _, m := range statedJob.FindAllSubmatch(head, -1) {
				out[string(m[1])] = true
			}
		}
	}
	return out
}

// separateHanded takes what SLURM keeps of the job out of what was handed in as evidence. Records of other jobs alone are none of it.
func separateHanded(ctx context.Context, in *Input) ([]*accounting.Book, error) {
	var books []*accounting.Book
	var ours map[string]bool
	taken := false
	var rest []incident.Source
	for _, s := range in.Evidence {
		head, err := headOf(in.Opener, s, accounting.HeadLen)
		if err != nil || s.Bytes > maxRecords || accounting.Recognise(head[:min(len(head), accounting.HeadLen)]) == accounting.None {
			rest = append(rest, s) // whoever reads it says what is wrong with it
			continue
		}
		l := look(ctx, in.Opener, s, new(bytes.Buffer), true)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.kind != slurmRecords {
			rest = append(rest, s)
			continue
		}
		if ours == nil {
			ours = jobsOf(in)
		}
		if jobs := l.book.Jobs(); len(ours) > 0 && len(jobs) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(ours)), func(id string) bool { return slices.Contains(jobs, l.book.Canonical(id)) }) {
			in.notes = append(in.notes, fmt.Sprintf("not used: %s contains SLURM's records for job %s, but the logs are from another job", s.Name, jobs[0]))
			taken = true
			continue
		}
		if l.err != nil {
			l.book.Warnings = append(l.book.Warnings, fmt.Sprintf("%s: %v", s.Name, l.err))
		}
		books = append(books, l.book)
		in.records = append(in.records, s)
		taken = true
	}
	if taken {
		in.Evidence = rest
	}
	return books, nil
}

// kind is what a file among the sources is.
type kind uint8

const (
	jobLog kind = iota
	slurmRecords
	daemonLog   // of a storage daemon, by its first line
	evidence    // beside logs
	evidenceToo // a log that is, or holds, evidence beside logs
)

// looked is what a look at a file told.
type looked struct {
	kind  kind
	book  *accounting.Book // slurmRecords
	err   error            // slurmRecords: what is wrong with it
	kinds []*evidenceKind  // evidenceToo, where all of the file was looked at
}

// smallTogether says that the small logs of a job are so few that all of each may be searched for what somebody pasted into it.
func smallTogether(sources []incident.Source) bool {
	all := int64(0)
	for _, s := range sources {
		if s.Bytes < smallLog {
			all += s.Bytes
		}
	}
	return all < smallLogs
}

// look finds out what a file is, and reads it if it holds records of SLURM. few says that small ones may be searched as a whole.
func look(ctx context.Context, from scan.Opener, s incident.Source, room *bytes.Buffer, few bool) looked {
	read := headInto
	if !few {
		read = startInto
	}
	head, err := read(room, from, s, logHead)
	if err != nil {
		return looked{} // whoever reads it as a log says why not
	}
	first := head[:min(len(head), accounting.HeadLen)]
	if aislog.Headed(first) {
		return looked{kind: daemonLog}
	}
	if s.Bytes <= maxRecords && accounting.Recognise(first) != accounting.None {
		f, err := from.Open(s.Path)
		if err != nil {
			return looked{}
		}
		defer f.Close()
		if book, err := accounting.Read(ctx, s.Name, f); book.Genuine() {
			return looked{kind: slurmRecords, book: book, err: plain(err)}
		}
	}
	// A large log, and one of very many, is asked for what it begins with only.
	whole := few && s.Bytes < smallLog && len(head) < smallLog
	besides := (*evidenceKind).begins
	if !whole {
		besides = (*evidenceKind).alike // of a log with numbers in its lines they are no table
	}
	switch kinds := kindsIn(head, whole, besides); {
	case len(kinds) == 0:
		return looked{}
	case kinds[0].alike(head) && !tells(ctx, s.Name, head):
		return looked{kind: evidence}
	case kinds[0].besides && !whole:
		return looked{}
	case kinds[0].alone && kinds[0].recognise(head), // not merely pasted into a log
		whole && !kinds[0].besides && kinds[0].alike(head),
		whole && !kinds[0].besides && kinds[0].recognise(head) && mute(ctx, s.Name, head): // a name may hold a rank; its silence tells nothing
		return looked{kind: evidence}
	case whole:
		return looked{kind: evidenceToo, kinds: kinds}
	}
	return looked{kind: evidenceToo}
}

// mute says that a text holds nothing that a job writes.
func mute(ctx context.Context, name string, text []byte) bool {
	sc, err := worker.NewScanner()
	if err != nil {
		return false // reading the logs says so
	}
	obs, err := worker.Read(ctx, name, bytes.NewReader(text), sc)
	return err == nil && obs.Empty()
}

// everything are all files that the report may quote.
func (in *Input) everything() []incident.Source {
	return slices.Concat(in.Sources, in.records, in.History, in.Storage, in.Evidence, in.Baseline)
}
