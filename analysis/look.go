package analysis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/line"
	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/incident"
)

// lookedAt is how much of a file is read to tell whether it is a log.
const lookedAt = 4 << 20

// Beside says by its start that a file is evidence beside logs.
func Beside(start []byte) bool {
	return slices.ContainsFunc(evidenceKinds, func(k evidenceKind) bool { return k.recognise(start) })
}

// Records says by its start that a file holds records which a run writes of itself: its first lines are objects in JSON that state a time, a
// message or a step.
func Records(start []byte) bool {
	var u line.Unwrapper
	n := 0
	for l := range bytes.Lines(start) {
		text := bytes.TrimSpace(l)
		if whole := len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}'; !whole {
			return n > 0 && !bytes.HasSuffix(l, []byte("\n")) && len(text) > 0 && text[0] == '{'
		}
		e, logged := u.Unwrap(text)
		if !logged && e.Stamp.Kind == line.NoStamp && !worker.NamesStep(text) {
			return false
		}
		const enough = 3
		if n++; n == enough {
			return true
		}
	}
	return n > 0
}

// DaemonLog says that a file is the log of a storage daemon.
func DaemonLog(from scan.Opener, s incident.Source) bool {
	head, err := headOf(from, s, logHead)
	return err == nil && aislog.Headed(head[:min(len(head), accounting.HeadLen)])
}

// Look says for people what a file is that somebody handed in, by its content alone; known is false where it is nothing that is known.
func Look(ctx context.Context, from scan.Opener, s incident.Source) (what string, known bool, err error) {
	head, err := headOf(from, s, logHead)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", s.Name, plain(err))
	}
	first := head[:min(len(head), accounting.HeadLen)]
	switch kinds := kindsIn(head, len(head) < smallLog, (*evidenceKind).begins); {
	case aislog.Headed(first):
		return "log of a storage daemon", true, nil
	case s.Bytes <= maxRecords && accounting.Recognise(first) != accounting.None:
		return "SLURM's records", true, nil
	case len(kinds) > 0 && (!kinds[0].besides || kinds[0].alike(head)):
		return kinds[0].name, true, nil
	}
	sc, err := worker.NewScanner()
	if err != nil {
		return "", false, fmt.Errorf("compile the literals to scan for: %w", err)
	}
	f, err := from.Open(s.Path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", s.Name, plain(err))
	}
	defer f.Close()
	obs, err := worker.Read(ctx, s.Name, io.LimitReader(f, lookedAt), sc)
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	if err != nil && obs == nil {
		return "", false, fmt.Errorf("%s: %w", s.Name, plain(err))
	}
	if obs.Empty() {
		return "", false, nil
	}
	return "log", true, nil
}
