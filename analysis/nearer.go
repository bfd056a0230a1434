package analysis

import (
	"context"
	"fmt"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
)

// Limits of a second look at where a slowdown began.
const (
	nearLooks = 3
	nearBytes = 16 << 20
)

// nearer looks once more at the lines among which the job slowed down, where some were passed over: of a long log only a part is read.
func (in *Input) nearer(ctx context.Context, facts *resolve.Facts, files verify.Files) error {
	for range nearLooks {
		d, ok := mechanism.SlowedAt(facts)
		if !ok || d.Prior == nil || d.Onset.At.Off-d.Prior.At.Off > nearBytes || in.Skim > 0 {
			return nil
		}
		between, err := in.between(ctx, files[d.Course.File], &d)
		if err != nil {
			return err
		}
		if !facts.Nearer(&d, between) {
			return nil
		}
	}
	return nil
}

// between are the progress lines between the last normal line that was read and the first slow one.
func (in *Input) between(ctx context.Context, path string, d *resolve.Slowdown) ([]worker.Progress, error) {
	sc, err := worker.ScannerOf(in.Known)
	if err != nil {
		return nil, fmt.Errorf("compile the literals to scan for: %w", err)
	}
	f, err := in.Opener.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Course.File, plain(err))
	}
	defer f.Close()
	return worker.Near(ctx, d.Course.File, f, sc, d.Prior.At.Pos, d.Onset.At.Pos)
}
