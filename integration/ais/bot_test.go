//go:build realais

package ais

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// diagnose lets the bot pull the cluster's logs and judge the job, with a token that may look at the cluster and no more.
func (c *cluster) diagnose(t *testing.T, logs string, args ...string) incident.Report {
	t.Helper()
	return c.diagnoseWith(t, mint(may(c.uuid, showCluster), time.Hour), logs, append([]string{"--ais-endpoint", "env"}, args...)...)
}

func (c *cluster) diagnoseWith(t *testing.T, token, logs string, args ...string) incident.Report {
	t.Helper()
	cmd := exec.Command(os.Getenv(envBot), append(append([]string{"diagnose", "--format", "json"}, args...), logs)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "AIS_ENDPOINT=" + c.endpoint(), "AIS_AUTHN_TOKEN=" + token}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 3) {
		t.Fatalf("bot diagnose: %v\n%s", err, errs.Bytes())
	}
	var r incident.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("the report: %v\n%s", err, errs.Bytes())
	}
	// The proxies' logs repeat the tokens that they refuse.
	for _, secret := range []string{token, c.jobToken} {
		if secret != "" && strings.Contains(out.String()+errs.String(), secret) {
			t.Error("a token is shown")
		}
	}
	v := r.Verification
	if v.Quotes.Held != v.Quotes.Checked || v.Counts.Held != v.Counts.Checked || len(v.Withdrawn) > 0 {
		t.Errorf("%d of %d quotations and %d of %d counts hold, withdrawn: %q", v.Quotes.Held, v.Quotes.Checked, v.Counts.Held, v.Counts.Checked, v.Withdrawn)
	}
	return r
}

// archived writes what "ais log get cluster" would: the archives as the daemons send them. Each is read to its end. Without all,
// daemons that do not answer are left out; it is "" where none does.
func (c *cluster) archived(t *testing.T, all bool) string {
	t.Helper()
	dir, came := filepath.Join(t.TempDir(), "ais-logs"), 0
	folder(t, dir)
	for id := range c.nodes {
		raw, err := c.askWith(20*time.Second, "GET", "/v1/reverse/daemon?what=log&all=true&severity=info", http.Header{"Ais-Node-Id": {id}}, "")
		if err != nil && !all {
			t.Logf("%s does not answer: %v", id, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		came++
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(id, err)
		}
		for in := tar.NewReader(z); ; {
			if _, err := in.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(id, err)
			}
		}
		name := "aistarget-" + id + ".tar.gz"
		if strings.HasPrefix(id, "ais-proxy-") {
			name = "aisproxy-" + id + ".tar.gz"
		}
		write(t, filepath.Join(dir, name), string(raw))
	}
	if came == 0 {
		return ""
	}
	return dir
}

func daemon(t *testing.T, r incident.Report, id string) incident.StorageDaemon {
	t.Helper()
	i := slices.IndexFunc(r.Storage.Daemons, func(d incident.StorageDaemon) bool { return d.ID != nil && *d.ID == id })
	if i < 0 {
		t.Fatalf("no logs of %s were read: %q", id, r.Warnings)
	}
	return r.Storage.Daemons[i]
}

// counted is how many records of a kind a daemon wrote about requests for data.
func counted(d incident.StorageDaemon, kind string) (n int) {
	for _, e := range d.Events {
		if e.Kind == kind && !e.Administrative {
			n += e.Count
		}
	}
	return n
}

func grew(d incident.StorageDaemon, counter string) int64 {
	for _, c := range d.Counters {
		if c.Name == counter {
			return c.Grew
		}
	}
	return 0
}

func ends(d incident.StorageDaemon) (out []string) {
	for _, l := range d.Lives {
		out = append(out, l.Ended)
	}
	return out
}
