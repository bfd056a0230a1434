package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// dumpOf is the JSON dump of one of four ranks that wait in work 8 of the default group.
func dumpOf(state string) string {
	return fmt.Sprintf(`{"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2, 3]"}},
"pg_status":{"0":{"last_enqueued_collective":8,"last_started_collective":-1,"last_completed_collective":7}},
"entries":[{"record_id":8,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":8,"p2p_seq_id":0,"profiling_name":"nccl:all_reduce","time_created_ns":1758610505592849034,
"input_sizes":[[64]],"output_sizes":[[64]],"input_dtypes":["Float"],"output_dtypes":["Float"],"state":%q,"retired":false,"timeout_ms":600000,"is_p2p":false}]}`, state)
}

// What is given on the console is known by its content: dumps decide between the members of a set, whatever else their names say, and
// of what is nothing that is known, one sentence says so.
func TestEvidenceIsGivenInTheConversation(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	log.WriteString("[rank0]:[I1120 23:00:00.000000000 main.py:1] world_size=4\n")
	for rank := range 4 {
		fmt.Fprintf(&log, "[rank%d]:[E1120 23:30:00.000000000 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n", rank, rank)
		fmt.Fprintf(&log, "[rank%d]:[E1120 23:30:00.000100000 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 8 PG status: last enqueued work: 8, last completed work: 7\n", rank, rank)
	}
	write(t, filepath.Join(dir, "logs", "error-7.out"), log.String())
	for rank := range 4 {
		state := "started"
		if rank == 3 {
			state = "scheduled"
		}
		write(t, filepath.Join(dir, "more", fmt.Sprintf("fr_rank_%d.json", rank)), dumpOf(state))
	}
	notes := write(t, filepath.Join(dir, "notes.txt"), "we have seen this before\n")
	other := write(t, filepath.Join(dir, "model.weights"), "\x00\x01\x02\x03\x04\x05\x06"+strings.Repeat("\x01\x02\x03", 200))
	r := call(t, fmt.Sprintf("/diagnose - %s\nlogs %s\nlogs %s\nlogs %s\nquit\n", filepath.Join(dir, "logs"), notes, other, filepath.Join(dir, "more")), "console")
	r.out = strings.Join(strings.Fields(r.out), " ")
	r.want(t, 0,
		"notes.txt is neither a job log nor evidence I can read",
		"model.weights is a binary file: neither a log",
		"reading fr_rank_0.json and 3 more files as evidence: PyTorch flight-recorder dumps",
		"The GPU of rank 3 stopped making progress")
}
