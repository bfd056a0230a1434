package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Errors of a Store.
var (
	ErrUnknown  = errors.New("no such investigation")
	ErrConflict = errors.New("the investigation was changed by someone else in the meantime")
)

// Memory is a Durable that lives as long as the process: for runs without a chat, and the model that the databases
// are compared with.
type Memory struct {
	// Now tells the time; nil is time.Now. Set it before the first use.
	Now Clock

	mu     sync.Mutex
	rows   map[string]*memoryRow
	notes  map[string]Note
	opened int // rows ever made: the order of Find
	ids    int // ids ever given
	ledger map[string][]Entry

	jobs            []*memoryJob  // by id
	posts           []*memoryPost // by id
	jobIDs, postIDs int64
}

// memoryRow keeps an investigation as the databases do, as bytes: what does not survive them does not survive here.
type memoryRow struct {
	order   int
	data    []byte
	openKey string
	summary Summary
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{rows: map[string]*memoryRow{}, ledger: map[string][]Entry{}, notes: map[string]Note{}}
}

// now is the time as databases keep it: in microseconds, without a zone.
func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now().UTC().Truncate(time.Microsecond)
	}
	return time.Now().UTC().Truncate(time.Microsecond)
}

// Close implements Durable.
func (m *Memory) Close() error { return nil }

// NewID implements Durable.
func (m *Memory) NewID(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids++
	return fmt.Sprintf("F-%d", m.ids), nil
}

// Load implements Store.
func (m *Memory) Load(_ context.Context, id string) (Investigation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row := m.rows[id]
	if row == nil {
		return Investigation{}, ErrUnknown
	}
	return DecodeInvestigation(row.data)
}

// Save implements Store. Everything is checked before anything is written.
func (m *Memory) Save(_ context.Context, c Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var done *memoryJob
	if c.Done != nil {
		if done = m.held(c.Done); done == nil {
			return ErrLost
		}
	}
	var row *memoryRow
	about := c.About
	if c.Investigation != nil {
		about = c.Investigation.ID
		var err error
		if row, err = m.next(*c.Investigation); err != nil {
			return err
		}
	}
	if err := m.checkPosts(c.Posts); err != nil {
		return err
	}
	if err := checkJobs(c.Jobs); err != nil {
		return err
	}
	if err := m.checkNotes(c.Notes); err != nil {
		return err
	}
	if row != nil {
		m.rows[about] = row
	}
	m.note(about, c.Entries...)
	m.addPosts(c.Posts)
	m.addJobs(c.Jobs)
	for _, n := range c.Notes {
		m.notes[n.Key] = Note{Key: n.Key, Value: copied(n.Value), Version: n.Version + 1}
	}
	if done != nil {
		done.state, done.settled, done.Payload = jobDone, m.now(), nil
	}
	return nil
}

// checkNotes refuses notes that somebody else has changed.
func (m *Memory) checkNotes(notes []Note) error {
	for i, n := range notes {
		if n.Key == "" {
			return errors.New("a note has no key")
		}
		twice := slices.ContainsFunc(notes[:i], func(o Note) bool { return o.Key == n.Key })
		if twice || m.notes[n.Key].Version != n.Version {
			return ErrConflict
		}
	}
	return nil
}

// Note implements Durable.
func (m *Memory) Note(_ context.Context, key string) (Note, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[key]
	return Note{Key: key, Value: copied(n.Value), Version: n.Version}, nil
}

// next is the row that follows from saving the investigation, if it may be saved.
func (m *Memory) next(inv Investigation) (*memoryRow, error) {
	row := memoryRow{order: m.opened + 1, openKey: inv.OpenKey()}
	stored := 0
	if old := m.rows[inv.ID]; old != nil {
		stored, row.order = old.summary.Version, old.order
	}
	if stored != inv.Version {
		return nil, ErrConflict
	}
	for id, other := range m.rows {
		if row.openKey != "" && id != inv.ID && other.openKey == row.openKey {
			return nil, ErrOpen
		}
	}
	inv.Version++
	data, err := inv.Encode()
	if err != nil {
		return nil, err
	}
	row.data, row.summary = data, inv.Summary()
	m.opened = max(m.opened, row.order)
	return &row, nil
}

func (m *Memory) note(about string, entries ...Entry) {
	for _, e := range entries {
		e.Seq = len(m.ledger[about]) + 1
		if e.At.IsZero() {
			e.At = m.now()
		}
		e.At = e.At.UTC().Truncate(time.Microsecond)
		m.ledger[about] = append(m.ledger[about], e)
	}
}

// Ledger implements Store.
func (m *Memory) Ledger(_ context.Context, id string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ledger[id]), nil
}

// Find implements Durable.
func (m *Memory) Find(_ context.Context, q Query) ([]Summary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fits := func(s Summary) bool {
		for _, f := range [][2]string{{q.ID, s.ID}, {q.Team, s.Team}, {q.Channel, s.Channel}, {q.Cluster, s.Cluster}, {q.Job, s.Job}, {q.Requester, s.Requester}} {
			if f[0] != "" && f[0] != f[1] {
				return false
			}
		}
		return (len(q.States) == 0 || slices.Contains(q.States, s.State)) && (!q.Open || !slices.Contains(SettledStates(), s.State))
	}
	var rows []*memoryRow
	for _, row := range m.rows {
		if fits(row.summary) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *memoryRow) int { return b.order - a.order })
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	var found []Summary
	for _, row := range rows[:min(limit, len(rows))] {
		found = append(found, row.summary)
	}
	return found, nil
}

// Forget implements Durable.
func (m *Memory) Forget(_ context.Context, id, actor string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == "" || m.rows[id] == nil && len(m.ledger[id]) == 0 {
		return ErrUnknown
	}
	delete(m.rows, id)
	fact := slices.DeleteFunc(slices.Clone(m.ledger[id]), func(e Entry) bool { return e.Kind != EntryForgotten })
	delete(m.ledger, id)
	if len(fact) == 0 {
		fact = []Entry{{Kind: EntryForgotten, Actor: actor}}
	}
	m.note(id, fact...)
	m.posts = slices.DeleteFunc(m.posts, func(p *memoryPost) bool { return p.Investigation == id })
	for _, j := range m.jobs {
		if j.Investigation == id {
			j.Investigation, j.Payload, j.LastError = "", nil, ""
			if j.state == jobQueued {
				j.state, j.settled = jobDone, m.now()
			}
		}
	}
	return nil
}

// Purge implements Durable.
func (m *Memory) Purge(_ context.Context, keep time.Duration) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.jobs) + len(m.posts)
	last := m.now().Add(-max(keep, KeepKeys))
	m.jobs = slices.DeleteFunc(m.jobs, func(j *memoryJob) bool {
		return (j.state == jobDone || j.state == jobBuried) && !j.settled.After(last)
	})
	last = m.now().Add(-max(keep, 0))
	busy := map[string]bool{}
	for id, row := range m.rows {
		busy[id] = !slices.Contains(SettledStates(), row.summary.State)
	}
	for _, p := range m.posts {
		if p.unsent() && p.Investigation != "" {
			busy[p.Investigation] = true
		}
	}
	m.posts = slices.DeleteFunc(m.posts, func(p *memoryPost) bool {
		return !p.unsent() && !p.settled.After(last) && !busy[p.Investigation]
	})
	return before - len(m.jobs) - len(m.posts), nil
}

// SettledStates are the states in which nothing is left to do.
func SettledStates() []State {
	var settled []State
	for _, row := range States {
		if row.Kind == Settled {
			settled = append(settled, row.State)
		}
	}
	return settled
}

// clone copies the slices that a caller may append to; reports are never changed once made.
func (inv Investigation) clone() Investigation {
	inv.Places = slices.Clone(inv.Places)
	inv.Read = slices.Clone(inv.Read)
	inv.Sources = slices.Clone(inv.Sources)
	inv.Warnings = slices.Clone(inv.Warnings)
	inv.StorageLogs = slices.Clone(inv.StorageLogs)
	inv.StorageSources = slices.Clone(inv.StorageSources)
	inv.StorageMissing = slices.Clone(inv.StorageMissing)
	inv.StorageGiven = slices.Clone(inv.StorageGiven)
	inv.Nodes = slices.Clone(inv.Nodes)
	inv.Open = slices.Clone(inv.Open)
	inv.Without = slices.Clone(inv.Without)
	inv.Late.News = slices.Clone(inv.Late.News)
	inv.Late.Empty = slices.Clone(inv.Late.Empty)
	inv.Noise.Said = slices.Clone(inv.Noise.Said)
	return inv
}
