package main

import (
	"os"
	"path/filepath"
	"testing"

	"faultline/config"
)

// The numbers of cases are kept beside the database: a restore of the database alone does not take them back.
func TestNumbersOfCasesOutliveTheDatabase(t *testing.T) {
	cfg := config.Config{}
	cfg.Data.Dir = t.TempDir()
	for _, want := range []string{"F-1", "F-2"} {
		s, err := openStores(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := s.Durable.NewID(t.Context()); err != nil || id != want {
			t.Errorf("%s, want %s; %v", id, want, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(databaseFile(cfg.Data.Dir) + suffix); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(cfg.Data.Dir, "last-case")); err != nil {
		t.Error(err)
	}
}
