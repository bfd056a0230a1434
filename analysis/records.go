package analysis

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/scan"
	"faultline/incident"
)

// maxRecords is the largest file that may be the accounting of a job: logs beyond it are not asked for it.
const maxRecords = 16 << 20

// separate takes the files out of the sources that are no logs of the job: what SLURM keeps of it, what the daemons of the storage
// wrote, and the dumps of the ranks' flight recorders. They are evidence like logs, but no node or file of the job is missing
// without them, and none is there because of them.
func separate(ctx context.Context, in *Input) error {
	in.both = nil
	var logs []incident.Source
	var books []*accounting.Book
	apart := false
	var room bytes.Buffer
	for _, s := range in.Sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		kind, book, err := readRecords(ctx, s, &room)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case kind == daemonLog:
			in.Storage = append(slices.Clip(in.Storage), s)
			apart = true
			continue
		case kind == evidence:
			in.Evidence = append(slices.Clip(in.Evidence), s)
			apart = true
			continue
		case kind == evidenceToo:
			in.both = append(in.both, s)
			logs = append(logs, s)
			continue
		case book == nil:
			logs = append(logs, s)
			continue
		}
		if err != nil {
			book.Warnings = append(book.Warnings, fmt.Sprintf("%s: %v", s.Name, err))
		}
		books = append(books, book)
		in.records = append(in.records, s)
	}
	if len(books) > 0 {
		in.book = accounting.Merge(books...)
	}
	if len(books) > 0 || apart {
		in.Sources = logs
	}
	return nil
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

// readRecords finds out what a file is, and reads it if it holds records of SLURM.
func readRecords(ctx context.Context, s incident.Source, room *bytes.Buffer) (kind, *accounting.Book, error) {
	head, err := headInto(room, s, logHead)
	if err != nil {
		return jobLog, nil, nil // whoever reads it as a log says why not
	}
	first := head[:min(len(head), accounting.HeadLen)]
	if aislog.Headed(first) {
		return daemonLog, nil, nil
	}
	if s.Bytes <= maxRecords && accounting.Recognise(first) != accounting.None {
		f, err := scan.Open(s.Path)
		if err != nil {
			return jobLog, nil, nil
		}
		defer f.Close()
		if book, err := accounting.Read(ctx, s.Name, f); book.Genuine() {
			return slurmRecords, book, plain(err)
		}
	}
	// A large log is asked for what it begins with only.
	whole := s.Bytes < smallLog && len(head) < smallLog
	switch kinds := kindsIn(head, whole); {
	case len(kinds) == 0:
		return jobLog, nil, nil
	case kinds[0].alone && kinds[0].recognise(head): // not merely pasted into a log
		return evidence, nil, nil
	}
	return evidenceToo, nil, nil
}

// everything are all files that the report may quote.
func (in *Input) everything() []incident.Source {
	return slices.Concat(in.Sources, in.records, in.History, in.Storage, in.Evidence, in.Baseline)
}
