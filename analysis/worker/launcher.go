package worker

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

// What launchers print: torchrun and torch elastic (1.9 to recent), DeepSpeed's launcher, NVRx's ft_launcher.

func launcherHandlers() []handler {
	return []handler{
		{"child failed", []string{
			"Root Cause (first observed failure)", "time      : ", "rank      : ", "exitcode  : ",
		}, readChildFailed},
		{"child exit", []string{"failed (exitcode: ", "exits with return code = ", "died with <Signals.SIG", " terminated with signal SIG", " terminated with code ", "Container rank ", "AlgorithmError: Exit Code: "}, readChildExit},
		{"own end", []string{"Forcefully terminating all other processes", "Received sigquit from a child", "kill_process_tree called: "}, readOwnEnd},
		{"shell", []string{"Killed"}, readShellKilled},
		{"rendezvous", []string{"Rendezvous complete for workers. Result:"}, readRendezvous},
		{"restart", []string{"will restart worker group"}, readRestart},
		{"section", []string{"-Begin global rank ", "-End global rank ", "Global rank ", " crashed with exit code "}, readSection},
		{"mpirun", []string{"noticed that process rank ", "Process name: ", " (first noticed rank "}, readMPIExit},
		{"mpiexec", []string{" RUNNING AT "}, readHydraExit},
		{"rank ended", rankEndLiterals(), readRankEnd},
		{"deepspeed launcher", []string{"WORLD INFO DICT: ", "num_local_procs="}, readDeepSpeedLauncher},
		{"rank monitor", []string{"RankMonitorServer"}, readRankMonitor},
	}
}

const (
	maxBlockLines = 1024 // of one failure block: 16 ranks with a traceback each
	maxBlockGap   = 200  // lines of traceback between two fields
)

// childBlock is torchrun's failure block while it is read. Its lines may stand under any prefix; a block may lack its
// head (cut) or its closing border (glued to the next agent's block).
type childBlock struct {
	item    ChildFailed
	has     uint8
	root    bool
	emitted bool // the root item was emitted
	gap     int
	framed  int // how far in the frames of the worker's own traceback stand; 0 where none was seen
}

const (
	hasTime = 1 << iota
	hasRank
	hasExit
)

func readChildFailed(r *reader, rec *record) bool {
	if rec.Taken {
		return true
	}
	b := &childBlock{}
	b.clear()
	if b.next(r, rec) != taken {
		return false
	}
	r.follow(rec, maxBlockLines, b.next)
	return true
}

func (b *childBlock) clear() {
	b.item = ChildFailed{Rank: line.Unknown, Local: line.Unknown, Pid: line.Unknown, Root: b.root}
	b.has, b.framed = 0, 0
}

var (
	rankField = pattern.New(`^(\d+) \(local_rank: (\d+)\)`)
	exitField = pattern.New(`^(-?\d+) \(pid: (\d+)\)`)
)

func (b *childBlock) next(r *reader, rec *record) verdict {
	if rec == nil {
		b.flush(r)
		return ended
	}
	text := bytes.TrimRight(rec.Text, " \t\r")
	field := func(key string) (string, bool) {
		i := bytes.Index(text, []byte(key))
		if i < 0 {
			return "", false
		}
		return clip(bytes.TrimSpace(text[i+len(key):])), true
	}
	b.gap++
	if v, ok := field("time      : "); ok {
		b.flush(r)
		b.item.Time, b.has = blockTime(v), b.has|hasTime
		b.gap = 0
		return taken
	}
	if v, ok := field("host      : "); ok {
		b.item.Host = v
		return taken
	}
	if v, ok := field("rank      : "); ok {
		m := rankField.FindStringSubmatch(v)
		if m == nil {
			return pass
		}
		if b.has&hasRank != 0 {
			b.flush(r)
		}
		b.item.At = rec.At
		b.item.Rank, b.item.Local = bounded(m[1]), bounded(m[2])
		b.has |= hasRank
		b.gap = 0
		return taken
	}
	if v, ok := field("exitcode  : "); ok {
		if m := exitField.FindStringSubmatch(v); m != nil {
			b.item.ExitCode, b.item.Pid = bounded(m[1]), bounded(m[2])
			b.has |= hasExit
		}
		return taken
	}
	if _, ok := field("error_file: "); ok {
		return taken
	}
	if v, ok := field("traceback : "); ok {
		b.item.Traceback = v
		return taken
	}
	switch {
	case bytes.Contains(text, []byte("Root Cause (first observed failure)")):
		b.flush(r)
		b.root = true
		b.clear()
		b.gap = 0
		return taken
	case bytes.HasSuffix(text, []byte("Failures:")), bytes.HasSuffix(text, []byte("=====")):
		// The closing border of this block, or the head of another agent's.
		if b.has&hasRank != 0 || b.emitted {
			b.flush(r)
			return ended
		}
		return taken
	case b.gap > maxBlockGap:
		b.flush(r)
		return ended
	}
	if b.item.Traceback == inlineTraceback {
		// Its final line stands further out than its frames, which launchers move in by two or four; of a chain the first says what began it.
		m := bytes.TrimLeft(rec.Msg, " ")
		in := len(rec.Msg) - len(m)
		if _, ok := pyFrame(m); ok && b.framed == 0 {
			b.framed = in
		}
		if _, _, ok := finalLine(m); ok && in < max(b.framed, 3) {
			b.item.Traceback += " " + clip(m)
		}
	}
	return pass
}

// inlineTraceback is what the field "traceback :" begins with where the worker's own traceback follows (@record).
const inlineTraceback = tracebackHeader + ":"

// flush emits the item if it says who failed how.
func (b *childBlock) flush(r *reader) {
	if b.has&(hasRank|hasExit) == hasRank|hasExit {
		emit(r, &r.obs.ChildFailed, b.item)
		b.emitted = b.emitted || b.root
	}
	b.clear()
}

// blockTime reads "2024-02-17_10:12:13", local time of the agent.
func blockTime(v string) line.Stamp {
	s, n := line.ParseStamp([]byte(strings.Replace(v, "_", " ", 1)))
	if n == 0 {
		return line.Stamp{}
	}
	s.Emitter = line.Container
	return s
}

var (
	childExit     = pattern.New(`failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\)`)
	deepspeedExit = pattern.New(`exits with return code = (-?\d+)`)
	// torch.distributed.launch up to 1.8, DeepSpeed up to 0.6 and accelerate raise CPython's subprocess error. The rank in
	// the command is that of the process started last, whichever ended.
	launchedExit = pattern.New(`CalledProcessError: Command '\['[^']*python[\d.]*'.*' died with <Signals\.SIG\w+: (\d+)>`)
	// torch.multiprocessing.spawn; the number of the process is its index on this node.
	spawnedExit = pattern.New(`process \d+ terminated with signal (SIG\w+)`)
	// Paddle's launcher; the number of the container is that on this node.
	paddleExit = pattern.New(`Container rank (\d+) status failed cmd \[.*\] code (-\d+)`)
	// SageMaker, of the container.
	sagemakerExit = pattern.New(`AlgorithmError: Exit Code: (\d+)`)
	// Lightning's launcher of the processes of one node; the number is that of the process on this node.
	observedExit = pattern.New(`\[rank: (\d+)\] Child process with PID (\d+) terminated with code (-?\d+)`)
)

// spawnSignals are the signals that processes end by, by name.
var spawnSignals = map[string]int{"SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGSEGV": 11}

// bySignal is the exit code of a process that a signal ended as parents see it, where a shell's is given: 128 and its number.
func bySignal(code int) int {
	if code > 128 && code < 160 {
		return 128 - code
	}
	return code
}

func readChildExit(r *reader, rec *record) bool {
	if m := childExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: bounded(string(m[1])), Local: bounded(string(m[2])), Pid: bounded(string(m[3]))})
		return true
	}
	if m := deepspeedExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: bounded(string(m[1])), Local: line.Unknown, Pid: line.Unknown})
		return true
	}
	if m := launchedExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: -bounded(string(m[1])), Local: line.Unknown, Pid: line.Unknown})
		return true
	}
	if m := paddleExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: bounded(string(m[2])), Local: bounded(string(m[1])), Pid: line.Unknown})
		return true
	}
	if m := sagemakerExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: bySignal(bounded(string(m[1]))), Local: line.Unknown, Pid: line.Unknown})
		return false // the line is that of an exception, too
	}
	if m := spawnedExit.FindSubmatch(rec.Text); m != nil && spawnSignals[string(m[1])] > 0 {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: -spawnSignals[string(m[1])], Local: line.Unknown, Pid: line.Unknown})
		return false // the line is that of an exception, too
	}
	if m := observedExit.FindSubmatch(rec.Text); m != nil {
		emit(r, &r.obs.ChildExits, ChildExit{At: rec.At, ExitCode: bounded(string(m[3])), Local: bounded(string(m[1])), Pid: bounded(string(m[2]))})
	}
	return false
}

// ownEndLines is how far below the word that a program kills itself the shell's may stand: others end meanwhile, with tracebacks.
// What is killed further down is killed by somebody else.
const ownEndLines = 200

// readOwnEnd notes that a program is about to kill itself with all that it has started, because one of its processes failed:
// the shell's "Killed" that follows tells of that. Sources: Lightning lightning/fabric/strategies/launchers/subprocess_script.py,
// SGLang python/sglang/srt/utils (kill_process_tree).
func readOwnEnd(r *reader, _ *record) bool {
	r.does |= other
	r.ownEnd = r.lineNo
	return false
}

var shellKilled = pattern.New(`^\s*Killed\s*$|: line \d+: +(\d+) Killed  `)

// beside are programs that a script runs beside the training, and stops itself, by what is started: a training may have an option --monitor.
var beside = pattern.New(` (?:Killed|Terminated)  +(?:nohup |sudo |stdbuf -\S+ )?(?:\S*/)?(?:(?:nvidia-smi|dcgmi|rocm-smi|nvtop|nvitop|gpustat|tensorboard|top|htop|iostat|vmstat|mpstat|sar|dstat|tail|watch|sleep)(?:\s|$)|` +
	`python[\d.]* +(?:-\S+ +)*(?:\S*/)?[\w.-]*(?i:monitor|watcher|watchdog|exporter|tensorboard|telemetry|gpustat|nvitop|http\.server|server\.py))`)

// readShellKilled reads what bash prints when SIGKILL ended the program it ran: "Killed" on a line of its own in an
// interactive shell, "script: line 28:  8156 Killed                  python3 main.py" in a script.
func readShellKilled(r *reader, rec *record) bool {
	m := shellKilled.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	if from := r.ownEnd; from > 0 {
		r.ownEnd = 0
		if r.lineNo-from <= ownEndLines {
			return true
		}
	}
	if beside.Match(rec.Msg) {
		return true
	}
	c := ChildExit{At: rec.At, ExitCode: -9, Local: line.Unknown, Pid: line.Unknown}
	if len(m[1]) > 0 {
		c.Pid = bounded(string(m[1]))
	}
	emit(r, &r.obs.ChildExits, c)
	return true
}

// readRendezvous reads the agent's result with its indented lines "key=value".
func readRendezvous(r *reader, rec *record) bool {
	v := Rendezvous{At: rec.At, Restart: line.Unknown, WorldSize: line.Unknown}
	done := func(r *reader) {
		emit(r, &r.obs.Rendezvous, v)
		if v.Restart > 0 {
			mark(r, v.At, MarkRestart, v.Restart)
		}
	}
	r.follow(rec, 16, func(r *reader, rec *record) verdict {
		if rec == nil {
			done(r)
			return ended
		}
		key, val, ok := strings.Cut(strings.TrimSpace(clip(rec.Msg)), "=")
		if !ok || strings.ContainsAny(key, " :") {
			if len(bytes.TrimSpace(rec.Msg)) == 0 {
				return taken
			}
			done(r)
			return ended
		}
		switch key {
		case "restart_count":
			v.Restart = bounded(val)
		case "local_ranks":
			v.LocalRanks = intList([]byte(val))
		case "global_ranks":
			v.GlobalRanks = intList([]byte(val))
		case "global_world_sizes":
			if sizes := intList([]byte(val)); len(sizes) > 0 {
				v.WorldSize = sizes[0]
			}
		}
		return taken
	})
	return true
}

var attemptsLeft = pattern.New(`(\d+)/(\d+) attempts left; will restart worker group`)

// readRestart reads "[default] Worker group FAILED. 2/3 attempts left; will restart worker group": the count before it
// is taken down.
func readRestart(r *reader, rec *record) bool {
	count := line.Unknown
	if m := attemptsLeft.FindSubmatch(rec.Text); m != nil {
		left, of := bounded(string(m[1])), bounded(string(m[2]))
		if left >= 1 && of >= left {
			count = of - left + 1
		}
	}
	mark(r, rec.At, MarkRestart, count)
	return true
}

var (
	sectionMark = pattern.New(`^-{10}(Begin|End) global rank (\d+) STD(?:OUT|ERR)-{10}$`)
	sectionExit = pattern.New(`^Global rank (\d+) \(PID (\d+)\) exited with code (-?\d+)$`)
	// What it noticed first, before it ended the others.
	sectionFirst = pattern.New(`\bRank (\d+) crashed with exit code (-?\d+)\.?$`)
)

// readSection reads how MosaicML's launcher ends: it repeats what each process that failed had printed, under that process's rank and
// how it ended. Source: composer/cli/launcher.py, 0.1 to 0.30.
func readSection(r *reader, rec *record) bool {
	text := bytes.TrimRight(rec.Msg, " \t\r")
	if m := sectionExit.FindSubmatch(text); m != nil {
		r.section = 0
		emit(r, &r.obs.ChildFailed, ChildFailed{At: rec.At, Rank: bounded(string(m[1])), Local: line.Unknown, Pid: bounded(string(m[2])), ExitCode: bounded(string(m[3]))})
		return true
	}
	if m := sectionFirst.FindSubmatch(text); m != nil {
		emit(r, &r.obs.ChildFailed, ChildFailed{At: rec.At, Rank: bounded(string(m[1])), Local: line.Unknown, Pid: line.Unknown, ExitCode: bounded(string(m[2])), Root: true})
		return true
	}
	m := sectionMark.FindSubmatch(text)
	if m == nil {
		return false
	}
	r.does |= other
	r.section = 0
	if rank := bounded(string(m[2])); m[1][0] == 'B' && rank >= 0 {
		r.section = rank + 1
	}
	return true
}

var (
	worldInfo  = pattern.New(`WORLD INFO DICT: (\{[^}]+\})`)
	worldNode  = pattern.New(`'([^']+)': \[([\d, ]*)\]`)
	localProcs = pattern.New(`nnodes=(\d+), num_local_procs=(\d+)`)
)

func readDeepSpeedLauncher(r *reader, rec *record) bool {
	if m := worldInfo.FindSubmatch(rec.Text); m != nil {
		nodes := worldNode.FindAllSubmatch(m[1], -1)
		world := 0
		for _, n := range nodes {
			if gpus := len(intList(n[2])); gpus > 0 { // global ranks are given in this order (deepspeed/launcher/launch.py)
				fact(r, rec, RanksOn, fmt.Sprintf("%s %d %d", n[1], world, world+gpus-1))
				world += gpus
			}
		}
		if len(nodes) > 0 && world > 0 {
			fact(r, rec, "nodes", strconv.Itoa(len(nodes)))
			fact(r, rec, "world_size", strconv.Itoa(world))
		}
		return true
	}
	if m := localProcs.FindSubmatch(rec.Text); m != nil {
		fact(r, rec, "nodes", string(m[1]))
		fact(r, rec, "ranks_per_node", string(m[2]))
		return true
	}
	return false
}

var monitored = pattern.New(`RankMonitorServer\d+@([\w.-]+):(\d+)\]`)

// readRankMonitor takes from NVRx's monitor which rank lives on which host; what it says is a signature's business.
func readRankMonitor(r *reader, rec *record) bool {
	m := monitored.FindSubmatch(rec.Text)
	if m == nil {
		return false
	}
	identify(r, Identity{At: rec.At, Global: bounded(string(m[2])), Local: line.Unknown, World: line.Unknown, Host: string(m[1])})
	return false
}
