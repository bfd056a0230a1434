package accounting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis/line"
)

const samples = "../../../../shared/samples/slurm"

func read(t testing.TB, text string) *Book {
	t.Helper()
	b, err := Read(t.Context(), "acct.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAFileIsToldByItsFirstLine(t *testing.T) {
	for text, want := range map[string]Format{
		"NodeName=n1\n   State=IDLE\n   BootTime=5 SlurmdStartTime=None\n":       ShowNode,
		"NodeName=n1\nrank 0 began\n":                                            None,
		"JobID|JobIDRaw|State|ExitCode\n1|1|FAILED|1:0\n":                        Sacct,
		"\n\njobid|STATE|\n1|FAILED|\n":                                          Sacct,
		"\xef\xbb\xbfUser|JobID|JobName|State\n":                                 Sacct,
		"JobId=2 JobName=exit1\n   UserId=x(1)":                                  ShowJob,
		"JobId=19 ArrayJobId=16 ArrayTaskId=3 JobName=arr":                       ShowJob,
		"NodeName=node01 Arch=x86_64 CoresPerSocket=1\n":                         ShowNode,
		"NodeName=node01 CoresPerSocket=1 \n":                                    ShowNode,
		"JobID|ExitCode\n":                                                       None, // without a state it says nothing
		"State|Elapsed\n":                                                        None,
		"[rank0]: step 1 | loss 2.0 | JobID|State":                               None,
		"| JobID | State |\n":                                                    None,  // a table that somebody drew
		"JobID           State ExitCode \n------------ ---------- --------\n":    None,  // the names do not stand above their columns
		"JobID             State ExitCode \n------------ ---------- -------- \n": Sacct, // without -P
		"JobID           State ExitCode \nx\n------------ ------- --------\n":    None,
		"": None, "\n\n": None, "{\"jobs\": []}": None, "JobId=2 was killed\n": None, "NodeName=x is down\n": None,
	} {
		if got := Recognise([]byte(text)); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

func TestARecordIsReadByTheNamesOfItsColumns(t *testing.T) {
	b := read(t, "User|JobID|NodeList|State|ExitCode|DerivedExitCode|Start|End|Restarts|FailedNode\n"+
		"somebody|14|node[01-03]|CANCELLED by 1001|0:15|143:0|1795318366|2026-11-20T23:12:06|2|node02\n"+
		"|14.0|node[01-03]|OUT_OF_MEMORY|0:125||Unknown|None||\n")
	if len(b.Records) != 2 || len(b.Warnings) != 0 {
		t.Fatalf("%d records, %v", len(b.Records), b.Warnings)
	}
	j, s := b.Records[0], b.Records[1]
	if j.Job != "14" || j.Step != "" || j.State != "CANCELLED" || !j.By || j.Exit != (Code{0, 15, true}) || j.Derived != (Code{143, 0, true}) ||
		strings.Join(j.Nodes, " ") != "node01 node02 node03" || strings.Join(j.FailedNodes, "") != "node02" {
		t.Errorf("the job is %+v", j)
	}
	if j.Start.Kind != line.Epoch || j.Start.Unix != 1795318366 || j.End.Kind != line.DateTime || j.End.Hour != 23 || j.End.Emitter != line.Accounting {
		t.Errorf("from %+v to %+v", j.Start, j.End)
	}
	if s.Job != "14" || s.Step != "0" || s.State != "OUT_OF_MEMORY" || s.By || s.Start.Kind != line.NoStamp || s.End.Kind != line.NoStamp {
		t.Errorf("the step is %+v", s)
	}
}

// What is quoted of a record never holds who ran it, what, and where.
func TestAQuotationNamesNobody(t *testing.T) {
	text := "JobID|JobIDRaw|User|Account|Partition|State|ExitCode|NodeList|End|Timelimit|Restarts|FailedNode|Reason|WorkDir|StdErr|SubmitLine|JobName\n" +
		"22|22|hidden|hidden|batch|NODE_FAIL|1:0|node[01-04]|1795318366|01:00:00|0|node03|None|/hidden/w|/hidden/e|sbatch hidden.sh | tee x|hidden\n"
	b := read(t, text)
	if len(b.Records) != 1 {
		t.Fatalf("%d records", len(b.Records))
	}
	for name, c := range b.Records[0].cells {
		quote := text[c.Off : c.Off+int64(c.Len)]
		if !strings.Contains(quote, c.Value) || c.Line != 2 {
			t.Errorf("%s: %q does not hold %q", name, quote, c.Value)
		}
		if public[name] && strings.Contains(quote, "hidden") {
			t.Errorf("%s: %q", name, quote)
		}
	}
	if c, ok := b.Records[0].Cell("State"); !ok || text[c.Off:c.Off+int64(c.Len)] != "NODE_FAIL|1:0|node[01-04]|1795318366|01:00:00|0|node03|None" {
		t.Errorf("the state is quoted as %q", text[c.Off:c.Off+int64(c.Len)])
	}
}

func TestPipesInFreeTextDoNotShiftColumns(t *testing.T) {
	b := read(t, "JobID|JobName|State|SubmitLine|ExitCode\n7|a|b|FAILED|sbatch x | y|1:0\n8|plain|TIMEOUT|sbatch|0:0\n")
	if len(b.Records) != 1 || b.Records[0].Job != "8" {
		// Between two such columns nothing is certain: the first row may not be guessed at.
		t.Errorf("%+v", b.Records)
	}
	b = read(t, "JobID|State|ExitCode|SubmitLine|JobName\n7|FAILED|1:0|sbatch x | y|a|b\n")
	if len(b.Records) != 1 || b.Records[0].State != "FAILED" || b.Records[0].Exit.Status != 1 {
		t.Errorf("%+v", b.Records)
	}
}

func TestWhatIsNoRecordIsLeftOutAndCounted(t *testing.T) {
	b := read(t, "JobID|State|ExitCode\nsacct: error: something\n1|FAILED|1:0\n|FAILED|1:0\n2||1:0\nx|FAILED|1:0\n"+strings.Repeat("y", 2*maxLine)+"\n3.batch|COMPLETED|0:0")
	if len(b.Records) != 2 || b.Records[1].Step != "batch" || len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "5 lines") {
		t.Errorf("%d records, %v", len(b.Records), b.Warnings)
	}
}

// A batch script that first prints what SLURM knows of its job writes a log all the same.
func TestALogThatBeginsWithRecordsIsALog(t *testing.T) {
	job := "JobId=22 JobName=x\n   JobState=RUNNING Reason=None\n   NodeList=node[01-04]\n\n"
	for text, want := range map[string]bool{
		job: true, job + "NodeName=node03 Arch=x86_64\n   State=DOWN*\n": true,
		job + "[rank0]: step 1\n[rank0]: step 2\n":                            false,
		job + "srun: error: node03: task 5: Exited with exit code 1\n":        false,
		"JobID|State\n1|FAILED\n1.0|FAILED\n":                                 true,
		"JobID|State\n1|RUNNING\nstarting training\n[rank0]: step 1\n":        false,
		"JobID|State\n" + strings.Repeat("1.0|FAILED\n", 9) + "sacct: note\n": true,
	} {
		if got := read(t, text).Genuine(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTheSameDeathIsWrittenInManyWays(t *testing.T) {
	for _, c := range []struct {
		code   string
		signal int
		sure   bool
	}{
		{"0:15", 15, true}, {"143:0", 15, true}, {"15:0", 15, false}, {"0:9", 9, true}, {"137:0", 9, true}, {"9:0", 9, false},
		{"0:11", 11, true}, {"139:0", 11, true}, {"11:0", 11, false}, {"0:139", 11, true}, {"134:0", 6, true}, {"0:7", 7, true},
		{"0:125", OutOfMemory, true}, {"0:53", NoOutput, true}, {"1:0", 0, false}, {"0:0", 0, false}, {"2:0", 0, false}, {"127:0", 0, false},
		{"271:0", 0, false}, {"", 0, false}, {"x:y", 0, false}, {"-1:0", 0, false}, {"1", 0, false},
	} {
		if signal, sure := parseCode(c.code).DiedOf(); signal != c.signal || sure != c.sure {
			t.Errorf("%s: signal %d (%v), want %d (%v)", c.code, signal, sure, c.signal, c.sure)
		}
	}
}

func TestTheControllersWords(t *testing.T) {
	text := "JobId=22 JobName=nodefail\n   UserId=hidden(1001) GroupId=hidden(1001)\n   JobState=NODE_FAIL Reason=None Dependency=(null)\n" +
		"   Requeue=0 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=143:0\n   SubmitTime=2026-11-20T23:16:57\n   StartTime=2026-11-20T23:16:57 EndTime=2026-11-20T23:18:08\n" +
		"   NodeList=node[01-04]\n   WorkDir=/hidden\n\n" +
		"NodeName=node03 Arch=x86_64 CoresPerSocket=1 \n   State=DOWN* ThreadsPerCore=1\n   BootTime=2026-11-20T20:00:00 SlurmdStartTime=2026-11-20T23:10:00\n" +
		"   Reason=Not responding [hidden@2026-11-20T23:18:08]\n"
	b := read(t, text)
	if len(b.Records) != 1 || len(b.Nodes) != 1 {
		t.Fatalf("%d records, %d nodes", len(b.Records), len(b.Nodes))
	}
	j, n := b.Records[0], b.Nodes[0]
	if !j.OfController() || j.Job != "22" || j.State != "NODE_FAIL" || j.Exit.Status != 143 || len(j.Nodes) != 4 || j.End.Minute != 18 {
		t.Errorf("the job is %+v", j)
	}
	if n.Name != "node03" || !n.Down() || n.Reason != "Not responding" || n.Since.Minute != 18 || n.Boot.Hour != 20 {
		t.Errorf("the node is %+v", n)
	}
	c, _ := n.Cell("Reason")
	if q := text[c.Off : c.Off+int64(c.Len)]; q != "Reason=Not responding" {
		t.Errorf("quoted %q", q)
	}
}

func TestJobsAreFoundByAnyOfTheirIds(t *testing.T) {
	b := read(t, "JobID|JobIDRaw|State\n17+0|17|FAILED\n17+0.batch|17.batch|FAILED\n17+1|18|FAILED\n16_3|19|COMPLETED\n16_4|16|FAILED\n16_4.0|16.0|FAILED\n20|20|FAILED\n")
	for id, want := range map[string]int{"17": 3, "18": 3, "17+1": 1, "16_3": 1, "19": 1, "16_4": 2, "16": 2, "20": 1, "21": 0} {
		if got := b.Of(id); len(got) != want {
			t.Errorf("%s: %d records, want %d", id, len(got), want)
		}
	}
	for id, want := range map[string]string{"17": "17", "18": "17", "17+1": "17", "16": "16_4", "19": "16_3", "16_3": "16_3", "5": "5"} {
		if got := b.Canonical(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if jobs := strings.Join(b.Jobs(), " "); jobs != "17 16_3 16_4 20" {
		t.Errorf("jobs %s", jobs)
	}
}

func TestRealAccounting(t *testing.T) {
	for _, version := range []string{"22.05", "24.11"} {
		name := filepath.Join(samples, version, "sacct_parsable2_duplicates.txt")
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Skipf("the captures of real SLURM are not here: %v", err)
		}
		b := read(t, string(raw))
		if lines := strings.Count(strings.TrimSpace(string(raw)), "\n"); len(b.Records) != lines || len(b.Warnings) > 0 {
			t.Errorf("%s: %d records of %d lines, %v", version, len(b.Records), lines, b.Warnings)
		}
		for _, r := range b.Records {
			if !r.Exit.Known || r.State == "" || r.Job == "" {
				t.Errorf("%s:%d: %+v", version, r.Line, r)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("JobID|JobName|State|NodeList|ExitCode\n1|a|b|FAILED|n[1-3]|1:0\n1.0|x|FAILED|n1|0:9\n"))
	f.Add([]byte("JobId=2 JobName=x\n   JobState=FAILED ExitCode=143:0 NodeList=n[1-4]\nNodeName=n1 Arch=x\n State=DOWN* Reason=Not responding [a@2026-11-20T23:18:08]\n"))
	f.Add([]byte("\xef\xbb\xbfJobID|State|\n\x00|\xff|\r\n||||||\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Read(t.Context(), "f", strings.NewReader(string(raw)))
		if err != nil {
			return
		}
		for _, r := range b.Records {
			for name, c := range r.cells {
				check(t, raw, name, c)
			}
			b.Of(r.Job)
		}
		for _, n := range b.Nodes {
			n.Down()
			for name, c := range n.cells {
				check(t, raw, name, c)
			}
		}
		Merge(b, b).Without(func(string, int64) bool { return false })
	})
}

// check holds a cell to the bytes: what is quoted lies in one line and holds the value.
func check(t *testing.T, raw []byte, name string, c Cell) {
	if c.Off < 0 || c.Off+int64(c.Len) > int64(len(raw)) {
		t.Fatalf("%s: %+v lies outside", name, c)
	}
	quote := string(raw[c.Off : c.Off+int64(c.Len)])
	if !strings.Contains(quote, c.Value) || strings.Contains(quote, "\n") || int64(strings.Count(string(raw[:c.Off]), "\n"))+1 != c.Line {
		t.Fatalf("%s: %q, line %d, for %q", name, quote, c.Line, c.Value)
	}
}

func TestATableOfFixedWidths(t *testing.T) {
	b := read(t, "JobID           JobName  Partition      State ExitCode        NodeList \n"+
		"------------ ---------- ---------- ---------- -------- --------------- \n"+
		"4242              train        gpu OUT_OF_ME+    0:125  gpu-node-[01-+ \n"+
		"4242.batch        batch            CANCELLED+     0:15     gpu-node-01 \n"+
		"4242.0           python             CANCELLED     0:15     gpu-node-01 \n"+
		"4242.1           python            COMPLE+         0:0     gpu-node-01 \n")
	if len(b.Records) != 3 {
		t.Fatalf("%d records, %v", len(b.Records), b.Warnings)
	}
	j, batch, step := b.Records[0], b.Records[1], b.Records[2]
	if j.Job != "4242" || j.Name != "train" || j.State != "OUT_OF_MEMORY" || j.Exit != (Code{0, 125, true}) || len(j.Nodes) != 0 {
		t.Errorf("the job is %+v", j)
	}
	if batch.Step != "batch" || batch.State != "CANCELLED" || !batch.By || step.State != "CANCELLED" || step.By || strings.Join(step.Nodes, "") != "gpu-node-01" {
		t.Errorf("the steps are %+v and %+v", batch, step)
	}
	if c, ok := j.Cell("State"); !ok || c.Len != len("OUT_OF_ME+") {
		t.Errorf("the state stands at %+v", c)
	}
}

// Records that state no number of SLURM's own do not make the job that nobody asked for one of theirs.
func TestNoIDIsTheIDOfNoJob(t *testing.T) {
	b := &Book{Records: []*Record{{Job: "4242"}, {Job: "4311"}}}
	if got := b.Canonical(""); got != "" {
		t.Errorf("no job is %q", got)
	}
}
