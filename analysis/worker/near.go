package worker

import (
	"context"
	"fmt"
	"io"
)

// Near reads the progress lines of a file from one line on up to another, those that Read passed over among them. Where there are very many it
// keeps a part of them.
func Near(ctx context.Context, name string, src io.Reader, sc *Scanner, from, to Pos) ([]Progress, error) {
	if _, err := io.CopyN(io.Discard, src, from.Off); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	sc = sc.By(sc.Close())
	sc.thorough = true
	obs, err := Read(ctx, name, io.LimitReader(src, to.Off-from.Off), sc)
	if err != nil {
		return nil, err
	}
	for i := range obs.Progress {
		p := &obs.Progress[i]
		p.Off, p.Line = p.Off+from.Off, p.Line+from.Line-1
	}
	return obs.Progress, nil
}
