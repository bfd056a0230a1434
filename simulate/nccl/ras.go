package nccl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Answer is what is asked of RAS.
type Answer string

// Answers.
const (
	Behind Answer = "behind" // one rank is behind, in every answer the same
	Moving Answer = "moving" // ranks are behind, in every answer others: the job works
	Ahead  Answer = "ahead"  // two ranks are ahead, and listed
	Level  Answer = "level"  // all have launched the same
	Dead   Answer = "dead"   // a process does not answer any more
)

// Answers are all of them.
func Answers() []Answer { return []Answer{Behind, Moving, Ahead, Level, Dead} }

// RAS is a job that is asked while its watchdog has not fired yet.
type RAS struct {
	Seed           uint64
	Answer         Answer
	Nodes, PerNode int
	Times          int // how often it is asked
	JSON           bool
	Apart          int  // seconds between two answers
	Hangs          bool // the job's logs show that it hung
	Pasted         bool // text stands in a log, behind a shell's prompt
}

// PlayRAS plays it.
func PlayRAS(spec RAS) (*Incident, error) {
	world := spec.Nodes * spec.PerNode
	if world < 4 || world > 1024 {
		return nil, fmt.Errorf("nccl: %d ranks", world)
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 0x7a5))
	job := Spec{Seed: spec.Seed, Fault: Busy, Nodes: spec.Nodes, PerNode: spec.PerNode, Version: "2.28", Watchdog: true}
	culprit := 1 + rng.IntN(world-1) // rank 0 is the one whose watchdog reports
	if spec.Hangs {
		job.Fault = Hang
	}
	inc, err := Play(job)
	if err != nil {
		return nil, err
	}
	inc.Files, inc.Truth = map[string][]byte{}, Truth{}
	if spec.Answer == Behind || spec.Answer == Dead {
		inc.Truth = Truth{Ranks: []int{culprit}, Nodes: []string{address(spec, culprit)}}
	}
	hash := rng.Uint64()
	var text bytes.Buffer
	for i := range spec.Times {
		counts := make([]int, world)
		for r := range counts {
			counts[r] = 6650
		}
		switch spec.Answer {
		case Behind:
			counts[culprit] = 6648
		case Moving:
			for r := range counts {
				counts[r] = 6650 + 400*i
			}
			counts[rng.IntN(world)]--
		case Ahead:
			counts[culprit]++
		}
		if spec.JSON {
			inc.Files[fmt.Sprintf("ras-%d.json", i)] = answerJSON(spec, hash, counts, culprit, i)
			continue
		}
		if spec.Pasted {
			text.WriteString("user@gpu01:~$ ncclras -v\n")
		}
		text.Write(answerText(spec, hash, counts, culprit))
	}
	switch {
	case spec.JSON:
	case spec.Pasted:
		inc.Logs["notes.txt"] = append([]byte("looked at it while it hung\n"), text.Bytes()...)
	default:
		inc.Files["ras.txt"] = text.Bytes()
	}
	return inc, nil
}

func address(spec RAS, id int) string { return fmt.Sprintf("10.4.0.%d", id/spec.PerNode+11) }

// answerText is the text of client_support.cc.
func answerText(spec RAS, hash uint64, counts []int, culprit int) []byte {
	world := len(counts)
	var b bytes.Buffer
	fmt.Fprintf(&b, "NCCL version 2.27.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 13000\n\nJob summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n")
	fmt.Fprintf(&b, "%7d %10d %12d %10d %8d\n\nCommunicators... (0.00s)\n=============\n\n", spec.Nodes, spec.PerNode, 1, world, world)
	b.WriteString("Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n    #  in group  per comm  per node  per comm  in group\n")
	by := map[int][]int{}
	for r, c := range counts {
		by[c] = append(by[c], r)
	}
	state := "OK"
	switch {
	case spec.Answer == Dead:
		state = "INCOMPLETE"
	case len(by) > 1:
		state = "MISMATCH"
	}
	fmt.Fprintf(&b, "%5d  %8d  %8d  %8d  %8d  %8d  %8s  %6s\n\nErrors\n======\n\n", 0, 1, spec.Nodes, spec.PerNode, world, world, "RUNNING", state)
	who := func(r int) string {
		return fmt.Sprintf("GPU %d managed by process %d on node %s", r%spec.PerNode, 30000+r, address(spec, r))
	}
	if spec.Answer == Dead {
		fmt.Fprintf(&b, "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  Process %d on node %s managing GPU %d\n\n#0-0 (%016x) INCOMPLETE\n  Missing communicator data from 1 rank\n  Rank %d -- %s\n\n",
			30000+culprit, address(spec, culprit), culprit%spec.PerNode, hash, culprit, who(culprit))
	}
	b.WriteString("Warnings\n========\n\n")
	if len(by) > 1 {
		fmt.Fprintf(&b, "#0-0 (%016x) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n", hash)
		var values []int
		for v := range by {
			values = append(values, v)
		}
		slices.SortFunc(values, func(x, y int) int { return len(by[y]) - len(by[x]) })
		for _, v := range values {
			if len(by[v]) > 1 {
				fmt.Fprintf(&b, "  %d ranks have launched up to operation %d\n", len(by[v]), v)
			} else {
				fmt.Fprintf(&b, "  Rank %d has launched up to operation %d -- %s\n", by[v][0], v, who(by[v][0]))
			}
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// answerJSON is the JSON of 2.28.9, where a comma lacks among the missing ranks.
func answerJSON(spec RAS, hash uint64, counts []int, culprit, i int) []byte {
	var ranks, missing []string
	for r, c := range counts {
		id := fmt.Sprintf("        {\n          \"rank\": %d,\n          \"host\": \"%s\",\n          \"pid\": %d,\n          \"cuda_dev\": %d", r, address(spec, r), 30000+r, r%spec.PerNode)
		if spec.Answer == Dead && r == culprit {
			missing = append(missing, id+"\n          \"status\": {\n            \"unresponsive\": true,\n            \"considered_dead\": true\n          }\n        }")
			continue
		}
		ranks = append(ranks, id+fmt.Sprintf(",\n          \"status\": {\n            \"init_state\": 0,\n            \"async_error\": 0\n          },\n          \"collective_counts\": {\n            \"Broadcast\": 3,\n            \"AllReduce\": %d\n          }\n        }", c))
	}
	at := 10*3600 + 25*60 + i*spec.Apart
	return fmt.Appendf(nil, "{\n  \"nccl_version\": \"2.28.9\",\n  \"timestamp\": \"2025-06-03 %02d:%02d:%02d\",\n  \"communicators_count\": 1,\n  \"communicators\": [\n    {\n      \"hash\": \"0x%x\",\n      \"size\": %d,\n      \"ranks_count\": %d,\n      \"missing_ranks_count\": %d,\n      \"ranks\": [\n%s\n      ],\n      \"missing_ranks\": [\n%s\n      ]\n    }\n  ]\n}\n",
		at/3600, at/60%60, at%60, hash, len(counts), len(ranks), len(missing), strings.Join(ranks, ",\n"), strings.Join(missing, ",\n"))
}
