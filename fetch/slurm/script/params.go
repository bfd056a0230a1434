package script

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// byTask are variables that differ between what srun starts; in the batch script itself they are those of its first task.
var byTask = map[string][2]string{
	"SLURM_PROCID": {symbol('t'), "0"}, "SLURM_NODEID": {symbol('n'), "0"}, "SLURM_LOCALID": {string(anything), "0"}, "SLURM_GTIDS": {string(anything), "0"},
	"SLURMD_NODENAME": {symbol('N'), string(anything)}, "HOSTNAME": {symbol('N'), string(anything)}, "SLURM_TOPOLOGY_ADDR": {string(anything), string(anything)},
	"SLURM_STEP_ID": {symbol('s'), string(anything)}, "SLURM_STEPID": {symbol('s'), string(anything)},
	"RANK": {string(anything), ""}, "LOCAL_RANK": {string(anything), ""}, "GROUP_RANK": {string(anything), ""}, "NODE_RANK": {string(anything), ""},
	"OMPI_COMM_WORLD_RANK": {string(anything), ""}, "OMPI_COMM_WORLD_LOCAL_RANK": {string(anything), ""}, "PMI_RANK": {string(anything), ""}, "PMIX_RANK": {string(anything), ""},
}

// computed are variables whose values never hold a slash.
var computed = regexp.MustCompile(`^(?:SLURM_|CUDA_VISIBLE|BASHPID$|PPID$|RANDOM$|EPOCH|SECONDS$|UID$|EUID$|LINENO$|MASTER_|OMP_|HOSTTYPE$|OSTYPE$)`)

// lookup is what a variable may hold; ok is false where it is known not to be set.
func (in *reader) lookup(s *state, name string) (alts [][]string, ok bool) {
	if v, ok := s.vars[name]; ok {
		return v.alts, true
	}
	if v, ok := byTask[name]; ok && (s.step || v[1] != "") {
		if s.step {
			return [][]string{{v[0]}}, true
		}
		return [][]string{{v[1]}}, true
	}
	switch {
	case name == "@" || name == "*":
		return [][]string{s.args}, len(s.args) > 0
	case name == "0":
		if s.zero != "" {
			return [][]string{{s.zero}}, true
		}
		return [][]string{{in.outside("$0")}}, true
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		if n := int(name[0] - '0'); n <= len(s.args) {
			return [][]string{{s.args[n-1]}}, true
		}
		return nil, false
	case name == "#":
		return [][]string{{strconv.Itoa(len(s.args))}}, true
	case name == "?" || name == "$" || name == "!" || name == "-":
		return [][]string{{string(anything)}}, true
	case name == "PWD" || name == "SLURM_SUBMIT_DIR" && s.dir != "":
		return [][]string{{s.dir}}, s.dir != ""
	case name == "HOME":
		return [][]string{{in.homeOf(s)}}, true
	case s.unset[name]:
		return nil, false
	case computed.MatchString(name) && !strings.HasSuffix(name, "DIR"):
		return [][]string{{string(anything)}}, true
	}
	return [][]string{{in.outside("$" + name)}}, true
}

// given says that a variable is set by the script or a fact, and not just perhaps from outside.
func (in *reader) given(alts [][]string, ok bool) bool {
	return ok && !(len(alts) == 1 && len(alts[0]) == 1 && len([]rune(alts[0][0])) == 1 && open(alts[0][0]))
}

// param is what ${…} may stand for.
func (in *reader) param(s *state, p *syntax.ParamExp) [][]string {
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Slice != nil {
		return [][]string{{string(anything)}}
	}
	alts, ok := in.lookup(s, p.Param.Value)
	switch {
	case p.Length:
		return lengths(alts, isAt(p.Index))
	case p.Excl && isAt(p.Index):
		return keys(alts)
	case p.Excl:
		return in.indirect(s, alts)
	}
	if p.Param.Value == "BASH_SOURCE" && s.zero != "" {
		alts, ok = [][]string{{s.zero}}, true
	}
	switch {
	case p.Index == nil && p.Param.Value != "@" && p.Param.Value != "*":
		alts = firsts(alts)
	case p.Index != nil && !isAt(p.Index):
		alts = in.elements(alts, in.arithmetic(s, p.Index))
	}
	if p.Repl != nil {
		return in.replaced(s, alts, p.Repl)
	}
	if p.Exp == nil {
		if !ok {
			return [][]string{{""}}
		}
		return alts
	}
	out := in.expansion(s, p.Exp, alts, ok)
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		s.set(p.Param.Value, value{alts: in.bounded(out)})
	}
	return out
}

// lengths are how many elements lists have, or how many characters a text that is known.
func lengths(alts [][]string, list bool) (out [][]string) {
	for _, a := range alts {
		switch {
		case list:
			out = append(out, []string{strconv.Itoa(len(a))})
		case len(a) == 1 && !marked(a[0]):
			out = append(out, []string{strconv.Itoa(utf8.RuneCountInString(a[0]))})
		default:
			return [][]string{{string(anything)}}
		}
	}
	return out
}

// keys are the indexes of lists.
func keys(alts [][]string) (out [][]string) {
	for _, a := range alts {
		var list []string
		for i := range a {
			list = append(list, strconv.Itoa(i))
		}
		out = append(out, list)
	}
	return out
}

func (in *reader) indirect(s *state, alts [][]string) [][]string {
	if len(alts) == 1 && len(alts[0]) == 1 && syntax.ValidName(alts[0][0]) {
		if alts, ok := in.lookup(s, alts[0][0]); ok {
			return alts
		}
	}
	return [][]string{{string(anything)}}
}

// firsts are the first elements, which $list stands for.
func firsts(alts [][]string) (out [][]string) {
	for _, a := range alts {
		if len(a) == 0 {
			a = []string{""}
		}
		out = append(out, a[:1])
	}
	return out
}

// elements are those with an index, all of them where it is not known.
func (in *reader) elements(alts [][]string, index string) (out [][]string) {
	n, err := strconv.Atoi(index)
	for _, a := range alts {
		switch {
		case err == nil && n < len(a) && n >= 0:
			out = append(out, a[n:n+1])
		case err != nil:
			for _, e := range a {
				out = append(out, []string{e})
			}
		}
	}
	if len(out) == 0 {
		return [][]string{{string(anything)}}
	}
	return in.bounded(out)
}

// expansion is ${a:-b} and its like.
func (in *reader) expansion(s *state, e *syntax.Expansion, alts [][]string, ok bool) [][]string {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !in.given(alts, ok) {
			return lists(in.one(s, e.Word))
		}
		var out [][]string
		for _, a := range alts {
			if len(a) == 1 && a[0] == "" {
				out = append(out, lists(in.one(s, e.Word))...)
			} else {
				out = append(out, a)
			}
		}
		return out
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case !ok:
			return [][]string{{""}}
		case in.given(alts, ok):
			return lists(in.one(s, e.Word))
		}
		return append(lists(in.one(s, e.Word)), []string{""})
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if !ok {
			return [][]string{{""}}
		}
		return alts
	}
	op := e.Op.String()
	var out [][]string
	for _, a := range alts {
		t := strings.Join(a, " ")
		word := in.one(s, e.Word)
		if !ok || t == "" {
			out = append(out, []string{""})
		} else {
			out = append(out, []string{in.trimmed(t, op, word[0])})
		}
	}
	return out
}

// trimmed is ${a#b}, ${a%b} and the like, where it can be told.
func (in *reader) trimmed(t, op, glob string) string {
	if marked(t) && strings.ContainsAny(glob, "*?[") && !(glob == "*/" && op == "##") && !(glob == "/*" && op == "%") {
		return string(anything)
	}
	switch op {
	case "##":
		if glob == "*/" {
			return path.Base(t)
		}
	case "%":
		if glob == "/*" {
			return path.Dir(t)
		}
		if !strings.ContainsAny(glob, "*?[") {
			return strings.TrimSuffix(t, glob)
		}
		if rest, ok := strings.CutSuffix(glob, "*"); ok {
			if i := strings.LastIndex(t, rest); i >= 0 {
				return t[:i]
			}
		}
	case "#":
		if !strings.ContainsAny(glob, "*?[") {
			return strings.TrimPrefix(t, glob)
		}
	case "%%":
		if rest, ok := strings.CutSuffix(glob, "*"); ok && !strings.ContainsAny(rest, "*?[") {
			before, _, _ := strings.Cut(t, rest)
			return before
		}
	case ",,", "^^":
		if !marked(t) {
			return map[string]func(string) string{",,": strings.ToLower, "^^": strings.ToUpper}[op](t)
		}
	}
	if strings.Contains(t, "/") {
		return in.outside("a part of " + in.plain(t))
	}
	return string(anything)
}

func (in *reader) replaced(s *state, alts [][]string, r *syntax.Replace) (out [][]string) {
	from, to := in.one(s, r.Orig)[0], in.one(s, r.With)[0]
	for _, a := range alts {
		t := strings.Join(a, " ")
		switch {
		case strings.ContainsAny(from, "*?[") || marked(from):
			out = append(out, []string{string(anything)})
		case r.All:
			out = append(out, []string{strings.ReplaceAll(t, from, to)})
		default:
			out = append(out, []string{strings.Replace(t, from, to, 1)})
		}
	}
	return out
}
