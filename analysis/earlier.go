package analysis

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/lines"
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
			if steps := err == nil && tells(ctx, s.Name, head); err == nil && (steps || !record(head)) {
				in.earlierLogs = append(in.earlierLogs, *s)
				unread = append(unread, book)
				logs = logs || steps
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
	facts.Preceding.Oftener = in.repeated(ctx, facts)
	return nil
}

// leastRepeated are so many lines of a kind that a run prints again and again.
const leastRepeated = 10

// repeated finds the kind of line that this run's log has most often, and the earlier run's has not.
func (in *Input) repeated(ctx context.Context, facts *resolve.Facts) *resolve.Oftener {
	was := in.kindsOf(ctx, in.earlierLogs, in.preceding.Facts)
	for _, k := range in.kindsOf(ctx, in.Sources, facts) {
		if k.since < leastRepeated {
			break
		}
		if !slices.ContainsFunc(was, func(o *saying) bool { return alike(o.masked, k.masked) > leastAlike }) {
			return &resolve.Oftener{News: resolve.News{Text: k.text, At: k.at}, Since: k.since}
		}
	}
	return nil
}

// kindsOf are the kinds of lines in the log that shows most steps, as far as they are looked at, the commonest of them.
func (in *Input) kindsOf(ctx context.Context, sources []incident.Source, f *resolve.Facts) []*saying {
	const head, most = 2 << 20, 64
	c := f.Longest(func(*resolve.Point) bool { return true })
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(sources, func(s incident.Source) bool { return s.Name == c.File })
	if i < 0 {
		return nil
	}
	text, err := headOf(in.Opener, sources[i], head)
	if err != nil {
		return nil
	}
	var all kinds
	err = lines.Each(ctx, bytes.NewReader(text), func(l lines.Line) error {
		if k := all.of(l); k != nil {
			k.seen(c.File, l)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(all.list, func(a, b *saying) int { return b.since - a.since })
	return all.list[:min(len(all.list), most)]
}

func summed(ctx context.Context, in Input, facts *resolve.Facts, files verify.Files) ([]incident.Figure, error) {
	lines, err := said(ctx, in.Opener, files, in.kept, figures.Wanted(facts))
	if err != nil {
		return nil, err
	}
	return figures.Of(facts, lines), nil
}
