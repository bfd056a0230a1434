package aislog

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const up = "Started up at 2026/11/20 23:13:39, host vm, go1.26.8 for linux/amd64\n"

func scanner(t testing.TB) *Scanner {
	t.Helper()
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func read(t testing.TB, name, text string) *File {
	t.Helper()
	f, err := Read(context.Background(), Source{Name: name}, strings.NewReader(text), scanner(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// info is the name of an INFO file of one daemon.
func info(id, began string, pid int) string {
	return fmt.Sprintf("aistarget-%s.tar.gz/aistarget.short-host.INFO.%s.%d", id, began, pid)
}

func one(t testing.TB, files ...*File) Daemon {
	t.Helper()
	all := Merge(files)
	if len(all) != 1 {
		t.Fatalf("%d daemons, not one: %+v", len(all), all)
	}
	return all[0]
}

func (d *Daemon) of(k Kind) (n int, groups []Group) {
	for _, g := range d.Groups {
		if g.Kind == k {
			n += g.Count
			groups = append(groups, g)
		}
	}
	return n, groups
}

func why(d Daemon) []Gap {
	var out []Gap
	for _, h := range d.Holes {
		out = append(out, h.Why)
	}
	return out
}

func wall(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.000000", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestAFileThatStartsUpIsARestartAndOneThatIsRotatedIsNot(t *testing.T) {
	first := up + "I 23:13:40.000001 daemon:263 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 23:20:00.000000 {put.n:10,state.flags:6}\n"
	rotated := "Rotated at 2026/11/20 23:20:05, host vm, go1.26.8 for linux/amd64\nNode t[a-1], Version 5.0.v1.5.0, build lab\nI 23:20:10.000000 {put.n:14,state.flags:6}\n"
	restarted := "Started up at 2026/11/20 23:30:00, host vm, go1.26.8 for linux/amd64\nI 23:30:00.100000 daemon:263 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 23:30:10.000000 {put.n:3,state.flags:6}\n"
	d := one(t, read(t, info("a-1", "1120-233000", 1), restarted), read(t, info("a-1", "1120-231339", 1), first), read(t, info("a-1", "1120-232005", 1), rotated))
	if len(d.Runs) != 2 || !d.Runs[0].Started || !d.Runs[1].Started {
		t.Fatalf("runs: %+v", d.Runs)
	}
	if d.Runs[0].Ended != Killed || d.Runs[1].Ended != Open {
		t.Errorf("ended %s and %s", d.Runs[0].Ended, d.Runs[1].Ended)
	}
	if got := why(d); !slices.Equal(got, []Gap{LostTail, NotFlushed}) {
		t.Errorf("not covered: %v", got)
	}
	var put []int64
	for i := range d.Intervals {
		put = append(put, d.Intervals[i].Of("put.n"))
	}
	if !slices.Equal(put, []int64{10, 4, 3}) {
		t.Errorf("put.n grew by %v, not by 10, over the rotation by 4, and after the restart by 3", put)
	}
	if got := d.Runs[0].Totals; len(got) != 1 || got[0].N != 14 {
		t.Errorf("totals %v", got)
	}
}

func TestHowADaemonEnded(t *testing.T) {
	again := "Started up at 2026/11/20 23:30:00, host vm, go1.26.8 for linux/amd64\nI 23:30:00.100000 x:1 t[a-1] is ready\n"
	for name, c := range map[string]struct {
		last string
		want Ending
		gaps []Gap
	}{
		"said so":             {"I 23:20:00.000000 daemon:374 Terminated OK via Signal 15\n", Orderly, []Gap{NotFlushed}},
		"said why":            {"E 23:20:00.000000 daemon:374 Terminated with err: no mountpaths\n", Failed, []Gap{NotFlushed}},
		"fatal":               {"E 23:20:00.000000 daemon:374 FATAL ERROR: no disks\n", Failed, []Gap{NotFlushed}},
		"said nothing":        {"I 23:20:00.000000 target:5 t[a-1] is ready\n", Killed, []Gap{LostTail, NotFlushed}},
		"cut in a line":       {"I 23:20:00.000000 target:5 t[a-1] is ready\nI 23:20:01.0", Unclear, []Gap{NotFlushed}},
		"said so and went on": {"I 23:20:00.000000 htrun:708 Shutting down HTTP\nI 23:29:00.000000 target:5 t[a-1] is ready\n", Killed, []Gap{LostTail, NotFlushed}},
		"while it stopped":    {"[while stopping:] I 23:20:00.000000 htrun:708 Shutting down HTTP\n", Orderly, []Gap{NotFlushed}},
	} {
		d := one(t, read(t, info("a-1", "1120-231339", 7), up+c.last), read(t, info("a-1", "1120-233000", 8), again))
		if d.Runs[0].Ended != c.want || !slices.Equal(why(d), c.gaps) {
			t.Errorf("%s: ended %s with gaps %v, not %s with %v", name, d.Runs[0].Ended, why(d), c.want, c.gaps)
		}
	}
}

func TestWhatTheFilesDoNotCoverIsSaid(t *testing.T) {
	rot := func(at, from, to string) string {
		return "Rotated at 2026/11/20 " + at + ", host vm, go1.26.8 for linux/amd64\nNode t[a-1], Version 5.0.v1.5.0, build lab\nI " + from + " t:1 t[a-1] is ready\nI " + to + " t:1 t[a-1] is ready\n"
	}
	a := read(t, info("a-1", "1120-100000", 1), rot("10:00:00", "10:00:01.000000", "10:59:00.000000"))
	b := read(t, info("a-1", "1120-110000", 1), rot("11:00:00", "11:00:01.000000", "11:59:00.000000"))
	c := read(t, info("a-1", "1120-130000", 1), rot("13:00:00", "13:00:01.000000", "13:59:00.000000"))
	d := one(t, a, b, c)
	if got := why(d); !slices.Equal(got, []Gap{BeforeFirst, BetweenFiles, NotFlushed}) {
		t.Fatalf("not covered: %v", got)
	}
	if h := d.Holes[1]; !h.From.Wall.Equal(wall("2026-11-20 11:59:00.000000")) || !h.To.Wall.Equal(wall("2026-11-20 13:00:00.000000")) {
		t.Errorf("the missing file is said to lie between %v and %v", h.From, h.To)
	}
	if len(d.Runs) != 1 || d.Runs[0].Started || !d.Runs[0].Baseless {
		t.Errorf("runs: %+v", d.Runs)
	}
}

func TestADaemonIsNotNamedAfterItsShortenedHost(t *testing.T) {
	text := "Started up at 2026/11/20 23:13:39, host ais-prod, go1.26.8 for linux/amd64\nI 23:13:40.000001 x:1 nothing\n"
	for name, want := range map[string]string{
		"aistarget-ais-prod-target-12.tar.gz/aistarget.ais-prod.INFO.1120-231339.1":   "ais-prod-target-12",
		"logs/aistarget-t_12/aistarget.ais-prod.INFO.1120-231339.1":                   "t_12",
		"logs/aistarget.ais-prod.INFO.1120-231339.1":                                  "",
		"aistarget-a.b.tar.gz/deeper/aistarget.ais-prod.INFO.1120-231339.1":           "a.b",
		"aisproxy-wrong.tar.gz/aistarget-right/aistarget.ais-prod.INFO.1120-231339.1": "right",
	} {
		d := one(t, read(t, name, text))
		if d.ID != want || d.Role != Target {
			t.Errorf("%s: %s %q, not %q", name, d.Role, d.ID, want)
		}
	}
	f, err := Read(context.Background(), Source{Name: "aistarget.ais-prod.INFO.1120-231339.1", Archive: "aistarget-t9.tar.gz"}, strings.NewReader(text), scanner(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := one(t, f); d.ID != "t9" || d.IDFrom != "archive" {
		t.Errorf("from the archive that was named: %q (%s)", d.ID, d.IDFrom)
	}
	d := one(t, read(t, info("other", "1120-231339", 1), up+"I 23:13:40.000001 daemon:263 Node t[mine], Version 5.0.v1.5.0, build lab\n"))
	if d.ID != "mine" || d.IDFrom != "title" || len(d.Warnings) != 1 {
		t.Errorf("the daemon's own title counts, and that the archive contradicts is said: %q %v", d.ID, d.Warnings)
	}
}

func TestDaemonsOfTwoClustersWithOneNameStayTwo(t *testing.T) {
	text := func(uuid string) string {
		return up + "I 23:13:40.000001 daemon:263 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 23:13:54.778591 htrun:2098 msync Rx: new Smap v4[" + uuid + ", p[p-0], t=3, p=1] ( have v0[] )\n"
	}
	all := Merge([]*File{read(t, "east/aistarget-a-1/x", text("N_g66e331O")), read(t, "west/aistarget-a-1/x", text("KpaBe3kKz"))})
	if len(all) != 2 || all[0].Cluster == all[1].Cluster {
		t.Fatalf("%+v", all)
	}
	again := text("N_g66e331O") + "I 23:13:55.000000 t:1 t[a-1] is ready\n"
	if d := one(t, read(t, "east/aistarget-a-1/x", text("N_g66e331O")), read(t, "later/aistarget-a-1/x", again)); len(d.Runs) != 1 || d.Files[0].CopyOf != d.Files[1].Name {
		t.Errorf("a file that was fetched twice is one: %+v", d.Files)
	}
}

func TestTheTimeOfALine(t *testing.T) {
	ready := func(at string) string { return "I " + at + " target:553 t[a-1] is ready\n" }
	for name, c := range map[string]struct {
		text string
		want []string
		by   []Proof
	}{
		"first line": {up + ready("23:13:57.000001"), []string{"2026-11-20 23:13:57.000001"}, []Proof{FirstLine}},
		"midnight": {up + ready("23:59:59.000001") + ready("00:00:01.000002"),
			[]string{"2026-11-20 23:59:59.000001", "2026-11-21 00:00:01.000002"}, []Proof{FirstLine, Midnight}},
		"the last day of the year": {strings.Replace(up, "2026/11/20", "2026/12/31", 1) + ready("00:00:01.000002"), []string{"2027-01-01 00:00:01.000002"}, []Proof{Midnight}},
		"out of order": {up + ready("23:20:00.000500") + ready("23:20:00.000100"),
			[]string{"2026-11-20 23:20:00.000100", "2026-11-20 23:20:00.000500"}, []Proof{FirstLine, FirstLine}},
		"out of order at midnight": {up + ready("23:59:59.999998") + ready("00:00:00.000001") + ready("23:59:59.999999") + ready("00:00:00.000002"),
			[]string{"2026-11-20 23:59:59.999998", "2026-11-20 23:59:59.999999", "2026-11-21 00:00:00.000001", "2026-11-21 00:00:00.000002"}, []Proof{FirstLine, Midnight, Midnight, Midnight}},
		"marker": {up + "I 00:13:41.321734 common:494 21 Nov 26 00:13 UTC =============\n" + ready("00:14:00.000001"),
			[]string{"2026-11-21 00:14:00.000001"}, []Proof{Marker}},
		"marker of an older release": {up + "I 00:13:41.321734 common_stats:836 21 Nov 26 00:13 CST =============\n" + ready("00:14:00.000001"),
			[]string{"2026-11-21 00:14:00.000001"}, []Proof{Marker}},
		"marker after days without a line": {up + "I 00:13:41.321734 common:494 24 Nov 26 00:13 UTC =============\n" + ready("00:14:00.000001"),
			[]string{"2026-11-24 00:14:00.000001"}, []Proof{Marker}},
		"marker written over midnight": {up + "I 00:00:00.000003 common:494 20 Nov 26 23:59 UTC =============\n" + ready("00:14:00.000001"),
			[]string{"2026-11-21 00:14:00.000001"}, []Proof{Marker}},
		"the beginning is missing, a marker follows": {ready("23:50:00.000001") + ready("00:10:00.000001") + "I 00:12:41.321734 common:494 21 Nov 26 00:12 UTC =============\n" + ready("00:14:00.000001"),
			[]string{"2026-11-20 23:50:00.000001", "2026-11-21 00:10:00.000001", "2026-11-21 00:14:00.000001"}, []Proof{Marker, Marker, Marker}},
		"nothing tells the day": {ready("23:50:00.000001") + ready("00:10:00.000001"),
			[]string{"0001-01-02 23:50:00.000001", "0001-01-03 00:10:00.000001"}, []Proof{NoDay, NoDay}},
	} {
		d := one(t, read(t, info("a-1", "1120-231339", 1), c.text))
		_, groups := d.of(Ready)
		var got []string
		var by []Proof
		for _, g := range groups {
			for _, e := range g.Events {
				got, by = append(got, e.Time.Wall.Format("2006-01-02 15:04:05.000000")), append(by, e.Time.Proof)
			}
		}
		if !slices.Equal(got, c.want) || !slices.Equal(by, c.by) {
			t.Errorf("%s: %v by %v\nnot %v by %v", name, got, by, c.want, c.by)
		}
	}
}

func TestRecordsThatAreGluedAreTakenApart(t *testing.T) {
	long := "I 23:15:00.000000 moss:521 get-batch[gbt-a] ctlmsg ( " + strings.Repeat("x", 1900)
	text := up + long + "W 23:15:01.000000 moss:678 x-get-batch[gbt-a]-ais://lab t[a-1] bcast abort [ reason ]\n" +
		"I 23:15:02.000000 {getbatch.n:5,put.n:77777,stream.in.n:12I 23:15:12.000000 {getbatch.n:6,put.n:77778,state.flags:6,stream.in.n:123}\n"
	d := one(t, read(t, info("a-1", "1120-231339", 1), text))
	if n, g := d.of(BatchAborted); n != 1 || g[0].First().Off != int64(len(up)+len(long)) || g[0].First().Line != 2 {
		t.Errorf("the abort that is glued to a cut line: %+v", g)
	}
	if d.Files[0].Glued != 2 {
		t.Errorf("%d glued records", d.Files[0].Glued)
	}
	last := d.Intervals[len(d.Intervals)-1]
	if last.Reset || last.Of("put.n") != 1 || last.Of("getbatch.n") != 1 {
		t.Errorf("a counter that a cut line lacks was not reset: %+v", last)
	}
	for i := range d.Intervals {
		if n := d.Intervals[i].Of("stream.in.n"); n < 0 || n == 12 {
			t.Errorf("a number that is cut was read: %d", n)
		}
	}
}

func TestCountersGrowAndNeverFall(t *testing.T) {
	at := func(s, values string) string { return "I 23:15:" + s + ".000000 {" + values + ",state.flags:6}\n" }
	text := up + at("00", "err.get.n:3,get.n:100,get.ns:900,put.bps:5") + at("10", "err.get.n:5,get.n:150,get.ns:100") +
		at("20", "get.n:170") + // the errors were reset
		at("30", "err.get.n:1,get.n:20") // everything was
	d := one(t, read(t, info("a-1", "1120-231339", 1), text))
	type step struct {
		get, err int64
		reset    bool
	}
	var got []step
	for _, iv := range d.Intervals {
		got = append(got, step{iv.Of("get.n"), iv.Of("err.get.n"), iv.Reset})
		if iv.Of("get.ns") != 0 || iv.Of("put.bps") != 0 || iv.Of("state.flags") != 0 {
			t.Errorf("an average or a state is not a counter: %+v", iv)
		}
	}
	if want := []step{{100, 3, false}, {50, 2, false}, {20, 0, true}, {20, 1, true}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestErrorFilesRepeatWhatInfoFilesHold(t *testing.T) {
	w := "W 23:15:01.000000 moss:678 x-get-batch[gbt-a]-ais://lab t[a-1] bcast abort [ reason ]\n"
	e := "E 23:15:02.000000 slow:1 slow-kalive failure after 3 attempts - removing t[a-2] from Smap v6[N_g66e331O, p[p-0], t=3, p=1]\n"
	older := "E 22:00:00.000000 moss:678 x-get-batch[gbt-b]-ais://lab t[a-1] bcast abort [ older ]\n"
	errors := "aistarget-a-1.tar.gz/aistarget.short-host.ERROR.1120-231339.1"
	both := one(t, read(t, info("a-1", "1120-231339", 1), up+"I 23:14:00.000000 t:1 t[a-1] is ready\n"+w+e), read(t, errors, up+w+e))
	if n, _ := both.of(BatchAborted); n != 1 {
		t.Errorf("%d aborts, not 1", n)
	}
	if n, g := both.of(Removed); n != 1 || !strings.Contains(g[0].First().File, "INFO") || g[0].Peer != "a-2" {
		t.Errorf("%+v", g)
	}
	if len(both.Runs) != 1 {
		t.Errorf("an ERROR file is no restart: %+v", both.Runs)
	}
	further := one(t, read(t, info("a-1", "1120-231339", 1), up+"I 23:14:00.000000 t:1 t[a-1] is ready\n"+w), read(t, errors, strings.Replace(up, "23:13:39", "21:00:00", 1)+older+w))
	if n, g := further.of(BatchAborted); n != 2 || !strings.Contains(g[0].First().File, "ERROR") {
		t.Errorf("what only the ERROR file reaches back to counts: %d %+v", n, g)
	}
	later := strings.Replace(up, "23:13:39", "23:40:00", 1) + strings.ReplaceAll(w, "23:15", "23:41")
	if d := one(t, read(t, errors, up+w), read(t, strings.Replace(errors, "231339", "234000", 1), later)); len(d.Runs) != 2 || d.Runs[0].Ended != Unclear {
		t.Errorf("that it stopped in order would stand in the INFO file: %+v", d.Runs)
	}
	alone := one(t, read(t, errors, up+w))
	if got := why(alone); !slices.Contains(got, WarningsOnly) {
		t.Errorf("that there is no INFO file is said: %v", got)
	}
	if n, _ := alone.of(BatchAborted); n != 1 {
		t.Errorf("%d aborts", n)
	}
}

func TestWhatARecordNames(t *testing.T) {
	for text, want := range map[string]Event{
		`W 23:15:32.342467 moss:684 get-batch[gbt-iA] err: GFN(ais://lab/o/000258, t[a-3]): Get "http://127.0.0.1:18283/v1/objects/lab/o/000258?gfn=true&provider=ais": dial tcp 127.0.0.1:18283: connect: connection refused [ work:wid="p-rAD7z" objs:[3 384.00KiB] gfn:1 ] streaming: false`: {Kind: BatchFailed,
			Peer: "a-3", Object: "ais://lab/o/000258", Job: "gbt-iA", Work: "p-rAD7z", Address: "127.0.0.1:18283"},
		`E 23:15:32.538752 Error: Post "http://127.0.0.1:18183/v1/ml/moss/lab/noxid/p-_qrTL/3?provider=ais&tid=a-3": dial tcp 127.0.0.1:18183: connect: connection refused: GET /v1/ml/moss/lab (p[p-0]: htrun.go:1636 <- ml.go:216 <- ml.go:53])`: {Kind: Unreachable,
			Peer: "a-3", Address: "127.0.0.1:18183", Request: "GET /v1/ml/moss/lab"},
		`W 23:15:36.125090 client_fasthttp:101 Error: shared-dm[a-1=>a-3] [ write tcp4 127.0.0.1:36204->127.0.0.1:18283: write: broken pipe ]`:                                                                                                            {Kind: StreamBroken, Peer: "a-3", Address: "127.0.0.1:18283"},
		`W 23:15:32.131708 shared_dm:350 t[a-1] shared-dm shared-dm[a-3<=a-1] sbr_proto_hdr:[ctx: n=0 err: unexpected EOF]`:                                                                                                                               {Kind: StreamBroken, Peer: "a-3"},
		`E 23:16:01.125106 shared_dm:181 t[a-1] shared-dm: failed reconnecting to a-3 (error when dialing 127.0.0.1:18283: dial tcp4 127.0.0.1:18283: connect: connection refused --> sb-[a-1]) - closing/aborting...`:                                    {Kind: StreamGivenUp, Peer: "a-3", Address: "127.0.0.1:18283"},
		`E 23:18:05.101588 ErrCapExceeded: out of space: used 100% of total capacity on at least one of the mountpaths (total used 144.23MiB out of 144.44MiB): PUT /v1/objects/lab/o/000309 (t[a-1]: htrun.go:1636 <- target.go:1139 <- target.go:794])`: {Kind: OutOfSpace, Request: "PUT /v1/objects/lab/o/000309"},
		`E 23:18:05.100144 PathError: [fs-path] ais://lab/o/put.000308.fBG.1b9e: no space left on device: PUT /v1/objects/lab/o/000308 (t[a-1]: htrun.go:1636 <- target.go:1237])`:                                                                        {Kind: OutOfSpace, Object: "ais://lab/o/put.000308.fBG.1b9e", Request: "PUT /v1/objects/lab/o/000308"},
		`I 23:18:05.100144 tgtobj:10 Warning: [client gone] t[a-1]: ais://lab/o/1: write tcp 10.0.0.1:51081->10.0.0.9:41234: write: broken pipe`:                                                                                                          {Kind: ClientGone, Object: "ais://lab/o/1"},
		`W 23:18:05.100144 shared_dm:350 shared-dm xid gbt-x not found - dropping 3 (recv)`:                                                                                                                                                               {Kind: StreamDropped},
		`E 23:18:05.100144 shared_dm:350 shared-dm: xid gbt-x not found, dropping recv [oname: o/1]`:                                                                                                                                                      {Kind: StreamDropped},
		`W 23:18:05.100144 sender:350 shared-dm[a-1=>a-3] terminated [reason: 'error' ctx: x err: write: broken pipe]`:                                                                                                                                    {Kind: StreamBroken, Peer: "a-3"},
		`W 23:18:05.100144 kalive:266 t[a-1] => p[p-0] failure - retrying: [ context deadline exceeded ]`:                                                                                                                                                 {Kind: KeepAliveFailed, Peer: "p-0"},
		`E 23:24:15.683617 errNodeNotFound: p[p-0]: cannot forward request to node node nope not present in Smap v8: GET /v1/daemon (stack: [htrun.go:1636 <- prxrev.go:169])`:                                                                            {Kind: RequestError, Peer: "p-0", Request: "GET /v1/daemon"},
		`E 23:24:15.683617 something nobody knows about t[a-2]`:                                                                                                                                                                                           {Kind: Other, Peer: "a-2"},
	} {
		d := one(t, read(t, info("a-1", "1120-231339", 1), up+text+"\n"))
		if len(d.Groups) != 1 || d.Groups[0].Count != 1 {
			t.Errorf("%s\n%+v", text, d.Groups)
			continue
		}
		e := *d.Groups[0].First()
		got := Event{Kind: e.Kind, Peer: e.Peer, Object: e.Object, Job: e.Job, Work: e.Work, Address: e.Address, Request: e.Request}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestRequestsAboutTheClusterAreToldFromThoseForData(t *testing.T) {
	for r, want := range map[string]bool{"GET /v1/daemon": true, "GET /v1/reverse/daemon": true, "GET /v1/cluster": true, "GET /v1/health": true,
		"GET /v1/objects/lab/x": false, "GET /v1/ml/moss/lab": false, "": false, "GET /v1/daemonic": false} {
		if got := (&Event{Request: r}).Admin(); got != want {
			t.Errorf("%q: %v", r, got)
		}
	}
}

func TestAlertsStandOnTheNextLine(t *testing.T) {
	d := one(t, read(t, info("a-1", "1120-231339", 1), up+"I 23:18:06.884431 Warning: state alerts:\nI 23:18:06.884434 [OOS low-cpu]\nI 23:18:07.000000 [not an alert]\n"))
	if n, g := d.of(Alerts); n != 1 || g[0].First().Line != 3 {
		t.Errorf("%+v", d.Groups)
	}
}

func TestStatesHaveNames(t *testing.T) {
	for v, want := range map[int64]string{6: "", 2097414: "out-of-space low-cpu", 142: "rebalancing restarted", 2621446: "keep-alive-errors low-cpu",
		4: "cluster-not-started-yet", 1<<40 | 6: "0x10000000000"} {
		if names := FlagNames(v); strings.Join(names, " ") != want {
			t.Errorf("%d: %v", v, names)
		}
	}
}

// A target that recovers every entry from its neighbours receives nothing by stream, and nothing in its log is a warning.
func TestAStallIsSeenInTheCounters(t *testing.T) {
	tick := func(s string, gfn, in int, run string) string {
		out := fmt.Sprintf("I 23:%s.000000 {err.getbatch.n:1,getbatch.gfn.n:%d,state.flags:6,stream.in.n:%d}\n", s, gfn, in)
		if run != "" {
			out += fmt.Sprintf("I 23:%s.000001 running(1): %s\n", s, run)
		}
		return out
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"stalled":               {tick("15:00", 5, 4, "get-batch[g]") + tick("15:40", 10, 4, "get-batch[g]") + tick("16:20", 15, 4, "get-batch[g]"), 1},
		"it received":           {tick("15:00", 5, 4, "get-batch[g]") + tick("15:40", 10, 5, "get-batch[g]") + tick("16:20", 15, 6, "get-batch[g]"), 0},
		"nobody asked":          {tick("15:00", 5, 4, "get-batch[g]") + tick("15:40", 5, 4, "get-batch[g]") + tick("16:20", 5, 4, "get-batch[g]"), 0},
		"no batch ran":          {tick("15:00", 5, 4, "") + tick("15:40", 10, 4, "") + tick("16:20", 15, 4, ""), 0},
		"another job ran":       {tick("15:00", 5, 4, "rebalance[g1]") + tick("15:40", 10, 4, "rebalance[g1]") + tick("16:20", 15, 4, "rebalance[g1]"), 0},
		"short":                 {tick("15:00", 5, 4, "get-batch[g]") + tick("15:10", 10, 4, "get-batch[g]") + tick("15:20", 15, 4, "get-batch[g]"), 0},
		"a reset in the middle": {tick("15:00", 5, 4, "get-batch[g]") + tick("15:40", 1, 4, "get-batch[g]") + tick("16:20", 2, 4, "get-batch[g]"), 0},
	} {
		if d := one(t, read(t, info("a-1", "1120-231339", 1), up+c.text)); len(d.Stalls) != c.want {
			t.Errorf("%s: %+v", name, d.Stalls)
		}
	}
}

// Before 4.3 recoveries are not counted. That batches wait most of the time while nothing comes tells the same.
func TestAStallOfAnOlderReleaseIsSeenByTheTimeWaited(t *testing.T) {
	tick := func(s string, in int, waited float64) string {
		return fmt.Sprintf("I 23:%s.000000 {getbatch.n:9,getbatch.rxwait.ns:%.0f,state.flags:6,stream.in.n:%d}\nI 23:%s.000001 running(1): get-batch[g]\n", s, waited*1e9, in, s)
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"stalled":                   {tick("15:00", 4, 1) + tick("15:40", 4, 60) + tick("16:20", 4, 200), 1},
		"it received":               {tick("15:00", 4, 1) + tick("15:40", 5, 60) + tick("16:20", 6, 200), 0},
		"idle":                      {tick("15:00", 4, 1) + tick("15:40", 4, 1) + tick("16:20", 4, 1), 0},
		"waited for a little of it": {tick("15:00", 4, 1) + tick("15:40", 4, 3) + tick("16:20", 4, 5), 0},
	} {
		if d := one(t, read(t, info("a-1", "1120-231339", 1), up+c.text)); len(d.Stalls) != c.want {
			t.Errorf("%s: %+v", name, d.Stalls)
		}
	}
}

func TestFilesAreToldByTheirContent(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"started":       {up, true},
		"rotated":       {"Rotated at 2026/11/20 23:27:41, host vm, go1.26.8 for linux/amd64\nNode t[a], Version 5\n", true},
		"beginning cut": {"3 rest of a line\nI 23:15:00.000000 t:1 t[a-1] is ready\nI 23:15:00.000001 x:1 one\nW 23:15:00.000002 x:1 two\n", true},
		"counters":      {"I 23:15:00.000000 {put.n:1,state.flags:6}\nI 23:15:00.000001 {put.n:1,state.flags:6}\nI 23:15:00.000002 {put.n:1,state.flags:6}\n", true},
		"other glog":    {"I 23:15:00.000000 x:1 hello\nI 23:15:00.000001 x:1 one\nW 23:15:00.000002 x:1 two\n", false},
		"a sentence":    {"Started up at the wrong time\n", false},
		"another year":  {"Started up at 0001/01/01 00:00:00, host x, go\n", false},
		"empty":         {"", false},
		"training":      {"[rank0]: Traceback (most recent call last):\n  File x\n", false},
	} {
		if got := Recognise([]byte(c.head)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestJoinedFilesAreReadAsTheyWere(t *testing.T) {
	a := up + "I 23:13:40.000001 daemon:263 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 23:20:00.000000 {put.n:10,state.flags:6}\n"
	b := "Started up at 2026/11/22 01:00:00, host vm, go1.26.8 for linux/amd64\nI 01:00:00.000001 daemon:263 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 01:00:10.000000 {put.n:4,state.flags:6}\n"
	d := one(t, read(t, "all.log", a+b))
	if len(d.Runs) != 2 || d.Runs[0].Ended != Killed || d.ID != "a-1" {
		t.Errorf("%+v", d)
	}
	if d.Covered.To.Wall != wall("2026-11-22 01:00:10.000000") {
		t.Errorf("covered to %v", d.Covered.To)
	}
}

func samples(t testing.TB, dir string) []*File {
	t.Helper()
	dir = filepath.Join("..", "..", "..", "shared", "samples", "ais", dir)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the captures of real clusters are not here: ", dir)
	}
	sc := scanner(t)
	var out []*File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !Recognise(b[:min(len(b), HeadLen)]) {
			t.Errorf("%s is not recognised", p)
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		f, err := Read(context.Background(), Source{Name: filepath.ToSlash(rel)}, bytes.NewReader(b), sc)
		out = append(out, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func find(t testing.TB, all []Daemon, name string) *Daemon {
	t.Helper()
	for i := range all {
		if all[i].Name() == name {
			return &all[i]
		}
	}
	t.Fatal("no ", name)
	return nil
}

func TestARealTargetThatWasKilled(t *testing.T) {
	all := Merge(samples(t, "c1-target-crash"))
	if len(all) != 4 {
		t.Fatalf("%d daemons", len(all))
	}
	dead, proxy, peer := find(t, all, "target ais-target-3"), find(t, all, "proxy ais-proxy-0"), find(t, all, "target ais-target-1")
	if len(dead.Runs) != 2 || dead.Runs[0].Ended != Killed || dead.Runs[0].Last.Wall != wall("2026-11-20 23:15:23.275448") || dead.Runs[1].Start.Wall != wall("2026-11-20 23:16:18.000000") {
		t.Errorf("its lives: %+v", dead.Runs)
	}
	if h := dead.Holes[0]; h.Why != LostTail || h.From.Wall != dead.Runs[0].Last.Wall {
		t.Errorf("its last lines are lost: %+v", dead.Holes)
	}
	if _, g := proxy.of(Removed); len(g) != 1 || g[0].Peer != "ais-target-3" || g[0].First().Time.Wall != wall("2026-11-20 23:16:00.275888") {
		t.Errorf("its eviction: %+v", g)
	}
	if _, g := peer.of(StreamBroken); len(g) == 0 || g[0].Peer != "ais-target-3" || g[0].First().Time.Wall != wall("2026-11-20 23:15:32.131708") {
		t.Errorf("its streams: %+v", g)
	}
	if len(dead.Stalls) != 1 || dead.Stalls[0].Received != 4 || dead.Stalls[0].To.Wall.Sub(dead.Stalls[0].From.Wall) < 9*time.Minute || len(peer.Stalls) != 0 {
		t.Errorf("its stall after the rejoin: %+v; %+v", dead.Stalls, peer.Stalls)
	}
	if _, g := find(t, all, "target ais-target-2").of(MountpathOff); len(g) != 1 {
		t.Errorf("the mountpath that was disabled: %+v", g)
	}
	for i := range all {
		if all[i].Cluster != "N_g66e331O" || all[i].IDFrom != "title" {
			t.Errorf("%s of %q by %s", all[i].Name(), all[i].Cluster, all[i].IDFrom)
		}
		if n, g := all[i].of(Other); n > 0 {
			t.Errorf("%s: warnings without a text: %+v", all[i].Name(), g)
		}
	}
}

func TestARealClusterOutOfSpace(t *testing.T) {
	all := Merge(samples(t, "c2-oos-auth"))
	want := map[string]string{"target ais-target-1": "2026-11-20 23:18:05.099977", "target ais-target-2": "2026-11-20 23:18:04.918374"}
	for name, first := range want {
		d := find(t, all, name)
		_, g := d.of(OutOfSpace)
		if len(g) == 0 || g[0].First().Time.Wall != wall(first) {
			t.Errorf("%s: first out of space %+v", name, g)
		}
		if len(d.Runs) != 1 || len(d.Files) < 2 {
			t.Errorf("%s: rotations are no restarts: %+v", name, d.Runs)
		}
		for _, h := range d.Holes {
			if h.Why != NotFlushed {
				t.Errorf("%s: %+v", name, h)
			}
		}
	}
	n, groups := find(t, all, "proxy ais-proxy-0").of(Refused)
	admin := 0
	for _, g := range groups {
		if g.First().Admin() {
			admin += g.Count
		}
	}
	if n != 30 || admin != 30 {
		t.Errorf("%d refusals, %d of them of requests about the cluster", n, admin)
	}
}

func TestTheOrderOfFilesDoesNotMatter(t *testing.T) {
	files := append(samples(t, "c1-target-crash"), samples(t, "c2-oos-auth")...)
	want := Merge(files)
	rnd := rand.New(rand.NewSource(1))
	for range 20 {
		rnd.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if got := Merge(files); !reflect.DeepEqual(got, want) {
			t.Fatal("another order, another result")
		}
	}
	if got := Merge(append(files, files...)); !reflect.DeepEqual(got, want) {
		t.Error("the same files twice, another result")
	}
}

func TestARefusalBelongsToTheRequestThatFollows(t *testing.T) {
	text := up + "W 23:17:43.249950 prxauth:421 token validation failed: token required\n" +
		"W 23:17:43.249960 prxauth:421 token validation failed: invalid token [err: token expired]\n" +
		"E 23:17:43.250038 token required: GET /v1/daemon (p[p-0]: htrun.go:1640 <- prxauth.go:367])\n" +
		"E 23:17:43.250048 invalid token [err: token expired]: GET /v1/objects/lab/o/1 (p[p-0]: htrun.go:1640 <- prxauth.go:367])\n" +
		"W 23:18:43.249950 prxauth:421 token validation failed: token required\n" +
		"E 23:19:43.250038 token required: GET /v1/daemon (p[p-0]: htrun.go:1640 <- prxauth.go:367])\n"
	d := one(t, read(t, "aisproxy-p-0/x", text))
	got := map[string]int{}
	for _, g := range d.Groups {
		for _, e := range g.Events {
			got[string(e.Severity)+" "+e.Request]++
		}
	}
	if want := map[string]int{"W GET /v1/daemon": 1, "W GET /v1/objects/lab/o/1": 1, "E GET /v1/daemon": 2, "E GET /v1/objects/lab/o/1": 1, "W ": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// An ERROR file does not say whose it is, so that its writer is first taken for a peer: not even of a storm may a daemon complain of itself.
func TestADaemonIsNoPeerOfItself(t *testing.T) {
	const errors, whole = "n1/aistarget.short-host.ERROR.1120-231339.1", "n1/aistarget.short-host.INFO.1120-231339.1"
	for _, n := range []int{3, 2*edge + 50} {
		b := strings.Builder{}
		b.WriteString(up)
		for i := range n {
			fmt.Fprintf(&b, "W 23:%02d:%02d.125090 kalive:266 t[a-1] => p[p-0] failure - retrying: [ context deadline exceeded ]\n", 14+i/60, i%60)
		}
		d := one(t, read(t, errors, b.String()), read(t, whole, up+"I 23:13:40.000000 daemon:240 Node t[a-1], Version 5.0.v1.5.0, build lab\nI 23:13:41.000000 {get.n:1,state.flags:6}\n"))
		count, groups := d.of(KeepAliveFailed)
		if len(groups) != 1 || groups[0].Peer != "p-0" || groups[0].First().Peer != "p-0" || groups[0].Last().Peer != "p-0" || count != n {
			t.Errorf("%d records: %d in %d groups, peer %q, of the first %q", n, count, len(groups), groups[0].Peer, groups[0].First().Peer)
		}
	}
}
