package script

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// prints are programs whose output may be a script that is run later.
var prints = set("cat echo printf")

// script keeps the text that a statement writes to a file, to follow it when the file is run. It is false where the text is not
// known, or the file is a log.
func (in *reader) script(s *state, stmt *syntax.Stmt, file string, more bool) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || LogName(file) {
		return false
	}
	text := in.piped(s, call, stmt.Redirs)
	if !text.known {
		return false
	}
	if more {
		text.text = in.files[file] + text.text
	}
	if len(text.text) <= mostText {
		in.files[file] = text.text
	}
	return true
}

// piped is what cat, echo or printf print, where that is known.
func (in *reader) piped(s *state, call *syntax.CallExpr, redirs []*syntax.Redirect) input {
	argv := in.words(s, call.Args)[0]
	switch {
	case len(argv) == 0 || !prints[path.Base(argv[0])]:
		return input{}
	case path.Base(argv[0]) == "cat":
		return in.input(s, redirs)
	}
	return input{in.prints(s, argv), true}
}

// input is what a command reads from its standard input.
type input struct {
	text  string
	known bool
}

// input is the here-document or the here-string of a command, as the shell in which it is written expands it.
func (in *reader) input(s *state, redirs []*syntax.Redirect) input {
	for _, r := range redirs {
		switch {
		case r.Hdoc != nil:
			return input{in.document(s, r), true}
		case r.Op == syntax.WordHdoc:
			return input{in.one(s, r.Word)[0], true}
		}
	}
	return s.stdin
}

// document is the text of a here-document: as it is below a quoted word, else expanded as between double quotes.
func (in *reader) document(s *state, r *syntax.Redirect) string {
	if lit := r.Word.Lit(); lit != "" && !strings.Contains(lit, `\\`) {
		return in.inQuotes(s, &syntax.DblQuoted{Parts: r.Hdoc.Parts})[0][0]
	}
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		}
	}
	return b.String()
}

func (in *reader) standardInput(s *state, args []string, stdin input) {
	if !stdin.known {
		return
	}
	c := s.child()
	c.args = args
	in.nested(c, stdin.text)
}

// reads follows read and its like: fields of a known text, else of a line that comes from a file or a program.
func (in *reader) reads(s *state, argv []string, stdin input) {
	names, list, whole := readNames(argv)
	for _, n := range slices.Concat(names, list) {
		s.set(n, text(in.outside("$"+n)))
	}
	if !stdin.known || argv[0] != "read" {
		return
	}
	line := strings.TrimRight(stdin.text, "\n")
	if !whole {
		line, _, _ = strings.Cut(line, "\n")
	}
	if open(line) && !strings.ContainsAny(line, " \t"+separators(s)) {
		return // nobody knows how many fields it has
	}
	if len(list) > 0 {
		s.set(list[0], value{alts: [][]string{fields(line, separators(s), -1)}})
	}
	cut := fields(line, separators(s), len(names))
	for i, n := range names {
		s.set(n, text(""))
		if i < len(cut) {
			s.set(n, text(cut[i]))
		}
	}
}

// readNames are the variables that read sets, those that become lists, and whether all lines are taken: -d ”.
func readNames(argv []string) (names, list []string, whole bool) {
	for i := 1; i < len(argv); i++ {
		switch w := argv[i]; {
		case w == "-d":
			i++
			whole = i < len(argv) && argv[i] == ""
		case w == "-a":
			i++
			list = append(list, argv[min(i, len(argv)-1)])
		case w == "-t" || w == "-p" || w == "-u" || w == "-n" || w == "-N":
			i++
		case !syntax.ValidName(w):
			if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "a") && i+1 < len(argv) { // -ra
				i++
				list = append(list, argv[i])
			}
		case argv[0] != "read":
			list = append(list, w)
		default:
			names = append(names, w)
		}
	}
	return names, list, whole
}

// separators are the characters at which read cuts.
func separators(s *state) string {
	if v, ok := s.vars["IFS"]; ok && len(v.alts) > 0 && len(v.alts[0]) > 0 {
		return v.alts[0][0]
	}
	return " \t\n"
}

// fields cuts a line into at most n, the last one whole; n < 0 takes all.
func fields(line, by string, n int) []string {
	spaces := by != "" && strings.TrimSpace(by) == ""
	if spaces {
		line = strings.TrimSpace(line)
	}
	switch {
	case n == 0 || line == "":
		return nil
	case by == "":
		return []string{line}
	}
	var out []string
	for n < 0 || len(out) < n-1 {
		i := strings.IndexAny(line, by)
		if i < 0 || len(out) == mostFields {
			break
		}
		out = append(out, line[:i])
		if line = line[i+1:]; spaces {
			line = strings.TrimLeft(line, by)
		}
	}
	return append(out, line)
}

// speaks says that a statement runs a program whose output is a log and not data.
func (in *reader) speaks(s *state, stmt *syntax.Stmt) bool {
	switch x := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		if len(x.Args) == 0 {
			return false
		}
		name := in.one(s, x.Args[0])[0]
		if f, ok := s.funcs[name]; ok && !in.asked[name] {
			in.asked[name] = true
			defer delete(in.asked, name)
			return in.speaks(s, f.body)
		}
		name = path.Base(name)
		runsAnother := wrappers[name] && slices.ContainsFunc(x.Args[1:], func(w *syntax.Word) bool { return slices.Contains([]string{"run", "exec"}, w.Lit()) })
		return !quiet[name] || runsAnother // conda run
	case *syntax.BinaryCmd:
		return in.speaks(s, x.X) || in.speaks(s, x.Y)
	case *syntax.Block:
		return in.anySpeaks(s, x.Stmts)
	case *syntax.Subshell:
		return in.anySpeaks(s, x.Stmts)
	}
	return true
}

func (in *reader) anySpeaks(s *state, list []*syntax.Stmt) bool {
	return slices.ContainsFunc(list, func(stmt *syntax.Stmt) bool { return in.speaks(s, stmt) })
}
