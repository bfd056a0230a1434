package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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
		return strings.Contains(w, "target-13") && strings.Contains(w, "damaged or truncated")
	}) {
		t.Errorf("that an archive is cut is said: %q", with.Warnings)
	}
	call(t, "", "diagnose", "--full", "--ais-logs", ais, logs).want(t, 0, "Storage daemons", "nothing relates", "target ais-prod-target-12")
	call(t, "", "diagnose", "--full", "--ais-logs", filepath.Join(dir, "nowhere"), logs).want(t, exitUnreadable, "the storage logs", "doesn't exist")
}

// A proxy that wants a token and passes on to two targets, of which one is gone.
func TestTheStoragesLogsArePulled(t *testing.T) {
	const token = "aaa.bbb.ccc"
	archive := daemonArchive(t, [2]string{"aistarget.h.INFO.1120-231339.1", "Started up at 2026/11/20 23:13:39, host h, go1.26.8 for linux/amd64\n" +
		"E 23:16:07.000000 ErrCapExceeded: out of space: used 100%: PUT /v1/objects/lab/o/1 (t[t-one]: htrun.go:1 <- target.go:1])\n"})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"message":"token required","status":401,"node":"p[p-0]"}`)
		case r.URL.Path == "/v1/daemon" && r.URL.Query().Get("what") == "smap":
			fmt.Fprint(w, `{"pmap":{"p-0":{"daemon_id":"p-0"}},"tmap":{"t-one":{"daemon_id":"t-one"},"t-two":{"daemon_id":"t-two"}},"proxy_si":{"daemon_id":"p-0"},"version":"8","uuid":"N_g66e331O"}`)
		case r.Header.Get("Ais-Node-Id") == "t-one":
			fmt.Fprint(w, archive)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"tcode":"errNodeNotFound","message":"t-two not present in Smap v8","status":404,"node":"p[p-0]"}`)
		}
	}))
	defer proxy.Close()
	logs := failedJob(t, t.TempDir(), "4242")
	t.Setenv("AIS_AUTHN_TOKEN", "")
	t.Setenv("AIS_CLIENT_CA", "")
	t.Setenv("AIS_AUTHN_TOKEN_FILE", "")
	call(t, "", "diagnose", "--full", "--ais-endpoint", proxy.URL, logs).want(t, exitOK, "requires a token", "bad value in batch") // the job's own logs are there all the same
	t.Setenv("AIS_AUTHN_TOKEN_FILE", write(t, filepath.Join(t.TempDir(), "auth.token"), `{"token":"`+token+`"}`))
	t.Setenv("AIS_ENDPOINT", proxy.URL)
	r := call(t, "", "diagnose", "--full", "--ais-endpoint", "env", "--format", "json", logs)
	var report incident.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatal(err, r.err)
	}
	if len(report.Storage.Daemons) != 1 || report.Storage.Daemons[0].Name != "target t-one" {
		t.Errorf("%+v", report.Storage.Daemons)
	}
	if !slices.ContainsFunc(report.Warnings, func(w string) bool { return strings.Contains(w, "t-two") }) {
		t.Errorf("which daemon is missing is said: %q", report.Warnings)
	}
	if strings.Contains(r.out+r.err, token) {
		t.Error("the token is shown")
	}
	call(t, "", "diagnose", "--full", "--ais-endpoint", "env", "--ais-logs", logs, logs).want(t, exitUsage, "choose one")
	call(t, "", "diagnose", "--full", "--ais-endpoint", "ftp://x", logs).want(t, exitOK, "isn't a proxy URL")
	t.Setenv("AIS_ENDPOINT", "")
	call(t, "", "diagnose", "--full", "--ais-endpoint", "env", logs).want(t, exitUsage, "AIS_ENDPOINT is not set")
}
