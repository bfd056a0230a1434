// Package folded reads folded stacks: one line for each stack, its calls from the outermost to the innermost with semicolons between, and how
// often it was seen. py-spy record --format raw, perf script through stackcollapse-perf.pl, and austin write them; flame graphs are drawn of
// them.
package folded

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

// ErrOther says that a file holds no folded stacks.
var ErrOther = errors.New("it holds no folded stacks")

// Profile is where the time of a file's processes went, in samples.
type Profile struct {
	Samples int64
	Calls   []Call // each function once, by name
}

// Call is a function that was seen at work.
type Call struct {
	Name  string // as the line has it, without the line number
	Total int64  // samples in which it was at work or waited for what it called
	Self  int64  // samples in which it was the innermost
	Depth int    // the most calls above it
	Most  Stack  // the line with most of its samples
}

// Stack is one line.
type Stack struct {
	lines.Place
	Samples int64
}

const (
	mostCalls = 50_000 // bounds the functions of a file that are kept
	// mostly is how much of the first lines has to be stacks, in percent.
	mostly = 90
	// fewest is how many stacks make a file one of this kind.
	fewest = 2
)

var (
	// stackForm is a line: at least two calls, and a count.
	stackForm = pattern.New(`^[^;]+(;[^;]*)+ [0-9]+$`)
	// process is how py-spy and perf begin a stack: with the process and the thread, which are no calls.
	process = pattern.New(`^(process [0-9]+:|thread \(0x|thread \([0-9]+\)|[A-Za-z0-9_.-]+-[0-9]+(/[0-9]+)?$)`)
	// lineNumber ends a call of py-spy: "step (train.py:44)".
	lineNumber = pattern.New(`:[0-9]+\)$`)
	// address differs from process to process.
	address = pattern.New(`0x[0-9A-Fa-f]+`)
)

// Recognise tells folded stacks by the first lines of a file.
func Recognise(head []byte) bool {
	const looked = 200 // lines
	all := strings.SplitN(strings.TrimSpace(string(head)), "\n", looked+1)
	if len(all) > 1 && len(head) >= 4096 {
		all = all[:len(all)-1] // the last one may be cut, or all that is left
	}
	of, n := 0, 0
	for _, l := range all[:min(len(all), looked)] {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		of++
		if stackForm.MatchString(l) && calls(l) {
			n++
		}
		if (of-n)*100 > looked*(100-mostly) {
			return false // whatever follows, too few are stacks
		}
	}
	return n >= fewest && n*100 >= of*mostly
}

// calls says that the parts of a line look like calls: most hold a letter, so that tables of numbers are none.
func calls(text string) bool {
	parts := strings.Split(text[:strings.LastIndexByte(text, ' ')], ";")
	named := 0
	for _, p := range parts {
		if strings.ContainsFunc(p, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }) {
			named++
		}
	}
	return named*2 > len(parts)
}

// Read reads a file of any length.
func Read(ctx context.Context, r io.Reader) (*Profile, error) {
	p := &Profile{}
	at := map[string]int{}
	err := lines.Each(ctx, r, func(l lines.Line) error {
		text := strings.TrimRight(l.Text, " \t")
		if l.Cut || !stackForm.MatchString(text) {
			return nil
		}
		i := strings.LastIndexByte(text, ' ')
		n := samples(text[i+1:])
		if n <= 0 || p.Samples+n < p.Samples {
			return nil
		}
		p.Samples += n
		p.add(at, strings.Split(text[:i], ";"), Stack{l.Place, n})
		return nil
	})
	if err != nil && len(p.Calls) == 0 {
		return nil, err
	}
	if len(p.Calls) == 0 {
		return nil, ErrOther
	}
	slices.SortFunc(p.Calls, func(a, b Call) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// add counts the calls of a stack, one that calls itself once.
func (p *Profile) add(at map[string]int, frames []string, s Stack) {
	seen := map[string]bool{}
	for depth, frame := range frames {
		name := nameOf(frame)
		if name == "" || depth < len(frames)-1 && process.MatchString(frame) {
			continue
		}
		i, known := at[name]
		if !known {
			if len(p.Calls) == mostCalls {
				continue
			}
			i = len(p.Calls)
			at[name] = i
			p.Calls = append(p.Calls, Call{Name: name})
		}
		c := &p.Calls[i]
		if depth == len(frames)-1 {
			c.Self += s.Samples
		}
		c.Depth = max(c.Depth, depth)
		if seen[name] {
			continue
		}
		seen[name] = true
		c.Total += s.Samples
		if s.Samples > c.Most.Samples {
			c.Most = s
		}
	}
}

// AnyAddress stands in the name of a call where its lines have an address.
const AnyAddress = "0x…"

// nameOf is a call without its line's number, and without addresses.
func nameOf(frame string) string {
	frame = strings.TrimSpace(frame)
	if loc := lineNumber.FindStringIndex(frame); loc != nil {
		frame = frame[:loc[0]] + ")"
	}
	return address.ReplaceAllString(frame, AnyAddress)
}

// Share is the part of the samples in which a function was at work, 0 to 1.
func (p *Profile) Share(name string) float64 {
	i, ok := slices.BinarySearchFunc(p.Calls, name, func(c Call, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return 0
	}
	return float64(p.Calls[i].Total) / float64(p.Samples)
}

// samples is the number at the end of a line, 0 where it is none.
func samples(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
