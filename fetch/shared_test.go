package fetch

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// dated makes files below a new directory, each last written at its time.
func dated(t *testing.T, files map[string]time.Time) string {
	t.Helper()
	root := t.TempDir()
	for name, at := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLogsOfAJobAreFoundBelowTheRoots(t *testing.T) {
	old, late := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	west := dated(t, map[string]time.Time{
		"4242/node01.err": old, "4242/node02.err": late, "slurm-4242.out": old, "slurm-142421.out": late, "4243/x": late,
	})
	east := dated(t, map[string]time.Time{"run-4242/a": old})
	patterns := []string{"{job}", "*{job}*"}
	s := &Shared{Now: time.Now, Clusters: []Cluster{{"west", []string{west}, patterns}, {"east", []string{east}, patterns}}}
	for _, c := range []struct {
		cluster, job string
		want         []string
	}{
		{"west", "4242", []string{west + "/4242", west + "/slurm-4242.out"}},
		{"east", "4242", []string{east + "/run-4242"}},
		{"", "4242", []string{west + "/4242", west + "/slurm-4242.out", east + "/run-4242"}},
		{"west", "42", nil},
		{"west", "*", nil},
		{"west", "", nil},
		{"north", "4242", nil},
	} {
		got, err := s.Locate(context.Background(), c.cluster, c.job)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(got.Places, c.want) {
			t.Errorf("%s:%s: %q, %v; want %q", c.cluster, c.job, got.Places, err, c.want)
		}
	}
	got, err := s.Locate(context.Background(), "west", "4242")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Written.Equal(late) {
		t.Errorf("written %s, want %s", got.Written, late)
	}
	if len(got.Users) != 1 || got.Took <= 0 || !slices.Equal(got.Searched, []string{west}) {
		t.Errorf("users %q, took %s, searched %q", got.Users, got.Took, got.Searched)
	}
}

func TestRecentJobsAreReadFromTheNamesOfTheirLogs(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }
	root := dated(t, map[string]time.Time{
		"slurm-4242.out": at(5), "slurm-4243_7.out": at(6), "train-4242.err": at(7), "notes.txt": at(8), "4244/x": at(4),
	})
	if err := os.Chtimes(filepath.Join(root, "4244"), at(4), at(4)); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &Shared{Clusters: []Cluster{{"west", []string{root, "/does/not/exist"}, []string{"{job}", "*{job}*"}}}}
	got, err := s.Recent(context.Background(), me.Username, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Written = got[i].Written.UTC()
	}
	want := []Recent{{"west", "4242", at(7)}, {"west", "4243_7", at(6)}, {"west", "4244", at(4)}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got, err := s.Recent(context.Background(), "nobody", nil, 10); err == nil && len(got) != 0 {
		t.Errorf("somebody else's: %v", got)
	}
	if got, _ := s.Recent(context.Background(), me.Username, []string{"east"}, 10); len(got) != 0 {
		t.Errorf("another cluster's: %v", got)
	}
}
