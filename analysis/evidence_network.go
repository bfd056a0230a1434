package analysis

import (
	"context"
	"errors"
	"fmt"
	"io"

	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/resolve"
)

func readTests(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	runs, err := nccltests.Read(ctx, r)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return func(h *resolve.Handed) { h.Tests = append(h.Tests, resolve.TestFile{File: file, Runs: runs}) }, nil
}

// readBaseline reads what somebody states as good. It is evidence of nothing by itself.
func readBaseline(ctx context.Context, in *Input) error {
	in.handed.Bandwidth = in.Bandwidth
	if in.handed.Tests == nil { // nothing to compare, and no evidence of its own
		in.handed.Bandwidth = 0
	}
	for _, s := range in.Baseline {
		head, err := headOf(in.Opener, s, evidenceHead)
		if err == nil && !nccltests.Recognise(head) && !nccltests.RecogniseJSON(head) {
			err = errors.New("it is no run of nccl-tests, as text or as the JSON of -J")
		}
		var add func(*resolve.Handed)
		if err == nil {
			add, err = readKind(ctx, in.Opener, s, readTests)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			in.notes = append(in.notes, fmt.Sprintf("not used as a baseline: %s: %v", s.Name, plain(err)))
			continue
		case add == nil:
			continue
		}
		var h resolve.Handed
		add(&h)
		in.handed.Baseline = append(in.handed.Baseline, h.Tests...)
	}
	if in.Bandwidth+float64(len(in.Baseline)) > 0 && in.handed.Tests == nil {
		in.notes = append(in.notes, "a baseline was given, but there is no nccl-tests run to compare with it")
	}
	return nil
}
