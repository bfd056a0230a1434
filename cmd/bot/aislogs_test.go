package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// daemonArchive is what "ais log get" writes of one daemon.
func daemonArchive(t *testing.T, files ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheStoragesLogsStandBesideTheJobs(t *testing.T) {
	dir := t.TempDir()
	logs := failedJob(t, t.TempDir(), "4242")
	// The host's name is shortened and no line of the INFO file names the daemon: only the archive does.
	body := "Started up at 2026/11/20 23:13:39, host ais-prod, go1.26.8 for linux/amd64\n" +
		"W 23:16:07.175022 moss:678 x-get-batch[gbt-n]-ais://lab bcast abort [ ais://lab/o/000015 does not exist ]\n" +
		strings.Repeat("I 23:16:08.284638 moss:521 get-batch[gbt-n] ctlmsg ( nothing )\n", 2000)
	ais := filepath.Join(dir, "ais-logs")
	whole := write(t, filepath.Join(ais, "aistarget-ais-prod-target-12.tar.gz"), daemonArchive(t, [2]string{"aistarget.ais-prod.INFO.1120-231339.1", body}))
	cut := daemonArchive(t, [2]string{"aistarget.ais-prod.INFO.1120-231339.1", body})
	write(t, filepath.Join(ais, "aistarget-ais-prod-target-13.tar.gz"), cut[:len(cut)*2/3])
	var plain, with, one incident.Report
	for report, args := range map[*incident.Report][]string{&plain: nil, &with: {"--ais-logs", ais}, &one: {"--ais-logs", whole}} {
		r := call(t, "", append(append([]string{"diagnose", "--format", "json"}, args...), logs)...)
		if err := json.Unmarshal([]byte(r.out), report); err != nil {
			t.Fatal(err, r.err)
		}
	}
	if plain.Verdict.Mechanism != with.Verdict.Mechanism || plain.Verdict.Status != with.Verdict.Status || plain.Coverage.Files != with.Coverage.Files {
		t.Errorf("%+v, not %+v", with.Verdict, plain.Verdict)
	}
	var names []string
	for _, d := range with.Storage.Daemons {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"target ais-prod-target-12", "target ais-prod-target-13"}) || len(one.Storage.Daemons) != 1 || one.Storage.Daemons[0].Name != names[0] {
		t.Errorf("daemons %q; of one archive %+v", names, one.Storage.Daemons)
	}
	if v := with.Verification; v.Quotes.Held != v.Quotes.Checked || v.Counts.Held != v.Counts.Checked {
		t.Errorf("%+v", v)
	}
	if !slices.ContainsFunc(with.Warnings, func(w string) bool {
		return strings.Contains(w, "target-13") && strings.Contains(w, "damaged or cut")
	}) {
		t.Errorf("that an archive is cut is said: %q", with.Warnings)
	}
	call(t, "", "diagnose", "--ais-logs", ais, logs).want(t, 0, "Storage daemons", "is not proven", "target ais-prod-target-12")
	call(t, "", "diagnose", "--ais-logs", filepath.Join(dir, "nowhere"), logs).want(t, exitUnreadable, "--ais-logs", "does not exist")
}
