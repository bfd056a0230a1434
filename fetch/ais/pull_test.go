package ais

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEveryDaemonOfTheMapIsPulled(t *testing.T) {
	c := &cluster{}
	dir := t.TempDir()
	got, err := quick(loopback).Pull(t.Context(), access(serve(t, c).URL), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"aisproxy-ais-proxy-0.tar.gz", "aistarget-ais-target-1.tar.gz", "aistarget-ais-target-2.tar.gz", "aistarget-ais-target-3.tar.gz"}
	if got.Nodes != 4 || len(got.Missing) != 0 || !slices.Equal(names(got.Files), want) || !slices.Equal(listing(t, dir), want) {
		t.Errorf("%+v; %v", got, listing(t, dir))
	}
	raw, err := os.ReadFile(got.Files[1])
	if err != nil || !bytes.Equal(raw, packed("aistarget.vm.INFO.1120-231339.1", logText)) {
		t.Errorf("the archive was changed: %d bytes, %v", len(raw), err)
	}
	if st, err := os.Stat(got.Files[1]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("anybody may read it: %v, %v", st.Mode(), err)
	}
	if c.tokens["/v1/reverse/daemon"] != 8 {
		t.Errorf("tokens: %v", c.tokens)
	}
}

func names(files []string) (out []string) {
	for _, f := range files {
		out = append(out, filepath.Base(f))
	}
	return out
}

func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWhatIsMissingIsTold(t *testing.T) {
	whole := packed("aistarget.vm.INFO.1120-231339.1", noise(300_000))
	send := func(b []byte) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write(b) }
	}
	sum := slices.Clone(whole)
	sum[len(sum)-6] ^= 1
	unzipped := tarOf("a.INFO.1", noise(300_000))
	for name, c := range map[string]struct {
		logs func(http.ResponseWriter, *http.Request)
		set  func(*limits)
		kept bool
		says string
	}{
		"node that left":         {logs: fails(404, "errNodeNotFound", `node "ais-target-2" is not present in Smap v8`), says: "had already left the cluster"},
		"node that is down":      {logs: fails(502, "", ""), says: "the proxy can't reach it"},
		"full disk of the node":  {logs: fails(500, "", "create-archive /tmp/x: write: no space left on device"), says: "no room to pack"},
		"another error":          {logs: fails(500, "", "oops"), says: "returned an error (500): oops"},
		"throttled":              {logs: fails(429, "", ""), says: "429"},
		"truncated with 200":     {logs: send(whole[:200_000]), kept: true, says: "the archive ends too early"},
		"without the sums":       {logs: send(whole[:len(whole)-8]), kept: true, says: "the archive ends too early"},
		"last byte missing":      {logs: send(whole[:len(whole)-1]), kept: true, says: "the archive ends too early"},
		"a few bytes only":       {logs: send(whole[:12]), says: "the archive ends too early"},
		"nothing":                {logs: send(nil), says: "the archive ends too early"},
		"tar cut before packing": {logs: send(gzipped(unzipped[:len(unzipped)-1024])), kept: true, says: "the archive ends too early"},
		"tar cut in a file":      {logs: send(gzipped(unzipped[:100_000])), kept: true, says: "the archive ends too early"},
		"wrong sum":              {logs: send(sum), kept: true, says: "the archive is damaged"},
		"more behind it":         {logs: send(append(slices.Clone(whole), "<html>the proxy has failed</html>"...)), kept: true, says: "the archive is damaged"},
		"no tar in it":           {logs: send(gzipped([]byte(logText))), says: "the archive is damaged"},
		"a web page":             {logs: send([]byte("<html>log in</html>")), says: "didn't send an archive"},
		"an empty archive":       {logs: send(packed("", "")), says: "its archive is empty"},
		"connection broken":      {logs: breaks(whole[:150_000]), kept: true, says: "the archive ends too early"},
		"too large":              {logs: send(whole), set: func(l *limits) { l.archive = 200_000 }, kept: true, says: "exceed my limit (200000 bytes)"},
		"all too large":          {logs: send(whole), set: func(l *limits) { l.all = 200_000 }, kept: true, says: "of the whole cluster"},
		"larger than it looks":   {logs: send(packed("a.INFO.1", strings.Repeat("\x00", 2<<20))), set: func(l *limits) { l.unpacked = 1 << 20 }, kept: true, says: "exceed my limit (1.0 MiB unpacked)"},
		"never answers":          {logs: blocked(t), set: func(l *limits) { l.prepare = time.Second }, says: "sent nothing for 1s"},
		"stops sending":          {logs: stalls(t, whole[:150_000]), set: func(l *limits) { l.stall = time.Second }, kept: true, says: "sent nothing for 1s"},
		"sends for ever":         {logs: forEver, set: func(l *limits) { l.perDaemon = time.Second }, kept: true, says: "hadn't finished after 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The other nodes have enough of everything: the limits of a case are meant for its node alone.
			fake := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-2": c.logs}}
			client := quick(loopback)
			client.lim.parallel = 1
			if c.set != nil {
				c.set(&client.lim)
				for _, other := range []string{"ais-target-1", "ais-target-3", "ais-proxy-0"} {
					fake.logs[other] = send(packed("a.INFO.1", "small"))
				}
			}
			dir := t.TempDir()
			got, err := client.Pull(t.Context(), access(serve(t, fake).URL), dir)
			if err != nil {
				t.Fatal(err)
			}
			lead, nodes := "No logs from ", 3
			if c.kept {
				lead, nodes = "Only part of the logs from ", 4
			}
			if name == "all too large" { // nothing is left for those behind it
				nodes = 2
				if len(got.Missing) != 2 {
					t.Fatalf("%+v", got)
				}
			} else if len(got.Missing) != 1 {
				t.Fatalf("%+v", got)
			}
			noCanary(t, got.Missing...)
			if !strings.HasPrefix(got.Missing[0], lead+"target ais-target-2: ") || !strings.Contains(got.Missing[0], c.says) || !strings.HasSuffix(got.Missing[0], ".") {
				t.Errorf("got %q; want %s… %s", got.Missing[0], lead, c.says)
			}
			if got.Nodes != nodes || len(got.Files) != nodes || len(listing(t, dir)) != nodes {
				t.Errorf("%d nodes, files %v, directory %v", got.Nodes, got.Files, listing(t, dir))
			}
		})
	}
}

// breaks sends a part and cuts the connection.
func breaks(b []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Write(b)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// stalls sends a part and then nothing.
func stalls(t *testing.T, b []byte) func(http.ResponseWriter, *http.Request) {
	wait := blocked(t)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Write(b)
		http.NewResponseController(w).Flush()
		wait(w, r)
	}
}

// forEver sends a log without end.
func forEver(w http.ResponseWriter, r *http.Request) {
	z := gzip.NewWriter(w)
	out := tar.NewWriter(z)
	out.WriteHeader(&tar.Header{Name: "a.INFO.1", Typeflag: tar.TypeReg, Size: 1 << 50})
	for chunk := []byte(noise(1 << 16)); r.Context().Err() == nil; {
		if _, err := out.Write(chunk); err != nil {
			return
		}
		http.NewResponseController(w).Flush()
	}
}

func TestATokenThatExpiresOnTheWayEndsTheAsking(t *testing.T) {
	expired := fails(401, "", saysExpired)
	fake := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-2": expired, "ais-target-3": expired, "ais-proxy-0": expired}}
	client := quick(loopback)
	client.lim.parallel = 1
	got, err := client.Pull(t.Context(), access(serve(t, fake).URL), t.TempDir())
	if err != nil || got.Nodes != 1 || len(got.Missing) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := "No logs from target ais-target-2, target ais-target-3, proxy ais-proxy-0: the token has expired"; !strings.HasPrefix(got.Missing[0], want) {
		t.Errorf("got %q", got.Missing[0])
	}
	if fake.asked["ais-target-2"] != 1 || fake.asked["ais-target-3"] != 0 {
		t.Errorf("asked in vain: %v", fake.asked)
	}
}

func TestAPullThatBringsNothingIsAnError(t *testing.T) {
	all := func(f func(http.ResponseWriter, *http.Request)) *cluster {
		m := map[string]func(http.ResponseWriter, *http.Request){}
		for _, id := range []string{"ais-target-1", "ais-target-2", "ais-target-3", "ais-proxy-0"} {
			m[id] = f
		}
		return &cluster{logs: m}
	}
	_, err := quick(loopback).Pull(t.Context(), access(serve(t, all(fails(403, "", ""))).URL), t.TempDir())
	if kindOf(t, err) != Forbidden {
		t.Errorf("got %v", err)
	}
	_, err = quick(loopback).Pull(t.Context(), access(serve(t, all(fails(502, "", ""))).URL), t.TempDir())
	if kindOf(t, err) != Nothing || !strings.Contains(err.Error(), "none of its daemons returned its logs. No logs from target ais-target-1, ") {
		t.Errorf("got %v", err)
	}
	_, err = quick(loopback).Pull(t.Context(), access(serve(t, &cluster{}).URL), filepath.Join(t.TempDir(), "missing"))
	if kindOf(t, err) != SpoolError || strings.Contains(err.Error(), "/") {
		t.Errorf("got %v", err)
	}
}

func TestHostileMapsDoNoHarm(t *testing.T) {
	many := map[string]string{}
	for i := range 20 {
		many[fmt.Sprintf("t%02d", i)] = "{}"
	}
	for name, c := range map[string]struct {
		targets map[string]string
		nodes   int
		says    string
	}{
		"paths as ids":     {map[string]string{"../../etc/x": "{}", "a/b": "{}", "..": "{}", `a\nb`: "{}", "": "{}", "good.one": "{}"}, 2, "5 daemons in the cluster map have invalid IDs"},
		"no targets":       {nil, 1, "lists no targets"},
		"too many daemons": {many, 10, "has 21 daemons; I asked the first 10"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &cluster{smap: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, `{"uuid":"u","version":"3","pmap":{"p1":{}},"tmap":{`)
				sep := ""
				for id, v := range c.targets {
					fmt.Fprintf(w, `%s"%s":%s`, sep, id, v)
					sep = ","
				}
				io.WriteString(w, `}}`)
			}}
			client := quick(loopback)
			client.lim.daemons = 10
			dir := t.TempDir()
			got, err := client.Pull(t.Context(), access(serve(t, fake).URL), dir)
			if err != nil || got.Nodes != c.nodes || len(listing(t, dir)) != c.nodes || !strings.Contains(strings.Join(got.Missing, " "), c.says) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestOneRequestAtATimeGoesToADaemon(t *testing.T) {
	fake := &cluster{}
	s := serve(t, fake)
	client := quick(loopback)
	client.lim.parallel = 2
	var pulls sync.WaitGroup
	for range 4 {
		pulls.Go(func() {
			if got, err := client.Pull(t.Context(), access(s.URL), t.TempDir()); err != nil || got.Nodes != 4 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	pulls.Wait()
	if fake.overlap > 0 || fake.parallel > 8 || fake.asked["ais-target-1"] != 4 {
		t.Errorf("%d overlapped, %d at a time, %v", fake.overlap, fake.parallel, fake.asked)
	}
	if len(client.turns.lines) > 0 {
		t.Errorf("%d lines are left", len(client.turns.lines))
	}
}

func TestACancelledPullEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := blocked(t)
	fake := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-1": func(w http.ResponseWriter, r *http.Request) {
		cancel()
		wait(w, r)
	}}}
	if _, err := quick(loopback).Pull(ctx, access(serve(t, fake).URL), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAPullAsAWholeIsBounded(t *testing.T) {
	stuck := blocked(t)
	fake := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-2": stuck, "ais-target-3": stuck}}
	client := quick(loopback)
	client.lim.parallel, client.lim.pull = 1, 2*time.Second
	got, err := client.Pull(t.Context(), access(serve(t, fake).URL), t.TempDir())
	if err != nil || got.Nodes != 1 || !strings.Contains(strings.Join(got.Missing, " "), "hadn't finished after 2s") {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzVerify(f *testing.F) {
	whole := packed("aistarget.vm.INFO.1", logText)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(gzipped(tarOf("", "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		held, err := verify(bytes.NewReader(b), 1<<20)
		if held < 0 || held > 1<<20 {
			t.Fatalf("held %d", held)
		}
		if err != nil {
			return
		}
		// Whatever is called whole is whole for the standard library too.
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, z); err != nil {
			t.Fatal(err)
		}
	})
}
