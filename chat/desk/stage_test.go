package desk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/config"
	"faultline/incident"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// stage is a desk with everything around it made by hand: a channel C1 with the clusters west and east, the people U1
// (asks), U2 (trusted), U3 (anybody).
type stage struct {
	t       *testing.T
	store   *failing
	desk    *Desk
	workers *Workers
	surface *surface
	vault   vault
	fetch   *folders
	engine  *engine
	policy  *Policy
	now     time.Time
	acts    int
	bare    bool   // values of buttons are taken as they are written
	logs    string // a folder that C1 may read
}

// failing is a store whose writes can be made to fail.
type failing struct {
	*workflow.Memory
	mu     sync.Mutex
	writes int  // so far
	failAt int  // which write fails, from 1; 0 = none
	after  bool // it fails after it was written: the answer was lost
	save   func(workflow.Change)
	crowd  bool        // several act at the same time
	lost   atomic.Bool // every lease is somebody else's
}

func (f *failing) Extend(ctx context.Context, l *workflow.Lease, d time.Duration) error {
	if f.lost.Load() {
		return workflow.ErrLost
	}
	return f.Memory.Extend(ctx, l, d)
}

var errDisk = errors.New("the disk is gone")

// NewID gives the next id as long as it is not used: plays name cases by it, also when a write failed. Two that ask at the
// same time would get the same.
func (f *failing) NewID(ctx context.Context) (string, error) {
	if f.crowd {
		return f.Memory.NewID(ctx)
	}
	rows, err := f.Find(ctx, workflow.Query{Limit: 100_000})
	return fmt.Sprintf("F-%d", len(rows)+1), err
}

func (f *failing) write(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.writes == f.failAt {
		if f.after {
			_ = do()
		}
		return errDisk
	}
	return do()
}

func (f *failing) Save(ctx context.Context, c workflow.Change) error {
	if f.save != nil {
		f.save(c)
	}
	return f.write(func() error { return f.Memory.Save(ctx, c) })
}

func (f *failing) Finish(ctx context.Context, l *workflow.Lease) error {
	return f.write(func() error { return f.Memory.Finish(ctx, l) })
}

type blobs struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (b *blobs) Put(_ context.Context, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	key := hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[key] = slices.Clone(content)
	return key, nil
}

type vault map[string]map[string]config.Secret

func (v vault) Put(key string, secrets map[string]config.Secret) { v[key] = secrets }
func (v vault) Take(key string) map[string]config.Secret {
	s := v[key]
	delete(v, key)
	return s
}

// folders is a Fetcher: places by cluster and job.
type folders struct {
	where map[string][]string // "west/12345"
	users map[string][]string
	quiet map[string]time.Time // when the logs were last written
	files map[string][]incident.Source
	// while is called while logs are brought.
	while func(ctx context.Context)
}

func (f *folders) Locate(_ context.Context, cluster, job string) (workflow.Found, error) {
	key := cluster + "/" + job
	return workflow.Found{Places: f.where[key], Searched: []string{"/logs/" + cluster}, Took: 1500 * time.Millisecond, Users: f.users[key], Written: f.quiet[key]}, nil
}

func (f *folders) Collect(ctx context.Context, places []string) (workflow.Collection, error) {
	if f.while != nil {
		f.while(ctx)
	}
	var c workflow.Collection
	for _, p := range places {
		if s, ok := f.files[p]; ok {
			c.Sources = append(c.Sources, s...)
		} else if info, err := os.Stat(p); err == nil {
			c.Sources = append(c.Sources, incident.Source{Name: filepath.Base(p), Path: p, Bytes: info.Size()})
		}
	}
	if len(c.Sources) == 0 {
		return c, errors.New("no readable log found")
	}
	return c, nil
}

// engine says what a test wants it to.
type engine struct {
	diagnose func(in analysis.Input) (*incident.Report, error)
}

func report(mechanism, status string) *incident.Report {
	origin := "software"
	if mechanism == "dataloader-stall" {
		origin = "data-loading-stall"
	}
	return &incident.Report{Schema: incident.Schema, Verdict: incident.Verdict{
		Status: status, Mechanism: mechanism, Origin: origin, Confidence: 0.9, Phase: "training", Scope: "rank",
		Summary: "Rank 3 on node02 held the others: " + mechanism, Why: "It had entered one collective less.",
		Candidates: []incident.Candidate{{Origin: origin, Mechanism: mechanism, Confidence: 0.9}},
		Root:       incident.Root{Ranks: []int{3}, Nodes: []string{"node02"}},
	}, Action: incident.Action{Resubmit: "yes", Text: "Resubmit without node02.", ExcludeNodes: []string{"node02"}},
		Ranks:        []incident.RankState{{Rank: 0, Node: "node01", Role: "waiter"}, {Rank: 3, Node: "node02", Role: "straggler"}},
		Verification: incident.Verification{Quotes: incident.Ratio{Held: 4, Checked: 4}},
		Storage:      incident.Storage{Status: "not-needed", Judgement: "open"},
	}
}

// lateData is what leads to the storage.
var lateData = []incident.StorageSign{{Kind: incident.SignTrouble, Statement: "Lhotse reported that a batch, or an item in one, did not arrive",
	Evidence: []incident.Evidence{incident.Quote("12345.out", 41, 4000, "AIStore batch.get() failed: timed out. Falling back to sequential GET requests.", nil)}}}

type surface struct {
	channels map[string]chat.ChannelInfo
	groups   map[string][]string
	views    []blockkit.View
	homes    []blockkit.View
	files    map[string]string
	late     bool
	noFiles  bool
	replaced []string
}

func (s *surface) OpenView(_ context.Context, trigger string, v blockkit.View) (string, error) {
	if s.late || trigger == "" {
		return "", fmt.Errorf("opening: %w", chat.ErrTriggerExpired)
	}
	s.views = append(s.views, v)
	return fmt.Sprintf("V%d", len(s.views)), nil
}

func (s *surface) UpdateView(_ context.Context, _ string, v blockkit.View) error {
	s.views = append(s.views, v)
	return nil
}

func (s *surface) PublishHome(_ context.Context, _ string, v blockkit.View) error {
	s.homes = append(s.homes, v)
	return nil
}

func (s *surface) Replace(_ context.Context, channel, ts string, m blockkit.Message) error {
	s.replaced = append(s.replaced, channel+" "+ts+" "+m.Text)
	return nil
}

func (s *surface) Direct(_ context.Context, user string) (string, error) { return "D" + user, nil }

func (s *surface) ChannelInfo(_ context.Context, channel string) (chat.ChannelInfo, error) {
	if strings.HasPrefix(channel, "D") {
		return chat.ChannelInfo{Direct: true, Member: true}, nil
	}
	return s.channels[channel], nil
}

func (s *surface) InGroup(_ context.Context, group, user string) (bool, error) {
	return slices.Contains(s.groups[group], user), nil
}

func (s *surface) Download(_ context.Context, f chat.File, path string, limit int64) error {
	if s.noFiles {
		return errors.New("404")
	}
	text := s.files[f.ID]
	if int64(len(text)) > limit {
		return errors.New("too large")
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), logs: t.TempDir(), vault: vault{}}
	s.store = &failing{Memory: workflow.NewMemory()}
	clock := func() time.Time { return s.now }
	s.store.Now = clock
	s.fetch = &folders{
		where: map[string][]string{"west/12345": {"/logs/west/12345"}},
		users: map[string][]string{"west/12345": {"ana"}},
		quiet: map[string]time.Time{},
		files: map[string][]incident.Source{"/logs/west/12345": {{Name: "12345.out", Path: "/logs/west/12345/12345.out"}}},
	}
	s.engine = &engine{diagnose: func(analysis.Input) (*incident.Report, error) { return report("rank-stalled", incident.Probable), nil }}
	s.surface = &surface{
		channels: map[string]chat.ChannelInfo{
			"C1": {Name: "training", Member: true}, "C2": {Name: "other", Member: true}, "C3": {Name: "away"}, "C4": {Name: "old", Member: true, Archived: true},
			"C5": {Name: "partners", Member: true, Shared: true}, "C6": {Name: "read", Member: true}, "C7": {Name: "nobody", Member: true},
			"C8": {Name: "own", Member: true},
		},
		groups: map[string][]string{}, files: map[string]string{},
	}
	rule := Rule{Clusters: []string{"west", "east"}, Trusted: Who{Users: []string{"U2"}}}
	s.policy = &Policy{
		Channels: map[string]Rule{
			"C1": rule, "C2": {Clusters: []string{"west"}}, "C3": rule, "C4": rule, "C5": rule, "C6": {Clusters: []string{"west"}, ReadOnly: true},
			"C8": {Clusters: []string{"west"}, Own: true},
		},
		Clusters: map[string]Cluster{"west": {Roots: []string{s.logs}, Profiles: []string{"west-ais"}}, "east": {}, "north": {}},
		Identity: map[string]string{"U1": "ana"},
	}
	composer := &Composer{Blobs: &blobs{kept: map[string][]byte{}}, picture: func(w io.Writer, _ *incident.Report) error {
		_, err := w.Write([]byte("a picture"))
		return err
	}}
	log := slog.New(slog.DiscardHandler)
	flow := &workflow.Flow{
		Fetch: s.fetch, Compose: composer, Store: s.store, Now: clock, Deferred: true,
		RemindAfter: 30 * time.Minute, ExpireAfter: 24 * time.Hour,
		Permit: func(inv workflow.Investigation, found workflow.Found) bool { return s.policy.Permit(inv, found) },
		Quiet:  func(string) time.Duration { return 5 * time.Minute },
		Engine: workflow.Engine{
			Diagnose: func(_ context.Context, in analysis.Input) (*incident.Report, error) { return s.engine.diagnose(in) },
			Verify:   func(context.Context, []incident.Source, *incident.Report) ([]string, error) { return nil, nil },
		},
	}
	s.desk = &Desk{
		Store: s.store, Flow: flow, Composer: composer, Surface: s.surface, Vault: s.vault, Policy: func() *Policy { return s.policy },
		Spool: t.TempDir(), Uploads: Limits{Files: 3, Bytes: 1 << 20}, Command: "/diagnose", Name: "@faultline", Analyses: 1,
		Now: clock, Log: log,
	}
	s.workers = &Workers{Desk: s.desk, Timers: &Timers{Store: s.store, Flow: flow}, Owner: "test", Log: log, Lease: time.Hour,
		Backoff: func(int) time.Duration { return 0 }}
	return s
}

// put lets a person do something; the key is new unless it is given.
func (s *stage) put(in chat.Inbound) chat.Inbound {
	s.t.Helper()
	s.acts++
	if in.Key == "" {
		in.Key = fmt.Sprintf("act-%d", s.acts)
	}
	if in.Team == "" {
		in.Team = "T1"
	}
	if in.User == "" {
		in.User = "U1"
	}
	in.At = s.now
	in.Value = s.keyed(in.Value)
	if in.View != nil {
		in.View.Private = s.keyed(in.View.Private)
	}
	b, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.Enqueue(context.Background(), workflow.Job{Key: in.Key, Kind: workflow.JobInbound, Payload: b}); err != nil {
		s.t.Fatal(err)
	}
	return in
}

// keyed adds the key of a case to the value of a button, which plays write without it.
func (s *stage) keyed(value string) string {
	id, rest, _ := strings.Cut(value, " ")
	inv, err := s.store.Load(context.Background(), id)
	if err != nil || s.bare {
		return value
	}
	return strings.TrimSpace(name(&inv) + " " + rest)
}

// settle does everything that is due.
func (s *stage) settle() {
	s.t.Helper()
	for range 1000 {
		did, err := s.workers.Do(context.Background(), workflow.JobInbound, workflow.JobRun, workflow.JobLate, workflow.JobLook, workflow.JobTimers, workflow.JobWatch, workflow.JobFix, workflow.JobNext, workflow.JobDue, workflow.JobMonth)
		if err != nil {
			s.t.Fatal(err)
		}
		if !did {
			return
		}
	}
	s.t.Fatal("the work never ends")
}

// does lets a person do something and everything that follows happen; it returns what the person alone is answered.
func (s *stage) does(in chat.Inbound) string {
	s.t.Helper()
	in = s.put(in)
	s.settle()
	return s.answerTo(in)
}

// says is does for a command in C1.
func (s *stage) says(text string) string {
	s.t.Helper()
	return s.does(chat.Inbound{Kind: chat.Command, Channel: "C1", Text: text, Trigger: "t", Respond: "https://hooks.example/r"})
}

// all are all posts of the store, in order.
func (s *stage) all() []workflow.Post {
	s.t.Helper()
	rows, err := s.store.Find(context.Background(), workflow.Query{Limit: 100_000})
	if err != nil {
		s.t.Fatal(err)
	}
	posts, _ := s.store.Posts(context.Background(), "")
	for _, r := range rows {
		p, _ := s.store.Posts(context.Background(), r.ID)
		posts = append(posts, p...)
	}
	slices.SortFunc(posts, func(a, b workflow.Post) int { return int(a.ID - b.ID) })
	return posts
}

// answers are the answers to one act.
func (s *stage) answers(in chat.Inbound) []workflow.Post {
	var out []workflow.Post
	for _, p := range s.all() {
		if p.Kind == workflow.PostEphemeral && p.Key == "answer/"+short(in.Key) {
			out = append(out, p)
		}
	}
	return out
}

func (s *stage) answerTo(in chat.Inbound) string {
	s.t.Helper()
	var texts []string
	for _, p := range s.answers(in) {
		texts = append(texts, textOf(s.t, p))
	}
	return strings.Join(texts, "\n---\n")
}

func textOf(t *testing.T, p workflow.Post) string {
	t.Helper()
	var m blockkit.Message
	if err := json.Unmarshal(p.Payload, &m); err != nil {
		t.Fatalf("post %s: %v", p.Key, err)
	}
	if problems := blockkit.ValidateMessage(p.Payload); len(problems) > 0 {
		t.Errorf("post %s would be refused: %v\n%s", p.Key, problems, p.Payload)
	}
	return m.Text
}

// at is an investigation, in a state.
func (s *stage) at(id string, want workflow.State) workflow.Investigation {
	s.t.Helper()
	inv, err := s.store.Load(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	if inv.State != want {
		entries, _ := s.store.Ledger(context.Background(), id)
		s.t.Fatalf("%s is %s, want %s; ledger: %+v", id, inv.State, want, entries)
	}
	return inv
}

// keys are the kinds and keys of the posts of an investigation that people see, without edits of the case file.
func (s *stage) keys(id string) []string {
	s.t.Helper()
	posts, err := s.store.Posts(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, p := range posts {
		if p.Kind == workflow.PostEphemeral || p.Kind == workflow.PostEdit && p.Key == workflow.KeyCase {
			continue
		}
		out = append(out, string(p.Kind)+" "+p.Key)
	}
	return out
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
