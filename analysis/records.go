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

// maxRecords is the largest file that may be the accounting of a job: logs beyond it are not asked for it.
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
		book, daemon, err := readRecords(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case daemon:
			in.Storage = append(slices.Clip(in.Storage), s)
			apart = true
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

// readRecords reads a file if it holds records of SLURM, else the book is nil. daemon says that the file is the log of a
// storage daemon, by its first line.
func readRecords(ctx context.Context, s incident.Source) (book *accounting.Book, daemon bool, err error) {
	f, err := scan.Open(s.Path)
	if err != nil {
		return nil, false, nil // whoever reads it as a log says why not
	}
	defer f.Close()
	head := make([]byte, accounting.HeadLen)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, nil
	}
	if aislog.Headed(head[:n]) {
		return nil, true, nil
	}
	if s.Bytes > maxRecords || accounting.Recognise(head[:n]) == accounting.None {
		return nil, false, nil
	}
	book, err = accounting.Read(ctx, s.Name, io.MultiReader(bytes.NewReader(head[:n]), f))
	if !book.Genuine() {
		return nil, false, nil
	}
	return book, false, plain(err)
}

// everything are all files that the report may quote.
func (in *Input) everything() []incident.Source {
	return slices.Concat(in.Sources, in.records, in.History, in.Storage)
}
