package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/messages"
)

// byProfile begins what Investigation.Storage says of a configured access; its name follows.
const byProfile = "profile "

// ByProfile says in Investigation.Storage that a configured access was chosen.
func ByProfile(name string) string { return byProfile + name }

// StorageProfile is the configured access that was chosen, if one was.
func (inv *Investigation) StorageProfile() (name string, ok bool) {
	return strings.CutPrefix(inv.Storage, byProfile)
}

// storage brings the logs of the storage daemons: it pulls them, unless people uploaded some, and opens what is there. Whatever
// goes wrong is said to the person who gave the access, and the question is asked again: skipping it is one of the answers.
func (f *Flow) storage(ctx context.Context, inv *Investigation) (outcome, error) {
	out := outcome{event: AISFetched}
	if inv.StoragePull {
		if f.Storage == nil {
			return outcome{event: SkipStorage, says: []string{"no source of storage logs is configured here; storage was not examined"}}, nil
		}
		got, err := f.Storage.Fetch(ctx, *inv)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		var own *Fault
		if f.Deferred && errors.As(err, &own) {
			return outcome{}, fmt.Errorf("fetching the storage logs: %w", err)
		}
		if err != nil {
			why := err.Error()
			if errors.Is(err, ErrAccessLost) {
				inv.Storage = "lost"
				why = "I restarted, and tokens are kept only in memory"
			}
			return f.notFetched(inv, "I couldn't use that access: "+why, why), nil
		}
		inv.StoragePull = false
		inv.StorageLogs = slices.Concat(got.Places, inv.StorageGiven)
		inv.StorageMissing = got.Warnings
		out.note = fmt.Sprintf("logs of %d storage %s", got.Nodes, plural(got.Nodes, "daemon", "daemons"))
		for _, w := range got.Warnings {
			out.says = append(out.says, w)
			out.entries = append(out.entries, f.entry("warning", w))
		}
	}
	if f.Daemons == nil {
		return out, nil
	}
	got, err := f.Daemons(ctx, *inv)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err == nil && len(got.Sources) == 0 {
		err = got.Fault
	}
	var own *Fault
	if f.Deferred && errors.As(err, &own) {
		return outcome{}, fmt.Errorf("unpacking storage logs: %w", err)
	}
	if err != nil || len(got.Sources) == 0 {
		why := "it contains no log"
		if err != nil {
			why = err.Error()
		}
		return f.notFetched(inv, "I couldn't read the storage logs: "+why, why), nil
	}
	inv.StorageSources, out.fault = got.Sources, got.Fault
	for _, w := range got.Warnings {
		if !slices.Contains(inv.StorageMissing, w) {
			inv.StorageMissing = append(inv.StorageMissing, w)
			out.entries = append(out.entries, f.entry("warning", w))
		}
	}
	return out, nil
}

// notFetched asks again, with what was wrong.
func (f *Flow) notFetched(inv *Investigation, said, why string) outcome {
	qs := append([]Question{askAccess(inv, said)}, inv.Open...) // what else is open stays so
	return outcome{event: AISFailed, note: why, asks: f.ask(inv, qs...), entries: []Entry{f.entry("error", why)}}
}

// correlate judges the incident once more, with what the storage daemons say beside what the job says.
func (f *Flow) correlate(ctx context.Context, inv *Investigation) (outcome, error) {
	if len(inv.StorageSources) == 0 {
		n := len(inv.StorageLogs)
		return outcome{event: Correlated, says: []string{fmt.Sprintf("%d %s of storage logs kept with this incident but not read", n, plural(n, "file", "files"))}}, nil
	}
	report, jobs, err := f.diagnose(ctx, inv, 0)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err != nil {
		return outcome{}, fmt.Errorf("analyzing %d job %s and %d storage %s of job %s: %w", len(inv.Sources), plural(len(inv.Sources), "log", "logs"), len(inv.StorageSources), plural(len(inv.StorageSources), "log", "logs"), orUnknown(inv.Job), err)
	}
	if len(report.Storage.Daemons) == 0 {
		why := "none of the files is an AIStore daemon log; those begin with “Started up at” or “Rotated at”"
		inv.StorageSources = nil
		return f.notFetched(inv, "I couldn't read the storage logs: "+why, why), nil
	}
	out := f.concluded(inv, report)
	out.event = Correlated
	out.says = []string{storageRead(out.report, len(out.revisions) > 0)}
	qs := questions(*inv, jobs, f.hint(inv), true)
	out.asks = f.ask(inv, qs...)
	if len(out.revisions) == 0 {
		out.report = nil // the verdict that is there stands; the files that follow have what the daemons say
	}
	return out, nil
}

// ofStorage says that a need is met by the logs of the storage.
func ofStorage(what string) bool {
	what = strings.ToLower(what)
	return strings.Contains(what, "storage") && strings.Contains(what, "log") || strings.Contains(what, "aistore")
}

// storageRead says what the logs of the storage came to.
func storageRead(r *incident.Report, revised bool) string {
	n := len(r.Storage.Daemons)
	text := fmt.Sprintf("I read the logs from %d storage %s along with the job's", n, plural(n, "daemon", "daemons"))
	if w := storageWords[r.Storage.Judgement]; w != "" {
		text += ": " + w
	} else {
		text += ": they neither implicate storage nor rule it out"
	}
	if !revised {
		text += "; " + messages.Unchanged(r)
	}
	return text
}

// storageWords say what is judged of the storage; "" while nothing is.
var storageWords = map[string]string{
	"implicated": "storage was part of the cause",
	"cleared":    "storage is ruled out",
}

// storageText is the judgement on the storage, for revisions.
func storageText(r *incident.Report) string {
	if w := storageWords[r.Storage.Judgement]; w != "" {
		return w
	}
	return "storage's role unknown"
}

// smellsOfStorage says whether the logs of the worker lead to the storage, so that its logs are worth a question of their own: a
// loader or a storage client tells of trouble that is no noise, or a job that reads from AIStore or by Lhotse was held by what
// may be late data. Otherwise they are offered, and nobody is held up.
func smellsOfStorage(r *incident.Report) bool {
	v := &r.Verdict
	if v.Status == incident.NoFailure || len(r.Storage.Daemons) > 0 {
		return false
	}
	of := func(kind string) bool {
		return slices.ContainsFunc(r.Storage.Signs, func(s incident.StorageSign) bool { return s.Kind == kind })
	}
	if of(incident.SignTrouble) {
		return true
	}
	held := func(mechanism, origin string) bool {
		return mechanism == "rank-stalled" || mechanism == "dataloader-stall" || origin == "storage"
	}
	return of(incident.SignUse) && (held(v.Mechanism, v.Origin) ||
		slices.ContainsFunc(v.Candidates, func(c incident.Candidate) bool { return held(c.Mechanism, c.Origin) }))
}

// StorageCommands fetch the logs of a storage cluster where somebody has the ais command: it asks nothing, and makes the directory.
// One archive is easier to hand on than one for each daemon.
var StorageCommands = [2]string{"ais log get cluster ais-logs -y", "tar -czf ais-logs.tar.gz ais-logs"}

// askAccess asks for the logs of the storage cluster; problem is what was wrong with an earlier answer.
func askAccess(inv *Investigation, problem string) Question {
	q := Question{
		Kind:      AskAccess,
		Text:      "The job may have waited for its data. Can I read the AIStore logs?",
		Why:       "A slow read looks like a hang; the storage daemons' logs tell the two apart. Those logs are overwritten within days.",
		Commands:  StorageCommands[:],
		Items:     storageSigns(inv.Report),
		Perishing: true,
	}
	if problem != "" {
		q.Text = strings.TrimRight(problem, ".") + ". Try again, or skip storage?"
	}
	return q
}

// storageSigns are the lines that lead to the question for storage logs.
func storageSigns(r *incident.Report) []string {
	if r == nil {
		return nil
	}
	var signs []string
	seen := map[string]bool{} // one line may say several things
	for _, sign := range r.Storage.Signs {
		for _, e := range sign.Evidence[:min(len(sign.Evidence), 1)] {
			place := fmt.Sprintf("%s:%d", e.File, e.Line)
			if seen[place] {
				continue
			}
			seen[place] = true
			signs = append(signs, fmt.Sprintf("%s: %s: %s", place, sign.Statement, clip(strings.TrimSpace(e.Text))))
		}
	}
	return signs
}
