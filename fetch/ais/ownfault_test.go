package ais

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"faultline/workflow"
)

func TestADiskThatDoesNotTakeStorageLogsIsTheBotsOwnFault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spool")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&Source{spool: file}).dir("F-1")
	var own *workflow.Fault
	if !errors.As(err, &own) || own.Why != "a file exists where a folder should be on the bot's host" {
		t.Errorf("%v", err)
	}
}
