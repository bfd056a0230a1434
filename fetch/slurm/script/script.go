// Package script reads a batch script as bash would, runs nothing of it, and says where its output goes: the options of every
// srun, redirections, tee, the log directories that launchers and frameworks are given. What cannot be known is said.
package script

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Facts are what is known of a job before its script is read.
type Facts struct {
	// Vars are variables of its environment, in SLURM's pattern language: "%j" is the job's number, "%%" a percent sign.
	Vars map[string]string
	// Unset are variables that SLURM is known not to set for this job.
	Unset []string
	Task  string   // the job's index within an array, "" = in none
	Args  []string // of the script
	Dir   string   // where it starts, "" = not known
	Home  string   // of its user, "" = not known
	// Open reads a script that this one runs; nil = none can be read.
	Open func(name string) (string, error)
}

// Kind is who opens a file.
type Kind int

const (
	// Step files are opened by srun, which expands the pattern.
	Step Kind = iota
	// Written files are opened by what the script runs; the pattern only holds what differs by job, node or task.
	Written
)

// Output is a file, or a directory, that the script sends output to.
type Output struct {
	Pattern string // as SLURM writes patterns
	Kind    Kind
	Tree    bool   // a directory whose files are logs
	By      string // what says so: "srun", "tee", "torchrun --log-dir"
	Maybe   bool   // a branch decides whether it is reached, or what stands before it is not known
	Srun    int    // which srun of the script it belongs to, from 0; -1 where that is not known
	// Nodes and Tasks are what its srun asks for, 0 = not stated.
	Nodes, Tasks int
	// Outside names what the path needs and the script does not tell: "$OUT".
	Outside []string
}

// Reading is what a script says.
type Reading struct {
	Out, Err string // of #SBATCH, "" = not stated
	Dir      string
	Append   bool // --open-mode=append, of the script or a step
	Truncate bool
	Outputs  []Output
	// Unknown are sentences without a full stop: what could not be followed, and why.
	Unknown []string
}

// Read reads a batch script.
func Read(text string, f Facts) Reading {
	text = clean(text)
	var r Reading
	var header options
	for _, line := range headerLines(text) {
		header.read(Fields(line), true)
	}
	r.Out, r.Err, r.Dir = header.out, header.err, header.dir
	r.Append, r.Truncate = header.mode == 'a', header.mode == 't'
	in := &reader{facts: f, reading: &r, files: map[string]string{}, names: map[rune]string{}, asked: map[string]bool{}}
	if !isShell(text) {
		first, _, _ := strings.Cut(text, "\n")
		in.unknown("the script is written for " + strings.TrimSpace(strings.TrimPrefix(first, "#!")) + " and no shell, so I can't follow what it writes")
		return r
	}
	s := newState(f)
	if s.dir == "" || r.Dir != "" && f.Dir == "" {
		s.dir = in.resolve(s, r.Dir)
	}
	in.program(text, s)
	return r
}

// Submit is a command line that submitted a job.
type Submit struct {
	Out, Err, Dir    string
	Append, Truncate bool
	Script           string   // the file, "" = none stated (--wrap, srun)
	Args             []string // of the script
	Vars             map[string]string
	Step             bool // srun: the patterns are of a step
}

// ParseSubmit reads it. SLURM keeps it without its quotes.
func ParseSubmit(line string) Submit {
	list := Fields(clean(line))
	if len(list) == 0 {
		return Submit{}
	}
	var o options
	n := o.read(list[1:], false)
	s := Submit{Out: o.out, Err: o.err, Dir: o.dir, Append: o.mode == 'a', Truncate: o.mode == 't', Step: path.Base(list[0]) == "srun", Vars: o.export}
	if rest := list[1+n:]; len(rest) > 0 && !o.wrap && !s.Step {
		s.Script, s.Args = rest[0], rest[1:]
	}
	return s
}

// headerLines are the #SBATCH lines up to the first command, without the word.
func headerLines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "#SBATCH")
		switch {
		case ok && strings.TrimSpace(rest) == "hetjob":
			return list // the batch script runs in the first component, and has that one's options
		case ok:
			if i := strings.Index(rest, " #"); i >= 0 {
				rest = rest[:i]
			}
			list = append(list, rest)
		case line != "" && !strings.HasPrefix(line, "#"):
			return list
		}
	}
	return list
}

// isShell says that the first line names no other language.
func isShell(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return !strings.HasPrefix(first, "#!") || strings.Contains(first, "sh")
}

// Fields cuts a line into words at spaces outside of quotes; nothing is expanded.
func Fields(line string) []string {
	var list []string
	var b strings.Builder
	in, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if in {
				list = append(list, b.String())
			}
			b.Reset()
			in = false
		default:
			b.WriteRune(c)
			in = true
		}
	}
	if in {
		list = append(list, b.String())
	}
	return list
}

// options are those of sbatch and srun that matter.
type options struct {
	out, err, dir string
	inside        string // where the program starts within a container
	mode          byte
	export        map[string]string
	mounts        [][2]string
	wrap          bool
	nodes, tasks  int
	unknown       []string // words before the program of which nothing is known
	named         bool     // output was stated before such a word: who states a log states it once
}

var shorts = map[byte]string{'o': "output", 'e': "error", 'D': "chdir", 'N': "nodes", 'n': "ntasks"}

// flags take no value; every other option does.
var flags = set(`-l --label -u --unbuffered -v -vv -vvv --verbose -Q --quiet -X --disable-status -s --oversubscribe -O --overcommit -k --no-kill -H --hold
		--exact --overlap --exclusive --pty --multi-prog --requeue --no-requeue --spread-job --contiguous --reboot --use-min-nodes --no-container-mount-home -E --preserve-env
		--container-mount-home --container-writable --container-readonly --container-remap-root --no-container-remap-root --container-entrypoint --no-container-entrypoint
		--no-allocate --external-launcher --interactive --parsable --ignore-pbs -I -W --wait -Z --test-only --mem-bind-none --resv-ports --slurmd-debug -V -h --help`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// read reads words up to the program that is run and says how many it took; a header has none.
func (o *options) read(list []string, header bool) int {
	for i := 0; i < len(list); i++ {
		w := list[i]
		if !header && (w == "--" || !strings.HasPrefix(w, "-") || w == "-") {
			if w == "--" {
				return i + 1
			}
			if !open(w) || strings.Contains(w, "/") {
				return i
			}
			if o.named = o.out != "" || o.err != ""; !o.named {
				o.unknown = append(o.unknown, w) // options, or the program
			}
			continue
		}
		if header && (!strings.HasPrefix(w, "-") || w == "-") {
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		if !strings.HasPrefix(w, "--") {
			name, value = shorts[w[1]], w[2:]
			has = value != ""
			if name == "" && has {
				continue // -N4
			}
		}
		if !has && !flags[w] && i+1 < len(list) && (name == "output" || !strings.HasPrefix(list[i+1], "-")) {
			i++
			value = list[i]
		}
		o.set(name, value)
	}
	return len(list)
}

// long is the option of which a name is the beginning, which SLURM takes where no other option begins so.
func long(name string) string {
	for full, least := range map[string]int{"output": len("ou"), "error": len("er"), "chdir": len("chd")} {
		if len(name) >= least && strings.HasPrefix(full, name) {
			return full
		}
	}
	return name
}

func (o *options) set(name, value string) {
	switch long(name) {
	case "output", "error":
		switch {
		case o.named:
		case long(name) == "output":
			o.out = value
		default:
			o.err = value
		}
	case "chdir":
		o.dir = value
	case "open-mode":
		o.mode = (value + " ")[0]
	case "nodes":
		o.nodes = number(value)
	case "ntasks":
		o.tasks = number(value)
	case "wrap":
		o.wrap = true
	case "container-workdir":
		o.inside = value
	case "container-mounts":
		o.mounts = mounts(value)
	case "export":
		for _, v := range strings.Split(value, ",") {
			if k, v, ok := strings.Cut(v, "="); ok {
				if o.export == nil {
					o.export = map[string]string{}
				}
				o.export[k] = v
			}
		}
	}
}

// mounts are pairs of a directory outside and inside of a container: "/a:/b:ro,/c".
func mounts(value string) (list [][2]string) {
	for _, m := range strings.Split(value, ",") {
		parts := strings.Split(m, ":")
		if len(parts) > 1 && strings.HasPrefix(parts[1], "/") {
			list = append(list, [2]string{parts[0], path.Clean(parts[1])})
		}
	}
	return list
}

// number is a plain number, 0 for anything else: "2-4", a variable.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// noFile says that srun writes no file of its own for a pattern.
func noFile(p string) bool {
	return slices.Contains([]string{"", "none", "all", "/dev/null"}, p) || strings.Trim(p, "0123456789") == "" // the output of one task only
}
