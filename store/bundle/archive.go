package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/workflow"
)

// Archive is where closed incidents are copied to, by readable keys: a bucket.
type Archive interface {
	// Put stores size bytes of content under the key, in place of what is there.
	Put(ctx context.Context, key string, content io.Reader, size int64) error
	// List returns the keys that begin with the prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove removes what is there; nothing being there is no error.
	Remove(ctx context.Context, key string) error
}

// Archiver copies closed incidents to an archive and removes there what is too old, superseded or forgotten.
type Archiver struct {
	Source  Source
	Store   workflow.Durable
	Archive Archive
	// Keep is how long an incident stays in the archive after it was settled; 0 = for ever.
	Keep time.Duration
	Now  workflow.Clock
	// Temp is the directory for a zip before it is copied; "" = the system's.
	Temp string
}

// Archived says what one run did.
type Archived struct {
	Copied, Removed []string // keys
	Failed          []string // incidents
}

// unlimited is a Query.Limit for all.
const unlimited = 1 << 30

// Run archives every incident that is settled and not archived as it is now. An incident that was archived and changed since (it
// was disputed, or opened again) is replaced, so that the archive never holds a conclusion as final that is not. One that cannot be
// archived does not keep the others from it.
func (a *Archiver) Run(ctx context.Context) (Archived, error) {
	var done Archived
	keys, err := a.Archive.List(ctx, "")
	if err != nil {
		return done, fmt.Errorf("listing the archive: %w", err)
	}
	held := map[string][]object{} // by incident
	for _, key := range keys {
		if o, ok := parseKey(key); ok {
			held[o.id] = append(held[o.id], o)
		}
	}
	settled, err := a.Store.Find(ctx, workflow.Query{States: workflow.SettledStates(), Limit: unlimited})
	if err != nil {
		return done, fmt.Errorf("looking for incidents to archive: %w", err)
	}
	ids := map[string]bool{}
	for _, s := range settled {
		ids[s.ID] = true
	}
	for id := range held {
		ids[id] = true
	}
	order := make([]string, 0, len(ids))
	for id := range ids {
		order = append(order, id)
	}
	slices.Sort(order)
	var errs []error
	for _, id := range order {
		if err := a.one(ctx, id, held[id], &done); err != nil {
			done.Failed = append(done.Failed, id)
			errs = append(errs, fmt.Errorf("archiving %s: %w", id, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return done, errors.Join(errs...)
}

// one brings what the archive holds of an incident up to date.
func (a *Archiver) one(ctx context.Context, id string, held []object, done *Archived) error {
	inv, err := a.Store.Load(ctx, id)
	switch {
	case errors.Is(err, workflow.ErrUnknown):
		forgotten, ferr := a.forgotten(ctx, id)
		if ferr != nil || forgotten {
			return errors.Join(ferr, a.remove(ctx, held, done))
		}
		return a.remove(ctx, slices.DeleteFunc(held, func(o object) bool { return !a.tooOld(o.date) }), done)
	case err != nil:
		return err
	}
	date := inv.Since.UTC().Truncate(24 * time.Hour)
	if row, ok := workflow.About(inv.State); ok && row.Kind == workflow.Settled && a.tooOld(date) {
		return a.remove(ctx, held, done)
	}
	current := 0
	var old []object
	for _, o := range held {
		if o.version == inv.Version {
			current++
		} else {
			old = append(old, o)
		}
	}
	if current < len(extensions) {
		if early, err := a.tooEarly(ctx, inv); early || err != nil {
			return err // the next run finds it
		}
		if err := a.copy(ctx, id, done); err != nil {
			return err
		}
	}
	return a.remove(ctx, old, done)
}

// patience is how long the archive waits for posts that are not sent yet: what it says of them would stay so.
const patience = 24 * time.Hour

func (a *Archiver) tooEarly(ctx context.Context, inv workflow.Investigation) (bool, error) {
	if a.Now().Sub(inv.Since) > patience {
		return false, nil
	}
	posts, err := a.Store.Posts(ctx, inv.ID)
	return slices.ContainsFunc(posts, unsent), err
}

func unsent(p workflow.Post) bool {
	return p.State == workflow.PostQueued || p.State == workflow.PostSending
}

func (a *Archiver) tooOld(date time.Time) bool { return a.Keep > 0 && a.Now().Sub(date) > a.Keep }

// forgotten says whether people asked for it; what only became too old for the database stays in the archive.
func (a *Archiver) forgotten(ctx context.Context, id string) (bool, error) {
	ledger, err := a.Store.Ledger(ctx, id)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(ledger, func(e workflow.Entry) bool { return e.Kind == workflow.EntryForgotten && e.Actor != Retention }), nil
}

func (a *Archiver) remove(ctx context.Context, list []object, done *Archived) error {
	for _, o := range list {
		if err := a.Archive.Remove(ctx, o.key); err != nil {
			return fmt.Errorf("removing %s: %w", o.key, err)
		}
		done.Removed = append(done.Removed, o.key)
	}
	return nil
}

// copy writes an incident to the archive: the zip, and beside it incident.json for those who only want to look something up.
func (a *Archiver) copy(ctx context.Context, id string, done *Archived) error {
	inc, err := Read(ctx, a.Source, id)
	if err != nil {
		return err
	}
	zip, err := os.CreateTemp(a.Temp, "archive-*.zip")
	if err != nil {
		return fmt.Errorf("making room for the zip: %w", err)
	}
	defer os.Remove(zip.Name())
	defer zip.Close()
	sum := &summed{w: zip, hash: sha256.New()}
	if _, err := inc.Zip(ctx, sum, a.Source); err != nil {
		return err
	}
	if _, err := zip.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var trail bytes.Buffer
	if err := inc.JSON(&trail); err != nil {
		return err
	}
	base := inc.key()
	// The zip comes last: where it is, everything is.
	for _, put := range []struct {
		ext  string
		from io.Reader
		size int64
	}{{".json", bytes.NewReader(trail.Bytes()), int64(trail.Len())}, {".zip", zip, sum.n}} {
		if err := a.Archive.Put(ctx, base+put.ext, put.from, put.size); err != nil {
			return fmt.Errorf("storing %s: %w", base+put.ext, err)
		}
		done.Copied = append(done.Copied, base+put.ext)
	}
	// The version counts saves of the investigation; an entry alone is none, so it is not archived again for it.
	note := workflow.Entry{At: a.Now(), Kind: "posted", Text: "archived as " + base + ".zip, sha256 " + hex.EncodeToString(sum.hash.Sum(nil))}
	if err := a.Store.Save(ctx, workflow.Change{About: id, Entries: []workflow.Entry{note}}); err != nil {
		return fmt.Errorf("noting in the ledger that it was archived: %w", err)
	}
	return nil
}

var extensions = []string{"json", "zip"}

// object is a key of the archive: 2026/03/01/F-12_west_4242_v17.zip, with the day on which the incident was settled and the version
// of the investigation.
type object struct {
	key, id string
	version int
	date    time.Time
}

var keyShape = regexp.MustCompile(`^(\d{4}/\d{2}/\d{2})/([^_/]+)_[^/]*_v(\d+)\.(?:json|zip)$`)

func parseKey(key string) (object, bool) {
	m := keyShape.FindStringSubmatch(key)
	if m == nil {
		return object{}, false
	}
	date, err := time.Parse("2006/01/02", m[1])
	version, verr := strconv.Atoi(m[3])
	return object{key: key, id: m[2], version: version, date: date}, err == nil && verr == nil
}

func (inc *Incident) key() string {
	inv := inc.Investigation
	return fmt.Sprintf("%s/%s_%s_%s_v%d", inv.Since.Format("2006/01/02"), plain(inv.ID), plain(inv.Cluster), plain(inv.Job), inv.Version)
}

// plain keeps of a name what every store takes in a key.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '-' || r == '+' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 100)]
}
