package script

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is what commands within $(…) print.
func (in *reader) output(s *state, list []*syntax.Stmt) []string {
	s = s.clone()
	s.depth++
	if s.depth > mostDepth {
		return []string{string(anything)}
	}
	said := []string{""}
	for _, stmt := range list {
		printed := in.printed(s, stmt)
		var next []string
		for _, a := range said {
			for _, b := range printed {
				if len(next) < mostValues {
					next = append(next, a+b)
				}
			}
		}
		said = next
	}
	for i := range said {
		said[i] = strings.TrimRight(said[i], "\n")
	}
	return said
}

// printed is what one statement prints.
func (in *reader) printed(s *state, stmt *syntax.Stmt) []string {
	switch x := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch x.Op {
		case syntax.AndStmt, syntax.OrStmt:
			first := in.printed(s, x.X)
			if x.Op == syntax.OrStmt {
				return first
			}
			second := in.printed(s, x.Y)
			return []string{first[0] + second[0]}
		default:
			in.stmts(s.clone(), []*syntax.Stmt{x.X})
			return in.filtered(x)
		}
	case *syntax.CallExpr:
		if len(x.Args) == 0 {
			in.callExpr(s, x, nil)
			return []string{""}
		}
		var out []string
		for _, argv := range in.words(s, x.Args) {
			if len(argv) > 0 {
				out = append(out, in.prints(s, argv))
			}
		}
		if len(out) > 0 {
			return out
		}
		return []string{""}
	case *syntax.Subshell:
		return in.output(s, x.Stmts)
	}
	return []string{string(anything)}
}

// filtered is the end of a pipe: text of which nothing is known, and which is a path where the last program prints one.
func (in *reader) filtered(x *syntax.BinaryCmd) []string {
	if call, ok := x.Y.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		switch call.Args[0].Lit() {
		case "head", "tail", "cut", "tr", "awk", "wc", "sed", "grep", "sort", "uniq", "bc", "rev":
			return []string{string(anything)}
		}
	}
	return []string{in.outside("$(…)")}
}

// prints is what a command prints, known or not.
func (in *reader) prints(s *state, argv []string) string {
	last := argv[len(argv)-1]
	switch path.Base(argv[0]) {
	case "pwd":
		if s.dir == "" {
			return in.outside("$(pwd)")
		}
		return s.dir
	case "cd":
		in.run(s, argv, input{})
		return ""
	case "echo":
		words := argv[1:]
		for len(words) > 0 && (words[0] == "-n" || words[0] == "-e") {
			words = words[1:]
		}
		return strings.Join(words, " ") + "\n"
	case "printf":
		return printfOf(argv[1:])
	case "basename":
		if len(argv) > 2 {
			return strings.TrimSuffix(path.Base(argv[1]), argv[2])
		}
		return path.Base(last)
	case "dirname":
		if open(last) && !strings.Contains(last, "/") {
			return in.outside("$(dirname " + in.plain(last) + ")")
		}
		return path.Dir(last)
	case "realpath", "readlink", "cygpath":
		return in.resolve(s, last)
	case "hostname", "uname":
		if s.step {
			return symbol('N')
		}
		return string(anything)
	case "srun":
		in.srun(s.clone(), argv[1:], input{})
		return string(anything)
	case "which", "command", "type": // the program's path; its name is what matters
		return "/bin/" + path.Base(last)
	case "whoami", "logname":
		return symbol('u')
	case "id":
		if strings.Contains(strings.Join(argv, " "), "-un") || strings.Contains(strings.Join(argv, " "), "-u -n") {
			return symbol('u')
		}
		return string(anything)
	case "seq":
		return sequenceOf(argv[1:])
	case "mktemp":
		if strings.HasPrefix(last, "/") && strings.Contains(last, "XXX") {
			return strings.TrimRight(last, "X") + string(anything)
		}
		return in.outside("$(mktemp)")
	}
	if knowsNoPath[path.Base(argv[0])] {
		return string(anything)
	}
	if alts, ok := s.funcs[argv[0]]; ok && s.depth < mostDepth {
		c := s.clone()
		c.args = argv[1:]
		return in.output(c, []*syntax.Stmt{alts.body})[0]
	}
	return in.outside("$(" + in.plain(strings.Join(argv, " ")) + ")")
}

// knowsNoPath are programs whose output is no path.
var knowsNoPath = set("date nproc scontrol getent shuf openssl nvidia-smi wc expr bc uuidgen ip")

// printfOf is printf of texts and plain numbers.
func printfOf(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	format, args := argv[0], argv[1:]
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case (format[i] == 's' || format[i] == 'd') && len(args) > 0:
			b.WriteString(args[0])
			args = args[1:]
		default: // a width
			from := i
			for i < len(format) && !strings.ContainsRune("sdifgeuxXc", rune(format[i])) {
				i++
			}
			b.WriteString(padded(format[from:min(i+1, len(format))], args))
			args = args[min(len(args), 1):]
		}
	}
	return strings.ReplaceAll(b.String(), `\n`, "\n")
}

// padded is the first argument as "02d" or "5s" writes it.
func padded(how string, args []string) string {
	width, letter := how[:len(how)-1], how[len(how)-1:]
	n, err := strconv.Atoi(width)
	if err != nil || n < 0 || n > mostWidth || len(args) == 0 || marked(args[0]) {
		return string(anything)
	}
	v, err := strconv.Atoi(args[0])
	switch {
	case letter == "s":
		return fmt.Sprintf("%*s", n, args[0])
	case letter == "d" && err == nil && strings.HasPrefix(width, "0"):
		return fmt.Sprintf("%0*d", n, v)
	case letter == "d" && err == nil:
		return fmt.Sprintf("%*d", n, v)
	}
	return string(anything)
}

// mostWidth is how wide printf's numbers get.
const mostWidth = 64

func sequenceOf(argv []string) string {
	var from, to string
	switch len(argv) {
	case 1:
		from, to = "1", argv[0]
	case 2:
		from, to = argv[0], argv[1]
	default:
		return string(anything)
	}
	b := &syntax.BraceExp{Sequence: true, Elems: []*syntax.Word{lit(from), lit(to)}}
	if marked(from + to) {
		return string(anything)
	}
	var list []string
	for _, w := range sequence(b) {
		list = append(list, w.Lit())
	}
	return strings.Join(list, " ")
}

func lit(s string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}
}
