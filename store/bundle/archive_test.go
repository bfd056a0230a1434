package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/workflow"
)

// bucket is an archive in memory.
type bucket struct {
	objects map[string][]byte
	broken  error
}

func (b *bucket) Put(_ context.Context, key string, content io.Reader, size int64) error {
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if int64(len(text)) != size {
		return errors.New("the size is wrong")
	}
	b.objects[key] = text
	return b.broken
}

func (b *bucket) List(context.Context, string) ([]string, error) { return b.keys(), nil }

func (b *bucket) Remove(_ context.Context, key string) error {
	delete(b.objects, key)
	return nil
}

func (b *bucket) keys() []string {
	keys := []string{}
	for k := range b.objects {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (b *bucket) want(t *testing.T, keys ...string) {
	t.Helper()
	if !slices.Equal(b.keys(), keys) {
		t.Errorf("the archive holds %q, want %q", b.keys(), keys)
	}
}

func archiver(t *testing.T) (*Archiver, *workflow.Memory, *bucket) {
	t.Helper()
	src, store, _ := fixture(t)
	b := &bucket{objects: map[string][]byte{}}
	return &Archiver{Source: src, Store: store, Archive: b, Now: func() time.Time { return noon.Add(24 * time.Hour) }, Temp: t.TempDir()}, store, b
}

func run(t *testing.T, a *Archiver) Archived {
	t.Helper()
	done, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

const stem = "2026/03/01/F-1_west_4242_v"

// change saves an investigation in another state.
func change(t *testing.T, store workflow.Durable, id string, state workflow.State) {
	t.Helper()
	inv, err := store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	inv.State = state
	if err := store.Save(t.Context(), workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
}

func TestASettledIncidentIsArchivedOnce(t *testing.T) {
	a, store, b := archiver(t)
	if done := run(t, a); len(done.Copied) != 2 {
		t.Errorf("%+v", done)
	}
	b.want(t, stem+"1.json", stem+"1.zip")
	if files := unzip(t, b.objects[stem+"1.zip"]); files["incident.json"] != string(b.objects[stem+"1.json"]) {
		t.Error("the trail beside the zip is another one")
	}
	ledger, err := store.Ledger(t.Context(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	if last := ledger[len(ledger)-1]; last.Kind != "posted" || !strings.HasPrefix(last.Text, "archived as "+stem+"1.zip") {
		t.Errorf("the ledger ends with %+v", last)
	}
	if done := run(t, a); len(done.Copied)+len(done.Removed) != 0 {
		t.Errorf("again: %+v", done)
	}
	if left, _ := os.ReadDir(a.Temp); len(left) != 0 {
		t.Error("the temporary zip is left")
	}
}

func TestTheArchiveWaitsForWhatIsNotPostedYetButNotForEver(t *testing.T) {
	a, store, b := archiver(t)
	late := workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, Key: "late", Channel: "C1", Payload: []byte(`{}`)}
	if err := store.Save(t.Context(), workflow.Change{About: "F-1", Posts: []workflow.Post{late}}); err != nil {
		t.Fatal(err)
	}
	run(t, a)
	b.want(t)
	a.Now = func() time.Time { return noon.Add(27 * time.Hour) }
	run(t, a)
	b.want(t, stem+"1.json", stem+"1.zip")
}

func TestAnOpenIncidentIsNotArchived(t *testing.T) {
	a, store, b := archiver(t)
	change(t, store, "F-1", workflow.Reported)
	run(t, a)
	b.want(t)
}

func TestADisputedIncidentIsReplacedInTheArchive(t *testing.T) {
	a, store, b := archiver(t)
	run(t, a)
	change(t, store, "F-1", workflow.Disputed)
	run(t, a)
	b.want(t, stem+"2.json", stem+"2.zip")
	if !bytes.Contains(b.objects[stem+"2.json"], []byte(`"state": "disputed"`)) {
		t.Error("the archive does not say that it is disputed")
	}
}

func TestAnArchiveThatFailedHalfWayIsMended(t *testing.T) {
	a, _, b := archiver(t)
	b.broken = errors.New("out of order")
	if done, err := a.Run(t.Context()); err == nil || !slices.Equal(done.Failed, []string{"F-1"}) {
		t.Errorf("%+v, %v", done, err)
	}
	b.broken = nil
	delete(b.objects, stem+"1.zip")
	run(t, a)
	b.want(t, stem+"1.json", stem+"1.zip")
}

func TestTheArchiveForgetsWhatPeopleForgotAndKeepsWhatBecameOld(t *testing.T) {
	for actor, want := range map[string]int{"U7": 1, Retention: 3} {
		a, store, b := archiver(t)
		b.objects["notes/of somebody else.txt"] = nil
		run(t, a)
		if err := store.Forget(t.Context(), "F-1", actor); err != nil {
			t.Fatal(err)
		}
		run(t, a)
		if len(b.objects) != want {
			t.Errorf("forgotten by %s: %q", actor, b.keys())
		}
	}
}

func TestTheArchiveRemovesWhatIsTooOldAndDoesNotBringItBack(t *testing.T) {
	a, _, b := archiver(t)
	b.objects["2025/01/01/F-99_west_1_v3.zip"] = nil // of a database that was lost
	run(t, a)
	if len(b.objects) != 3 {
		t.Fatalf("%q", b.keys())
	}
	a.Keep = 48 * time.Hour
	run(t, a)
	b.want(t, stem+"1.json", stem+"1.zip")
	a.Now = func() time.Time { return noon.Add(72 * time.Hour) }
	run(t, a)
	run(t, a)
	b.want(t)
}

func TestKeysOfTheArchiveAreReadableAndAreReadAgain(t *testing.T) {
	for job, want := range map[string]string{"12345_7": "12345-7", "a/b c": "a-b-c", "": "", "12345+0": "12345+0"} {
		inc := &Incident{Investigation: Investigation{ID: "F-12", Cluster: "west", Job: job, Since: noon, Version: 17}}
		key := inc.key() + ".zip"
		if key != "2026/03/01/F-12_west_"+want+"_v17.zip" {
			t.Errorf("%q: %s", job, key)
		}
		if o, ok := parseKey(key); !ok || o.id != "F-12" || o.version != 17 || !o.date.Equal(noon.Truncate(24*time.Hour)) {
			t.Errorf("%s is read as %+v", key, o)
		}
	}
}

func forgetter(t *testing.T) (*Forgetter, *workflow.Memory, blobs) {
	t.Helper()
	_, store, attached := fixture(t)
	return &Forgetter{Store: store, Blobs: attached, Spools: []string{filepath.Join(t.TempDir(), "spool"), "/elsewhere"}, Now: func() time.Time { return noon }}, store, attached
}

// upload puts a file into the spool and makes an investigation read it.
func upload(t *testing.T, f *Forgetter, id, name string) string {
	t.Helper()
	file := filepath.Join(f.Spools[0], name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	inv, err := f.Store.Load(t.Context(), id)
	if errors.Is(err, workflow.ErrUnknown) {
		inv, err = workflow.Investigation{ID: id, State: workflow.Closed, Job: "other"}, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	inv.Places = append(inv.Places, file)
	if err := f.Store.Save(t.Context(), workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	return file
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func TestForgettingTakesBackWhatWasPostedAndThenTheRows(t *testing.T) {
	f, store, attached := forgetter(t)
	ctx := t.Context()
	done, err := f.Begin(ctx, "F-1", "U7")
	if err != nil {
		t.Fatal(err)
	}
	if done.Posts != 2 || len(attached) != 0 {
		t.Errorf("%+v; attachments: %v", done, attached)
	}
	if again, err := f.Begin(ctx, "F-1", "U7"); err != nil || again.Posts != 2 {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	if waiting, _, err := f.Finish(ctx, "F-1", "U7"); waiting != 2 || err != nil {
		t.Errorf("waiting for %d, %v", waiting, err)
	}
	if _, err := store.Load(ctx, "F-1"); err != nil {
		t.Error("the rows went before the posts")
	}
	if left, err := f.FinishAll(ctx); left != 1 || err != nil {
		t.Errorf("%d are left, %v", left, err)
	}
	send(t, store)
	waiting, end, err := f.Finish(ctx, "F-1", "U7")
	if waiting != 0 || err != nil || len(end.Removed) != 3 {
		t.Errorf("%d, %+v, %v", waiting, end, err)
	}
	if _, err := f.Begin(ctx, "F-1", "U7"); !errors.Is(err, ErrForgotten) {
		t.Errorf("%v", err)
	}
	if jobs, _ := store.Waiting(ctx); len(jobs) != 0 {
		t.Errorf("jobs are left: %+v", jobs)
	}
}

func TestForgettingKeepsWhatIsOfOthers(t *testing.T) {
	f, _, _ := forgetter(t)
	mine, both := upload(t, f, "F-1", "F-1/a.out"), upload(t, f, "F-1", "F-2/b.out")
	upload(t, f, "F-2", "F-2/b.out")
	dir := filepath.Join(f.Spools[0], "F-3")
	inside := upload(t, f, "F-1", "F-3/c.out")
	other := workflow.Investigation{ID: "F-3", State: workflow.Closed, Places: []string{dir}}
	if err := f.Store.Save(t.Context(), workflow.Change{Investigation: &other}); err != nil {
		t.Fatal(err)
	}
	inv, err := f.Store.Load(t.Context(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	done, err := f.Begin(t.Context(), "F-1", "U7")
	if err != nil {
		t.Fatal(err)
	}
	if exists(mine) || exists(filepath.Dir(mine)) {
		t.Error("an upload is left")
	}
	if !exists(both) || !exists(inside) || !exists(inv.Sources[0].Path) {
		t.Error("what others read is gone")
	}
	if text := strings.Join(done.Kept, "\n"); !strings.Contains(text, "F-2") || !strings.Contains(text, "F-3") || !strings.Contains(text, "they don't belong to the bot") {
		t.Errorf("kept: %s", text)
	}
}

func TestForgettingCannotLeaveItsDirectories(t *testing.T) {
	f, _, _ := forgetter(t)
	for _, path := range []string{f.Spools[0], filepath.Dir(f.Spools[0]), "relative", f.Spools[0] + "/../x", f.Spools[0] + "x/y", "/etc/passwd", ""} {
		if f.own(path) {
			t.Errorf("%q counts as the bot's", path)
		}
	}
	if !f.own(f.Spools[0] + "/a") {
		t.Error("nothing counts as the bot's")
	}
}

func TestForgettingRemovesTheArchiveTheTestCaseAndWhatIsStillToBeSaid(t *testing.T) {
	a, store, b := archiver(t)
	run(t, a)
	cases := t.TempDir()
	if err := os.MkdirAll(filepath.Join(cases, "disputed-f-1", "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	late := workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, Key: "late", Channel: "C1", Payload: []byte(`{}`)}
	if err := store.Save(t.Context(), workflow.Change{About: "F-1", Posts: []workflow.Post{late}}); err != nil {
		t.Fatal(err)
	}
	change(t, store, "F-1", workflow.Triaging)
	f := &Forgetter{Store: store, Archive: b, Cases: cases, Now: a.Now}
	if _, err := f.Begin(t.Context(), "F-1", "U7"); err != nil {
		t.Fatal(err)
	}
	b.want(t)
	if exists(filepath.Join(cases, "disputed-f-1")) {
		t.Error("the test case is left")
	}
	if inv, err := store.Load(t.Context(), "F-1"); err != nil || inv.State != workflow.Cancelled {
		t.Errorf("it goes on: %s, %v", inv.State, err)
	}
	posts, err := store.Posts(t.Context(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range posts {
		if p.Key == "late" && p.State != workflow.PostUndeliverable {
			t.Errorf("the late post is %s", p.State)
		}
	}
}

func TestWhatIsTooOldLeavesTheStoreAndTheDisk(t *testing.T) {
	f, store, attached := forgetter(t)
	file := upload(t, f, "F-1", "F-1/a.out")
	f.Now = func() time.Time { return noon.Add(30 * 24 * time.Hour) }
	if n, err := f.Retire(t.Context(), 60*24*time.Hour); n != 0 || err != nil || !exists(file) {
		t.Errorf("too early: %d, %v", n, err)
	}
	if n, err := f.Retire(t.Context(), 20*24*time.Hour, "F-1"); n != 0 || err != nil || !exists(file) {
		t.Errorf("it was not archived: %d, %v", n, err)
	}
	if n, err := f.Retire(t.Context(), 20*24*time.Hour); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if exists(file) || len(attached) != 0 {
		t.Error("files are left")
	}
	ledger, err := store.Ledger(t.Context(), "F-1")
	if err != nil || len(ledger) != 1 || ledger[0].Actor != Retention {
		t.Errorf("%+v, %v", ledger, err)
	}
}

func TestABotEndsTheForgettingThatACommandBegan(t *testing.T) {
	f, store, _ := forgetter(t)
	if _, err := f.Begin(t.Context(), "F-1", "U7"); err != nil {
		t.Fatal(err)
	}
	send(t, store)
	if left, err := f.FinishAll(t.Context()); left != 0 || err != nil {
		t.Errorf("%d are left, %v", left, err)
	}
	ledger, err := store.Ledger(t.Context(), "F-1")
	if err != nil || len(ledger) != 1 || ledger[0].Actor != "U7" {
		t.Errorf("%+v, %v", ledger, err)
	}
	if left, err := f.FinishAll(t.Context()); left != 0 || err != nil {
		t.Errorf("again: %d are left, %v", left, err)
	}
}

func TestAnAttachmentThatAnotherIncidentHasStays(t *testing.T) {
	f, store, attached := forgetter(t)
	upload(t, f, "F-2", "F-2/b.out")
	same := workflow.Post{Investigation: "F-2", Kind: workflow.PostFiles, Key: "final-1", Channel: "C1", Payload: []byte(`{}`),
		Files: []workflow.Attachment{{Name: "report.json", Blob: "b1", Bytes: 2}}}
	if err := store.Save(t.Context(), workflow.Change{About: "F-2", Posts: []workflow.Post{same}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Begin(t.Context(), "F-1", "U7"); err != nil {
		t.Fatal(err)
	}
	if attached["b1"] == "" {
		t.Error("the attachment of another incident is gone")
	}
}
