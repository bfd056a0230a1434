package ras

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

const table = "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n" +
	"    #  in group  per comm  per node  per comm  in group\n"

func read(t testing.TB, text string) []*Snapshot {
	t.Helper()
	s, err := Read(context.Background(), "ras.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhoIsBehindTheNumbersSayNotTheList(t *testing.T) {
	const head = table + "    0         1         4         8        32        32   RUNNING  MISMATCH\n\nWarnings\n========\n\n#0-0 (00000a93daea854b) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
	tests := []struct {
		name, text string
		behind     []int
	}{
		{"those ahead are listed", "  30 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n  Rank 12 -- GPU 4 managed by process 323032 on node 10.1.0.124\n  Rank 13 -- GPU 5 managed by process 323033 on node 10.1.0.124\n", nil},
		{"those behind are listed", "  30 ranks have launched up to operation 641\n  2 ranks have launched up to operation 640\n  Rank 12 -- GPU 4 managed by process 323032 on node 10.1.0.124\n  Rank 13 -- GPU 5 managed by process 323033 on node 10.1.0.124\n", []int{12, 13}},
		{"one is named with its count", "  31 ranks have launched up to operation 64\n  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node node1\n", []int{7}},
		{"one launched nothing", "  31 ranks have launched up to operation 64\n  Rank 7 has not launched any operations -- GPU 3 managed by process 1650386 on node node1\n", []int{7}},
		{"half are behind", "  16 ranks have launched up to operation 641\n  16 ranks have launched up to operation 640\n", nil},
	}
	for _, tt := range tests {
		s := read(t, head+tt.text)
		if len(s) != 1 || len(s[0].Comms) != 1 || s[0].Comms[0].Size != 32 || s[0].Comms[0].Hash != "a93daea854b" || s[0].OK() || !s[0].Comms[0].Mismatched() {
			t.Fatalf("%s: %+v", tt.name, s[0])
		}
		ranks, _, _, op, ok := s[0].Comms[0].Behind()
		var got []int
		for _, r := range ranks {
			got = append(got, r.Rank)
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.behind) || ok && op != "AllGather" {
			t.Errorf("%s: %v behind in %s, want %v", tt.name, got, op, tt.behind)
		}
	}
}

func TestMissingAndDead(t *testing.T) {
	text := "$ ncclras -v\n" + table + "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n\nErrors\n======\n\nINCOMPLETE\n  Missing communicator data from 1 job process\n" +
		"  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 21\n\nWarnings\n========\n\nTIMEOUT\n" +
		"  Encountered 2 communication timeouts while gathering communicator data\n$ ncclras -v\n" +
		table + "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n\nErrors\n======\n\nDEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n" +
		"#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213\n"
	s := read(t, text)
	if len(s) != 2 {
		t.Fatalf("%d snapshots", len(s))
	}
	a, b := s[0], s[1]
	if len(a.Missing) != 1 || a.Missing[0].Pid != 3487984 || a.Missing[0].Host != "172.16.64.213" || a.Missing[0].GPUs != "5" || len(a.Dead) != 0 || a.Comms[0].Missing[0].Rank != 21 {
		t.Errorf("first: %+v", a)
	}
	if len(b.Dead) != 1 || b.Dead[0].Pid != 3487984 || len(b.Missing) != 0 || len(b.Comms) != 1 || b.Comms[0].Missing[0].Pid != 3487984 || b.Comms[0].Size != 32 {
		t.Errorf("second: %+v", b)
	}
}

func TestAHealthyAnswer(t *testing.T) {
	s := read(t, "NCCL version 2.26.2 compiled with CUDA 12.4\nCUDA runtime version 12040, driver version 12040\n\nJob summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"+
		"     32          8            1        256      256\n\nCommunicators... (0.01s)\n=============\n\n"+table+"    0         1        32         8       256       256   RUNNING      OK\n\nErrors\n======\n\nWarnings\n========\n\n")
	if len(s) != 1 || !s[0].OK() || s[0].GPUs != 256 || s[0].Rows[0].Size != 256 {
		t.Errorf("%+v", s)
	}
}

const answer = `{
  "nccl_version": "2.28.9",
  "cuda_runtime_version": 12090,
  "timestamp": "2026-06-19 06:51:56",
  "communicators_count": 1,
  "communicators": [
    {
      "hash": "0x514e98cf4e44862b",
      "secondary_hash": "0x2cd6d618b4a75a5a:0xe6854f9ece96c663",
      "size": 4,
      "ranks": [
        {"rank": 0, "host": "10.0.77.184", "pid": 8813, "cuda_dev": 0, "status": {"init_state": 0, "async_error": 0, "abort_flag": false}, "collective_counts": {"Broadcast": 0, "AllReduce": 12}},
        {"rank": 1, "host": "10.0.77.184", "pid": 8814, "cuda_dev": 1, "status": {"init_state": 0, "async_error": 6, "abort_flag": false}, "collective_counts": {"Broadcast": 0, "AllReduce": 12}},
        {"rank": 2, "host": "10.0.77.185", "pid": 9, "cuda_dev": 0, "status": {"init_state": 0, "async_error": 0}, "collective_counts": {"Broadcast": 0, "AllReduce": 11}}
      ],
      "missing_ranks": [
        {
          "rank": 3,
          "host": "10.0.77.185",
          "pid": 10COMMA
          "cuda_dev": 1,
          "status": {"unresponsive": true, "considered_dead": true}
        }
      ]
    }
  ],
  "ras": {"collection_time_sec": 0.125, "timeouts_count": 2}
}
`

func TestJSONEvenWhereACommaLacks(t *testing.T) {
	for comma, place := range map[string]string{",": "communicators[0].missing_ranks[0]", "": ""} {
		list := read(t, strings.ReplaceAll(answer, "COMMA", comma))
		if len(list) != 1 {
			t.Fatalf("%d documents", len(list))
		}
		s := list[0]
		c := &s.Comms[0]
		if s.Time != 1781851916 || c.Size != 4 || c.Hash != "514e98cf4e44862b" || len(c.Failed) != 1 || c.Failed[0].Rank != 1 {
			t.Errorf("%+v", s)
		}
		if len(c.Missing) != 1 || c.Missing[0].Pid != 10 || !c.Missing[0].Dead || c.Missing[0].At.Place != place || c.Missing[0].At.Line != 18 {
			t.Errorf("missing: %+v", c.Missing)
		}
		behind, least, most, op, ok := c.Behind()
		if !ok || len(behind) != 1 || behind[0].Rank != 2 || least != 11 || most != 12 || op != "AllReduce" {
			t.Errorf("behind: %+v %d %d %s %v", behind, least, most, op, ok)
		}
	}
}

func TestBrokenJSONIsRefusedInOneSentence(t *testing.T) {
	whole := strings.ReplaceAll(answer, "COMMA", ",")
	for text, want := range map[string]string{
		whole[:700]: errShort.Error(),
		`{"nccl_version": "2.28", "communicators": [1, 2`:                                       errBroken.Error(),
		`{"communicators": [], "x": ` + strings.Repeat("[", 1000):                               errDeep.Error(),
		`{"communicators": [{"ranks": [{"rank": 99999999999999999999, "pid": 1}]}]}`:            errBroken.Error(),
		`{"nccl_version": "2.28", "communicators": [{"size": "four", "ranks": [{"rank": "a"}]}`: errBroken.Error(),
	} {
		if _, err := Read(context.Background(), "x", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

func TestOnlyAnswersAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"$ ncclras -v\n" + table:       true,
		"Job summary\n===========\n":   true,
		answer:                         true,
		"#0-0 (cf) INCOMPLETE\n":       false,
		"step 1\nstep 2\n":             false,
		"NCCL version 2.21.5+cuda12.4": false,
		`{"entries": [], "pg_config": {}, "nccl_version": "2.21"}`: false,
	} {
		if Recognise([]byte(text)) != want {
			t.Errorf("%v expected for %.50q", want, text)
		}
	}
	if !Pasted([]byte(strings.Repeat("step\n", 50)+table)) || Pasted([]byte("loss 2.1, Missing communicator data from nowhere\n")) {
		t.Error("what is pasted into a log")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(answer, "COMMA", "")))
	f.Add([]byte(table + "    0         1         4         8        32        32   RUNNING  MISMATCH\n#0-0 (00aa) MISMATCH\n  Communicator ranks have different collective operation counts\n  26 ranks have launched up to operation 6650\n  6 ranks have launched up to operation 6649\n  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210\n"))
	f.Add([]byte("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  Process 3487984 on node 172.16.64.213 managing GPU 5\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		Pasted(b)
		list, err := Read(context.Background(), "x", strings.NewReader(string(b)))
		if err != nil {
			return
		}
		for _, s := range list {
			s.OK()
			for i := range s.Comms {
				ranks, least, most, _, ok := s.Comms[i].Behind()
				if ok && (len(ranks) == 0 || least >= most) {
					t.Fatalf("%d behind, %d of %d", len(ranks), least, most)
				}
			}
		}
	})
}
