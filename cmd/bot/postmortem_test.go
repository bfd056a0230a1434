package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPostmortemIsWrittenOfLogsAndReports(t *testing.T) {
	dir := t.TempDir()
	call(t, "", "simulate", "--mechanism", "gpu-oom", "--seed", "3", "--out", filepath.Join(dir, "sim")).want(t, exitOK)
	logs := only(t, filepath.Join(dir, "sim"))
	call(t, "", "postmortem", logs).want(t, exitOK, "# Post-mortem of job", "## Five whys", "To be answered by the team.", "- [ ] ")

	report, page := filepath.Join(dir, "report.json"), filepath.Join(dir, "page.html")
	call(t, "", "diagnose", "--format", "json", "--out", report, logs)
	call(t, "", "postmortem", "--out", page, report).want(t, exitOK, "page.html")
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "<h2>Five whys</h2>") {
		t.Errorf("the page: %v, %d bytes", err, len(text))
	}
	call(t, "", "postmortem").want(t, exitUsage, "name an incident")
	call(t, "", "postmortem", "F-77", "--state-dir", dir).want(t, exitUsage)
}
