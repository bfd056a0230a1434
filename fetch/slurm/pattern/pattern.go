// Package pattern knows the names that SLURM gives to log files: it expands the patterns of sbatch and srun (%j, %n, …) as
// SLURM does, reads names back, and says which files of a job are not there. It is pure.
package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// None is a number that is not known.
	None = -1
	// NoArray is the array, and the index in it, of a job that is in none. A component of a heterogeneous job has its own id
	// for the array and no index.
	NoArray = -2
)

// Context is who opens the file, which decides what a pattern means.
type Context int

const (
	// Batch is the batch script's own output, opened on the first node.
	Batch Context = iota
	// Step is srun's: one file per node or task where the pattern has %n, %N or %t, else one that srun writes.
	Step
)

// novalue is what SLURM prints for the array of a job that is in none.
const novalue = 4294967294

// Releases that brought a symbol; before it stays as it is written.
const (
	sinceB      = 2411 // %b
	sinceR      = 2511 // %r and %S
	maxWidth    = 10   // a wider one counts as this
	maxTemplate = 4096
)

// Vars are what the symbols stand for. A number that is not known is None, a text "".
type Vars struct {
	Job     int    // %j, the raw id
	Array   int    // %A; NoArray where the job is in none
	Task    int    // %a, the index in the array
	Step    string // %s: "0", "batch"
	Node    int    // %n, the index of the node in the step
	Host    string // %N
	Rank    int    // %t, the task in the step
	User    string // %u
	Name    string // %x
	Restart int    // %r
	SLUID   string // %S
	Release int    // of SLURM, 2205 for 22.05; 0 = not known, taken for the newest
}

// Unknown are the variables of which nothing is known.
func Unknown() Vars {
	return Vars{Job: None, Array: None, Task: None, Node: None, Rank: None, Restart: None}
}

// token is literal text or a symbol.
type token struct {
	text  string // as it is written
	sym   byte   // 0 = literal
	width int
}

// Template is a parsed pattern.
type Template struct {
	text   string
	tokens []token
}

// ErrTemplate says that a text is no pattern.
var ErrTemplate = errors.New("not a pattern")

// Any stands in a pattern for text that is not known, within one element of a path: a variable of a script.
const Any = "\x1a"

// symbols that SLURM knows; what else follows a percent sign stays.
const symbols = "jJAabsnNtuxrS"

// Parse reads a pattern. A backslash anywhere turns expansion off, and is dropped.
func Parse(text string) (Template, error) {
	if text == "" || len(text) > maxTemplate || strings.ContainsAny(text, "\x00\n") || !utf8.ValidString(text) {
		return Template{}, fmt.Errorf("%w: %q", ErrTemplate, text[:min(len(text), 60)])
	}
	t := Template{text: text}
	if strings.Contains(text, `\`) && !strings.Contains(text, Any) {
		var b strings.Builder
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' && i+1 < len(text) {
				i++
			} else if text[i] == '\\' {
				continue
			}
			b.WriteByte(text[i])
		}
		if b.Len() == 0 {
			return Template{}, fmt.Errorf("%w: %q", ErrTemplate, text[:min(len(text), 60)])
		}
		t.tokens = []token{{text: b.String()}}
		return t, nil
	}
	literal := func(s string) {
		if n := len(t.tokens); n > 0 && t.tokens[n-1].sym == 0 {
			t.tokens[n-1].text += s
			return
		}
		t.tokens = append(t.tokens, token{text: s})
	}
	for i := 0; i < len(text); {
		if text[i] == Any[0] {
			t.tokens = append(t.tokens, token{text: Any, sym: Any[0]})
			i++
			continue
		}
		if text[i] != '%' {
			j := strings.IndexAny(text[i:], "%"+Any)
			if j < 0 {
				j = len(text) - i
			}
			literal(text[i : i+j])
			i += j
			continue
		}
		j := i + 1
		for j < len(text) && text[j] >= '0' && text[j] <= '9' {
			j++
		}
		switch {
		case j < len(text) && text[j] == '%' && j == i+1:
			literal("%")
		case j < len(text) && strings.IndexByte(symbols, text[j]) >= 0:
			t.tokens = append(t.tokens, token{text: text[i : j+1], sym: text[j], width: width(text[i+1 : j])})
		default:
			j = min(j, len(text)-1)
			if text[j] == Any[0] {
				j--
			}
			literal(text[i : j+1])
		}
		i = j + 1
	}
	return t, nil
}

func width(digits string) int {
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 2 {
		return maxWidth
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return min(n, maxWidth)
}

func (t Template) String() string { return strings.ReplaceAll(t.text, Any, "*") }

// Has says whether one of the symbols is in the pattern.
func (t Template) Has(syms string) bool {
	for _, k := range t.tokens {
		if k.sym != 0 && strings.IndexByte(syms, k.sym) >= 0 {
			return true
		}
	}
	return false
}

// OfJob says that the name tells jobs apart.
func (t Template) OfJob() bool { return t.Has("jJAS") }

// Vague says that a part of the name is not known.
func (t Template) Vague() bool { return t.Has(Any) }

// PerNode says that srun opens one file on each node, or for each task.
func (t Template) PerNode() bool { return t.Has("nNt") }

// value is what a symbol stands for; ok is false where that is not known. literal: this release leaves the symbol as it is.
func (k token) value(c Context, v Vars) (s string, ok bool) {
	num := func(n int) (string, bool) {
		if n == None {
			return "", false
		}
		return fmt.Sprintf("%0*d", k.width, n), true
	}
	word := func(s string) (string, bool) { return s, s != "" }
	if k.older(v.Release) {
		return k.text, true
	}
	switch k.sym {
	case 'j':
		return num(v.Job)
	case 'J':
		id, ok := num(v.Job)
		if c == Batch || !ok {
			return id, ok
		}
		return id + "." + v.Step, v.Step != ""
	case 'A':
		switch {
		case v.Array != NoArray:
			return num(v.Array)
		case c == Batch:
			return num(novalue)
		}
		return num(v.Job)
	case 'a', 'b':
		n := v.Task
		if v.Array == NoArray || v.Task == NoArray {
			n = novalue
		}
		if k.sym == 'b' && n != None {
			n %= 10
		}
		return num(n)
	case 's':
		if c == Batch {
			return "batch", true
		}
		if n, err := strconv.Atoi(v.Step); err == nil && n >= 0 {
			return num(n)
		}
		return word(v.Step)
	case 'n':
		if c == Batch {
			return num(0)
		}
		return num(v.Node)
	case 't':
		if c == Batch {
			return num(0)
		}
		return num(v.Rank)
	case 'N':
		return word(short(v.Host))
	case 'u':
		return word(v.User)
	case 'x':
		return word(v.Name)
	case 'r':
		return num(v.Restart)
	case Any[0]:
		return "", false
	}
	return word(v.SLUID)
}

// older says that the release does not know the symbol yet.
func (k token) older(release int) bool {
	if release == 0 {
		return false
	}
	return k.sym == 'b' && release < sinceB || (k.sym == 'r' || k.sym == 'S') && release < sinceR
}

// short is a host's name up to its first dot.
func short(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return name
}

// Expand gives the name; ok is false where a symbol's value is not known.
func (t Template) Expand(c Context, v Vars) (name string, ok bool) {
	var b strings.Builder
	for _, k := range t.tokens {
		s := k.text
		if k.sym != 0 {
			if s, ok = k.value(c, v); !ok {
				return "", false
			}
		}
		b.WriteString(s)
	}
	return b.String(), true
}

// Glob is a pattern of path.Match that all names fit whose known symbols have these values. Match says which really do.
func (t Template) Glob(c Context, v Vars) string {
	var b strings.Builder
	for _, k := range t.tokens {
		s, ok := k.text, true
		if k.sym != 0 {
			s, ok = k.value(c, v)
		}
		switch {
		case ok:
			b.WriteString(escape.Replace(s))
		case !strings.HasSuffix(b.String(), "*"):
			b.WriteByte('*')
		}
	}
	return b.String()
}

var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
