package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
)

// Late is what an investigation remembers of looking for files that come, or grow, after it was reported, and for logs of which
// there were none yet. Each look is a row, JobLate, that the one before has left: a restart loses none.
type Late struct {
	From   time.Time // when the first report was there
	Due    time.Time // of the next look; zero = none is planned
	Looks  int       // counts the looks that were planned: which of them a job is
	Seen   string    // what the last look found where it was not what the report is of
	Moving int       // how many looks in a row found something else
	Quiet  bool      // files came by themselves: nobody waits for a word
	News   []News    // what came or grew since the report that is looked at again
	Empty  []string  // what a person named, and where nothing was yet
	Began  time.Time // when it began to look for the first log
	Tried  string    // what was read last while there was no report: reading the same again would find the same
}

// News is a file that is new, or longer than when it was read.
type News struct {
	Name string
	Was  int64 // bytes that were read; -1 = it was not there
	Now  int64
}

const (
	// lateFirst is how long after a report the first look is, and lateMost how far looks are apart at most.
	lateFirst = 30 * time.Second
	lateMost  = time.Hour
	// settleWait is how long a file that grew is given to grow on, and settleMost how often.
	settleWait = 10 * time.Second
	settleMost = 3
	// workWait is how long a look waits for a step that is at work.
	workWait = 10 * time.Second
)

// lateIn are the states in which files are looked for without anybody's word.
var lateIn = []State{AwaitingLogs, AwaitingAIS, Reported}

// arrivedIn are those in which somebody may say that files are there.
var arrivedIn = append([]State{Disputed, Expired, Failed}, lateIn...)

// plan leaves the next look where one is due: soon after the report, then ever later. What changes the state drops the plan.
func (f *Flow) plan(inv *Investigation) []Job {
	if f.Late == nil || !f.Deferred {
		return nil
	}
	if !slices.Contains(lateIn, inv.State) || inv.Running { // the files of a job that runs grow all the time
		inv.Late.Due = time.Time{}
		return nil
	}
	if !inv.Late.Due.IsZero() {
		return nil
	}
	now := f.Now()
	if inv.Report != nil && inv.Late.From.IsZero() {
		inv.Late.From = now
	}
	if inv.Report == nil && inv.Late.Began.IsZero() {
		inv.Late.Began = now
	}
	from, until := f.lateBetween(inv)
	if !now.Before(until) {
		return nil
	}
	due := now.Add(min(max(now.Sub(from), lateFirst), lateMost))
	if due.After(until) {
		due = until
	}
	return []Job{inv.lookAt(due, now)}
}

// lateBetween is the time in which files are looked for.
func (f *Flow) lateBetween(inv *Investigation) (from, until time.Time) {
	late := f.Late(inv.Cluster)
	switch {
	case late <= 0:
		return time.Time{}, time.Time{}
	case inv.Report != nil:
		return inv.Late.From, inv.Late.From.Add(late)
	}
	row, _ := About(inv.State) // as long as anybody is asked for them
	after := row.After
	if f.ExpireAfter > 0 {
		after = f.ExpireAfter
	}
	return inv.Late.Began, inv.Since.Add(after)
}

// lookAt notes a look and is its job.
func (inv *Investigation) lookAt(due, now time.Time) Job {
	inv.Late.Due = due
	inv.Late.Looks++
	return Job{Key: fmt.Sprintf("late/%s/%d", inv.ID, inv.Late.Looks), Kind: JobLate, Investigation: inv.ID,
		Payload: []byte(strconv.Itoa(inv.Late.Looks)), After: due.Sub(now)}
}

// Arrival is the job by which somebody says that files of a job have come: a look at once, whatever is planned. The key is the same
// for the same news.
func Arrival(id, key string) Job {
	return Job{Key: "arrived/" + id + "/" + key, Kind: JobLate, Investigation: id}
}

// LookAgain does a JobLate: it looks whether files came or grew, and goes on with the investigation if so. With a wait nothing was
// done, and the job is to be tried again then.
func (f *Flow) LookAgain(ctx context.Context, l *Lease) (wait time.Duration, err error) {
	inv, err := f.Store.Load(ctx, l.Investigation)
	if errors.Is(err, ErrUnknown) { // forgotten
		return 0, f.Store.Save(ctx, Change{Done: l})
	}
	if err != nil {
		return 0, fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	row, _ := About(inv.State)
	told := len(l.Payload) == 0
	switch {
	case told && row.Kind == Working:
		return workWait, nil
	case told && !slices.Contains(arrivedIn, inv.State), !told && (inv.Late.Due.IsZero() || string(l.Payload) != strconv.Itoa(inv.Late.Looks)):
		return 0, f.Store.Save(ctx, Change{Done: l}) // nobody needs it any more, or a later one is planned
	}
	places, news, seen := f.lookFor(ctx, &inv, told)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if len(news) > 0 && (told || inv.Report == nil || seen == inv.Late.Seen || inv.Late.Moving >= settleMost) {
		err := f.Handle(ctx, inv.ID, Input{Event: Arrived, Places: places, Text: newsText(news), Done: l})
		var not *NotAllowedError
		switch {
		case errors.Is(err, ErrConflict), errors.As(err, &not): // it moved on: look at what it is now
			return time.Second, nil
		case errors.Is(err, ErrOpen): // another investigation of this job is open, and sees them
			return 0, f.Store.Save(ctx, Change{Done: l})
		}
		return 0, err
	}
	if told { // they are those that were read
		return 0, f.Store.Save(ctx, Change{Done: l})
	}
	c := Change{Investigation: &inv, Done: l}
	inv.Late.Due = time.Time{}
	if len(news) > 0 { // it may still grow
		inv.Late.Seen = seen
		inv.Late.Moving++
		now := f.Now()
		c.Jobs = []Job{inv.lookAt(now.Add(settleWait), now)}
	} else {
		inv.Late.Seen, inv.Late.Moving = "", 0
		c.Jobs = f.plan(&inv)
	}
	if err := f.Store.Save(ctx, c); errors.Is(err, ErrConflict) {
		return time.Second, nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}

// lookFor looks at the places of an investigation. What cannot be looked at is no news.
func (f *Flow) lookFor(ctx context.Context, inv *Investigation, told bool) (places []string, news []News, seen string) {
	if inv.Report == nil {
		return f.lookForAny(ctx, inv, told)
	}
	places = slices.Clone(inv.Places)
	more := false
	if (inv.Located || told) && inv.Job != "" {
		if found, err := f.located(ctx, *inv); err == nil && f.permitted(*inv, found) {
			for _, p := range found.Places {
				if !slices.Contains(places, p) {
					places, more = append(places, p), true
				}
			}
		}
	}
	if inv.unpacked() && !more && !told {
		return nil, nil, ""
	}
	got, err := f.collected(ctx, *inv, places)
	if err != nil {
		return nil, nil, ""
	}
	news, gone := newsOf(inv.Sources, got)
	if gone || f.rewritten(inv, got.Sources, news) { // a later run has taken the file, say: it is no evidence against this one
		return nil, nil, ""
	}
	return places, news, fingerprint(got)
}

// unpacked says that what was read came out of an archive. It does not grow, and unpacking it for each look would fill the disk.
func (inv *Investigation) unpacked() bool {
	return slices.ContainsFunc(inv.Sources, func(s incident.Source) bool { return strings.HasPrefix(s.Origin, "archive:") })
}

// lookForAny looks for the first log. What was read before and was none is no news until it changes.
func (f *Flow) lookForAny(ctx context.Context, inv *Investigation, told bool) (places []string, news []News, seen string) {
	if len(inv.Late.Empty) > 0 {
		got, err := f.collected(ctx, *inv, inv.Late.Empty)
		news, _ := newsOf(nil, got)
		if err == nil && len(news) > 0 && tried(inv.Late.Empty, got, err) != inv.Late.Tried {
			return inv.Late.Empty, news, fingerprint(got)
		}
	}
	if inv.Job == "" {
		return nil, nil, ""
	}
	found, err := f.located(ctx, *inv)
	if err != nil || len(found.Places) == 0 || !f.permitted(*inv, found) || f.triedBefore(ctx, inv, found, told) {
		return nil, nil, ""
	}
	for _, p := range found.Places {
		news = append(news, News{Name: p, Was: -1})
	}
	return nil, news, "" // where they are is found out in its own step, with all that is said there
}

// triedBefore says that what was found is what was read already, and held no log.
func (f *Flow) triedBefore(ctx context.Context, inv *Investigation, found Found, told bool) bool {
	places := slices.Concat(found.Places, found.Base)
	switch {
	case inv.Late.Tried == "", inv.State == Failed: // it may have failed for another reason
		return false
	case inv.unpacked() && !told && slices.Equal(places, inv.Late.Empty):
		return true
	}
	got, err := f.collected(ctx, *inv, places)
	return tried(places, got, err) == inv.Late.Tried
}

// tried identifies what was read by its content: where it lay, and what was there or that nothing could be opened.
func tried(places []string, got Collection, err error) string {
	return fmt.Sprintf("%q %s %v", places, fingerprint(got), err != nil)
}

func (f *Flow) permitted(inv Investigation, found Found) bool {
	return f.Permit == nil || len(found.Places)+len(found.Base) == 0 || f.Permit(inv, found)
}

// arrived applies the event to an investigation.
func (f *Flow) arrived(inv *Investigation, in Input) Entry {
	if inv.Report == nil {
		inv.Places, inv.Late.Empty = slices.Clone(in.Places), nil
	}
	for _, p := range in.Places {
		if !slices.Contains(inv.Places, p) {
			inv.Places = append(inv.Places, p)
		}
	}
	inv.Late.Quiet = inv.Report != nil && slices.Contains(lateIn, inv.State)
	inv.Late.Seen, inv.Late.Moving = "", 0
	return f.entry("fetched", "found automatically: "+in.Text)
}

// newsOf compares what was read with what is there. What the cluster says is no file of the job: it is asked anew each time. gone says
// that something is missing, or shorter, which was read.
func newsOf(was []incident.Source, got Collection) (news []News, gone bool) {
	fact := func(s incident.Source) bool { return slices.Contains(got.Facts, s.Name) }
	old := slices.DeleteFunc(slices.Clone(was), fact)
	var fresh []incident.Source
	for _, s := range got.Sources {
		if fact(s) {
			continue
		}
		i := counterpart(old, s)
		if i < 0 {
			fresh = append(fresh, s)
			continue
		}
		switch o := old[i]; {
		case s.Bytes > o.Bytes:
			news = append(news, News{s.Name, o.Bytes, s.Bytes})
		case s.Bytes < o.Bytes, o.SHA256 != "" && s.SHA256 != "" && s.SHA256 != o.SHA256:
			gone = true
		}
		old = slices.Delete(old, i, i+1)
	}
	for _, s := range fresh {
		news = append(news, News{s.Name, -1, s.Bytes})
	}
	return news, gone || len(old) > 0
}

// counterpart is the index of the file that a source was before. A file in another directory gives the others longer names.
func counterpart(old []incident.Source, s incident.Source) int {
	for _, same := range []func(o incident.Source) bool{
		func(o incident.Source) bool { return o.Name == s.Name },
		func(o incident.Source) bool { return o.Path == s.Path },
		func(o incident.Source) bool {
			return strings.HasSuffix(o.Name, "/"+s.Name) || strings.HasSuffix(s.Name, "/"+o.Name)
		},
	} {
		if i := slices.IndexFunc(old, same); i >= 0 {
			return i
		}
	}
	return -1
}

// rewritten says that a file which seems to have grown is another one: what the report quotes is not there any more.
func (f *Flow) rewritten(inv *Investigation, sources []incident.Source, news []News) bool {
	if f.Engine.Open == nil || inv.Masked { // the quotations are not word for word what the files say
		return false
	}
	grown := map[string]string{} // paths by the names that the report knows
	for _, n := range news {
		i := slices.IndexFunc(sources, func(s incident.Source) bool { return s.Name == n.Name })
		if n.Was >= 0 && i >= 0 && !compressed(n.Name) {
			grown[n.Name] = sources[i].Path
		}
	}
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			_ = f.Close() // nothing was written
		}
	}()
	bad := false
	walk(inv.Report, func(e incident.Evidence) {
		where := grown[e.File]
		if bad || e.Kind != incident.KindQuote || where == "" || e.Text == "" {
			return
		}
		file := files[where]
		if file == nil {
			var err error
			if file, err = f.Engine.Open(where); err != nil {
				return
			}
			files[where] = file
		}
		b := make([]byte, len(e.Text))
		_, err := file.ReadAt(b, e.Offset)
		bad = err != nil || string(b) != e.Text
	})
	return bad
}

// compressed says that offsets in a report are not those of the file.
func compressed(name string) bool {
	return slices.Contains([]string{".gz", ".zst", ".bz2", ".xz", ".lz4"}, strings.ToLower(path.Ext(name)))
}

// fingerprint tells whether two looks saw the same.
func fingerprint(got Collection) string {
	var lines []string
	for _, s := range got.Sources {
		if !slices.Contains(got.Facts, s.Name) {
			lines = append(lines, fmt.Sprintf("%q %d %s", s.Name, s.Bytes, s.SHA256))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// newsSaid is how many files one sentence names.
const newsSaid = 3

// newsText says what came: "error-7-3.out came, error-7-1.out grew by 512 bytes".
func newsText(news []News) string {
	var parts []string
	for _, n := range news[:min(len(news), newsSaid)] {
		if n.Was < 0 {
			parts = append(parts, n.Name+" came")
		} else {
			parts = append(parts, fmt.Sprintf("%s grew by %d %s", n.Name, n.Now-n.Was, plural(int(min(n.Now-n.Was, 2)), "byte", "bytes")))
		}
	}
	if more := len(news) - newsSaid; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// reword brings open questions up to date where nobody is to be disturbed: what is asked for may have become less. Nothing new is
// asked. It returns those that changed.
func (inv *Investigation) reword(qs []Question) (changed []Question) {
	var open []Question
	for _, o := range inv.Open {
		i := slices.IndexFunc(qs, func(q Question) bool { return q.Kind == o.Kind && (q.Text == o.Text || q.Kind != AskEvidence) })
		if i < 0 {
			continue
		}
		q := qs[i]
		q.ID, q.Asked, q.Due, q.Reminded = o.ID, o.Asked, o.Due, o.Reminded
		if q.Text != o.Text || !slices.Equal(q.Items, o.Items) || !slices.Equal(q.Commands, o.Commands) {
			changed = append(changed, q)
		}
		open = append(open, q)
	}
	inv.Open = open
	return changed
}
