package script

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers run the command in their arguments.
var wrappers = set(`time nohup nice env command stdbuf timeout numactl setsid ionice taskset exec builtin sudo unbuffer catchsegv strace ltrace perf nsys ncu gdb
		catch_errors xargs parallel mpirun mpiexec mpiexec.hydra orterun prun jsrun singularity apptainer docker podman shifter enroot charliecloud ch-run conda poetry uv pixi micromamba mamba pipenv script`)

// process follows a program: what its options say of logs, and the command that it runs.
func (in *reader) process(s *state, name string, argv []string, stdin input) {
	if name == "parallel" || name == "xargs" {
		argv = filledIn(argv)
	}
	if wrappers[name] {
		i := s.inner(argv)
		s = in.launching(s, name, argv[:i])
		in.arguments(s, name, argv[1:i])
		switch {
		case i < len(argv) && (!quiet[name] || passing[name]):
			in.assigned(s, argv[1:i])
			in.run(s, argv[i:], stdin)
		case !quiet[name]:
			in.texts(s, argv[1:])
		}
		return
	}
	in.arguments(s, name, argv[1:])
	in.batchR(s, argv)
	if !quiet[name] {
		in.texts(s, argv[1:])
	}
	if strings.Contains(argv[0], "/") || strings.HasSuffix(argv[0], ".sh") {
		in.launched(s, argv)
	}
}

// placeholder matches what GNU parallel and xargs put an argument in place of.
var placeholder = regexp.MustCompile(`\{\d*(?:[.#%]|//?\.?)?\}`)

// filledIn is a command line whose arguments come from a list.
func filledIn(argv []string) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = placeholder.ReplaceAllString(w, string(anything))
	}
	return out
}

// batchR is R's way to run a program with its output in a file: named by the last argument, or after the program.
func (in *reader) batchR(s *state, argv []string) {
	if !isBatchR(argv) || len(argv) < 4 {
		return
	}
	out := ""
	switch files := slices.DeleteFunc(slices.Clone(argv[3:]), func(w string) bool { return strings.HasPrefix(w, "-") }); len(files) {
	case 1:
		base := path.Base(files[0])
		out = strings.TrimSuffix(base, path.Ext(base))
		if in.vague(s, out) {
			in.unknown("R CMD BATCH runs " + in.plain(files[0]) + ", and names its output after it")
			return
		}
		out += ".Rout"
	case 2:
		out = files[1]
	}
	switch {
	case out == "":
	case !in.vague(s, out):
		in.emit(s, out, Written, false, "R CMD BATCH")
	case open(out):
		in.unknown("R CMD BATCH writes to " + in.plain(out) + ", which comes from outside the script")
	}
}

func isBatchR(argv []string) bool {
	return len(argv) > 2 && path.Base(argv[0]) == "R" && argv[1] == "CMD" && argv[2] == "BATCH"
}

// texts follows arguments that are commands in a text of their own, told by where they send output: of tmux, screen, parallel.
func (in *reader) texts(s *state, argv []string) {
	for _, w := range argv {
		if strings.Contains(w, " ") && strings.Contains(w, ">") && sendsOutput(w) {
			c := s.child()
			c.maybe = true
			in.nested(c, w)
		}
	}
}

// sendsOutput says that a text is a command whose output goes to a file that is called as a log.
func sendsOutput(text string) bool {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return false
	}
	for n := range syntax.Preorder(f) {
		if r, ok := n.(*syntax.Redirect); ok && r.Word != nil && r.Hdoc == nil {
			if parts := r.Word.Parts; len(parts) > 0 {
				if l, ok := parts[len(parts)-1].(*syntax.Lit); ok && LogName(l.Value) {
					return true
				}
			}
		}
	}
	return false
}

// inner is where the program stands that another one runs, its length where none is known: options, and the word exec of
// singularity, are none.
func (s *state) inner(argv []string) int {
	_, launcher := launches[path.Base(argv[0])]
	for i, w := range argv[1:] {
		if strings.HasPrefix(w, "-") || launcher && w == "exec" {
			continue
		}
		if runs(path.Base(w)) || isBatchR(argv[i+1:]) || strings.HasSuffix(w, ".sh") || s.funcs[w].body != nil {
			return i + 1
		}
	}
	return len(argv)
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

// launch are the options with which a program that runs another one shows it directories under other names, hands variables on
// and says where it starts.
type launch struct {
	mounts, dir map[string]bool
	vars        map[string]bool // NAME=value
	pairs       map[string]bool // NAME value
}

var (
	ofContainers = launch{mounts: set("-v --volume --mount -m"), vars: set("-e --env"), dir: set("-w --workdir")}
	ofImages     = launch{mounts: set("-B --bind --mount"), vars: set("--env"), dir: set("--pwd --cwd")}
	ofMPI        = launch{vars: set("-x"), pairs: set("-genv -env"), dir: set("-wd -wdir --wd --wdir")}
	launches     = map[string]launch{
		"docker": ofContainers, "podman": ofContainers, "enroot": ofContainers, "shifter": ofContainers,
		"singularity": ofImages, "apptainer": ofImages,
		"mpirun": ofMPI, "mpiexec": ofMPI, "mpiexec.hydra": ofMPI, "orterun": ofMPI, "prun": ofMPI,
		"env": {dir: set("-C --chdir")}, "uv": {dir: set("--directory")}, "conda": {dir: set("--cwd")},
	}
)

// shows adds directories that a container shows under other names.
func (in *reader) shows(s *state, list [][2]string) [][2]string {
	all := slices.Clone(s.mounts)
	for _, m := range list {
		all = append(all, [2]string{in.resolve(s, m[0]), m[1]})
	}
	return all
}

// launching is the state of what a program runs, by the program's own options.
func (in *reader) launching(s *state, name string, argv []string) *state {
	l, ok := launches[name]
	if !ok {
		return s
	}
	s = s.clone()
	for i, w := range argv {
		opt, value, has := strings.Cut(w, "=")
		if !has && i+1 < len(argv) {
			value = argv[i+1]
		}
		switch {
		case l.mounts[opt]:
			s.mounts = in.shows(s, mounts(value))
		case l.dir[opt] && value != "":
			s.dir = in.resolve(s, value)
		case l.pairs[opt] && i+2 < len(argv):
			in.assigned(s, []string{argv[i+1] + "=" + argv[i+2]})
		case l.vars[opt]:
			in.assigned(s, strings.Split(value, ","))
		}
	}
	return s
}
