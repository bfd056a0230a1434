package analysis

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose"
	"faultline/analysis/figures"
	"faultline/analysis/history"
	"faultline/analysis/resolve"
	"faultline/analysis/scan"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/incident"
)

// recall reads what is kept of earlier runs. A file whose name a log has too is called otherwise, so that evidence names one
// file only. What cannot be read is a warning: the logs of this run speak for themselves.
func recall(ctx context.Context, in *Input) (diagnose.Earlier, error) {
	e := diagnose.Earlier{Who: history.Who{Cluster: in.Cluster, User: in.User}}
	if len(in.History) == 0 {
		return e, nil
	}
	taken := map[string]bool{}
	for _, s := range in.Sources {
		taken[s.Name] = true
	}
	in.History = slices.Clone(in.History)
	var books, unread []*history.Book // unread: of what may be logs
	logs := false
	for i := range in.History {
		s := &in.History[i]
		for taken[s.Name] {
			s.Name = "history/" + s.Name
		}
		taken[s.Name] = true
		book, err := readHistory(ctx, in.Opener, *s)
		if ctx.Err() != nil {
			return e, ctx.Err()
		}
		if err == nil && len(book.Runs) == 0 {
			head, err := headOf(in.Opener, *s, logHead)
			if err == nil && !record(head) {
				in.earlierLogs = append(in.earlierLogs, *s)
				unread = append(unread, book)
				logs = logs || tells(ctx, s.Name, head)
				continue
			}
		}
		if err != nil {
			book = &history.Book{Files: []string{s.Name}, Warnings: []string{fmt.Sprintf("%s: not used: %v", s.Name, err)}}
		}
		books = append(books, book)
	}
	if !logs {
		for i := range in.earlierLogs {
			if s := &in.earlierLogs[i]; s.Bytes > 0 {
				unread[i].Warnings = append(unread[i].Warnings, s.Name+": not used: it holds neither a history of runs nor a job's log")
			}
		}
		books, in.earlierLogs = append(books, unread...), nil
	}
	if len(books) > 0 {
		e.Book = history.Merge(books...)
	}
	return e, nil
}

// tells says that a text holds what a job writes, or steps in words of its own.
func tells(ctx context.Context, name string, text []byte) bool {
	steps, err := worker.Summed(ctx, name, bytes.NewReader(text))
	return err == nil && steps != nil || !mute(ctx, name, text)
}

// record says that a file that begins so is meant for a history, and no log: it begins with an object.
func record(head []byte) bool {
	head = bytes.TrimSpace(head)
	return len(head) == 0 || head[0] == '{'
}

func readHistory(ctx context.Context, from scan.Opener, s incident.Source) (*history.Book, error) {
	f, err := from.Open(s.Path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	book, err := history.Read(ctx, s.Name, f)
	if err != nil {
		return nil, plain(err)
	}
	return book, nil
}

// precede reads the logs of an earlier run of the job, if any were given: this run may have been slow from its first step.
func precede(ctx context.Context, in *Input) error {
	if len(in.earlierLogs) == 0 {
		return nil
	}
	old := Input{Sources: in.earlierLogs, Opener: in.Opener, Known: in.Known, Workers: in.Workers, Skim: in.Skim, kept: newKeeper(), newcomers: new(newcomers)}
	obs, failed, err := read(ctx, old)
	if err != nil {
		return err
	}
	for _, f := range failed {
		in.notes = append(in.notes, "earlier run not read completely: "+f)
	}
	if old.spoken, err = spoken(ctx, old, obs); err != nil {
		return err
	}
	facts, err := resolve.Resolve(ctx, resolve.Input{Obs: obs, Spoken: old.spoken, Sources: old.Sources})
	if err != nil {
		return fmt.Errorf("the earlier run: %w", err)
	}
	in.preceding = &resolve.Preceding{Facts: facts}
	return nil
}

// compared adds the figures of both runs.
func compared(ctx context.Context, in Input, facts *resolve.Facts, files verify.Files) error {
	if in.preceding == nil {
		return nil
	}
	was, err := summed(ctx, in, in.preceding.Facts, files)
	if err != nil {
		return err
	}
	is, err := summed(ctx, in, facts, files)
	if err != nil {
		return err
	}
	facts.Preceding = &resolve.Preceding{Facts: in.preceding.Facts, Was: was, Is: is}
	all := slices.Concat(in.Sources, in.Evidence)
	slices.SortFunc(all, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	facts.Preceding.Otherwise = otherwise(openings(ctx, &in, all, firstSteps(facts)), openings(ctx, &in, in.earlierLogs, firstSteps(in.preceding.Facts)))
	return nil
}

func summed(ctx context.Context, in Input, facts *resolve.Facts, files verify.Files) ([]incident.Figure, error) {
	lines, err := said(ctx, in.Opener, files, in.kept, figures.Wanted(facts))
	if err != nil {
		return nil, err
	}
	return figures.Of(facts, lines), nil
}
