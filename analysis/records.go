package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/scan"
	"faultline/incident"
)

// maxRecords is the largest file that may be the accounting of a job: logs beyond it are not even looked at for it.
const maxRecords = 16 << 20

// separate takes the files out of the sources that no process of the job wrote: what SLURM keeps of it, and what the daemons of
// the storage wrote. They are evidence like
// logs, but no rank, node or file of the job is missing without them, and none is there because of them.
func separate(ctx context.Context, in *Input) error {
	var logs []incident.Source
	var books []*accounting.Book
	apart := false
	for _, s := range in.Sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		book, err := readRecords(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if book == nil {
			if storage, _ := isDaemonLog(s, aislog.Headed); storage { // whoever reads it as a log says why it cannot be opened
				in.Storage = append(slices.Clip(in.Storage), s)
				apart = true
				continue
			}
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

// readRecords reads a file if it holds records of SLURM, else the book is nil.
func readRecords(ctx context.Context, s incident.Source) (*accounting.Book, error) {
	if s.Bytes > maxRecords {
		return nil, nil
	}
	f, err := scan.Open(s.Path)
	if err != nil {
		return nil, nil // whoever reads it as a log says why not
	}
	defer f.Close()
	head := make([]byte, accounting.HeadLen)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || accounting.Recognise(head[:n]) == accounting.None {
		return nil, nil
	}
	book, err := accounting.Read(ctx, s.Name, io.MultiReader(bytes.NewReader(head[:n]), f))
	if !book.Genuine() {
		return nil, nil
	}
	return book, plain(err)
}

// everything are all files that the report may quote.
func (in *Input) everything() []incident.Source {
	return slices.Concat(in.Sources, in.records, in.History, in.Storage)
}
