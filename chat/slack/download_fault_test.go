package slack

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"faultline/workflow"
)

func TestAFileThatOurDiskDoesNotTakeIsNoFaultOfSlack(t *testing.T) {
	var own *workflow.Fault
	if err := writeFile(filepath.Join(t.TempDir(), "gone", "x"), strings.NewReader("text"), -1); !errors.As(err, &own) {
		t.Errorf("%v", err)
	}
	if err := writeFile(filepath.Join(t.TempDir(), "x"), broken{}, -1); err == nil || errors.As(err, &own) {
		t.Errorf("a connection that ends: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection ended") }
