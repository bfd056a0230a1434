package analysis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// Bounds of the search for what a rank wrote last.
const (
	lastWordsRead = 256 << 20 // of one file
	lastWordsLine = 4 << 10   // of one line
)

// lastWords finds the last line of a rank's program before a moment. Reading the logs kept only lines that matter; what a rank did before it stalled
// may be any line.
func (in *Input) lastWords(ctx context.Context, f *resolve.Facts) resolve.LastWords {
	paths := map[string]string{}
	for _, s := range in.Sources {
		paths[s.Name] = s.Path
	}
	return func(r *resolve.Rank, before resolve.Moment, offsets map[string]int64) (at worker.At, text string, ok bool) {
		for _, name := range r.Files {
			src, err := in.Opener.Open(paths[name])
			if err != nil {
				return worker.At{}, "", false // reading the logs said so; its last line may stand there
			}
			w := lastOf{ctx: ctx, facts: f, file: name, rank: r, before: before}
			end, stated := offsets[name]
			if !stated {
				end = math.MaxInt64
			}
			whole := w.read(src, end, lastWordsRead)
			src.Close()
			if !whole {
				return worker.At{}, "", false // what was found may be hours older than the last line
			}
			if w.text != "" && (!ok || f.At(at).Before(f.At(w.at))) {
				at, text, ok = w.at, w.text, true
			}
		}
		return at, text, ok
	}
}

// lastOf is the search in one file.
type lastOf struct {
	ctx    context.Context
	facts  *resolve.Facts
	file   string
	rank   *resolve.Rank
	before resolve.Moment
	at     worker.At
	text   string
}

// read searches a file up to an offset, or to where the wait begins; false where that lies beyond the most that is read.
func (w *lastOf) read(src io.Reader, end, most int64) (whole bool) {
	r := bufio.NewReaderSize(io.LimitReader(src, min(end, most)), lastWordsLine)
	var off, n int64
	for begins := true; ; {
		b, err := r.ReadSlice('\n')
		if begins {
			n++
			if n%4096 == 0 && w.ctx.Err() != nil {
				return false
			}
			if !w.take(b, n, off) {
				return true
			}
		}
		begins = err == nil
		off += int64(len(b))
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return false
		default:
			return off < most || end <= most
		}
	}
}

// take looks at one line; false ends the search, because the wait has begun.
func (w *lastOf) take(b []byte, n, off int64) bool {
	b = bytes.TrimRight(b, "\r\n")
	drawn := bytes.LastIndexByte(b, '\r') + 1 // of a bar that is drawn again and again the last picture counts
	p := line.Parse(b)
	at := worker.At{Pos: worker.Pos{File: w.file, Line: n, Off: off, Len: len(b)}, By: &p.Who, Stamp: p.Stamp}
	if !w.wrote(at) {
		return true
	}
	if t := w.facts.At(at); t.Valid && w.before.Valid && !t.Before(w.before) {
		return false
	}
	if ofRuntime(p) {
		return true
	}
	text := line.StripANSI(nil, b[max(min(p.Len, len(b)), drawn):])
	if indented(text, p.Len > 0) {
		return true // the code that a line above is about
	}
	if text = bytes.TrimSpace(text); bytes.ContainsFunc(text, letter) && !ofScheduler(text) {
		who := p.Who
		at.By = &who
		w.at, w.text = at, string(bytes.ToValidUTF8(text, []byte("�")))
	}
	return true
}

// indented tells whether a line begins as code that Python prints below what it says of it: by two blanks, of which a label that stands
// close to its text has taken one. A progress bar's number may stand behind a blank as well.
func indented(text []byte, labelled bool) bool {
	rest := bytes.TrimLeft(text, " ")
	blanks := len(text) - len(rest)
	return blanks > 1 || labelled && blanks == 1 && len(rest) > 0 && letter(rune(rest[0]))
}

// ofRuntime tells whether NCCL, UCX or PyTorch's C++ code wrote a line: below an error it does not show what the program was doing.
func ofRuntime(p line.Prefix) bool {
	switch p.Form {
	case line.NCCLInfo, line.UCX, line.C10:
		return p.Severity != 'E' && p.Severity != 'F'
	}
	return false
}

// ofScheduler tells whether SLURM or its container plugin wrote a line into the program's output.
func ofScheduler(text []byte) bool {
	writer, _, ok := bytes.Cut(text, []byte{':'})
	switch string(writer) {
	case "srun", "slurmstepd", "pyxis", "enroot":
		return ok
	}
	return false
}

// wrote tells whether a line is the rank's: by its label or its file, or because it is the line by which the rank is known.
func (w *lastOf) wrote(at worker.At) bool {
	if rank, ok := w.facts.RankOf(at); ok {
		return rank == w.rank.ID
	}
	known := func(k worker.At) bool { return k.File == at.File && k.Off == at.Off }
	return known(w.rank.First) || known(w.rank.LastAt)
}

func letter(r rune) bool { return ascii.Letter(r) || r >= 0x80 }
