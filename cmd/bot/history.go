package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"faultline/analysis/history"
	"faultline/incident"
	"faultline/messages/redact"
)

// formatHistory is a report as one line of a history.
const formatHistory = "history"

// writeHistory writes the line that later runs are compared with. Secrets are masked, as in any report.
func writeHistory(w io.Writer, r *incident.Report, who history.Who) error {
	rec, err := history.Of(redact.Report(r), who)
	if err != nil {
		return err
	}
	line, err := rec.Line()
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("writing the line of history: %w", err)
	}
	return nil
}

// earlierRuns makes a source of the history that was named; none where none was.
func earlierRuns(path string) ([]incident.Source, error) {
	if path == "" {
		return nil, nil
	}
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil, usage("--history %s: there is no such file; make one with: bot diagnose --format history LOGS >> %s", path, filepath.Base(path))
	}
	return []incident.Source{{Name: filepath.Base(path), Path: path, Bytes: st.Size(), Origin: "history"}}, nil
}
