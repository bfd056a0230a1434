package slurm

import (
	"regexp"
	"strings"
	"time"
)

// keyValue finds "Key=value" at the beginning of a line or behind a blank; a value ends where the next key begins. JobName,
// Reason, Comment and Command hold blanks.
var keyStart = regexp.MustCompile(`(?:^|\s)([A-Za-z][A-Za-z0-9:/_]*)=`)

// pairs reads a block of `scontrol show`.
func pairs(block string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		found := keyStart.FindAllStringSubmatchIndex(line, -1)
		for i, m := range found {
			end := len(line)
			key := line[m[2]:m[3]]
			// These take the rest of their line, whatever it looks like.
			if i+1 < len(found) && !restOfLine[key] {
				end = found[i+1][0]
			}
			if _, dup := out[key]; !dup {
				out[key] = strings.TrimSpace(line[m[1]:end])
			}
			if restOfLine[key] {
				break
			}
		}
	}
	return out
}

// restOfLine are keys whose values a user writes and which stand alone on their line, or last in it.
var restOfLine = map[string]bool{"JobName": true, "Command": true, "WorkDir": true, "StdErr": true, "StdIn": true, "StdOut": true, "Comment": true, "SubmitLine": true}

// blocks cuts the answer at the keyword that each block begins with.
func blocks(out, keyword string) []string {
	var list []string
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, keyword) && b.Len() > 0 {
			list = append(list, b.String())
			b.Reset()
		}
		b.WriteString(line)
	}
	if strings.HasPrefix(b.String(), keyword) {
		list = append(list, b.String())
	}
	return list
}

var userOf = regexp.MustCompile(`^([^()\s]+)\((\d+)\)$`)

// parseShowJob reads `scontrol show job`: one block for each element or component. It knows no steps.
func parseShowJob(out []byte, zone *time.Location) []Record {
	text := strings.ToValidUTF8(string(out[:min(len(out), maxAnswer)]), "?")
	var records []Record
	for _, block := range blocks(text, "JobId=") {
		kv := pairs(block)
		r := Record{
			JobID: kv["JobId"], Raw: kv["JobId"], Account: none(kv["Account"]), Partition: none(kv["Partition"]), State: kv["JobState"],
			ExitCode: kv["ExitCode"], Derived: kv["DerivedExitCode"], NNodes: whole(kv["NumNodes"]), NTasks: whole(kv["NumTasks"]), NodeList: none(kv["NodeList"]),
			Submit: epoch(kv["SubmitTime"], zone), Start: epoch(kv["StartTime"], zone), End: epoch(kv["EndTime"], zone), Limit: none(kv["TimeLimit"]),
			Restarts: whole(kv["Restarts"]), FailedNode: none(kv["FailedNode"]), Reason: none(kv["Reason"]), WorkDir: none(kv["WorkDir"]),
			StdOut: none(kv["StdOut"]), StdErr: none(kv["StdErr"]), Job: kv["JobName"], Command: firstWord(none(kv["Command"])),
		}
		if array, task := kv["ArrayJobId"], kv["ArrayTaskId"]; array != "" && task != "" {
			r.JobID = array + "_" + task
			if whole(task) == None {
				r.JobID = array + "_[" + task + "]"
			}
		}
		if het, offset := kv["HetJobId"], kv["HetJobOffset"]; het != "" && offset != "" {
			r.JobID = het + "+" + offset
		}
		if m := userOf.FindStringSubmatch(kv["UserId"]); m != nil {
			r.User, r.UID = m[1], m[2]
		}
		if r.StdErr == r.StdOut {
			r.StdErr = ""
		}
		if r.JobID != "" && r.State != "" {
			records = append(records, r)
		}
	}
	return records
}

// firstWord is the file of a command line.
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// maxNodesText bounds the evidence about nodes.
const maxNodesText = 8 << 20

// parseNodes keeps, of `scontrol show node`, the blocks of the nodes named, by name.
func parseNodes(out []byte, wanted map[string]bool) map[string]string {
	text := strings.ToValidUTF8(string(out[:min(len(out), maxAnswer)]), "?")
	kept := map[string]string{}
	size := 0
	for _, block := range blocks(text, "NodeName=") {
		name := pairs(block)["NodeName"]
		block = strings.TrimRight(block, "\n \t")
		if wanted[name] && kept[name] == "" && size+len(block) < maxNodesText {
			kept[name] = block
			size += len(block)
		}
	}
	return kept
}
