package diagnose

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/aislog"
	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
)

// readsFromStore is a job of eight ranks of which rank 5 gets this answer from the store, and gives up.
func readsFromStore(answer string) []simulate.File {
	var b strings.Builder
	for r := range 8 {
		fmt.Fprintf(&b, "[rank%d]: 2026-11-20 23:00:00,000 - train - INFO - world_size=8 rank %d\n", r, r)
	}
	for s := range 46 {
		fmt.Fprintf(&b, "[rank0]: 2026-11-20 23:%02d:%02d,000 - train - INFO - step %d/50000 loss %.4f\n", s/3, s%3*20, s+1, 3-0.001*float64(s))
	}
	fmt.Fprintf(&b, "[rank5]: 2026-11-20 23:15:32,440 - lhotse.ais.batch_loader - WARNING - AIStore batch.get() failed: %s. Falling back to sequential GET requests.\n", answer)
	fmt.Fprintf(&b, "[rank5]: 2026-11-20 23:15:35,440 - aistore.sdk.request_client - ERROR - All retries exhausted; request failed\n")
	fmt.Fprintf(&b, "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/opt/train.py\", line 71, in <module>\n[rank5]:     for batch in loader:\n"+
		"[rank5]:   File \"/usr/lib/python3.12/site-packages/lhotse/ais/batch_loader.py\", line 158, in _sequential_get\n[rank5]:     raise AISBatchLoaderError(\n"+
		"[rank5]: lhotse.ais.batch_loader.AISBatchLoaderError: Sequential GET fallback failed for o/000258\n")
	return []simulate.File{{Name: "train.log", Data: []byte(b.String())}}
}

// clusterOf are the logs of a cluster of one proxy and three targets over an hour, in which these lines stand as well, by
// daemon; each begins with its time of day.
func clusterOf(lines map[string][]string) []simulate.File {
	var out []simulate.File
	for i, id := range []string{"p-00", "t-01", "t-02", "t-03"} {
		role, kind := "target", "t"
		if i == 0 {
			role, kind = "proxy", "p"
		}
		all := []string{fmt.Sprintf("22:30:00.100000 daemon:240 Node %s[%s], Version 5.0.v1.5.0, build lab", kind, id),
			fmt.Sprintf("22:30:00.200000 htrun:363 PUBLIC (user) access: {10.0.0.%d 51081 http://10.0.0.%d:51081 10.0.0.%d:51081} (config: x)", i, i, i),
			"22:30:01.000000 earlystart:591 Smap v6[N_g66e331O, p[p-00], t=3, p=1], BMD v1[N_g66e331O (no buckets)]"}
		for m := range 66 {
			if m == 46 && slices.Contains(lines[id], "!23:16:18") {
				continue // it is dead
			}
			all = append(all, fmt.Sprintf("%02d:%02d:10.000000 {get.n:%d,state.flags:6}", 22+(m+30)/60, (m+30)%60, 100*(m+1)))
		}
		all = append(all, lines[id]...)
		slices.SortStableFunc(all, func(a, b string) int {
			return strings.Compare(strings.TrimLeft(a, "WE! "), strings.TrimLeft(b, "WE! "))
		})
		name := fmt.Sprintf("ais-logs/ais%s-%s/ais%s.h.INFO.1120-223000.1", role, id, role)
		text := "Started up at 2026/11/20 22:30:00, host h, go1.26.8 for linux/amd64\n"
		for _, l := range all {
			switch {
			case strings.HasPrefix(l, "!"): // a new life begins
				out = append(out, simulate.File{Name: name, Data: []byte(text)})
				name, text = fmt.Sprintf("ais-logs/ais%s-%s/ais%s.h.INFO.1120-231618.1", role, id, role), "Started up at 2026/11/20 23:16:18, host h, go1.26.8 for linux/amd64\n"
			case l[1] == ' ':
				text += l + "\n"
			default:
				text += "I " + l + "\n"
			}
		}
		out = append(out, simulate.File{Name: name, Data: []byte(text)})
	}
	return out
}

// beside reads a job's files and those of daemons.
func beside(t testing.TB, job, logs []simulate.File) *resolve.Facts {
	t.Helper()
	f := read(t, job, nil, 8)
	sc, err := aislog.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	var files []*aislog.File
	for _, l := range logs {
		x, err := aislog.Read(context.Background(), aislog.Source{Name: l.Name}, bytes.NewReader(l.Data), sc)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, x)
	}
	f.Daemons = aislog.Merge(files)
	f.Said = map[worker.Pos]string{}
	for _, at := range correlate.Wanted(f) {
		for _, j := range job {
			if j.Name == at.File {
				f.Said[at.Pos] = string(j.Data[at.Off : at.Off+int64(at.Len)])
			}
		}
	}
	return f
}

// deadTarget is what the others write when t-03 dies at 23:15:32.
var deadTarget = map[string][]string{
	"t-03": {"!23:16:18"},
	"t-01": {
		"W 23:15:32.131708 shared_dm:350 t[t-01] shared-dm shared-dm[t-03<=t-01] sbr_proto_hdr:[ctx: n=0 err: unexpected EOF]",
		`W 23:15:32.342455 moss:678 x-get-batch[gbt-iAf4A11G9]-ais://lab t[t-01] bcast abort [ GFN(ais://lab/o/000258, t[t-03]): Get "http://10.0.0.3:51081/v1/objects/lab/o/000258?gfn=true": dial tcp 10.0.0.3:51081: connect: connection refused ]`,
	},
	"p-00": {
		`W 23:15:38.000000 kalive:266 p[p-00] failed to fast-kalive t[t-03] err: [ Get "http://10.0.0.3:51081/v1/health": dial tcp 10.0.0.3:51081: connect: connection refused 0 ]`,
		"E 23:16:00.275888 kalive:439 slow-kalive failure after 3 attempts - removing t[t-03] from Smap v6[N_g66e331O, p[p-00], t=3, p=1]",
	},
}

const deadAnswer = `STATUS:500, MESSAGE:GFN(ais://lab/o/000258, t[t-03]): Get "http://10.0.0.3:51081/v1/objects/lab/o/000258?gfn=true": dial tcp 10.0.0.3:51081: connect: connection refused, REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab`

func TestATargetThatDiedBeforeTheRankGaveUpIsTheCause(t *testing.T) {
	r := run(beside(t, readsFromStore(deadAnswer), clusterOf(deadTarget)), mechanism.All())
	v, s := &r.Verdict, &r.Storage
	if v.Mechanism != string(knowledge.AISDaemonRestart) || v.Status != incident.Confirmed || v.Root.Component == nil || *v.Root.Component != "ais:t-03" {
		t.Errorf("%s %s %+v", v.Status, v.Mechanism, v.Root)
	}
	if s.Judgement != "implicated" || s.Side == nil || *s.Side != "target" || !slices.Equal(s.Targets, []string{"t-03"}) || s.Clocks != "proven" {
		t.Errorf("%s %v %v %s", s.Judgement, s.Side, s.Targets, s.Clocks)
	}
	if len(r.Revisions) != 1 {
		t.Errorf("%+v", r.Revisions)
	}
}

func TestAHealthyStoreIsCleared(t *testing.T) {
	r := run(beside(t, readsFromStore("STATUS:404, MESSAGE:t[t-02]: ais://lab/o/000258 does not exist"+request), clusterOf(nil)), mechanism.All())
	if s := &r.Storage; s.Judgement != "cleared" || len(r.Revisions) != 1 || strings.HasPrefix(r.Verdict.Mechanism, "ais-") {
		t.Errorf("%s (%s) %s, %d revisions", s.Judgement, s.Why, r.Verdict.Mechanism, len(r.Revisions))
	}
	// What the store did not do, although it was there, is not explained by daemons that write nothing of it.
	r = run(beside(t, readsFromStore("STATUS:500, MESSAGE:what is this, REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab"), clusterOf(nil)), mechanism.All())
	if s := &r.Storage; s.Judgement != "open" || len(s.Targets) > 0 {
		t.Errorf("%s (%s) %s, %v", s.Judgement, s.Why, r.Verdict.Mechanism, s.Targets)
	}
}

func TestAnotherTargetsLoadIsNoCauseOfADeath(t *testing.T) {
	lines := map[string][]string{"p-00": deadTarget["p-00"], "t-03": deadTarget["t-03"], "t-01": append([]string{
		"W 23:15:40.131708 client_fasthttp:75 Error: shared-dm[t-01=>t-03] [ error when dialing 10.0.0.3:51081: dial tcp4 10.0.0.3:51081: connect: connection refused ]",
		"E 23:15:55.100000 common:582 t[t-01] CPU utilization: extremely high [ 95 2 ]",
	}, deadTarget["t-01"]...)}
	r := run(beside(t, readsFromStore(deadAnswer), clusterOf(lines)), mechanism.All())
	if v, s := &r.Verdict, &r.Storage; v.Mechanism != string(knowledge.AISDaemonRestart) || s.Judgement != "implicated" || !slices.Equal(s.Targets, []string{"t-03"}) {
		t.Errorf("%s, %s (%s) %v", v.Mechanism, s.Judgement, s.Why, s.Targets)
	}
}

// A job that goes on for long after a target was back did not fail of that.
func TestWhatAJobSurvivedIsNoCause(t *testing.T) {
	for steps, want := range map[int]string{200: correlate.Coincident, 20: correlate.Cause} {
		job := readsFromStore(deadAnswer)
		before, after, _ := bytes.Cut(job[0].Data, []byte("[rank5]: 2026-11-20 23:15:35"))
		for s := range steps {
			before = fmt.Appendf(before, "[rank0]: 2026-11-20 23:%02d:%02d,000 - train - INFO - step %d/50000 loss 2.0000\n", 17+s/60, s%60, 47+s)
		}
		job[0].Data = append(fmt.Appendf(before, "[rank5]: 2026-11-20 23:%02d:30", 17+steps/60), after...)
		r := run(beside(t, job, clusterOf(deadTarget)), mechanism.All())
		if s := &r.Storage; len(s.Episodes) != 1 || s.Episodes[0].Standing != want || (want == correlate.Cause) != (len(s.Targets) == 1) {
			t.Errorf("after %d steps: %s (%s), %v, %+v", steps, s.Judgement, s.Why, s.Targets, s.Episodes)
		}
	}
}

// For requests of data AIStore 5.0 writes no second record that names the request.
func TestAnExpiredTokenIsTheClientsSide(t *testing.T) {
	const text = `invalid token from header "Authorization": invalid token [err: token expired]`
	refusals := clusterOf(map[string][]string{"p-00": {"W 23:15:32.438000 prxauth:421 token validation failed: " + text, "W 23:15:32.439500 prxauth:421 token validation failed: " + text}})
	r := run(beside(t, readsFromStore("STATUS:401, MESSAGE:"+text+", REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab"), refusals), mechanism.All())
	if s := &r.Storage; r.Verdict.Mechanism != string(knowledge.AISAuth) || s.Judgement != "implicated" || s.Side == nil || *s.Side != "client" || len(s.Targets) > 0 {
		t.Errorf("%s, %s (%s) %v %v", r.Verdict.Mechanism, s.Judgement, s.Why, s.Side, s.Targets)
	}
	// Somebody else's token ran out.
	r = run(beside(t, readsFromStore("STATUS:500, MESSAGE:what is this, REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab"), refusals), mechanism.All())
	if s := &r.Storage; s.Side != nil || r.Verdict.Mechanism == string(knowledge.AISAuth) {
		t.Errorf("%s, %s (%s)", r.Verdict.Mechanism, s.Judgement, s.Why)
	}
}

// befell is one thing that befalls a cluster before rank 5 gives up at 23:15:32, with what the store answers because of it.
type befell struct {
	name, answer      string
	lines             map[string][]string
	mechanism, daemon string
	side, judgement   string
}

const request = ", REQ_URL:http://10.0.0.0:51081/v1/objects/lab/o/000258?provider=ais"

func TestWhatBefellTheStoreIsTold(t *testing.T) {
	for _, c := range []befell{
		{name: "a target out of space", answer: "STATUS:507, MESSAGE:ErrCapExceeded: out of space: used 100% of total capacity" + request,
			lines:     map[string][]string{"t-02": {"E 23:15:32.101588 ErrCapExceeded: out of space: used 100% of total capacity on at least one of the mountpaths (total used 144.23MiB out of 144.44MiB): GET /v1/objects/lab/o/000258 (t[t-02]: htrun.go:1636 <- target.go:1139 <- target.go:794])"}},
			mechanism: string(knowledge.StorageFull), daemon: "t-02", side: "target", judgement: "implicated"},
		{name: "a batch rejected under pressure", answer: `STATUS:429, MESSAGE:ErrTooManyRequests: wid="ais-pro-AbCdE" rejected due to resource pressure (load=critical sleep=10ms [mem=low cpu=low dsk=critical], pending=3), REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab`,
			lines:     map[string][]string{"t-01": {`E 23:15:32.301588 ErrTooManyRequests: wid="ais-pro-AbCdE" rejected due to resource pressure (load=critical sleep=10ms [mem=low cpu=low dsk=critical], pending=3): GET /v1/ml/moss/lab (t[t-01]: htrun.go:1636 <- ml.go:460])`}},
			mechanism: string(knowledge.AISResourcePressure), daemon: "t-01", side: "target", judgement: "implicated"},
		{name: "pressure that was there all day", answer: `STATUS:500, MESSAGE:what is this, REQ_URL:http://10.0.0.0:51081/v1/ml/moss/lab`,
			lines: map[string][]string{"t-01": allDay()}, judgement: "open"},
		{name: "a restart after the job had failed", answer: "STATUS:500, MESSAGE:what is this" + request,
			lines: map[string][]string{"t-03": {"!23:16:18"}, "t-02": {"E 23:15:32.300000 ErrBusy: object ais://lab/o/000258 is currently busy, please try again: GET /v1/objects/lab/o/000258 (t[t-02]: htrun.go:1636])"}}, judgement: "open"},
		{name: "the usual reason is a token that expired", answer: "STATUS:401, MESSAGE:invalid token from header \"Authorization\": invalid token [err: token expired]" + request,
			lines:     map[string][]string{"p-00": {`E 23:15:32.400000 invalid token from header "Authorization": invalid token [err: token expired]: GET /v1/objects/lab/o/000258 (p[p-00]: htrun.go:1640 <- prxauth.go:367 <- proxy.go:2591])`}},
			mechanism: string(knowledge.AISAuth), side: "client", judgement: "implicated"},
		{name: "a person who looks at the cluster without a token", answer: "STATUS:404, MESSAGE:t[t-02]: ais://lab/o/000258 does not exist" + request,
			lines: map[string][]string{"p-00": {`E 23:15:30.400000 token required: GET /v1/daemon (p[p-00]: htrun.go:1640 <- prxauth.go:367 <- proxy.go:2591])`}}, judgement: "cleared"},
		{name: "an object that another target's trouble does not touch", answer: `STATUS:404, MESSAGE:t[t-02]: ais://lab/o/000258 does not exist` + request,
			lines: map[string][]string{"t-01": {`E 23:15:30.301588 ErrTooManyRequests: wid="ais-pro-AbCdE" rejected due to resource pressure (load=critical): GET /v1/ml/moss/lab (t[t-01]: htrun.go:1636 <- ml.go:460])`},
				"t-02": {"E 23:15:32.427694 ErrNotFound: t[t-02]: ais://lab/o/000258 does not exist: GET /v1/objects/lab/o/000258 (t[t-02]: htrun.go:1636])"}}, judgement: "open"}, // both sides name the request,
	} {
		r := run(beside(t, readsFromStore(c.answer), clusterOf(c.lines)), mechanism.All())
		v, s := &r.Verdict, &r.Storage
		if s.Judgement != c.judgement {
			t.Errorf("%s: %s (%s, %s), not %s", c.name, s.Judgement, s.Why, s.Clock.Text, c.judgement)
		}
		if c.mechanism == "" {
			if v.Root.Component != nil || len(s.Targets) > 0 {
				t.Errorf("%s: blames %v %v", c.name, *v.Root.Component, s.Targets)
			}
			continue
		}
		if v.Mechanism != c.mechanism || s.Side == nil || *s.Side != c.side || c.daemon != "" && (v.Root.Component == nil || *v.Root.Component != "ais:"+c.daemon) {
			t.Errorf("%s: %s %v %v", c.name, v.Mechanism, s.Side, v.Root.Component)
		}
	}
}

func allDay() []string {
	var out []string
	for m := range 66 {
		out = append(out, fmt.Sprintf("W %02d:%02d:20.000000 moss:600 x-get-batch[gbt-x]-ais://lab t[t-01] resource pressure: load=high - sleeping/delaying: 10ms", 22+(m+30)/60, (m+30)%60))
	}
	return out
}

func TestTheOrderOfTheDaemonsFilesDoesNotMatter(t *testing.T) {
	job, logs := readsFromStore(deadAnswer), clusterOf(deadTarget)
	want := fmt.Sprintf("%+v", run(beside(t, job, logs), mechanism.All()).Storage.Episodes)
	for range len(logs) {
		logs = append(logs[1:len(logs):len(logs)], logs[0])
		if got := fmt.Sprintf("%+v", run(beside(t, job, logs), mechanism.All()).Storage.Episodes); len(got) != len(want) {
			t.Errorf("another order, another answer:\n%s\n%s", got, want)
		}
	}
}

// What the daemon at fault wrote has a row for each kind, by its own time; what others tell of it is told as one.
func TestADaemonsOwnRecordsHaveRowsOfTheirOwn(t *testing.T) {
	at := func(s float64) resolve.Moment { return resolve.Moment{T: s, Unc: 1, Valid: true} }
	f := beside(t, readsFromStore(deadAnswer), clusterOf(deadTarget))
	for by, want := range map[string][]string{"t-03": {"t-03: disk errors", "t-03: a mountpath was being disabled"}, "t-01": nil} {
		e := &correlate.Episode{ID: "t-03", Standing: correlate.Cause, Records: []correlate.Record{{By: "t-03", Kind: aislog.DiskFault, T: at(1)}, {By: by, Kind: aislog.MountpathOff, T: at(15)}}}
		b := builder{s: &mechanism.Scene{Facts: f, Storage: &correlate.Answer{Episodes: []*correlate.Episode{e}}}}
		var rows []row
		told := b.recordRows(&rows)
		var got []string
		for _, r := range rows {
			got = append(got, r.e.Event)
		}
		if !slices.Equal(got, want) || told != (want != nil) {
			t.Errorf("by %s: %q, not %q", by, got, want)
		}
	}
}
