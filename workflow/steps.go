package workflow

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/messages"
)

// maxRefuted is how often a report may be started over because files changed underneath.
const maxRefuted = 2

// step does the work of the investigation's state. A panic in one investigation must not take the others along.
func (f *Flow) step(ctx context.Context, inv *Investigation) (out outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error while %s: %v\n%s", inv.State, p, debug.Stack())
		}
	}()
	switch inv.State {
	case Requested:
		return outcome{event: Start}, nil
	case LocatingJob:
		return f.locate(ctx, inv)
	case FetchingLogs:
		return f.collect(ctx, inv)
	case Triaging:
		return f.triage(ctx, inv)
	case Verifying:
		return f.verify(ctx, inv)
	case FetchingAIS:
		return f.storage(ctx, inv)
	case Correlating:
		return f.correlate(ctx, inv)
	}
	return outcome{}, fmt.Errorf("state %s has no step", inv.State)
}

func (f *Flow) locate(ctx context.Context, inv *Investigation) (outcome, error) {
	if len(inv.Places) > 0 {
		return f.named(ctx, inv), nil
	}
	found, err := f.located(ctx, *inv)
	if err != nil {
		return outcome{}, fmt.Errorf("looking for the logs of job %s: %w", orUnknown(inv.Job), err)
	}
	if len(found.Places)+len(found.Base) > 0 && f.Permit != nil && !f.Permit(*inv, found) {
		// In the words of a job that nobody knows: who may not see it learns nothing about it.
		refused := f.entry("refused", "the logs belong to "+strings.Join(found.Users, ", ")+", which isn't allowed here")
		refused.Actor = inv.Home.Requester
		out := f.unlocated(inv, Found{Searched: found.Searched, Took: found.Took})
		out.entries = append(out.entries, refused)
		return out, nil
	}
	inv.Expected, inv.ExpectedFrom = found.Nodes, found.NodesFrom
	if len(found.Places) == 0 {
		// What the cluster says is read together with the logs that a person gives.
		inv.Places = slices.Clone(found.Base)
		out := f.unlocated(inv, found)
		out.says = found.Notes
		return out, nil
	}
	inv.Places, inv.Located = slices.Concat(found.Places, found.Base), true
	// Where the end of a run started the investigation, that run has ended, whatever a later one still does.
	if quiet := f.quiet(inv); inv.Ended == nil && (found.Running && quiet > 0 || quiet > 0 && !found.Written.IsZero() && f.Now().Sub(found.Written) < quiet) {
		out := outcome{event: StillRuns, says: found.Notes}
		if inv.Watch.By == "" {
			out.asks = f.ask(inv, askRunning(*inv))
		}
		return out, nil
	}
	return outcome{event: Located, says: append([]string{foundLogs(found)}, found.Notes...)}, nil
}

// named takes the places that a person named, with what the cluster says of the job, where it knows it.
func (f *Flow) named(ctx context.Context, inv *Investigation) outcome {
	out := outcome{event: Located, note: "named by the person who asked"}
	if f.Facts == nil || inv.Job == "" || inv.Located {
		return out
	}
	found, err := f.Facts(ctx, inv.Cluster, inv.Job)
	switch {
	case err != nil:
		out.entries = append(out.entries, f.entry("error", "asking the cluster for job "+inv.Job+": "+err.Error()))
	case len(found.Base) == 0: // it knows no such job, or is not asked
	case f.Permit != nil && !f.Permit(*inv, found):
		refused := f.entry("refused", "the job belongs to "+strings.Join(found.Users, ", ")+", which isn't allowed here")
		refused.Actor = inv.Home.Requester
		out.entries = append(out.entries, refused)
	default:
		for _, p := range found.Base {
			if !slices.Contains(inv.Places, p) {
				inv.Places = append(inv.Places, p)
			}
		}
		out.says = found.Notes
	}
	return out
}

// placesSaid is how many places one sentence names.
const placesSaid = 8

func foundLogs(found Found) string {
	if n := len(found.Places); n > placesSaid {
		return fmt.Sprintf("found logs: %s, … (%d places)", strings.Join(found.Places[:placesSaid], ", "), n)
	}
	return "found logs: " + strings.Join(found.Places, ", ")
}

func (f *Flow) unlocated(inv *Investigation, found Found) outcome {
	return outcome{event: NotLocated, asks: f.ask(inv, askLogs(*inv, found, f.hint(inv)))}
}

// HasEnded looks whether the job of an investigation that waits for its end, or has a snapshot of it, has stopped writing, and goes on
// if so.
func (f *Flow) HasEnded(ctx context.Context, id string) (bool, error) {
	inv, err := f.Store.Load(ctx, id)
	if err != nil {
		return false, fmt.Errorf("investigation %s: %w", id, err)
	}
	if inv.State != AwaitingEnd && !inv.Running {
		return false, nil
	}
	found, err := f.located(ctx, inv)
	if err != nil {
		return false, fmt.Errorf("checking whether job %s has ended: %w", orUnknown(inv.Job), err)
	}
	quiet := f.quiet(&inv)
	if found.Running || f.Now().Sub(found.Written) < quiet {
		return false, nil
	}
	return true, f.Handle(ctx, id, Input{Event: JobEnded, Places: found.Places, Text: "the logs have been quiet for " + plainDuration(quiet.Minutes())})
}

// ended notes that the job of an investigation does not run any more. What comes after the report of its end is late again.
func (inv *Investigation) ended(places []string) {
	if inv.Running {
		inv.Late.From = time.Time{}
	}
	inv.Running, inv.Watch.Stalled = false, false
	for _, p := range places {
		if !slices.Contains(inv.Places, p) {
			inv.Places = append(inv.Places, p)
		}
	}
}

// tellEvery is how often people are told how far the logs have come.
const tellEvery = 10 * time.Second

// telling shows in the case file, now and then, how far the logs have come. What cannot be saved is not worth a word: either
// somebody has just moved the investigation on, which the end of the step will find out, or the next try says more.
func (f *Flow) telling(ctx context.Context, inv *Investigation) func(Brought) {
	begun := f.Now()
	told := begun
	return func(b Brought) {
		now := f.Now()
		if !f.Deferred || inv.Held || inv.Late.Quiet || now.Sub(told) < tellEvery {
			return
		}
		told = now
		if b.Fetched > 0 && b.OfBytes > b.Bytes {
			b.Left = time.Duration(float64(now.Sub(begun)) / float64(b.Fetched) * float64(b.OfBytes-b.Bytes))
		}
		inv.Brought = b
		_ = f.save(ctx, inv, Notice{Event: Tick, From: inv.State}, Input{running: true})
	}
}

func (f *Flow) collect(ctx context.Context, inv *Investigation) (outcome, error) {
	if inv.Running {
		inv.Moment = f.Now() // what is written while they are brought is later
	}
	got, err := f.collected(Bringing(ctx, f.telling(ctx, inv)), *inv, inv.Places)
	inv.Brought = Brought{}
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err == nil && len(got.Sources) == 0 {
		err = got.Fault
	}
	var own *Fault
	if f.Deferred && errors.As(err, &own) {
		return outcome{}, fmt.Errorf("fetching the logs of job %s: %w", orUnknown(inv.Job), err)
	}
	if inv.Report == nil {
		inv.Late.Tried = tried(inv.Places, got, err)
	}
	if err != nil || len(got.Sources) == 0 {
		why := "no readable log found"
		if err != nil {
			why = err.Error()
		}
		return f.nothing(inv, why), nil
	}
	if !f.shown(*inv, got) { // what was opened belongs to others than what was located
		out := f.nothing(inv, "no readable log found")
		out.entries = append(out.entries, f.entry("refused", "files belong to "+strings.Join(got.Users, ", ")+", which isn't allowed here"))
		return out, nil
	}
	var says []string
	if inv.Report != nil && !inv.Late.Quiet {
		says = append(unusable(inv.Warnings, got.Warnings), f.handed(ctx, inv.Sources, got.Sources)...)
	}
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if inv.Report != nil && sameSources(inv.Sources, got.Sources) && !inv.momentary() {
		out := outcome{event: NothingNew}
		switch {
		case len(says) > 0:
			inv.Warnings = got.Warnings
			out.says = slices.Concat(says, []string{"the report stays as it is"})
		case !inv.Late.Quiet:
			out.says = []string{"I already had these files; nothing changes"}
		}
		return out, nil
	}
	if inv.Late.Quiet {
		inv.Late.News, _ = newsOf(inv.Sources, got)
	}
	inv.Sources, inv.Warnings, inv.Gaps, inv.Covered = got.Sources, got.Warnings, got.Gaps, got.Covered
	if len(got.Nodes) > 0 {
		inv.Expected, inv.ExpectedFrom = got.Nodes, got.NodesFrom
	}
	inv.Read, inv.Refuted = slices.Clone(inv.Places), 0
	out := outcome{event: Fetched, note: fmt.Sprintf("%d %s", len(got.Sources), plural(len(got.Sources), "file", "files")), says: says, fault: got.Fault}
	for _, w := range got.Warnings {
		out.entries = append(out.entries, f.entry("warning", w))
	}
	return out, nil
}

// shown says whether an investigation may show what was opened: places may hold other files by then than when they were located.
func (f *Flow) shown(inv Investigation, got Collection) bool {
	return f.Permit == nil || len(got.Users) == 0 || f.Permit(inv, Found{Places: inv.Places, Users: got.Users})
}

// nothing is the outcome when what was given cannot be read: back to the report if there is one, else to the question.
// The places that brought nothing are forgotten, so that the next answer is not judged by them.
func (f *Flow) nothing(inv *Investigation, why string) outcome {
	entries := []Entry{f.entry("error", why)}
	empty := inv.Places
	inv.Places = slices.Clone(inv.Read)
	if inv.Report != nil {
		out := outcome{event: NothingNew, note: why, entries: entries}
		if !inv.Late.Quiet {
			out.says = []string{why, "the report stays as it is"}
		}
		return out
	}
	inv.Late.Empty = empty
	return outcome{event: NothingRead, note: why, says: []string{why}, entries: entries, asks: f.ask(inv, askLogs(*inv, Found{}, f.hint(inv)))}
}

// A first look comes before the whole reading where that takes long: more than lookOver bytes. Of each file about as much is
// searched as makes lookAt altogether.
const (
	lookOver = 256 << 20
	lookAt   = 64 << 20
	lookMin  = 128 << 10
)

// skim is how much of each file a first look searches; 0 = the whole is read at once.
func skim(inv *Investigation) int64 {
	var total int64
	for _, s := range inv.Sources {
		total += s.Bytes
	}
	if inv.Report != nil || total <= lookOver { // a second look at the ends would tell nothing new
		return 0
	}
	return max(lookAt/int64(len(inv.Sources)), lookMin)
}

func (f *Flow) triage(ctx context.Context, inv *Investigation) (outcome, error) {
	look := int64(0)
	if f.FirstLook {
		look = skim(inv)
	}
	report, jobs, err := f.diagnose(ctx, inv, look)
	if errors.Is(err, analysis.ErrNothingToRead) && f.copyLost(inv) && f.fetchedAgain(ctx, inv) {
		report, jobs, err = f.diagnose(ctx, inv, look)
	}
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if errors.Is(err, analysis.ErrNothingToRead) {
		return f.nothing(inv, err.Error()), nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("analyzing %d %s of job %s: %w", len(inv.Sources), plural(len(inv.Sources), "file", "files"), orUnknown(inv.Job), err)
	}
	first, was := inv.Report == nil || inv.Looked || inv.momentary(), inv.Report
	out := f.concluded(inv, report)
	inv.Looked = look > 0
	report, revisions := out.report, out.revisions
	unchanged := !first && len(revisions) == 0
	if look > 0 { // the whole reading follows, and asks what is to be asked
		out.event, out.look = Looked, true
		return out, nil
	}
	if unchanged && !inv.Late.Quiet {
		out.says = append(added(was, report), "I checked again with the new files: "+messages.Unchanged(report)+".")
	}
	if inv.momentary() { // what would decide is asked when the job has ended
		out.stall = inv.judged(report.Triage)
		return out, nil
	}
	before := inv.Open
	qs := f.worthAsking(inv, jobs)
	quiet := inv.Late.Quiet && len(revisions) == 0 // nobody is asked anything: what is open is brought up to date
	if f.AskStorage && (!quiet || slices.ContainsFunc(before, func(q Question) bool { return q.Kind == AskAccess })) && smellsOfStorage(report) && slices.Contains([]string{"", "lost", "not given"}, inv.Storage) {
		report.Storage.Status = "not-provided" // and if nobody gives it, not examined
		if own := f.ownStorage(inv); own != "" {
			out.event = AISOwn
			inv.Storage, inv.StoragePull = ByProfile(own), true
		} else {
			out.event = AskStorage
			qs = append([]Question{askAccess(inv, "")}, qs...)
		}
	}
	if quiet {
		out.changed = inv.reword(qs)
	} else {
		out.asks = f.ask(inv, qs...)
	}
	return out, nil
}

// ownStorage is the configured access to try first. One that failed is not tried again: then people are asked.
func (f *Flow) ownStorage(inv *Investigation) string {
	if f.OwnStorage == nil || inv.Storage != "" {
		return ""
	}
	return f.OwnStorage(*inv)
}

// copyLost says that a file which was brought cannot be opened any more, as when the bot's disk was lost.
func (f *Flow) copyLost(inv *Investigation) bool {
	return f.Engine.Open != nil && slices.ContainsFunc(inv.Sources, func(s incident.Source) bool {
		file, err := f.Engine.Open(s.Path)
		if err != nil {
			return true
		}
		_ = file.Close()
		return false
	})
}

// fetchedAgain brings the files of an investigation once more.
func (f *Flow) fetchedAgain(ctx context.Context, inv *Investigation) bool {
	got, err := f.collected(ctx, *inv, inv.Places)
	if err != nil || len(got.Sources) == 0 {
		return false
	}
	inv.Sources, inv.Warnings, inv.Gaps, inv.Covered = got.Sources, got.Warnings, got.Gaps, got.Covered
	return true
}

// settled are the questions that were asked before and are not open any more.
func (inv *Investigation) settled(before []Question) (settled []Question) {
	for _, q := range before {
		if !slices.ContainsFunc(inv.Open, func(o Question) bool { return o.ID == q.ID }) {
			settled = append(settled, q)
		}
	}
	return settled
}

// concluded makes a report the newest of an investigation: masked, with what it revises.
func (f *Flow) concluded(inv *Investigation, report *incident.Report) outcome {
	report.Warnings = slices.Concat(report.Warnings, inv.Warnings, inv.StorageMissing)
	report = f.unmasked.mask(inv, report)
	var entries []Entry
	if inv.momentary() {
		inv.Report, inv.Told = nil, ""
	}
	revisions := Revise(inv.Report, report, inv.Late.News...)
	if inv.Report != nil {
		// The engine tells anew in each pass what the job's own logs alone would have led to. What people were told is what counts;
		// but where that is new, it knows best why.
		if own := fresh(report.Revisions, inv.Report.Revisions); len(own) > 0 && len(revisions) > 0 {
			revisions[0].Because, revisions[0].Evidence = own[0].Because, own[0].Evidence
		}
		report.Revisions = nil
	}
	for _, rev := range revisions {
		entries = append(entries, f.entry("revision", "was: "+rev.Was+"; now: "+rev.Now+"; because: "+rev.Because))
	}
	report.Revisions = append(report.Revisions, revisions...)
	if inv.Report != nil { // earlier revisions stay in the report: nothing is replaced silently
		report.Revisions = slices.Concat(inv.Report.Revisions, report.Revisions)
	}
	inv.Report = report
	entries = append(entries, f.entry("verdict", headline(report)))
	return outcome{event: Triaged, note: headline(report), entries: entries, report: report, revisions: revisions}
}

// fresh are the revisions of a that have another reason than all of b.
func fresh(a, b []incident.Revision) (rest []incident.Revision) {
	for _, r := range a {
		if !slices.ContainsFunc(b, func(o incident.Revision) bool { return o.Because == r.Because }) {
			rest = append(rest, r)
		}
	}
	return rest
}

// diagnose runs the engine; when the files hold several jobs and nobody said which, it takes the one that ended last
// and returns all of them, so that a report is there while the question is open.
func (f *Flow) diagnose(ctx context.Context, inv *Investigation, look int64) (*incident.Report, []analysis.JobSummary, error) {
	in := analysis.Input{
		Sources: inv.Sources, Storage: inv.StorageSources, JobID: inv.JobID, Nodes: inv.Nodes, Gaps: inv.Gaps, Covered: inv.Covered, WorldSize: inv.WorldSize,
		Workers: f.Workers, Version: f.Version, Progress: f.Progress, Skim: look, Moment: inv.moment(),
	}
	if f.Zone != nil {
		in.JobZone = f.Zone(inv.Cluster)
	}
	if len(in.Nodes) == 0 { // a person's word counts more
		in.Nodes, in.NodesFrom = inv.Expected, inv.ExpectedFrom
	}
	report, err := f.Engine.Diagnose(ctx, in)
	var several *analysis.MultipleJobsError
	if !errors.As(err, &several) || len(several.Jobs) == 0 {
		return report, nil, err
	}
	for _, job := range several.Jobs {
		if job.ID == inv.Job { // the person named it when opening the investigation
			in.JobID, inv.JobID = job.ID, job.ID
			report, err = f.Engine.Diagnose(ctx, in)
			return report, nil, err
		}
	}
	in.JobID = lastToEnd(several.Jobs).ID
	report, err = f.Engine.Diagnose(ctx, in)
	return report, several.Jobs, err
}

func (f *Flow) verify(ctx context.Context, inv *Investigation) (outcome, error) {
	report, why := f.toVerify(ctx, inv)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	failed := []string{why}
	if report != nil {
		var err error
		if failed, err = f.Engine.Verify(ctx, inv.Everything(), onlyTriage(report)); err != nil {
			return outcome{}, fmt.Errorf("re-reading the raw files: %w", err)
		}
	}
	if len(failed) == 0 {
		return outcome{event: Verified}, f.remember(ctx, inv)
	}
	// The engine verified this report a moment ago, so the files changed underneath. Look again at what they are now,
	// but not for ever: a job that still runs never stops writing.
	if inv.Refuted++; inv.Refuted > maxRefuted {
		return outcome{}, fmt.Errorf("the files keep changing while I read them (%s); copy them first, then give me the copy", failed[0])
	}
	out := outcome{event: Refuted, note: strings.Join(failed, "; ")}
	out.says = []string{fmt.Sprintf("the files changed while I read them (%s); starting over", failed[0])}
	return out, nil
}

// remember notes what earlier cases say helped.
func (f *Flow) remember(ctx context.Context, inv *Investigation) error {
	if f.Lessons == nil {
		return nil
	}
	var err error
	if inv.Lessons, err = f.Lessons(ctx, *inv); err != nil {
		return fmt.Errorf("remembering what helped before: %w", err)
	}
	return nil
}

// ask records the questions as the open ones and returns those that are new: one that is open already is not asked again.
func (f *Flow) ask(inv *Investigation, qs ...Question) []Question {
	var fresh, open []Question
	for _, q := range qs {
		same := func(o Question) bool { return o.Kind == q.Kind && (o.Text == q.Text || q.Kind == AskLogs) } // where the logs are is one question
		if i := slices.IndexFunc(inv.Open, same); i >= 0 {
			open = append(open, inv.Open[i])
			continue
		}
		inv.Asks++
		q.ID = inv.Asks
		if f.Compose != nil {
			q.Asked = f.Now()
			if f.ExpireAfter > 0 {
				q.Due = q.Asked.Add(f.ExpireAfter)
			}
		}
		fresh, open = append(fresh, q), append(open, q)
	}
	inv.Open = open
	return fresh
}

// sameSources compares what was read, not where it lies: an archive is unpacked into another folder each time.
func sameSources(a, b []incident.Source) bool {
	have := map[incident.Source]bool{}
	for _, s := range a {
		have[s.Content()] = true
	}
	return len(a) == len(b) && !slices.ContainsFunc(b, func(s incident.Source) bool { return !have[s.Content()] })
}
