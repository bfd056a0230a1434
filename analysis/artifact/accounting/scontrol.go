package accounting

import (
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// pair is "Key=value" of scontrol: the value ends at the next blank, but for those that run to the end of their line.
var pair = pattern.New(`(?:^|\s)([A-Za-z][A-Za-z/:_]*)=(\S*)`)

// pairs reads one line. Each value stands for itself: its neighbours may name people and directories.
func (r *reader) pairs(text string, off, no int64, visit func(key string, c Cell)) {
	for _, m := range pair.FindAllStringSubmatchIndex(text, 256) {
		key, value := text[m[2]:m[3]], text[m[4]:m[5]]
		if len(value) > maxCell {
			continue
		}
		visit(key, Cell{File: r.file, Line: no, Off: off + int64(m[2]), Len: m[5] - m[2], Value: value})
	}
}

// jobColumns are scontrol's names of what sacct calls otherwise.
var jobColumns = map[string]string{"JobState": "State", "Reason": "Reason", "ExitCode": "ExitCode", "DerivedExitCode": "DerivedExitCode", "NodeList": "NodeList",
	"FailedNode": "FailedNode", "SubmitTime": "Submit", "StartTime": "Start", "EndTime": "End", "Restarts": "Restarts", "JobName": "JobName"}

// jobLine reads a line of "scontrol show job". Its exit code is the shell's own, 143:0 where sacct says 15:0.
func (r *reader) jobLine(text string, off, no int64) {
	if showJob.MatchString(text) {
		r.record = &Record{File: r.file, Line: no, cells: map[string]Cell{}, controller: true}
		r.book.Records = append(r.book.Records, r.record)
	}
	rec := r.record
	if rec == nil {
		r.skipped++
		return
	}
	var array, task, het, part string
	r.pairs(text, off, no, func(key string, c Cell) {
		switch key {
		case "JobId":
			rec.Raw, rec.Job = c.Value, c.Value
		case "ArrayJobId":
			array = c.Value
		case "ArrayTaskId":
			task = c.Value
		case "HetJobId":
			het = c.Value
		case "HetJobOffset":
			part = c.Value
		}
		name, ok := jobColumns[key]
		if _, twice := rec.cells[name]; !ok || twice {
			return
		}
		rec.cells[name] = c
		switch name {
		case "State":
			rec.State, _ = state(c.Value)
		case "ExitCode":
			rec.Exit = parseCode(c.Value)
		case "DerivedExitCode":
			rec.Derived = parseCode(c.Value)
		case "NodeList":
			rec.Nodes = hosts(c.Value)
		case "FailedNode":
			rec.FailedNodes = hosts(c.Value)
		case "Submit":
			rec.Submit = stamp(c.Value)
		case "Start":
			rec.Start = stamp(c.Value)
		case "End":
			rec.End = stamp(c.Value)
		case "JobName":
			rec.Name = c.Value
		}
	})
	if array != "" && task != "" && array != "0" {
		rec.Job = array + "_" + task
	}
	if het != "" && part != "" && het != "0" {
		rec.Job = het + "+" + part
	}
}

// nodeReason is "Reason=Not responding [slurm@2026-11-20T23:18:08]": who set it is not taken along.
var nodeReason = pattern.New(`(?:^|\s)(Reason=(.{0,300}?)) \[[^@\]]*@([^\]\s]{1,32})\]`)

func (r *reader) nodeLine(text string, off, no int64) {
	if showNode.MatchString(text) {
		r.node = &Node{File: r.file, Line: no, cells: map[string]Cell{}}
		r.book.Nodes = append(r.book.Nodes, r.node)
	}
	n := r.node
	if n == nil {
		r.skipped++
		return
	}
	if m := nodeReason.FindStringSubmatchIndex(text); m != nil {
		if n.Reason == "" {
			n.Reason, n.Since = text[m[4]:m[5]], stamp(text[m[6]:m[7]])
			n.cells["Reason"] = Cell{File: r.file, Line: no, Off: off + int64(m[2]), Len: m[3] - m[2], Value: n.Reason}
		}
		text = text[:m[0]]
	}
	r.pairs(text, off, no, func(key string, c Cell) {
		if _, twice := n.cells[key]; twice {
			return
		}
		switch key {
		case "NodeName":
			n.Name = c.Value
		case "State":
			n.State = c.Value
		case "BootTime":
			n.Boot = stamp(c.Value)
		default:
			return
		}
		n.cells[key] = c
	})
}

// Down says that the controller holds the node for lost, or will not use it.
func (n *Node) Down() bool {
	s := strings.ToUpper(n.State)
	return strings.HasPrefix(s, "DOWN") || ascii.Has(s, "*", "FAIL", "NOT_RESPONDING")
}
