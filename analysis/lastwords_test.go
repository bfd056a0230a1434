package analysis

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// stalledAt is a job of four ranks of which rank 2 never came, with what it wrote before; header begins the watchdogs' lines.
func stalledAt(header func(rank int) string, before string) string {
	var b strings.Builder
	for r := range 4 {
		fmt.Fprintf(&b, "Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/4\n", r, r+1)
	}
	b.WriteString(before)
	for _, r := range []int{0, 1, 3} {
		fmt.Fprintf(&b, "[rank%[1]d]:%[2]s[Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.\n", r, header(r))
		fmt.Fprintf(&b, "[rank%[1]d]:%[2]s[PG ID 0 PG GUID 0(default_pg) Rank %[1]d] Exception (either an error or timeout) detected by watchdog at work: 9, last enqueued NCCL work: 9, last completed NCCL work: 8.\n", r, header(r))
	}
	fmt.Fprintf(&b, "[rank2]:%s[PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 8, last completed NCCL work: 8.\n", header(2))
	return b.String()
}

// TestWhatTheStalledRankWroteLastIsShown: nobody is told to look for a line that was read here.
func TestWhatTheStalledRankWroteLastIsShown(t *testing.T) {
	stamped := func(int) string { return "[E513 13:25:57.714781662 ProcessGroupNCCL.cpp:616] " }
	bare := func(int) string { return "[E ProcessGroupNCCL.cpp:616] " }
	for name, c := range map[string]struct {
		text, want string
	}{
		"before the wait began": {stalledAt(stamped, "[rank2]: 2026-05-13 13:14:00,100 asking the license server\n[rank0]: 2026-05-13 13:14:01,100 asking the license server\n[rank2]: 2026-05-13 13:20:00,100 still here\n"),
			"Start with rank 2's last line before the wait, train.log:5: “asking the license server”."},
		"without times, before the first time-out": {stalledAt(bare, "[rank2]: asking the license server\n[rank0]: asking the license server\n"),
			"Start with rank 2's last line before the wait, train.log:5: “asking the license server”."},
		"the code that a warning shows is no line": {stalledAt(bare, "[rank2]: loader.py:7: UserWarning: slow shard\n[rank2]:   warnings.warn(\n"),
			"train.log:5: “loader.py:7: UserWarning: slow shard”"},
		"nor behind a label without a space": {stalledAt(bare, "[rank2]:loader.py:7: UserWarning: slow shard\n[rank2]:  warnings.warn(\n"),
			"train.log:5: “loader.py:7: UserWarning: slow shard”"},
		"what PyTorch's runtime and NCCL print does not show it": {stalledAt(bare, "[rank2]: asking the license server\n[rank2]:[W513 13:13:00.714781662 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0(default_pg) Rank 2]  using GPU 2 to perform barrier\n[rank2]: gn01:41003:41903 [2] NCCL INFO Connected all trees\n"),
			"train.log:5: “asking the license server”"},
		"nor what SLURM's container plugin prints": {stalledAt(bare, "[rank2]: asking the license server\n[rank2]: pyxis: imported docker image: example/image\n"),
			"train.log:5: “asking the license server”"},
		"only the line that introduces it": {stalledAt(bare, ""), "train.log:3: “Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/4”"},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": c.text}, "")})
		if r.Verdict.Mechanism != "rank-stalled" || len(r.Recommendations) == 0 || !strings.Contains(r.Recommendations[0].Text, c.want) {
			t.Errorf("%s: %s, %+v", name, r.Verdict.Mechanism, r.Recommendations)
			continue
		}
		row := ""
		for _, e := range r.Timeline {
			if e.Event == "rank 2's last line before the wait" {
				row = e.Evidence[0].Text
			}
		}
		if name == "before the wait began" && !strings.Contains(row, "license server") {
			t.Errorf("%s: the timeline has %q of it", name, row)
		}
	}
}

// What a rank prints while the others wait for it tells what held it; what it printed long before, or another rank prints, does not.
func TestWhatTheStalledRankWroteDuringTheWaitIsInTheChain(t *testing.T) {
	stamped := func(int) string { return "[E513 13:25:57.714781662 ProcessGroupNCCL.cpp:616] " }
	retry := func(rank int, clock string) string {
		return fmt.Sprintf("[rank%d]: 2026-05-13 %s,024 - root - WARNING - Retrying aistore.sdk.request_client.RequestClient._request_with_retry in 5.28 seconds as it raised AISError: STATUS:500, MESSAGE:read /ais/a/x.tar: input/output error, REQ_URL:http://10.0.0.1:51081/v1/objects/b/x.tar?provider=ais.\n", rank, clock)
	}
	observed := "[rank2]:" + stamped(2) + "[PG ID 0 PG GUID 0(default_pg) Rank 2] Observed flight recorder dump signal from another rank via TCPStore.\n"
	for name, c := range map[string]struct {
		before, want string
		line         int64
	}{
		"a retry":                   {retry(2, "13:15:59") + retry(2, "13:17:20"), "rank 2 was retrying a request: the last of 2 logged retries is from 13:17:20", 6},
		"any line":                  {"[rank2]: 2026-05-13 13:16:40,100 unpacking shard 7\n" + observed, "the last line from rank 2 is “unpacking shard 7”, at 13:16:40. No line shows what it did then: its log holds nothing more for 9 min", 5},
		"a line of long before":     {"[rank2]: 2026-05-13 13:10:00,100 unpacking shard 7\n", "", 0},
		"a line of another's":       {"[rank1]: 2026-05-13 13:16:40,100 unpacking shard 7\n", "", 0},
		"a line that has no moment": {"[rank2]: unpacking shard 7\n", "", 0},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": stalledAt(stamped, c.before)}, "")})
		said, line := "", int64(0)
		for _, l := range r.Chain {
			if l.Kind == incident.LinkHeld {
				said, line = l.Statement, l.Evidence[0].Line
			}
		}
		if line != c.line || c.want == "" != (said == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: line %d, %q (verdict %s of %v)", name, line, said, r.Verdict.Mechanism, r.Verdict.Root.Ranks)
		}
	}
}

// TestASearchThatWasCutShortFindsNothing: the last line of the first part of a file is not the file's last line.
func TestASearchThatWasCutShortFindsNothing(t *testing.T) {
	const text = "one\ntwo\nthree\n"
	facts, err := resolve.Resolve(t.Context(), resolve.Input{Obs: worker.Merge()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		end, most int64
		src       io.Reader
		want      bool
	}{
		{"the whole file", math.MaxInt64, 100, strings.NewReader(text), true},
		{"more than is read", math.MaxInt64, 8, strings.NewReader(text), false},
		{"as far as the wait", 8, 100, strings.NewReader(text), true},
		{"as far as the wait, and no further may be read", 8, 8, strings.NewReader(text), true},
		{"the wait begins further on", 12, 8, strings.NewReader(text), false},
		{"the disk fails", math.MaxInt64, 100, io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("input/output error"))), false},
	} {
		w := lastOf{ctx: t.Context(), facts: facts, file: "a.log", rank: &resolve.Rank{ID: 2}}
		if got := w.read(c.src, c.end, c.most); got != c.want {
			t.Errorf("%s: whole is %t", c.name, got)
		}
	}
}
