package stacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// write puts the dumps of all rounds into files.
func write(s Spec, inc *Incident, rounds [][]process) {
	put := func(name, text string) { inc.Files[name] = append(inc.Files[name], text...) }
	for round, all := range rounds {
		suffix := ""
		if round > 0 {
			suffix = fmt.Sprintf(".%d", round+1)
		}
		var tasks []string
		for i := range all {
			p := &all[i]
			text := dump(s.Format, p)
			header := fmt.Sprintf("==== %s rank %d pid %d ====\n", p.node, p.rank, p.pid)
			if p.rank < 0 {
				header = fmt.Sprintf("==== %s pid %d ====\n", p.node, p.pid)
			}
			if p.kernel != nil {
				put("kernel-"+p.node+".txt", fmt.Sprintf("==> /proc/%d/stack <==\n[<0>] %s\n\n", p.pid, strings.Join(p.kernel, "\n[<0>] ")))
			}
			switch {
			case s.Format == JSON && s.Layout != PerRank && s.Layout != PerNode:
				put(p.node+".json", text)
			case s.Layout == PerRank && p.rank < 0:
				put(fmt.Sprintf("stacks/others-%s%s.txt", p.node, suffix), text)
			case s.Layout == PerRank || s.Format == JSON:
				put(fmt.Sprintf("stacks/rank%d%s.txt", p.of, suffix), text)
			case s.Layout == PerNode:
				put(fmt.Sprintf("stacks-%s%s.txt", p.node, suffix), header+text+"\n")
			case s.Layout == Pdsh:
				put("all"+suffix+".txt", labelled(header+text, p.node+": "))
			case s.Layout == Label:
				if p.rank >= 0 {
					tasks = append(tasks, labelled(text, fmt.Sprintf("%*d: ", len(fmt.Sprint(s.World-1)), p.rank)))
				}
			default:
				put(p.node+suffix+".txt", text+"\n")
			}
		}
		put2(put, "tasks"+suffix+".txt", interleaved(tasks))
	}
}

func put2(put func(name, text string), name, text string) {
	if text != "" {
		put(name, text)
	}
}

func labelled(text, label string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(label + l)
	}
	return b.String()
}

// interleaved takes a line of each text in turn.
func interleaved(texts []string) string {
	var b strings.Builder
	rest := make([][]string, len(texts))
	for i, t := range texts {
		rest[i] = strings.SplitAfter(t, "\n")
	}
	for more := true; more; {
		more = false
		for i := range rest {
			if len(rest[i]) > 0 {
				b.WriteString(rest[i][0])
				rest[i], more = rest[i][1:], true
			}
		}
	}
	return b.String()
}

func dump(f Format, p *process) string {
	switch f {
	case FaultHandler:
		return handler(p)
	case GDB:
		return debugger(p)
	case JSON:
		return asJSON(p)
	}
	return spy(p, f == Locals)
}

// feeder is a thread that every trainer has beside its main one.
var feeder = []frame{{fn: "wait", file: "threading.py", line: 320}, {fn: "_feed", file: "multiprocessing/queues.py", line: 231}, {fn: "run", file: "threading.py", line: 953}, {fn: "_bootstrap_inner", file: "threading.py", line: 1016}, {fn: "_bootstrap", file: "threading.py", line: 973}}

func spy(p *process, locals bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Process %d: %s\nPython v3.10.12 (/usr/bin/python3.10)\n\n", p.pid, p.command)
	thread := func(tid int, name string, idle bool, frames []frame) {
		state := "active"
		if idle {
			state = "idle"
		}
		fmt.Fprintf(&b, "Thread %d (%s): %q\n", tid, state, name)
		for i, f := range frames {
			switch {
			case f.lib != "":
				fmt.Fprintf(&b, "    %s (%s)\n", f.fn, f.lib)
			default:
				fmt.Fprintf(&b, "    %s (%s:%d)\n", f.fn, f.file, f.line)
			}
			if locals && i%2 == 0 {
				fmt.Fprintf(&b, "        Arguments:\n            self: <Trainer at 0x7f%08x>\n        Locals:\n            rank: 3\n            text: \"all_reduce (x.py:1)\"\n", f.line)
			}
		}
	}
	thread(p.pid, "MainThread", p.idle, p.main)
	thread(p.pid+600, "QueueFeederThread", true, feeder)
	return b.String()
}

// full is a file's path as the interpreter knows it.
func full(f frame) string {
	switch {
	case strings.HasPrefix(f.file, "torch/") || strings.HasPrefix(f.file, "triton/"):
		return "/opt/env/lib/python3.10/site-packages/" + f.file
	case f.file == "threading.py" || f.file == "queue.py" || f.file == "socket.py" || strings.HasPrefix(f.file, "multiprocessing/") || strings.HasPrefix(f.file, "http/"):
		return "/usr/lib/python3.10/" + f.file
	}
	return "/home/user/project/" + f.file
}

func handler(p *process) string {
	var b strings.Builder
	b.WriteString("Timeout (0:10:00)!\n")
	for i, frames := range [][]frame{feeder, p.main} {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Thread 0x%016x (most recent call first):\n", 0x7f0000000000+p.pid*4096+i*64)
		for _, f := range frames {
			if f.lib == "" {
				fmt.Fprintf(&b, "  File \"%s\", line %d in %s\n", full(f), f.line, f.fn)
			}
		}
	}
	return b.String()
}

func debugger(p *process) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[New LWP %d]\n[Thread debugging using libthread_db enabled]\nUsing host libthread_db library \"/lib/x86_64-linux-gnu/libthread_db.so.1\".\n\n", p.pid+600)
	thread := func(n, tid int, frames []frame) {
		fmt.Fprintf(&b, "Thread %d (Thread 0x%x (LWP %d) \"python\"):\n#0  0x00007f3b00001111 in __futex_abstimed_wait_common64 () from /lib/x86_64-linux-gnu/libc.so.6\n", n, 0x7f0000000000+tid, tid)
		for i, f := range frames {
			if f.lib != "" {
				fmt.Fprintf(&b, "#%d  0x00007f3b%08x in %s () from /opt/env/lib/%s\n", i+1, i*17, f.fn, f.lib)
				continue
			}
			fmt.Fprintf(&b, "#%d  0x00007f3b%08x in _PyEval_EvalFrameDefault (tstate=<optimized out>, f=Frame 0x7f%06x, for file %s, line %d, in %s (self=<X>)) at ../Python/ceval.c:4181\n", i+1, i*17, i*31, full(f), f.line, f.fn)
		}
		b.WriteString("\n")
	}
	thread(2, p.pid+600, feeder)
	thread(1, p.pid, p.main)
	fmt.Fprintf(&b, "[Inferior 1 (process %d) detached]\n", p.pid)
	return b.String()
}

func asJSON(p *process) string {
	type jf struct {
		Name  string  `json:"name"`
		File  string  `json:"filename"`
		Mod   *string `json:"module"`
		Short *string `json:"short_filename"`
		Line  int     `json:"line"`
		Loc   *string `json:"locals"`
	}
	type jt struct {
		PID    int     `json:"pid"`
		ID     int     `json:"thread_id"`
		Name   string  `json:"thread_name"`
		TID    int     `json:"os_thread_id"`
		Active bool    `json:"active"`
		GIL    bool    `json:"owns_gil"`
		Frames []jf    `json:"frames"`
		Info   *string `json:"process_info"`
	}
	var out []jt
	for i, frames := range [][]frame{p.main, feeder} {
		t := jt{PID: p.pid, ID: 0x7f0000000000 + i, Name: []string{"MainThread", "QueueFeederThread"}[i], TID: p.pid + 600*i, Active: i == 0 && !p.idle}
		for _, f := range frames {
			short := f.file
			if f.lib == "" {
				t.Frames = append(t.Frames, jf{Name: f.fn, File: full(f), Short: &short, Line: f.line})
			}
		}
		out = append(out, t)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(out)
	return b.String()
}
