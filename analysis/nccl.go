package analysis

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/artifact/ras"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

func readNCCL(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	l, err := nccl.Read(ctx, file, r)
	if l == nil {
		return nil, err
	}
	return func(h *resolve.Handed) { h.NCCL = append(h.NCCL, l) }, err
}

func readRAS(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	s, err := ras.Read(ctx, file, r)
	if len(s) == 0 {
		return nil, err
	}
	return func(h *resolve.Handed) { h.RAS = append(h.RAS, s...) }, err
}

// spoken is what NCCL says in logs in which it speaks among others. Where it speaks of its calls every line counts, and the log is read
// once more as if NCCL had written all of it.
func spoken(ctx context.Context, in Input, obs *worker.Observations) ([]*nccl.Log, error) {
	calls := map[string]bool{}
	for i := range obs.Facts {
		if x := &obs.Facts[i]; x.Key == worker.CallsKey {
			calls[x.File] = true
		}
	}
	var files []incident.Source
	for _, s := range in.Sources {
		if calls[s.Name] && !handed(in, s.Name) && (in.Skim == 0 || s.Bytes <= in.Skim) {
			files = append(files, s)
		}
	}
	out := make([]*nccl.Log, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(in.workers())
	for i, s := range files {
		g.Go(func() error {
			f, err := in.Opener.Open(s.Path)
			if err != nil {
				return nil // that it cannot be read is said already
			}
			defer f.Close()
			l, err := nccl.Read(ctx, s.Name, f)
			if ctx.Err() != nil {
				return fmt.Errorf("reading %s: %w", s.Name, ctx.Err())
			}
			if err != nil || l.Lines > 0 {
				out[i] = l
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, l := range obs.NCCL {
		if !handed(in, l.File) {
			out = append(out, l)
		}
	}
	out = slices.DeleteFunc(out, func(l *nccl.Log) bool { return l == nil })
	slices.SortFunc(out, func(a, b *nccl.Log) int { return strings.Compare(a.File, b.File) })
	return out, nil
}

// handed says that a log is among those that NCCL wrote itself.
func handed(in Input, file string) bool {
	return slices.ContainsFunc(in.handed.NCCL, func(l *nccl.Log) bool { return l.File == file })
}
