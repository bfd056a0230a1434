package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/workflow"
)

// JobForget is the kind of job that ends the forgetting of an incident once its posts are removed from the chat: Forgetter.Finish.
const JobForget = "forget"

// Retention is the actor who forgets what became too old for the database; such an incident stays in the archive.
const Retention = "retention"

// Deleter is a store of attachments from which something can be removed.
type Deleter interface {
	Delete(ctx context.Context, key string) error
}

// Forgetter removes incidents: what was posted, what the bot keeps on its disk, the archive, a test case that was made of it. The
// fact that it was forgotten stays.
type Forgetter struct {
	Store   workflow.Durable
	Blobs   Deleter // nil: attachments stay, and are told
	Archive Archive // nil: there is none
	// Spools are the directories of what was uploaded, pulled and unpacked: files below them are removed. Logs elsewhere belong
	// to somebody else and stay.
	Spools []string
	// Beside removes what is kept of an incident elsewhere, and says what that was, in words; nil: there is nothing.
	Beside func(ctx context.Context, inv workflow.Investigation) ([]string, error)
	// Cases is the directory that test cases made of incidents are in, "" = none.
	Cases string
	Now   workflow.Clock
}

// Forgotten says exactly what was removed and what was not.
type Forgotten struct {
	Removed []string // in words
	Kept    []string // what could not be removed, or is not the bot's, with the reason
	Posts   int      // messages whose removal is waiting in the outbox
}

func (f *Forgotten) removed(format string, args ...any) {
	f.Removed = append(f.Removed, fmt.Sprintf(format, args...))
}

func (f *Forgotten) kept(format string, args ...any) {
	f.Kept = append(f.Kept, fmt.Sprintf(format, args...))
}

// Begin removes everything but the rows of the store, and puts the removal of what was posted into the outbox, with a job that ends the
// forgetting. An investigation that still runs is cancelled. It may be called again.
func (f *Forgetter) Begin(ctx context.Context, id, actor string) (Forgotten, error) {
	var done Forgotten
	inv, err := f.Store.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) {
		return done, forgotten(ctx, f.Store, id)
	}
	if err != nil {
		return done, fmt.Errorf("forgetting %s: %w", id, err)
	}
	posts, err := f.Store.Posts(ctx, id)
	if err == nil {
		err = f.unsay(ctx, inv, posts, actor, &done)
	}
	if err == nil {
		err = f.clear(ctx, inv, posts, &done)
	}
	if err != nil {
		return done, fmt.Errorf("forgetting %s: %w", id, err)
	}
	if f.Archive != nil {
		f.unarchive(ctx, id, &done)
	}
	return done, nil
}

// Finish removes the rows of the store, unless posts are still waiting to be removed: waiting says how many.
func (f *Forgetter) Finish(ctx context.Context, id, actor string) (waiting int, done Forgotten, err error) {
	posts, err := f.Store.Posts(ctx, id)
	if err != nil {
		return 0, done, fmt.Errorf("forgetting %s: %w", id, err)
	}
	for _, p := range posts {
		switch {
		case p.Kind != workflow.PostRemove:
		case unsent(p):
			waiting++
		case p.State == workflow.PostSent:
			done.removed("message %s in %s", p.Key, p.Channel)
		default:
			done.kept("message %s in %s: %s", p.Key, p.Channel, p.LastError)
		}
	}
	if waiting > 0 {
		return waiting, Forgotten{}, nil
	}
	if err := f.Store.Forget(ctx, id, actor); err != nil {
		return 0, done, fmt.Errorf("forgetting %s: %w", id, err)
	}
	done.removed("the investigation, its ledger and its posts from the store")
	return 0, done, nil
}

// FinishAll ends every forgetting that was begun and whose posts are gone by now; left says how many are not. A bot calls it from
// time to time.
func (f *Forgetter) FinishAll(ctx context.Context) (left int, err error) {
	jobs, err := f.Store.Waiting(ctx, JobForget)
	if err != nil {
		return 0, fmt.Errorf("looking for incidents to forget: %w", err)
	}
	var errs []error
	for _, j := range jobs {
		waiting, _, err := f.Finish(ctx, j.Investigation, string(j.Payload))
		if waiting > 0 || err != nil {
			left++
			errs = append(errs, err)
		}
	}
	return left, errors.Join(errs...)
}

// unsay ends what is still to be said and takes back what was said.
func (f *Forgetter) unsay(ctx context.Context, inv workflow.Investigation, posts []workflow.Post, actor string, done *Forgotten) error {
	asked := map[string]bool{} // keys whose removal is in the outbox already
	for _, p := range posts {
		asked[p.Key] = asked[p.Key] || p.Kind == workflow.PostRemove
	}
	change := workflow.Change{About: inv.ID}
	nameless := 0
	for _, p := range posts {
		switch {
		case p.Kind == workflow.PostRemove:
			if unsent(p) {
				done.Posts++
			}
		case p.State == workflow.PostQueued:
			if err := f.Store.Undeliverable(ctx, p.ID, "the incident is forgotten"); err != nil && !errors.Is(err, workflow.ErrLost) {
				return fmt.Errorf("removing a post from the outbox: %w", err)
			}
		case p.State != workflow.PostSent || p.Kind != workflow.PostMessage && p.Kind != workflow.PostFiles || asked[p.Key] && p.Key != "":
		case p.Key == "" || p.TS == "":
			nameless++
		default:
			asked[p.Key] = true
			done.Posts++
			change.Posts = append(change.Posts, workflow.Post{Investigation: inv.ID, Kind: workflow.PostRemove, Key: p.Key, Channel: p.Channel})
			for _, a := range p.Files {
				done.kept("%s, attached to message %s: the message is deleted, but the chat's administrators decide whether the file is kept", a.Name, p.Key)
			}
		}
	}
	if nameless > 0 {
		done.kept("%d messages whose location in the chat is unknown: delete them by hand", nameless)
	}
	if row, ok := workflow.About(inv.State); ok && row.Kind != workflow.Settled {
		inv.State, inv.Since, inv.Open = workflow.Cancelled, f.Now(), nil
		change.Investigation = &inv
	}
	if done.Posts > 0 {
		change.Jobs = []workflow.Job{{Key: "forget/" + inv.ID, Kind: JobForget, Investigation: inv.ID, Payload: []byte(actor)}}
	}
	if change.Investigation == nil && len(change.Posts)+len(change.Jobs) == 0 {
		return nil
	}
	return f.Store.Save(ctx, change)
}

// clear removes files: attachments, what was uploaded or unpacked, a test case.
func (f *Forgetter) clear(ctx context.Context, inv workflow.Investigation, posts []workflow.Post, done *Forgotten) error {
	if err := f.clearBlobs(ctx, inv.ID, posts, done); err != nil {
		return err
	}
	if f.Beside != nil {
		noted, err := f.Beside(ctx, inv)
		for _, what := range noted {
			done.removed("%s", what)
		}
		if err != nil {
			return err
		}
	}
	files, err := f.ownFiles(ctx, inv, done)
	if err != nil {
		return err
	}
	n := 0
	for _, file := range files {
		switch err := os.RemoveAll(file); {
		case err != nil:
			done.kept("%s: %v", file, err)
		default:
			n++
			f.prune(filepath.Dir(file))
		}
	}
	if n > 0 {
		done.removed("%d files that were uploaded, pulled or unpacked", n)
	}
	if f.Cases == "" || strings.ContainsAny(inv.ID, `/\`) || inv.ID == "" || inv.ID == ".." {
		return nil
	}
	dir := filepath.Join(f.Cases, "disputed-"+strings.ToLower(inv.ID)) // as desk.EvalCase names it
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		done.kept("the test case made from it, %s: %v", dir, err)
		return nil
	}
	done.removed("the test case made from it")
	return nil
}

// clearBlobs removes the attachments that no other incident has.
func (f *Forgetter) clearBlobs(ctx context.Context, id string, posts []workflow.Post, done *Forgotten) error {
	keys := map[string]bool{}
	for _, p := range posts {
		for _, a := range p.Files {
			keys[a.Blob] = true
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if f.Blobs == nil {
		done.kept("%d attachments: their store isn't open", len(keys))
		return nil
	}
	others, err := f.Store.Find(ctx, workflow.Query{Limit: unlimited})
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.ID == id {
			continue
		}
		theirs, err := f.Store.Posts(ctx, other.ID)
		if err != nil {
			return err
		}
		for _, p := range theirs {
			for _, a := range p.Files {
				delete(keys, a.Blob)
			}
		}
	}
	n := 0
	for key := range keys {
		if err := f.Blobs.Delete(ctx, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
			done.kept("an attachment: %v", err)
			continue
		}
		n++
	}
	if n > 0 {
		done.removed("%d attachments", n)
	}
	return nil
}

// ownFiles lists the files of an incident that lie in the spools and that no other investigation reads.
func (f *Forgetter) ownFiles(ctx context.Context, inv workflow.Investigation, done *Forgotten) ([]string, error) {
	mine := map[string]bool{}
	elsewhere := 0
	for _, file := range filesOf(inv) {
		if f.own(file) {
			mine[file] = true
		} else if file != "" {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		done.kept("the job's original logs: they don't belong to the bot")
	}
	if len(mine) == 0 {
		return nil, nil
	}
	shared, err := f.sharedWith(ctx, inv.ID, mine)
	if err != nil {
		return nil, err
	}
	for _, id := range shared {
		done.kept("files that %s also uses: forget that one too", id)
	}
	return slices.Sorted(maps.Keys(mine)), nil
}

// sharedWith takes out of files what other investigations read, and names those. Whoever reads a directory reads what is in it.
func (f *Forgetter) sharedWith(ctx context.Context, id string, files map[string]bool) ([]string, error) {
	others, err := f.Store.Find(ctx, workflow.Query{Limit: unlimited})
	if err != nil {
		return nil, err
	}
	var shared []string
	for _, s := range others {
		if s.ID == id {
			continue
		}
		other, err := f.Store.Load(ctx, s.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		theirs := map[string]bool{}
		before := len(files)
		for _, file := range filesOf(other) {
			theirs[file] = true
			for dir := file; f.own(dir); dir = filepath.Dir(dir) {
				delete(files, dir)
			}
		}
		for file := range files {
			for dir := file; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
				if theirs[dir] {
					delete(files, file)
				}
			}
		}
		if len(files) < before {
			shared = append(shared, s.ID)
		}
	}
	slices.Sort(shared)
	return shared, nil
}

func filesOf(inv workflow.Investigation) []string {
	files := slices.Concat(inv.Places, inv.Read, inv.StorageLogs)
	for _, s := range inv.Everything() {
		files = append(files, s.Path)
	}
	return files
}

// own says whether a path lies below a spool.
func (f *Forgetter) own(file string) bool {
	return filepath.IsAbs(file) && slices.ContainsFunc(f.Spools, func(spool string) bool {
		rel, err := filepath.Rel(spool, filepath.Clean(file))
		return err == nil && rel != "." && filepath.IsLocal(rel)
	})
}

// prune removes directories that became empty, below the spools.
func (f *Forgetter) prune(dir string) {
	for f.own(dir) && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

func (f *Forgetter) unarchive(ctx context.Context, id string, done *Forgotten) {
	keys, err := f.Archive.List(ctx, "")
	if err != nil {
		done.kept("its archived copy: the archive can't be listed (%v); the next archive run removes it", err)
		return
	}
	for _, key := range keys {
		if o, ok := parseKey(key); !ok || o.id != id {
			continue
		}
		if err := f.Archive.Remove(ctx, key); err != nil {
			done.kept("%s in the archive: %v; the next archive run removes it", key, err)
			continue
		}
		done.removed("%s from the archive", key)
	}
}

// Retire removes from the store and the disk what was settled before keep: not from the chat and not from the archive. It returns how
// many incidents went. One that has something to say yet stays, and so do the exceptions: those that could not be archived.
func (f *Forgetter) Retire(ctx context.Context, keep time.Duration, except ...string) (int, error) {
	settled, err := f.Store.Find(ctx, workflow.Query{States: workflow.SettledStates(), Limit: unlimited})
	if err != nil {
		return 0, fmt.Errorf("looking for expired incidents: %w", err)
	}
	n := 0
	var errs []error
	for _, s := range settled {
		if f.Now().Sub(s.Since) <= keep || slices.Contains(except, s.ID) {
			continue
		}
		gone, err := f.retire(ctx, s.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("removing expired %s: %w", s.ID, err))
		}
		if gone {
			n++
		}
	}
	if _, err := f.Store.Purge(ctx, keep); err != nil {
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}

func (f *Forgetter) retire(ctx context.Context, id string) (bool, error) {
	inv, err := f.Store.Load(ctx, id)
	if err != nil {
		return false, err
	}
	posts, err := f.Store.Posts(ctx, id)
	if err != nil || slices.ContainsFunc(posts, unsent) {
		return false, err
	}
	if err := f.clear(ctx, inv, posts, &Forgotten{}); err != nil {
		return false, err
	}
	if err := f.Store.Forget(ctx, id, Retention); err != nil {
		return false, err
	}
	return true, nil
}
