package analysis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/figures"
	"faultline/analysis/resolve"
	"faultline/analysis/verify"
	"faultline/incident"
)

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
	if _, slower := facts.Falloff(); slower {
		files := slices.Concat(in.Sources, in.Evidence)
		slices.SortFunc(files, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
		facts.Preceding.Otherwise = otherwise(openings(ctx, &in, files, firstSteps(facts)), openings(ctx, &in, in.earlierLogs, firstSteps(in.preceding.Facts)))
	}
	return nil
}

func summed(ctx context.Context, in Input, facts *resolve.Facts, files verify.Files) ([]incident.Figure, error) {
	lines, err := said(ctx, in.Opener, files, in.kept, figures.Wanted(facts))
	if err != nil {
		return nil, err
	}
	return figures.Of(facts, lines), nil
}
