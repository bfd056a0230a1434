package ais

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"faultline/config"
	"faultline/workflow"
)

// Keep is how long an access that somebody gave stays in memory when nobody uses it.
const Keep = 30 * time.Minute

// Source holds accesses in memory, by investigation, and pulls with them. It fills workflow's Storage.
type Source struct {
	spool string

	mu     sync.Mutex
	client *Client
	named  []config.Storage
	held   map[string]*held
}

// held is an access whose token can be overwritten, which a string cannot.
type held struct {
	access Access // without its token
	token  []byte
	expiry *time.Timer
}

func (h *held) wipe() {
	h.expiry.Stop()
	clear(h.token)
	h.token, h.access = nil, Access{}
}

// NewSource returns a source that knows the configured storage clusters and keeps what it pulls below spool, an existing
// directory, as <investigation>/storage.
func NewSource(named []config.Storage, rules config.StorageAccess, spool string) *Source {
	return &Source{spool: spool, client: NewClient(rules), named: slices.Clone(named), held: map[string]*held{}}
}

// Format implements fmt.Formatter: nothing of what it holds is printed.
func (s *Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "ais.Source") }

// Configure replaces what NewSource was given; pulls that run go on with what they had.
func (s *Source) Configure(named []config.Storage, rules config.StorageAccess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = &Client{rules: rules, lim: s.client.lim, turns: s.client.turns}
	s.named = slices.Clone(named)
}

// Named is the access that is configured under a name. Its error is for people.
func (s *Source) Named(name string) (Access, error) {
	s.mu.Lock()
	i := slices.IndexFunc(s.named, func(c config.Storage) bool { return c.Name == name })
	var found config.Storage
	if i >= 0 {
		found = s.named[i]
	}
	s.mu.Unlock()
	if i < 0 {
		return Access{}, errors.New("no storage cluster is configured under that name")
	}
	return configured(found)
}

// Check is Client's, with the rules that hold now.
func (s *Source) Check(ctx context.Context, a Access) error { return s.now().Check(ctx, a) }

// Give keeps an access for the next Fetch of an investigation, in the place of an earlier one.
func (s *Source) Give(id string, a Access) {
	h := &held{access: a, token: []byte(a.Token.Reveal())}
	h.access.Token = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.held[id]; old != nil {
		old.wipe()
	}
	s.held[id] = h
	h.expiry = time.AfterFunc(Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[id] == h {
			delete(s.held, id)
			h.wipe()
		}
	})
}

// Known says whether an access for the investigation is in memory.
func (s *Source) Known(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[id] != nil
}

// Forget wipes the access of an investigation, if there is one.
func (s *Source) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[id]; h != nil {
		delete(s.held, id)
		h.wipe()
	}
}

// Close wipes all accesses.
func (s *Source) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.held {
		delete(s.held, id)
		h.wipe()
	}
}

func (s *Source) now() *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *Source) access(inv workflow.Investigation) (Access, error) {
	s.mu.Lock()
	if h := s.held[inv.ID]; h != nil {
		a := h.access
		a.Token = config.Secret(h.token)
		s.mu.Unlock()
		return a, nil
	}
	s.mu.Unlock()
	if name, ok := inv.StorageProfile(); ok { // that one needs no memory
		return s.Named(name)
	}
	return Access{}, workflow.ErrAccessLost
}

// Fetch implements workflow.Storage. The access is wiped when the pull has ended, well or not: a second chance needs a new
// one. Only a pull that was interrupted keeps it, so that the step can be repeated.
func (s *Source) Fetch(ctx context.Context, inv workflow.Investigation) (workflow.StorageLogs, error) {
	a, err := s.access(inv)
	if err != nil {
		return workflow.StorageLogs{}, err
	}
	dir, err := s.dir(inv.ID)
	if err != nil {
		return workflow.StorageLogs{}, err
	}
	got, err := s.now().Pull(ctx, a, dir)
	if ctx.Err() != nil {
		return workflow.StorageLogs{}, ctx.Err()
	}
	var files []string
	if err == nil {
		files, err = s.keep(inv.ID, dir, slices.Concat(got.Files, got.Status))
	}
	var own *workflow.Fault
	if !errors.As(err, &own) { // the access is of use for the next try
		s.Forget(inv.ID)
	}
	if err != nil {
		return workflow.StorageLogs{}, errors.Join(err, os.RemoveAll(dir))
	}
	return workflow.StorageLogs{Places: files, Nodes: got.Nodes, Warnings: got.Missing}, nil
}

// kept is the directory that an investigation's storage logs are kept in. Beside it is the one that a pull fills: what an earlier
// one brought stays until the next has succeeded.
const kept, coming = "storage", "storage.new"

// dir makes the empty directory for a pull.
func (s *Source) dir(id string) (string, error) {
	if wordEnd(id) != len(id) || id == "" { // ids are ours; this one becomes a path that is removed
		return "", errors.New("the investigation's ID can't be used as a directory name")
	}
	dir := filepath.Join(s.spool, id, coming)
	if err := os.RemoveAll(dir); err != nil {
		return "", spoolFault(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", spoolFault(err)
	}
	return dir, nil
}

// keep puts what a pull brought in the place of what an earlier one did.
func (s *Source) keep(id, dir string, files []string) ([]string, error) {
	to := filepath.Join(s.spool, id, kept)
	if err := os.RemoveAll(to); err != nil {
		return nil, spoolFault(err)
	}
	if err := os.Rename(dir, to); err != nil {
		return nil, spoolFault(err)
	}
	moved := make([]string, len(files))
	for i, f := range files {
		moved[i] = filepath.Join(to, filepath.Base(f))
	}
	return moved, nil
}
