package analysis

import (
	"context"
	"io"
	"slices"
	"strings"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/resolve"
	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/incident"
)

// maxCrash is how much of a log is read behind the first crash in it.
const maxCrash = 32 << 20

// crashed reads the stacks that Python's faulthandler leaves in logs too large to be searched for what is pasted into them: from the
// first crash on.
func crashed(ctx context.Context, in *Input, obs *worker.Observations) error {
	first := map[string]worker.Pos{}
	for i := range obs.Exceptions {
		x := &obs.Exceptions[i]
		if old, seen := first[x.File]; x.Type == "Fatal Python error" && (!seen || x.Off < old.Off) {
			first[x.File] = x.Pos
		}
	}
	var more []resolve.StackFile
	for _, s := range in.Sources {
		at, ok := first[s.Name]
		if !ok || in.Skim > 0 && s.Bytes > in.Skim || slices.ContainsFunc(in.handed.Stacks, func(f resolve.StackFile) bool { return f.Name == s.Name }) {
			continue
		}
		if f := crashIn(ctx, in.Opener, s, at); f != nil {
			more = append(more, resolve.StackFile{Name: s.Name, Stacks: f})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(more) == 0 {
		return nil
	}
	for _, f := range more {
		in.beside[f.Name] = true
	}
	in.handed.Stacks = append(slices.Clip(in.handed.Stacks), more...)
	slices.SortStableFunc(in.handed.Stacks, func(a, b resolve.StackFile) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// crashIn reads what stands behind a crash; nil where that is no stack, or cannot be read, which is said already.
func crashIn(ctx context.Context, from scan.Opener, s incident.Source, at worker.Pos) *stacks.File {
	f, err := from.Open(s.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if scan.Skip(f, at.Off) != nil {
		return nil
	}
	out, err := stacks.ReadFrom(ctx, io.LimitReader(f, maxCrash), at.Line, at.Off)
	if err != nil {
		return nil
	}
	return out
}
