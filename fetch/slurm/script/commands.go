package script

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// callExpr follows assignments, or a command with assignments of its own.
func (in *reader) callExpr(s *state, x *syntax.CallExpr, redirs []*syntax.Redirect) {
	if len(x.Args) == 0 {
		for _, a := range x.Assigns {
			in.assign(s, a, false)
		}
		return
	}
	before := s
	if len(x.Assigns) > 0 {
		s = s.clone()
		for _, a := range x.Assigns {
			in.assign(s, a, true)
		}
	}
	variants := in.words(before, x.Args) // NAME=value does not hold for the words of its own command
	for _, argv := range variants {
		if len(argv) == 0 {
			continue
		}
		run := s
		if len(variants) > 1 {
			run = s.clone()
			run.maybe = true
		}
		in.run(run, argv, redirs)
		if len(variants) > 1 || s != before {
			before.dir, before.over = run.dir, run.over
		}
	}
}

// emit notes an output.
func (in *reader) emit(s *state, target string, kind Kind, tree bool, by string) {
	if target == "" || len(in.reading.Outputs) >= mostOutputs || kind == Step && noFile(target) || strings.HasPrefix(target, "/dev/") || target == "-" {
		return
	}
	for _, m := range s.mounts {
		if rest, ok := strings.CutPrefix(target, m[1]); ok && kind == Written && (rest == "" || rest[0] == '/') {
			target = m[0] + rest
			break
		}
	}
	full := in.resolve(s, target)
	if certain := by == "srun" || by == "the script" || by == "tee"; certain && isOutside([]rune(full)[0]) {
		in.unknown(by + " writes to " + in.plain(full) + ", and " + in.names[[]rune(full)[0]] + " comes from outside the script")
	}
	pattern, outside := in.toPattern(full, kind)
	o := Output{Pattern: pattern, Kind: kind, Tree: tree, By: by, Maybe: s.maybe, Srun: s.srun, Nodes: s.nodes, Tasks: s.tasks, Outside: outside}
	if i := slices.IndexFunc(in.reading.Outputs, func(have Output) bool { return have.Pattern == o.Pattern && have.Kind == o.Kind && have.Tree == o.Tree }); i >= 0 {
		have := &in.reading.Outputs[i]
		have.Maybe = have.Maybe && o.Maybe
		return
	}
	in.reading.Outputs = append(in.reading.Outputs, o)
}

// quiet are programs whose output is data and not a log.
var quiet = set(`echo printf cat scontrol sed awk grep jq envsubst sort head tail wc cut tr curl wget sacct squeue sinfo nvidia-smi date hostname env printenv
		ls find cp mv rm mkdir touch chmod git tar seq : true false module which type command getent ip ping lscpu free df pip conda sbatch md5sum base64 openssl flock gzip zstd`)

// redirections notes where a statement's output goes.
func (in *reader) redirections(s *state, stmt *syntax.Stmt) {
	name := ""
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		name = path.Base(in.one(s, call.Args[0])[0])
	}
	for _, r := range stmt.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		default:
			continue
		}
		for _, target := range in.one(s, r.Word) {
			digits := strings.Trim(target, "0123456789-") == ""
			switch {
			case digits || target == "/dev/fd/63":
			case name == "cat" && heredoc(stmt) != nil:
				in.files[in.resolve(s, target)] = in.one(s, heredoc(stmt))[0]
			case !quiet[name] || logName(target):
				wr := s
				if quiet[name] {
					wr = s.clone()
					wr.maybe = true
				}
				in.emit(wr, target, Written, false, "the script")
			}
		}
	}
}

func heredoc(stmt *syntax.Stmt) *syntax.Word {
	for _, r := range stmt.Redirs {
		if r.Hdoc != nil {
			return r.Hdoc
		}
	}
	return nil
}

func logName(target string) bool {
	return slices.Contains([]string{".log", ".out", ".err"}, path.Ext(target))
}

// wrappers run the command in their arguments.
var wrappers = set(`time nohup nice env command stdbuf timeout numactl setsid ionice taskset exec builtin sudo unbuffer catchsegv strace ltrace perf nsys ncu gdb
		catch_errors xargs parallel mpirun mpiexec mpiexec.hydra orterun prun jsrun singularity apptainer docker podman shifter enroot charliecloud ch-run conda poetry uv pixi micromamba mamba pipenv script`)

// run follows one command.
func (in *reader) run(s *state, argv []string, redirs []*syntax.Redirect) {
	if in.steps++; in.steps > mostSteps || s.depth > mostDepth || len(argv) == 0 {
		return
	}
	if f, ok := s.funcs[argv[0]]; ok {
		in.function(s, f, argv[1:])
		return
	}
	name := path.Base(argv[0])
	switch name {
	case "cd", "pushd":
		dir := in.homeOf(s)
		if len(argv) > 1 {
			dir = argv[len(argv)-1]
		}
		if dir != "-" {
			s.dir = in.resolve(s, dir)
		}
	case "exit", "return":
		s.over = true
	case "shift":
		s.args = s.args[min(len(s.args), 1):]
	case "set":
		if i := slices.Index(argv, "--"); i >= 0 {
			s.args = argv[i+1:]
		}
	case "unset":
		for _, n := range argv[1:] {
			delete(s.vars, n)
			s.unset[n] = true
		}
	case "read", "mapfile", "readarray":
		for _, n := range argv[1:] {
			if syntax.ValidName(n) {
				s.set(n, text(string(anything)))
			}
		}
	case "setenv":
		if len(argv) == 3 {
			v := text(argv[2])
			v.exported = true
			s.set(argv[1], v)
			in.variable(s, argv[1], true)
		}
	case "source", ".":
		if len(argv) > 1 {
			in.sourced(s, argv[1], argv[2:])
		}
	case "eval":
		in.nested(s, strings.Join(argv[1:], " "))
	case "trap":
		if len(argv) > 2 {
			in.branch(s, func(b *state) { in.nested(b, argv[1]) }, true)
		}
	case "srun":
		in.srun(s, argv[1:], redirs)
	case "tee":
		for _, a := range argv[1:] {
			if !strings.HasPrefix(a, "-") {
				in.emit(s, a, Written, false, "tee")
			}
		}
	case "bash", "sh", "zsh", "dash", "ksh":
		in.shell(s, argv, redirs)
	case "sbatch", "salloc", "ssh", "pdsh", "clush", "scp", "rsync": // another job's, or another machine's
	default:
		in.process(s, name, argv, redirs)
	}
	if name == "exec" && len(argv) > 1 {
		s.over = true
	}
}

// process follows a program: what its options say of logs, and the command that it runs.
func (in *reader) process(s *state, name string, argv []string, redirs []*syntax.Redirect) {
	in.arguments(s, name, argv[1:])
	if quiet[name] && name != "command" && name != "env" && name != "conda" {
		return
	}
	if wrappers[name] {
		s = in.container(s, name, argv)
		if i := slices.IndexFunc(argv[1:], func(w string) bool {
			return runs(path.Base(w)) || strings.HasSuffix(w, ".sh") || s.funcs[w].body != nil
		}); i >= 0 {
			in.assigned(s, argv[1:i+1])
			in.run(s, argv[i+1:], redirs)
		}
		return
	}
	if strings.Contains(argv[0], "/") || strings.HasSuffix(argv[0], ".sh") {
		in.launched(s, argv)
	}
}

// assigned takes NAME=value before the command of env.
func (in *reader) assigned(s *state, words []string) {
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && syntax.ValidName(k) {
			val := text(v)
			val.exported = true
			s.set(k, val)
			in.variable(s, k, true)
		}
	}
}

// runs says that a word in a command line is a program that is followed.
func runs(base string) bool {
	return slices.Contains([]string{"srun", "bash", "sh", "torchrun", "deepspeed", "accelerate", "tee"}, base) || strings.HasPrefix(base, "python") || wrappers[base]
}

// container takes the directories that singularity and docker show under other names.
func (in *reader) container(s *state, name string, argv []string) *state {
	if !slices.Contains([]string{"singularity", "apptainer", "docker", "podman", "enroot", "shifter"}, name) {
		return s
	}
	s = s.clone()
	for i, w := range argv {
		opt, value, has := strings.Cut(w, "=")
		if !slices.Contains([]string{"-B", "--bind", "-v", "--volume", "--mount", "-m"}, opt) {
			continue
		}
		if !has && i+1 < len(argv) {
			value = argv[i+1]
		}
		s.mounts = append(s.mounts, mounts(value)...)
	}
	return s
}

func (in *reader) function(s *state, f function, args []string) {
	if s.depth >= mostDepth {
		return
	}
	kept := s.args
	s.args = args
	s.depth++
	in.stmt(s, f.body)
	s.depth--
	s.args, s.over = kept, false
}

// nested follows text as a script in the same shell.
func (in *reader) nested(s *state, text string) {
	if open(text) && !strings.ContainsAny(text, " \n") {
		in.unknown(in.plain(text) + " holds a command and comes from outside the script")
		return
	}
	s.depth++
	in.program(text, s)
	s.depth--
}

// shell follows bash -c 'text', bash file, and bash with its script on the standard input.
func (in *reader) shell(s *state, argv []string, redirs []*syntax.Redirect) {
	for i, a := range argv[1:] {
		rest := argv[i+2:]
		switch {
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c"):
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				rest = rest[1:]
			}
			if len(rest) > 0 {
				c := s.child()
				c.args, c.zero = rest[min(1, len(rest)):], ""
				if len(c.args) > 0 {
					c.zero, c.args = c.args[0], c.args[1:]
				}
				in.nested(c, rest[0])
			}
			return
		case a == "-s":
			in.standardInput(s, rest, redirs)
			return
		case strings.HasPrefix(a, "-") || strings.HasPrefix(a, "+"):
			continue
		}
		in.file(s.child(), a, rest)
		return
	}
	in.standardInput(s, nil, redirs)
}

func (in *reader) standardInput(s *state, args []string, redirs []*syntax.Redirect) {
	for _, r := range redirs {
		if r.Hdoc == nil {
			continue
		}
		c := s.child()
		c.args = args
		batch := s.clone()
		batch.step = false // the batch script's shell expands it
		in.nested(c, in.one(batch, r.Hdoc)[0])
	}
}

// launched follows a program that is a script, if it can be read; nobody misses it if it is no script.
func (in *reader) launched(s *state, argv []string) {
	if text, err := in.read(s, argv[0]); err == nil && isShell(text) && strings.HasPrefix(text, "#!") {
		c := s.child()
		c.args, c.zero = argv[1:], in.resolve(s, argv[0])
		in.program(text, c)
	}
}

// file follows a script in a shell of its own.
func (in *reader) file(s *state, name string, args []string) {
	text, err := in.read(s, name)
	if err != nil {
		in.unread(in.resolve(s, name), err)
		return
	}
	s.args, s.zero = args, in.resolve(s, name)
	in.program(text, s)
}

// sourced follows a script in the same shell. What sets up an environment seldom says anything of logs: it is not missed.
func (in *reader) sourced(s *state, name string, args []string) {
	text, err := in.read(s, name)
	if err != nil {
		return
	}
	kept, zero := s.args, s.zero
	if len(args) > 0 {
		s.args = args
	}
	s.zero = in.resolve(s, name)
	s.depth++
	in.program(text, s)
	s.depth--
	s.args, s.zero, s.over = kept, zero, false
}

func (in *reader) unread(name string, err error) {
	in.unsure = true
	text := in.plain(name)
	if errors.Is(err, errNotRead) {
		in.unknown("the script runs " + text + ", which cannot be read")
		return
	}
	in.unknown("the script runs " + text + ", which cannot be read: " + err.Error())
}

var errNotRead = errors.New("not read")

// read gives the text of a script that is run.
func (in *reader) read(s *state, name string) (string, error) {
	full := in.resolve(s, name)
	for _, m := range s.mounts {
		if rest, ok := strings.CutPrefix(full, m[1]); ok && (rest == "" || rest[0] == '/') {
			full = m[0] + rest
			break
		}
	}
	if text, ok := in.files[full]; ok {
		return text, nil
	}
	if in.facts.Open == nil || s.depth >= mostDepth || !path.IsAbs(full) || marked(full) {
		return "", errNotRead
	}
	text, err := in.facts.Open(full)
	return clean(text), err
}

// srun follows a step.
func (in *reader) srun(s *state, argv []string, redirs []*syntax.Redirect) {
	n := in.sruns
	in.sruns++
	var o options
	used := o.read(argv, false)
	step := s.child()
	step.step, step.srun, step.nodes, step.tasks = true, n, o.nodes, o.tasks
	step.mounts = append(slices.Clone(s.mounts), o.mounts...)
	in.unsure = in.unsure || s.maybe
	if in.unsure {
		step.srun = -1
	}
	perhaps := step.clone()
	if len(o.unknown) > 0 {
		perhaps.maybe = true
		for _, w := range o.unknown {
			in.unknown("srun takes " + in.plain(w) + ", which comes from outside the script")
		}
	}
	if o.dir != "" {
		perhaps.dir = in.resolve(s, o.dir)
		step.dir = perhaps.dir
	}
	perhaps.mounts = nil
	if o.mode != 0 {
		in.reading.Append, in.reading.Truncate = o.mode == 'a', o.mode == 't'
	}
	out, err := o.out, o.err
	if out == "" {
		out = first(s, "SLURM_STDOUTMODE")
	}
	if err == "" {
		err = first(s, "SLURM_STDERRMODE")
	}
	in.emit(perhaps, out, Step, false, "srun")
	in.emit(perhaps, err, Step, false, "srun")
	for _, k := range slices.Sorted(maps.Keys(o.export)) {
		v := text(o.export[k])
		v.exported = true
		step.set(k, v)
	}
	for _, k := range slices.Sorted(maps.Keys(step.vars)) {
		in.variable(step, k, true)
	}
	if used < len(argv) {
		in.run(step, argv[used:], redirs)
	}
}

func first(s *state, name string) string {
	if v, ok := s.vars[name]; ok && len(v.alts) > 0 && len(v.alts[0]) > 0 {
		return v.alts[0][0]
	}
	return ""
}
