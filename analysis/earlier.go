package analysis

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"faultline/analysis/diagnose"
	"faultline/analysis/history"
	"faultline/analysis/scan"
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
