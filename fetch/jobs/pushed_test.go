package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/fetch/push"
	"faultline/fetch/slurm"
)

// pushes hands in files of a job, by their names and texts.
func (b *bench) pushes(t *testing.T, o push.Offer, proven bool, files map[string]string) {
	t.Helper()
	if b.Pushed == nil {
		dir := t.TempDir()
		b.Pushed = &push.Shelf{Dir: dir, Content: func(sum string) (string, error) {
			name := filepath.Join(dir, sum)
			_, err := os.Stat(name)
			return name, err
		}}
	}
	for name, text := range files {
		s := sha256.Sum256([]byte(text))
		sum := hex.EncodeToString(s[:])
		if err := os.WriteFile(filepath.Join(b.Pushed.Dir, sum), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Files = append(o.Files, push.File{Name: name, Path: filepath.Join(b.logs, name), Size: int64(len(text)), SHA256: sum, Owner: o.User,
			Written: time.Unix(1795216390, 0), Fact: name == slurm.AccountingName})
	}
	text, err := json.Marshal(push.Bundle{Cluster: "west", Proven: proven, At: time.Unix(1795216400, 0), Offer: o})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.Pushed.Dir, "c-west", "j-"+o.Job)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%s.json", o.Restart, o.User)), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) offer() push.Offer {
	return push.Offer{Job: "7", Submit: 1795216200, User: b.user, Host: "login1"}
}

func TestWhatWasPushedIsLaidOverWhatCanBeRead(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "error-7-0.out", "error-7-2.out")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(b.logs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("slurm-7.out", "one\ntwo\n") // grew after it was pushed
	write("error-7-2.out", "of another run\n")
	b.pushes(t, b.offer(), true, map[string]string{
		"slurm-7.out": "one\n", "error-7-0.out": "error-7-0.out\n", "error-7-1.out": "pushed\n", "error-7-2.out": "2\n", "notes/extra.log": "extra\n", slurm.AccountingName: "not asked for",
	})
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || len(found.Places) != 1 {
		t.Fatal(found, err)
	}
	if text := strings.Join(found.Notes, " "); !strings.Contains(text, "3 of 4 nodes, missing node04 (index 3)") || strings.Count(text, "missing") != 1 || !strings.Contains(text, "by bot push from "+b.user+" on login1") {
		t.Errorf("%q", found.Notes)
	}
	got, err := b.Collect(ctx, append(found.Places, PushPlace("west", "7")))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range got.Sources {
		text, err := os.ReadFile(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(s.Name, "slurm-a") && !strings.HasPrefix(s.Name, "slurm-n") {
			list = append(list, s.Name+" "+s.Origin+" "+strings.ReplaceAll(string(text), "\n", "."))
		}
	}
	want := []string{
		"error-7-0.out push error-7-0.out.", "error-7-1.out push pushed.", "error-7-2.out path of another run.", "notes/extra.log push extra.",
		"push-2/error-7-2.out push 2.", "slurm-7.out path one.two.",
	}
	if strings.Join(list, "|") != strings.Join(want, "|") {
		t.Errorf("%q", list)
	}
}

func TestWhatCannotBeReadIsNotMissingWhereItWasPushed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read everything; integration/slurm has it with accounts")
	}
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node01", 0)}
	b.pushes(t, b.offer(), true, map[string]string{"slurm-7.out": "one\n", "error-7-0.out": "two\n"})
	if err := os.Chmod(b.logs, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(b.logs, 0o700) }()
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || len(found.Places) != 1 || strings.Contains(strings.Join(found.Notes, " "), "can't read") {
		t.Fatalf("%+v %v", found, err)
	}
}

func TestWhoseJobItIsDecidesWhatWasPushed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *push.Offer)
		proven bool
		taken  bool
	}{
		"its owner":                    {func(*push.Offer) {}, true, true},
		"somebody by their own word":   {func(o *push.Offer) { o.User = "root" }, false, true},
		"somebody else who signed":     {func(o *push.Offer) { o.User = "mallory" }, true, false},
		"an older job with the id":     {func(o *push.Offer) { o.Submit = 1700000000 }, true, false},
		"another run":                  {func(o *push.Offer) { o.Restart = 1 }, true, false},
		"a client that knew no submit": {func(o *push.Offer) { o.Submit = 0 }, true, true},
	} {
		b := newBench(t)
		b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node01", 0)}
		o := b.offer()
		c.change(&o)
		b.pushes(t, o, c.proven, map[string]string{"slurm-7.out": "one\n"})
		found, err := b.Locate(ctx, "west", "7")
		if err != nil || (len(found.Places) == 1) != c.taken {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
}

func TestWithoutTheClusterWhatWasPushedIsAllThereIs(t *testing.T) {
	b := newBench(t)
	b.west.down = true
	o := b.offer()
	o.Nodes, o.NodesFrom, o.Notes = []string{"node01", "node02"}, "sacct", []string{"1 of 2 nodes, missing node02 (index 1)."}
	b.pushes(t, o, false, map[string]string{"error-7-0.out": "one\n", slurm.AccountingName: "JobID|State\n7|FAILED\n"})
	old := o
	old.Restart, old.Submit, old.User = 0, 1700000000, "before"
	b.pushes(t, old, false, map[string]string{"error-7-9.out": "another job\n"})
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || strings.Join(found.Places, " ") != "push:west/7" || strings.Join(found.Nodes, " ") != "node01 node02" || found.Users[0] != b.user {
		t.Fatalf("%+v %v", found, err)
	}
	if text := strings.Join(found.Notes, " "); !strings.Contains(text, "(self-reported)") || !strings.Contains(text, "missing node02") {
		t.Errorf("%q", found.Notes)
	}
	got, err := b.Collect(ctx, found.Places)
	if err != nil || names(got) != "error-7-0.out slurm-accounting.txt" || strings.Join(got.Facts, " ") != slurm.AccountingName || got.NodesFrom != "sacct" {
		t.Errorf("%s %+v %v", names(got), got, err)
	}
	if _, err := b.Collect(ctx, []string{PushPlace("west", "8")}); err == nil || !strings.Contains(err.Error(), "no longer kept") {
		t.Error(err)
	}
	if err := os.RemoveAll(b.Pushed.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Collect(ctx, found.Places); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestGatherFindsWhatThereIsToPush(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "error-7-0.out", "error-7-1.out", "error-7-3.out", "error-77-0.out")
	id, err := slurm.ParseID("7")
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Gather(ctx, "west", id)
	if err != nil || g.ID != "7" || g.Restart != 0 || g.Submit != 1795216200 || len(g.Nodes) != 4 || len(g.Logs) != 4 || len(g.Facts) != 2 {
		t.Fatalf("%+v %v", g, err)
	}
	if text := strings.Join(g.Notes, " "); !strings.Contains(text, "missing node03 (index 2)") {
		t.Errorf("%q", g.Notes)
	}
}
