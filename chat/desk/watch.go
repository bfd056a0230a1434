package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"time"

	"faultline/workflow"
)

// Watch is one rule of what is looked at without anybody asking. It is plain data from the configuration.
type Watch struct {
	Cluster, Channel string
	Every            time.Duration
	// Partitions, Accounts and Users; empty = all.
	Partitions, Accounts, Users []string
	MinNodes                    int
	MinDuration                 time.Duration
	Exclude                     []string // globs of job names
	OwnerFirst                  bool
	PerHour                     int
	Digest                      time.Duration // since midnight in UTC
}

// takes says whether a run is one that the watch looks at.
func (w Watch) takes(e workflow.Ended) bool {
	fits := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return e.Cluster == w.Cluster && fits(w.Partitions, e.Partition) && fits(w.Accounts, e.Account) && fits(w.Users, e.User) &&
		len(e.Nodes) >= w.MinNodes && e.Took() >= w.MinDuration && !slices.ContainsFunc(w.Exclude, func(glob string) bool {
		ok, err := path.Match(glob, e.Name)
		return ok && err == nil
	})
}

// watch is the first rule that takes a run.
func (p *Policy) watch(e workflow.Ended) (Watch, bool) {
	if workflow.IsTest(e.Name) { // whoever had it submitted waits for its outcome
		return Watch{}, false
	}
	i := slices.IndexFunc(p.Watches, func(w Watch) bool { return w.takes(e) })
	if i < 0 {
		return Watch{}, false
	}
	return p.Watches[i], true
}

// watched are the clusters that are asked, with how often.
func (p *Policy) watched() map[string]time.Duration {
	every := map[string]time.Duration{}
	for _, w := range p.Watches {
		if old, ok := every[w.Cluster]; !ok || w.Every < old {
			every[w.Cluster] = max(w.Every, time.Minute)
		}
	}
	return every
}

// Watcher looks for jobs that ended badly, and begins investigations of them that nobody asked for.
type Watcher struct {
	Desk *Desk
	// Endings is asked which jobs ended.
	Endings workflow.Endings
	// Self is the workspace and the bot's own user id; "" while they are not known.
	Self func() (team, user string)
	Log  *slog.Logger
}

const (
	// overlap is how far every query looks back beyond the one before: accounting may be written late, and corrected.
	// Keys of jobs are known for longer (workflow.KeepKeys).
	overlap = time.Hour
	// catchUp bounds what is asked for after a long stop.
	catchUp = 7 * 24 * time.Hour
	// settling is how long after its end a job is left alone: steps still report, and logs are still written.
	settling = time.Minute
	// hookLag is how long the accounting needs until it knows what the controller has just said.
	hookLag = 5 * time.Second
)

// pollOrder is the payload of a JobPoll.
type pollOrder struct {
	Cluster string    `json:"cluster"`
	Slot    time.Time `json:"slot"` // a query at or after this time does
}

// pollState is what is remembered of the queries of one cluster.
type pollState struct {
	Through time.Time `json:"through,omitzero"` // everything that ended before was asked for
	Floor   time.Time `json:"floor,omitzero"`   // what ended before is nobody's business: watching had not begun, or was paused
	Asked   time.Time `json:"asked,omitzero"`   // the newest query
	Failed  string    `json:"failed,omitempty"` // why it brought nothing
	Failing time.Time `json:"failing,omitzero"` // since when
	// Seen are the keys of what was found with their ends, for as long as queries look back so far.
	Seen map[string]int64 `json:"seen,omitempty"`
}

func notePoll(cluster string) string    { return "watch/cluster/" + cluster }
func noteChannel(channel string) string { return "watch/channel/" + channel }

const notePaused = "watch/paused"

// note reads what is kept under a key.
func note[T any](ctx context.Context, store workflow.Durable, key string) (value T, n workflow.Note, err error) {
	if n, err = store.Note(ctx, key); err != nil || len(n.Value) == 0 {
		return value, n, err
	}
	if err := json.Unmarshal(n.Value, &value); err != nil {
		return value, n, fmt.Errorf("the note %s is damaged: %w", key, err)
	}
	return value, n, nil
}

// with is the note with another value.
func with(n workflow.Note, value any) (workflow.Note, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return n, fmt.Errorf("writing the note %s: %w", n.Key, err)
	}
	n.Value = b
	return n, nil
}

// Polls are the jobs that are due now: one for each watched cluster and interval, with the same key for everybody.
func (w *Watcher) Polls(now time.Time) []workflow.Job {
	watched := w.Desk.Policy().watched()
	var jobs []workflow.Job
	for _, cluster := range slices.Sorted(maps.Keys(watched)) {
		at := now.UTC().Truncate(watched[cluster])
		jobs = append(jobs, pollJob("cron:poll:"+cluster+":"+slot(at), pollOrder{cluster, at}, 0))
	}
	return jobs
}

// Nudge is the job that a cluster's own word leaves, that something has ended there. The query that follows is the authority:
// what is started on then has the same key as if nobody had called.
func Nudge(cluster, run string, now time.Time) workflow.Job {
	return pollJob("hook:"+cluster+":"+short(run), pollOrder{cluster, now.UTC().Add(hookLag)}, 2*hookLag)
}

func pollJob(key string, o pollOrder, after time.Duration) workflow.Job {
	b, _ := json.Marshal(o) //nolint:errchkjson // a text and a time
	return workflow.Job{Key: key, Kind: workflow.JobPoll, Payload: b, After: after}
}

// poll asks a cluster once. What it finds, how far it got and the end of the job are one change: killed at any moment, it
// misses nothing and starts nothing twice.
func (w *Watcher) poll(ctx context.Context, l *workflow.Lease) error {
	var o pollOrder
	if err := json.Unmarshal(l.Payload, &o); err != nil {
		return fmt.Errorf("reading which cluster to poll: %w", err)
	}
	store, now := w.Desk.Store, w.Desk.Now().UTC()
	st, n, err := note[pollState](ctx, store, notePoll(o.Cluster))
	if err != nil {
		return err
	}
	_, watched := w.Desk.Policy().watched()[o.Cluster]
	if !watched || !st.Asked.Before(o.Slot) { // nobody watches any more, or a later query has seen it all
		return store.Finish(ctx, l)
	}
	paused, _, err := note[pauses](ctx, store, notePaused)
	if err != nil {
		return err
	}
	c := workflow.Change{Done: l}
	switch _, is := paused.of(o.Cluster); {
	case is:
		st = pollState{Through: now, Floor: now, Asked: now}
	case st.Through.IsZero():
		st = pollState{Through: now, Floor: now, Asked: now} // watching begins
	default:
		c.Jobs = w.ask(ctx, o.Cluster, &st, now)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if n, err = with(n, st); err != nil {
		return err
	}
	c.Notes = []workflow.Note{n}
	return again(store.Save(ctx, c))
}

// again asks for another try where somebody else was faster.
func again(err error) error {
	if errors.Is(err, workflow.ErrConflict) {
		return errLater{0}
	}
	return err
}

// ask queries a cluster and returns what is new. A query that fails is not repeated before its next turn: how far it got
// stays, and nothing is missed.
func (w *Watcher) ask(ctx context.Context, cluster string, st *pollState, now time.Time) []workflow.Job {
	st.Asked = now
	from := st.Through.Add(-overlap)
	if oldest := now.Add(-catchUp); from.Before(oldest) {
		from = oldest
	}
	if from.Before(st.Floor) {
		from = st.Floor
	}
	list, err := w.Endings.Ended(ctx, cluster, from, now)
	if err != nil {
		if st.Failed == "" {
			st.Failing = now
		}
		st.Failed = told(err)
		w.Log.Error("could not get a cluster's list of ended jobs", "cluster", cluster, "error", st.Failed)
		return nil
	}
	st.Failed, st.Failing, st.Through = "", time.Time{}, now
	maps.DeleteFunc(st.Seen, func(_ string, end int64) bool { return end < now.Add(-2*overlap).Unix() })
	if st.Seen == nil {
		st.Seen = map[string]int64{}
	}
	var jobs []workflow.Job
	for _, e := range list {
		e.Cluster = cluster
		if _, seen := st.Seen[e.Key()]; seen {
			continue
		}
		st.Seen[e.Key()] = e.End.Unix()
		b, err := json.Marshal(e)
		if err != nil {
			w.Log.Error("could not record that a job has ended", "cluster", cluster, "error", told(err))
			continue
		}
		jobs = append(jobs, workflow.Job{Key: e.Key(), Kind: workflow.JobOver, Payload: b, After: max(e.End.Add(settling).Sub(now), 0)})
	}
	return jobs
}

// pauses are what an administrator has put to rest: by cluster, "" is everything.
type pauses map[string]pause

type pause struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (p pauses) of(cluster string) (pause, bool) {
	for _, name := range []string{"", cluster} {
		if one, ok := p[name]; ok {
			return one, true
		}
	}
	return pause{}, false
}
