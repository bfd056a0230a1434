package script

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
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
	stdin := in.input(s, redirs)
	before := s
	if len(x.Assigns) > 0 {
		s = s.clone()
		for _, a := range x.Assigns {
			in.assign(s, a, true)
		}
	}
	variants := slices.DeleteFunc(in.words(before, x.Args), func(argv []string) bool { return len(argv) == 0 }) // NAME=value does not hold for the words of its own command
	if len(variants) == 1 {
		in.run(s, variants[0], stdin)
		before.after(s, x.Assigns)
		return
	}
	in.variants(before, s, variants, stdin)
}

// after takes over what a command did to its shell: NAME=value before the command held for the command alone.
func (s *state) after(ran *state, own []*syntax.Assign) {
	if s == ran {
		return
	}
	kept := map[string]value{}
	for _, a := range own {
		if v, ok := s.vars[a.Name.Value]; ok {
			kept[a.Name.Value] = v
		}
		delete(ran.vars, a.Name.Value)
		if s.unset[a.Name.Value] {
			ran.unset[a.Name.Value] = true
		}
	}
	maps.Copy(ran.vars, kept)
	*s = *ran
}

// variants follows a command of which one variant is run: what all of them write is as certain as the command, what only some
// of them write may be. It is one srun, whichever it is.
func (in *reader) variants(before, s *state, list [][]string, stdin input) {
	sruns, after := in.sruns, in.sruns
	outer, times, certain := in.emitted, map[string]int{}, map[string]bool{}
	for _, o := range in.reading.Outputs {
		certain[o.key()] = !o.Maybe
	}
	for _, argv := range list {
		run := s.clone()
		in.sruns, in.emitted = sruns, map[string]bool{}
		in.run(run, argv, stdin)
		after = max(after, in.sruns)
		for key := range in.emitted {
			times[key]++
		}
		before.dir, before.over = run.dir, run.over
	}
	in.sruns, in.emitted = after, outer
	for i := range in.reading.Outputs {
		o := &in.reading.Outputs[i]
		n := times[o.key()]
		if n > 0 && outer != nil {
			outer[o.key()] = true
		}
		o.Maybe = o.Maybe || n > 0 && n < len(list) && !certain[o.key()]
	}
}

// key tells outputs apart.
func (o Output) key() string {
	return strconv.Itoa(int(o.Kind)) + strconv.FormatBool(o.Tree) + o.Pattern
}

// emit notes an output.
func (in *reader) emit(s *state, target string, kind Kind, tree bool, by string) {
	if target == "" || len(in.reading.Outputs) >= mostOutputs || kind == Step && noFile(target) || strings.HasPrefix(target, "/dev/") || target == "-" {
		return
	}
	full := in.resolve(s, target)
	if kind == Written {
		full = s.mounted(full)
	}
	if first := []rune(full)[0]; isOutside(first) {
		in.unknown(by + " writes to " + in.plain(full) + ", and " + in.names[first] + " comes from outside the script")
	}
	pattern, outside := in.toPattern(full, kind)
	o := Output{Pattern: pattern, Kind: kind, Tree: tree, By: by, Maybe: s.maybe, Srun: s.srun, Nodes: s.nodes, Tasks: s.tasks, Outside: outside}
	if in.emitted != nil {
		in.emitted[o.key()] = true
	}
	if i := slices.IndexFunc(in.reading.Outputs, func(have Output) bool { return have.key() == o.key() }); i >= 0 {
		have := &in.reading.Outputs[i]
		have.Maybe = have.Maybe && o.Maybe
		return
	}
	in.reading.Outputs = append(in.reading.Outputs, o)
}

// quiet are programs whose output is data and not a log.
var quiet = set(`echo printf cat scontrol sed awk grep [ test jq envsubst sort head tail wc cut tr curl wget sacct squeue sinfo nvidia-smi date hostname env printenv
		ls find cp mv rm mkdir touch chmod git tar seq : true false module which type command getent ip ping lscpu free df pip conda sbatch md5sum base64 openssl flock gzip zstd`)

// passing are those of them that run another program, whose output is one of its own.
var passing = set("command env conda")

// redirections notes where a statement's output goes.
func (in *reader) redirections(s *state, stmt *syntax.Stmt) {
	if len(stmt.Redirs) == 0 {
		return
	}
	name := ""
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		name = path.Base(in.one(s, call.Args[0])[0])
	}
	data := !s.fed && stmt.Cmd != nil && !in.speaks(s, stmt)
	for _, r := range stmt.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		default:
			continue
		}
		targets := in.one(s, r.Word)
		for _, target := range targets {
			digits := strings.Trim(target, "0123456789-") == ""
			switch {
			case digits || target == "/dev/fd/63":
			case prints[name] && in.script(s, stmt, in.resolve(s, target), r.Op == syntax.AppOut):
			case !data || LogName(target):
				wr := s
				if data || len(targets) > 1 {
					wr = s.clone()
					wr.maybe = true
				}
				in.emit(wr, target, Written, false, "the script")
			}
		}
	}
}

// LogName says that a path is called as a log.
func LogName(target string) bool {
	return slices.Contains([]string{".log", ".out", ".err"}, path.Ext(target))
}

// run follows one command.
func (in *reader) run(s *state, argv []string, stdin input) {
	if len(argv) == 0 || !in.step() {
		return
	}
	if s.depth > mostDepth {
		in.unknown("the script runs " + in.plain(argv[0]) + " deeper within other scripts than I follow")
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
	case "exit":
		in.left.exits++
		s.over = true
	case "return":
		in.left.returns++
		s.over = true
	case "break":
		in.left.breaks++
	case "shift":
		n := 1
		if len(argv) > 1 {
			n = number(argv[1])
		}
		s.args = s.args[min(len(s.args), n):]
	case "set":
		if i := slices.Index(argv, "--"); i >= 0 {
			s.args = argv[i+1:]
		}
	case "unset":
		for _, n := range argv[1:] {
			delete(s.vars, n)
			s.unset[n] = true
		}
	case "printf":
		if len(argv) > 3 && argv[1] == "-v" {
			s.set(argv[2], text(printfOf(argv[3:])))
		}
	case "read", "mapfile", "readarray":
		in.reads(s, argv, stdin)
	case "mv", "cp":
		in.moved(s, argv[1:])
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
		if text := strings.Join(argv[1:], " "); !in.hook(text) {
			in.nested(s, text)
		}
	case "trap":
		if len(argv) > 2 {
			in.branch(s, func(b *state) { in.nested(b, argv[1]) }, true)
		}
	case "srun":
		in.srun(s, argv[1:], stdin)
	case "tee":
		for _, a := range argv[1:] {
			if !strings.HasPrefix(a, "-") {
				in.emit(s, a, Written, false, "tee")
			}
		}
	case "bash", "sh", "zsh", "dash", "ksh":
		in.shell(s, argv, stdin)
	case "ssh", "pdsh", "clush":
		in.remote(s, argv[1:])
	case "sbatch", "salloc", "scp", "rsync": // another job's, or no program that logs
	default:
		if program := []rune(name)[0]; isOutside(program) && !s.stated && !strings.Contains(in.names[program], "/") {
			in.unknown("the script runs " + in.plain(argv[0]) + ", and " + in.names[program] + " comes from outside the script")
			if slices.ContainsFunc(argv, func(w string) bool { return strings.HasPrefix(w, "--output=") && LogName(w) }) {
				perhaps := s.clone()
				perhaps.maybe = true
				in.srun(perhaps, argv[1:], stdin) // SRUN="srun -l", set elsewhere
				break
			}
		}
		in.process(s, name, argv, stdin)
	}
	if name == "exec" && len(argv) > 1 {
		s.over = true
	}
}

// remote follows the command that ssh and its like run on another node: it starts in the user's home, and with nothing exported.
func (in *reader) remote(s *state, argv []string) {
	far := s.child()
	far.vars, far.dir, far.step = map[string]value{}, in.homeOf(s), true
	for i, w := range argv {
		if strings.ContainsAny(w, " ;>") || runs(path.Base(w)) || strings.HasSuffix(w, ".sh") {
			in.nested(far, strings.Join(argv[i:], " "))
			return
		}
	}
}

// moved follows mv and cp of logs.
func (in *reader) moved(s *state, argv []string) {
	words := slices.DeleteFunc(slices.Clone(argv), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) < 2 {
		return
	}
	maybe, to := s.clone(), words[len(words)-1]
	maybe.maybe = true
	for _, from := range words[:len(words)-1] {
		switch {
		case !LogName(from):
		case LogName(to) && len(words) == 2:
			in.emit(maybe, to, Written, false, "mv")
		default:
			in.emit(maybe, to+"/"+strings.ReplaceAll(path.Base(from), "*", string(anything)), Written, false, "mv")
		}
	}
}

// hook says that a text is what a program prints to set up the shell: eval "$(conda shell.bash hook)". Like a script that is
// sourced, it is not missed.
func (in *reader) hook(text string) bool {
	r := []rune(text)
	if len(r) != 1 || !isOutside(r[0]) {
		return false
	}
	name, ok := strings.CutPrefix(in.names[r[0]], "$(")
	program, _, _ := strings.Cut(strings.TrimSuffix(name, ")"), " ")
	if !ok || program == "…" {
		return false
	}
	writes := quiet[program] || strings.HasPrefix(program, "python") || strings.Contains(program, "/")
	return !writes || path.Base(program) == "conda"
}

func (in *reader) function(s *state, f function, args []string) {
	if s.depth >= mostDepth {
		return
	}
	kept, returns := s.args, in.left.returns
	s.args = args
	s.depth++
	in.stmt(s, f.body)
	s.depth--
	s.args, s.over, in.left.returns = kept, false, returns
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
func (in *reader) shell(s *state, argv []string, stdin input) {
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
				if strings.Trim(rest[0], string(anything)) == "" && rest[0] != "" {
					in.unknown("the script runs a command that it computes")
				}
				in.nested(c, rest[0])
			}
			return
		case a == "-s":
			in.standardInput(s, rest, stdin)
			return
		case strings.HasPrefix(a, "-") || strings.HasPrefix(a, "+"):
			continue
		}
		in.file(s.child(), a, rest)
		return
	}
	in.standardInput(s, nil, stdin)
}

// launched follows a program that is a script, if it can be read; nobody misses it if it is not called as one, or if srun was
// told where its output goes.
func (in *reader) launched(s *state, argv []string) {
	text, err := in.read(s, argv[0])
	switch {
	case err != nil && strings.HasSuffix(argv[0], ".sh") && !s.stated:
		in.unread(in.resolve(s, argv[0]), err)
	case err == nil && isShell(text) && strings.HasPrefix(text, "#!"):
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
	kept, zero, returns := s.args, s.zero, in.left.returns
	if len(args) > 0 {
		s.args = args
	}
	s.zero = in.resolve(s, name)
	s.depth++
	in.program(text, s)
	s.depth--
	s.args, s.zero, s.over, in.left.returns = kept, zero, false, returns
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
	full := s.mounted(in.resolve(s, name))
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
func (in *reader) srun(s *state, argv []string, stdin input) {
	n := in.sruns
	in.sruns++
	var o options
	used := o.read(argv, false)
	step := s.child()
	step.step, step.srun, step.nodes, step.tasks = true, n, o.nodes, o.tasks
	step.mounts = in.shows(s, o.mounts)
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
	if o.inside != "" {
		step.dir = in.resolve(s, o.inside)
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
	step.stated = !noFile(out)
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
		in.run(step, argv[used:], stdin)
	}
}

func first(s *state, name string) string {
	if v, ok := s.vars[name]; ok && len(v.alts) > 0 && len(v.alts[0]) > 0 {
		return v.alts[0][0]
	}
	return ""
}
