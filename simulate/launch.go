package simulate

import (
	"fmt"
	"strings"
	"time"
)

// slurmstepd writes a line of a node's step daemon. Packages built with multiple-slurmd support put the node's name in
// [SLURM 22.05.8 and 24.11.5 of Debian]; the plain form is upstream's.
func (s *scene) slurmstepd(n int, t time.Duration, msg string) {
	s.onNode(n, t, 0, "slurmstepd: error: "+msg)
}

// srun writes a line of srun, which goes to the batch script's file and never to the per-node files.
func (s *scene) srun(t time.Duration, msg string) { s.batch(t, "srun: "+msg) }

// srunTasks is srun's line for tasks of one node that ended alike: what is "Aborted", "Exited with exit code 1", …
func (s *scene) srunTasks(t time.Duration, n int, tasks []int, what string) {
	word := "task"
	if len(tasks) > 1 {
		word = "tasks"
	}
	f := says(0)
	if !s.torchrun || s.spec.FileMode == "node" {
		// One task per rank: task and rank are one number, as the labels and file names show. One launcher per node and a
		// file per node index: task and index are one number.
		f = saysNode
	}
	s.add(entry{at: t, to: toBatch, rank: -1, node: n, says: f,
		text: fmt.Sprintf("srun: error: %s: %s %s: %s", s.nodes[n].name, word, ranges(tasks), what)})
}

// neverEnter is who never enters a collective, with the verb in their number.
func neverEnter(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + ranges(ranks) + " never enters"
	}
	return "ranks " + ranges(ranks) + " never enter"
}

// ranges prints sorted numbers as SLURM does: 0-3,7.
func ranges(xs []int) string {
	var b strings.Builder
	for i := 0; i < len(xs); {
		j := i
		for j+1 < len(xs) && xs[j+1] == xs[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if i == j {
			fmt.Fprintf(&b, "%d", xs[i])
		} else {
			fmt.Fprintf(&b, "%d-%d", xs[i], xs[j])
		}
		i = j + 1
	}
	return b.String()
}

// stepCancelled is the line that only node 0 of a step writes; due is "", " DUE TO TIME LIMIT", …
func (s *scene) stepCancelled(t time.Duration, due string) {
	n := s.node0()
	s.slurmstepd(0, t, fmt.Sprintf("*** STEP %d.0 ON %s CANCELLED AT %s%s ***", s.jobID, n.name, s.outside(n, t).Format("2006-01-02T15:04:05"), due))
}

// agent writes a line of a node's torchrun agent, in the logging format of the release: module is the dotted path below
// torch.distributed, such as elastic.multiprocessing.api.
func (s *scene) agent(n int, t time.Duration, sev byte, module string, line int, msg string) {
	nd := s.nodes[n]
	w := s.wall(nd, t)
	var p string
	switch s.v.elastic {
	case 0:
		p = fmt.Sprintf("%s:torch.distributed.%s:", level(sev), module)
	case 1:
		p = fmt.Sprintf("[%s] torch.distributed.%s: [%s] ", strings.Replace(w.Format("2006-01-02 15:04:05.000"), ".", ",", 1), module, level(sev))
	case 2:
		p = fmt.Sprintf("%c%s000 %d torch.distributed.%s:%d] ", sev, w.Format("0102 15:04:05.000"), nd.agentPID, module, line)
		p = strings.Replace(p, "torch.distributed."+module, "torch/distributed/"+strings.ReplaceAll(module, ".", "/")+".py", 1)
		if s.v.name == "2.3" || s.v.name == "2.4" { // dotted module names
			p = strings.Replace(p, "torch/distributed/"+strings.ReplaceAll(module, ".", "/")+".py", "torch.distributed."+module, 1)
		}
	default:
		p = fmt.Sprintf("%c%s000 %d torch/distributed/%s.py:%d] ", sev, w.Format("0102 15:04:05.000"), nd.agentPID, strings.ReplaceAll(module, ".", "/"), line)
	}
	s.onNode(n, t, 0, p+msg)
}

func level(sev byte) string {
	switch sev {
	case 'E':
		return "ERROR"
	case 'W':
		return "WARNING"
	}
	return "INFO"
}

const elasticAPI = "elastic.multiprocessing.api"

// exit is how one rank's process ended.
type exit struct {
	rank int
	at   time.Duration
	code int // negative: signal
}

var signalNames = map[int]string{4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
var signalTexts = map[int]string{1: "Hangup", 4: "Illegal instruction", 6: "Aborted", 7: "Bus error", 8: "Floating point exception", 9: "Killed", 11: "Segmentation fault", 15: "Terminated"}

// childFailed writes the block of torchrun's ChildFailedError: what one agent saw fail on its own node. The first entry by
// time is called the root cause, which it need not be.
func (s *scene) childFailed(n int, t time.Duration, failures []exit) {
	if len(failures) == 0 {
		return
	}
	nd := s.nodes[n]
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n" +
		"  File \"/usr/local/lib/python3.10/dist-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py\", line 346, in wrapper\n    return f(*args, **kwargs)\n" +
		"  File \"/usr/local/lib/python3.10/dist-packages/torch/distributed/launcher/api.py\", line 264, in launch_agent\n    raise ChildFailedError(\n" +
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n")
	b.WriteString(strings.Repeat("=", 60) + "\n" + s.frame.script + " FAILED\n" + strings.Repeat("-", 60) + "\nFailures:\n")
	first := 0
	for i, f := range failures {
		if f.at < failures[first].at {
			first = i
		}
	}
	item := func(i int, f exit) {
		trace := "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
		if f.code < 0 {
			trace = fmt.Sprintf("Signal %d (%s) received by PID %d", -f.code, signalNames[-f.code], s.ranks[f.rank].pid)
		}
		fmt.Fprintf(&b, "[%d]:\n  time      : %s\n  host      : %s\n  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: %d)\n  error_file: <N/A>\n  traceback : %s\n",
			i, s.wall(nd, f.at).Format("2006-01-02_15:04:05"), nd.fqdn, f.rank, s.ranks[f.rank].local, f.code, s.ranks[f.rank].pid, trace)
	}
	if len(failures) == 1 {
		b.WriteString("  <NO_OTHER_FAILURES>\n")
	}
	for i, f := range failures {
		if i != first {
			item(i, f)
		}
	}
	b.WriteString(strings.Repeat("-", 60) + "\nRoot Cause (first observed failure):\n")
	item(first, failures[first])
	b.WriteString(strings.Repeat("=", 60))
	s.onNode(n, t, saysFileHost, b.String())
}

// teardown ends a job whose ranks died as dead says: agents or srun kill the rest, SLURM ends the step. after is when
// the last of them died.
func (s *scene) teardown(dead []exit) {
	byNode := make([][]exit, len(s.nodes))
	last := time.Duration(0)
	for _, d := range dead {
		n := s.ranks[d.rank].node.index
		byNode[n] = append(byNode[n], d)
		last = max(last, d.at)
	}
	firstNode, firstAt := -1, time.Duration(1<<62)
	for n, ds := range byNode {
		for _, d := range ds {
			if d.at < firstAt {
				firstNode, firstAt = n, d.at
			}
		}
	}
	if firstNode < 0 {
		return
	}
	if s.torchrun {
		s.agentsEnd(byNode, last, firstNode)
	} else {
		s.tasksEnd(byNode, firstNode, last)
	}
}

// agentsEnd: every agent with a failed child kills the rest of its node and prints its block; srun -K then ends the step.
func (s *scene) agentsEnd(byNode [][]exit, last time.Duration, firstNode int) {
	var done []int
	end := last + sec(4)
	for n, ds := range byNode {
		if len(ds) == 0 {
			continue
		}
		// The agent polls its children; whoever is dead by then is in the block, the rest gets SIGTERM.
		at := ds[0].at
		first := ds[0]
		died := map[int]bool{}
		for _, d := range ds {
			if d.at < first.at {
				first = d
			}
			at = max(at, d.at)
			died[d.rank] = true
		}
		at += ms(100) + s.jitter(ms(900))
		for _, r := range s.nodes[n].ranks {
			if !died[r] {
				s.agent(n, at, 'W', elasticAPI, 897, fmt.Sprintf("Sending process %d closing signal SIGTERM", s.ranks[r].pid))
			}
		}
		at += ms(200)
		s.agent(n, at, 'E', elasticAPI, 869, fmt.Sprintf("failed (exitcode: %d) local_rank: %d (pid: %d) of binary: /usr/bin/python3", first.code, s.ranks[first.rank].local, s.ranks[first.rank].pid))
		s.childFailed(n, at+ms(300), ds)
		end = max(end, at+sec(2))
		done = append(done, n)
	}
	s.srunTasks(end, firstNode, []int{firstNode}, "Exited with exit code 1")
	s.stepEnds(end + ms(50))
	for _, n := range done {
		if n != firstNode {
			s.srunTasks(end+ms(100), n, []int{n}, "Exited with exit code 1")
		}
	}
	for n, ds := range byNode {
		if len(ds) == 0 {
			s.agent(n, end+ms(80), 'W', "elastic.agent.server.api", 719, "Received 15 death signal, shutting down workers")
			for _, r := range s.nodes[n].ranks {
				s.agent(n, end+ms(90), 'W', elasticAPI, 897, fmt.Sprintf("Sending process %d closing signal SIGTERM", s.ranks[r].pid))
			}
			s.srunTasks(end+ms(1200), n, []int{n}, "Terminated")
		}
	}
	s.srunDone(end + ms(1500))
}

// tasksEnd: srun with --kill-on-bad-exit=1 and one task per rank.
func (s *scene) tasksEnd(byNode [][]exit, firstNode int, last time.Duration) {
	end := last + ms(500)
	lines := func(n int, t time.Duration) {
		byText := map[string][]int{}
		var order []string
		died := map[int]bool{}
		put := func(text string, r int) {
			if byText[text] == nil {
				order = append(order, text)
			}
			byText[text] = append(byText[text], r)
		}
		for _, d := range byNode[n] {
			died[d.rank] = true
		}
		for _, r := range s.nodes[n].ranks {
			if !died[r] {
				put("Terminated", r)
				continue
			}
			for _, d := range byNode[n] {
				if d.rank != r {
					continue
				}
				if d.code < 0 {
					put(signalTexts[-d.code], r)
				} else {
					put(fmt.Sprintf("Exited with exit code %d", d.code), r)
				}
				break
			}
		}
		for _, text := range order {
			s.srunTasks(t, n, byText[text], text)
		}
	}
	lines(firstNode, end)
	s.stepEnds(end + ms(40))
	for n := range s.nodes {
		if n != firstNode {
			lines(n, end+ms(200)+s.jitter(ms(500)))
		}
	}
	s.srunDone(end + ms(1500))
}

// stepEnds is srun's announcement and node 0's STEP line.
func (s *scene) stepEnds(t time.Duration) {
	if s.slurm == "22.05" {
		s.srun(t, fmt.Sprintf("launch/slurm: _step_signal: Terminating StepId=%d.0", s.jobID))
	} else {
		s.srun(t, fmt.Sprintf("Terminating StepId=%d.0", s.jobID))
	}
	s.stepCancelled(t+ms(30), "")
}

func (s *scene) srunDone(t time.Duration) {
	s.srun(t, fmt.Sprintf("Force Terminated StepId=%d.0", s.jobID))
}
