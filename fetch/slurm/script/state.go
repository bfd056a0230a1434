package script

import (
	"maps"
	"slices"
	"strings"
)

// Bounds of what is looked at: a script is somebody else's text.
const (
	mostSteps    = 5_000 // statements
	mostDepth    = 12    // scripts and functions within each other
	mostValues   = 4     // that one variable may have
	mostVariants = 8     // of one command
	mostTurns    = 16    // of one loop
	mostOutputs  = 64
	mostUnknown  = 8
	mostText     = 1 << 18 // bytes of one value
	mostFields   = 4096    // of one command
)

// value is what a variable may hold: alternatives of lists, of one element where it is no array.
type value struct {
	alts     [][]string
	exported bool
}

// orNone adds that there may be nothing, where the value is options: they are passed in one branch alone. Of a path that one branch
// sets nobody expects that it may be empty.
func (v value) orNone() value {
	if len(v.alts) == 0 || len(v.alts) >= mostValues || !slices.ContainsFunc(v.alts, func(a []string) bool { return len(a) > 0 && strings.HasPrefix(a[0], "-") }) {
		return v
	}
	v.alts = append(slices.Clone(v.alts), []string{""})
	return v
}

func text(s string) value { return value{alts: [][]string{{s}}} }

// state is what is known at one place of a script.
type state struct {
	vars   map[string]value
	unset  map[string]bool
	args   []string
	zero   string // $0
	dir    string // a value; "" = not known
	home   string
	step   bool // within what srun runs: there are many, one on each node or for each task
	maybe  bool // not certain to be reached
	stated bool // its srun states where output goes
	srun   int  // the srun that this is within, -1 = none
	nodes  int  // that it asks for, 0 = not stated
	tasks  int
	mounts [][2]string
	stdin  input // what a pipe or a here-document gives it
	fed    bool  // a pipe gives it the output of a program that is not quiet
	funcs  map[string]function
	over   bool // exit or return was met
	depth  int
}

func newState(f Facts) *state {
	s := &state{vars: map[string]value{}, unset: map[string]bool{}, args: f.Args, dir: f.Dir, home: f.Home, srun: -1, funcs: map[string]function{}}
	for k, v := range f.Vars {
		val := text(fromPattern(v))
		val.exported = true
		s.vars[k] = val
	}
	for _, k := range f.Unset {
		s.unset[k] = true
	}
	return s
}

// mounted is where a path within containers lies outside of them.
func (s *state) mounted(name string) string {
	var by [2]string
	for _, m := range s.mounts {
		rest, ok := strings.CutPrefix(name, m[1])
		if inside := ok && (rest == "" || rest[0] == '/'); inside && len(m[1]) > len(by[1]) {
			by = m
		}
	}
	return by[0] + strings.TrimPrefix(name, by[1])
}

// clone is a state that goes its own way.
func (s *state) clone() *state {
	c := *s
	c.vars, c.unset, c.funcs = maps.Clone(s.vars), maps.Clone(s.unset), maps.Clone(s.funcs)
	return &c
}

// child is what a program that is started sees: what was exported.
func (s *state) child() *state {
	c := s.clone()
	c.funcs = map[string]function{}
	maps.DeleteFunc(c.vars, func(k string, v value) bool { return !v.exported })
	for k := range s.vars {
		if !s.vars[k].exported {
			c.unset[k] = true
		}
	}
	c.depth++
	return c
}

func (s *state) set(name string, v value) {
	v.exported = v.exported || s.vars[name].exported
	s.vars[name] = v
	delete(s.unset, name)
}

// join makes the state after two branches of theirs; one that ended does not come out.
func (in *reader) join(a, b *state) *state {
	switch {
	case a.over:
		return b
	case b.over:
		return a
	}
	out := a.clone()
	for k, v := range b.vars {
		have, ok := out.vars[k]
		if !ok {
			out.vars[k] = v.orNone()
			continue
		}
		alts := slices.Clone(have.alts)
		for _, alt := range v.alts {
			if !slices.ContainsFunc(alts, func(o []string) bool { return slices.Equal(o, alt) }) {
				alts = append(alts, alt)
			}
		}
		out.vars[k] = value{alts: in.bounded(alts), exported: have.exported || v.exported}
	}
	for k, v := range a.vars {
		if _, ok := b.vars[k]; !ok {
			out.vars[k] = v.orNone()
		}
	}
	for k := range out.unset {
		if !b.unset[k] {
			delete(out.unset, k)
		}
	}
	maps.Copy(out.funcs, b.funcs)
	if a.dir != b.dir && a.dir == "" {
		out.dir = b.dir
	}
	return out
}
