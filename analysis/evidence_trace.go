package analysis

import (
	"context"
	"io"

	"faultline/analysis/artifact/trace"
	"faultline/analysis/resolve"
)

func readTrace(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	t, err := trace.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(h *resolve.Handed) { h.Traces = append(h.Traces, resolve.FileTrace{File: file, Trace: t}) }, nil
}
