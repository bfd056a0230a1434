package slurm

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"faultline/fetch/slurm/pattern"
)

// Outputs are the patterns that a batch script, or a command line, states for its logs.
type Outputs struct {
	Out, Err string   // of the batch script itself; "" = not stated
	Steps    []string // of srun, in the order of the script
	Perhaps  []string // likewise, where what stands before them is not known and may be the program they belong to
	Dir      string   // --chdir, "" = not stated
	Append   bool     // --open-mode=append
	Truncate bool     // --open-mode=truncate

	unsure bool
}

// most bounds the lines of a script that are looked at, and the patterns that are taken from it.
const (
	mostLines    = 20_000
	mostPatterns = 32
	// A variable has at most so many values besides its last, and a line is read with so many combinations of them.
	mostValues, mostVariants = 4, 8
)

// longs are the long options that matter; a value follows after = or as the next word.
var (
	shorts = map[byte]string{'o': "output", 'e': "error", 'D': "chdir"}
	longs  = map[string]bool{"output": true, "error": true, "chdir": true, "open-mode": true}
	// valued are other options whose next word is a value and not the program. Only options before the program are srun's.
	valued = regexp.MustCompile(`^-[A-Za-z]$|^--[a-z-]+$`)
)

// ParseScript reads a batch script: its #SBATCH lines up to the first command, and the options of every srun in it. facts are
// the variables that SLURM sets; what else the script computes is not known and stands for anything within one element of a path.
func ParseScript(script string, facts map[string]string) Outputs {
	var out Outputs
	vars, others := map[string]string{}, map[string][]string{}
	for k, v := range facts {
		vars[k] = v
	}
	header := true
	for _, line := range logical(script) {
		trimmed := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(trimmed, "#SBATCH"); ok && header {
			if i := strings.Index(rest, " #"); i >= 0 {
				rest = rest[:i]
			}
			out.options(words(rest, nil), true)
			continue
		}
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		header = false
		if name, value, ok := assignment(trimmed); ok {
			v := value(vars)
			if old, had := vars[name]; had && old != v && !slices.Contains(others[name], old) && len(others[name]) < mostValues {
				others[name] = append(others[name], old)
			}
			vars[name] = v
			continue
		}
		if !strings.Contains(trimmed, "srun") {
			continue
		}
		for _, v := range variants(trimmed, vars, others) {
			out.sruns(words(trimmed, v))
		}
	}
	return out
}

// sruns reads the options of every srun among words.
func (o *Outputs) sruns(list []string) {
	for i, w := range list {
		if path.Base(w) != "srun" || strings.Contains(w, "=") {
			continue
		}
		var s Outputs
		s.options(list[i+1:], false)
		for _, p := range []string{s.Out, s.Err} {
			if s.unsure {
				o.Perhaps = with(o.Perhaps, p)
			} else {
				o.Steps = with(o.Steps, p)
			}
		}
		o.Append, o.Truncate = o.Append || s.Append, o.Truncate || s.Truncate
	}
}

// variants are the values that a line's variables may have: one that is assigned in two branches has either.
func variants(line string, vars map[string]string, others map[string][]string) []map[string]string {
	list := []map[string]string{vars}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if !strings.Contains(line, "$"+name) && !strings.Contains(line, "${"+name) {
			continue
		}
		for _, have := range slices.Clone(list) {
			for _, v := range others[name] {
				if len(list) == mostVariants {
					return list
				}
				other := maps.Clone(have)
				other[name] = v
				list = append(list, other)
			}
		}
	}
	return list
}

// ParseSubmit reads the command line that submitted a job.
func ParseSubmit(line string) Outputs {
	var out Outputs
	list := words(line, nil)
	if len(list) == 0 {
		return out
	}
	out.options(list[1:], true)
	if path.Base(list[0]) == "srun" {
		out.Steps = with(with(nil, out.Out), out.Err)
		out.Out, out.Err = "", ""
	}
	return out
}

// with adds a pattern to a list, unless it names no file of its own.
func with(list []string, p string) []string {
	switch p {
	case "", "none", "all", "/dev/null":
		return list
	}
	if strings.Trim(p, "0123456789") == "" || slices.Contains(list, p) || len(list) == mostPatterns { // a number: the output of one task only
		return list
	}
	return append(list, p)
}

// options reads words up to the program that is run; sbatch's header has none.
func (o *Outputs) options(list []string, sbatch bool) {
	for i := 0; i < len(list); i++ {
		w := list[i]
		var name, value string
		var has bool
		switch {
		case w == pattern.Any && !sbatch && o.Out == "" && o.Err == "":
			o.unsure = true // "${options[@]}", or the program
			continue
		case w == "--" || !strings.HasPrefix(w, "-") || len(w) < 2:
			if sbatch && strings.HasPrefix(w, "-") {
				continue
			}
			return
		case strings.HasPrefix(w, "--"):
			name, value, has = strings.Cut(w[2:], "=")
		default:
			name, value = shorts[w[1]], w[2:]
			has = value != ""
			if name == "" && has {
				continue // -N4
			}
		}
		if !has && i+1 < len(list) && (longs[name] || valued.MatchString(w) && !strings.HasPrefix(list[i+1], "-") && takesValue(w)) {
			i++
			value = list[i]
		}
		switch name {
		case "output":
			o.Out = value
		case "error":
			o.Err = value
		case "chdir":
			o.Dir = value
		case "open-mode":
			o.Append, o.Truncate = strings.HasPrefix(value, "a"), strings.HasPrefix(value, "t")
		}
	}
}

// flags are options of srun and sbatch that take no value.
var flags = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`-l --label -u --unbuffered -v --verbose -Q --quiet -X --disable-status -s --oversubscribe -O --overcommit -k --no-kill -H --hold -W --wait
		--exact --overlap --exclusive --pty --multi-prog --requeue --no-requeue --spread-job --contiguous --reboot --use-min-nodes --het-group --no-container-mount-home
		--container-mount-home --container-writable --container-remap-root --no-container-remap-root --no-allocate --external-launcher --interactive --parsable --ignore-pbs`) {
		m[f] = true
	}
	delete(m, "-W")
	delete(m, "--wait")
	delete(m, "--het-group")
	return m
}()

func takesValue(option string) bool { return !flags[option] }

// logical are the lines of a script, those that end in a backslash joined with the next.
func logical(script string) []string {
	var lines []string
	var b strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutSuffix(line, `\`); ok && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(rest + " ")
			continue
		}
		b.WriteString(line)
		lines = append(lines, b.String())
		b.Reset()
		if len(lines) == mostLines {
			return lines
		}
	}
	return append(lines, b.String())
}

var assigns = regexp.MustCompile(`^(?:export\s+|readonly\s+|local\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// assignment is NAME=value on a line of its own.
func assignment(line string) (name string, value func(map[string]string) string, ok bool) {
	m := assigns.FindStringSubmatch(line)
	if m == nil {
		return "", nil, false
	}
	return m[1], func(vars map[string]string) string {
		list := words(m[2], vars)
		switch len(list) {
		case 0:
			return ""
		case 1:
			return list[0]
		}
		return pattern.Any // NAME=value command
	}, true
}

var variable = regexp.MustCompile(`^\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^{}$]*))?\}|([A-Za-z_][A-Za-z0-9_]*))`)

// words cuts a line into words as a shell does, quotes and comments included. What cannot be known (other expansions, command
// substitution) becomes pattern.Any. With vars nil nothing is expanded: #SBATCH lines are no shell.
func words(line string, vars map[string]string) []string {
	var list []string
	var b strings.Builder
	in, quote := false, byte(0)
	end := func() {
		if in {
			list = append(list, b.String())
		}
		b.Reset()
		in = false
	}
	line = strings.ReplaceAll(line, pattern.Any, "")
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			} else {
				b.WriteByte(c)
			}
			i++
		case c == '\\' && vars != nil && i+1 < len(line):
			in = true
			b.WriteByte(line[i+1])
			i += 2
		case c == '"': // also within a command substitution, which is skipped whole
			quote, in = quote^'"', true
			i++
		case quote == 0 && c == '\'':
			quote, in = '\'', true
			i++
		case quote == 0 && (c == ' ' || c == '\t'):
			end()
			i++
		case quote == 0 && vars != nil && strings.IndexByte(";|&<>()", c) >= 0:
			end()
			i++
		case quote == 0 && c == '#' && !in:
			return list
		case vars != nil && (c == '$' || c == '`'):
			in = true
			text, n := expansion(line[i:], vars)
			b.WriteString(text)
			i += n
		default:
			in = true
			b.WriteByte(c)
			i++
		}
	}
	end()
	return list
}

// expansion is what a $ or a backquote stands for, and how many bytes it takes.
func expansion(s string, vars map[string]string) (text string, n int) {
	if m := variable.FindStringSubmatch(s); m != nil {
		name := m[1] + m[3]
		if v, ok := vars[name]; ok && v != "" {
			return v, len(m[0])
		}
		return pattern.Any, len(m[0])
	}
	switch {
	case s[0] == '`':
		if j := strings.IndexByte(s[1:], '`'); j >= 0 {
			return pattern.Any, j + 2
		}
		return pattern.Any, len(s)
	case strings.HasPrefix(s, "$("):
		return pattern.Any, closing(s, '(', ')')
	case strings.HasPrefix(s, "${"):
		return pattern.Any, closing(s, '{', '}')
	case len(s) > 1 && strings.IndexByte("0123456789@*#?$!-", s[1]) >= 0:
		return pattern.Any, 2
	}
	return "$", 1
}

// closing is the length up to the bracket that closes the first one.
func closing(s string, opens, closes byte) int {
	depth := 0
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}
