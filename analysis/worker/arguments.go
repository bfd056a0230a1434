package worker

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"faultline/pattern"
)

// What programs print of how they were started: dumps of parsed arguments, configurations, command lines. They decide
// nothing about a failure; they are compared with those of a run that went well.

func argumentHandlers() []handler {
	return []handler{
		{"argument table", []string{" arguments -----", "DeepSpeedEngine configuration:"}, readArgumentTable},
		{"configuration", []string{"Experiment configuration ****"}, readConfiguration},
		{"argument object", []string{"Namespace(", "TrainingArguments(", "ServerArgs("}, readArgumentObject},
		{"command line", []string{":main] cmd = ", "+ torchrun ", "+ srun ", "+ python", "+ deepspeed "}, readCommandLine},
	}
}

const (
	maxArguments     = 2048 // of one file
	maxArgumentLines = 2048 // of one dump
	maxArgumentName  = 128
	maxArgumentValue = 512
)

var (
	// Megatron-LM (megatron/training/arguments.py, _print_args) and DeepSpeed (runtime/config.py, print): a name, dots, a value.
	dotted = pattern.New(`(?:^|\s)([A-Za-z_][\w.]*) \.{2,} (.+?)\s*$`)
	// A line of YAML that OmegaConf writes (NeMo).
	yamlLine = pattern.New(`^( *)([A-Za-z_][\w.-]*):(?: (.*?))?\s*$`)
	// A line of a dataclass that prints itself over several (transformers, TrainingArguments.__str__).
	fieldLine = pattern.New(`^\s*([A-Za-z_]\w*)=(.*?),?\s*$`)
	// secretName is what values are never kept of. Names that only begin so (tokenizer, token_budget) are others.
	secretName = pattern.New(`(?i)(?:^|[_.-])(?:token|secret|password|passwd|api_?key|access_?key|credentials?|auth|authorization)$`)
)

// argument emits one name and value.
func argument(r *reader, at At, name, value string) {
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if name == "" || value == "" || len(name) > maxArgumentName || secretName.MatchString(name) || len(r.obs.Arguments) >= maxArguments {
		return
	}
	if len(value) > maxArgumentValue {
		value = value[:maxArgumentValue]
	}
	value = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == utf8.RuneError {
			return -1
		}
		return c
	}, value)
	emit(r, &r.obs.Arguments, Argument{At: at, Name: name, Value: unquoted(value)})
}

// unquoted takes the quotation marks of Python, YAML or a shell off.
func unquoted(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

func readArgumentTable(r *reader, rec *record) bool {
	if bytes.Contains(rec.Text, []byte("end of arguments")) {
		return false
	}
	r.follow(rec, maxArgumentLines, func(r *reader, rec *record) verdict {
		switch {
		case rec == nil:
			return ended
		case bytes.Contains(rec.Text, []byte("end of arguments")), bytes.Contains(rec.Text, []byte("  json = {")):
			return final
		}
		m := dotted.FindSubmatch(rec.Msg[:min(len(rec.Msg), maxText)])
		if m == nil {
			return pass
		}
		argument(r, rec.At, string(m[1]), string(m[2]))
		return taken
	})
	return false
}

// readConfiguration reads the YAML that NeMo's examples log under their heading: names of nested keys are joined by dots.
func readConfiguration(r *reader, rec *record) bool {
	type level struct {
		indent int
		name   string
	}
	var path []level
	begun, strange := false, 0
	r.follow(rec, maxArgumentLines, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		text := bytes.TrimRight(rec.Msg[:min(len(rec.Msg), maxText)], " \t\r")
		m := yamlLine.FindSubmatch(text)
		if m == nil {
			item := bytes.HasPrefix(bytes.TrimSpace(text), []byte("- "))
			if len(text) > 0 && !item && begun {
				return ended
			}
			if strange++; strange > 64 && !begun {
				return ended
			}
			return pass
		}
		begun = true
		indent := len(m[1])
		for len(path) > 0 && path[len(path)-1].indent >= indent {
			path = path[:len(path)-1]
		}
		if len(path) > 16 {
			return taken
		}
		path = append(path, level{indent, string(m[2])})
		if len(m[3]) > 0 {
			names := make([]string, len(path))
			for i, l := range path {
				names[i] = l.name
			}
			argument(r, rec.At, strings.Join(names, "."), string(m[3]))
		}
		return taken
	})
	return false
}

// readArgumentObject reads Name(a=1, b='x'), in one line or one field a line.
func readArgumentObject(r *reader, rec *record) bool {
	text := rec.Text
	for _, head := range []string{"TrainingArguments(", "ServerArgs(", "Namespace("} {
		i := bytes.Index(text, []byte(head))
		if i < 0 {
			continue
		}
		rest := bytes.TrimRight(text[i+len(head):], " \t\r")
		if len(rest) > 0 {
			for _, f := range fields(string(rest[:min(len(rest), 64<<10)])) {
				if name, value, ok := strings.Cut(f, "="); ok && isName(strings.TrimSpace(name)) {
					argument(r, rec.At, name, value)
				}
			}
			return false
		}
		r.follow(rec, maxArgumentLines, func(r *reader, rec *record) verdict {
			if rec == nil {
				return ended
			}
			msg := bytes.TrimSpace(rec.Msg[:min(len(rec.Msg), maxText)])
			if bytes.HasPrefix(msg, []byte(")")) {
				return final
			}
			m := fieldLine.FindSubmatch(msg)
			if m == nil {
				return pass
			}
			argument(r, rec.At, string(m[1]), string(m[2]))
			return taken
		})
		return false
	}
	return false
}

// fields splits at the commas of the outermost level, up to the bracket that closes it.
func fields(s string) []string {
	var out []string
	depth, from := 0, 0
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth < 0 {
				return append(out, s[from:i])
			}
		case c == ',' && depth == 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}

// readCommandLine reads the options of the program that a launcher starts: what follows the script's name.
func readCommandLine(r *reader, rec *record) bool {
	text := string(rec.Text[:min(len(rec.Text), 16<<10)])
	at := strings.Index(text, "cmd = ")
	if at < 0 {
		if at = strings.Index(text, "+ "); at < 0 || strings.Trim(text[:at], "+ ") != "" && len(rec.Msg) > 0 && !bytes.HasPrefix(rec.Msg, []byte("+")) {
			return false // in the middle of a sentence
		}
	}
	words := strings.Fields(text[at:])
	script := -1
	for i, w := range words {
		if strings.HasSuffix(w, ".py") || w == "-m" && i+2 < len(words) && !strings.HasPrefix(words[i+1], "torch.distributed") {
			script = i
		}
	}
	if script < 0 {
		return false
	}
	for i := script + 1; i < len(words); i++ {
		name, isOption := strings.CutPrefix(words[i], "--")
		if !isOption {
			if k, v, ok := strings.Cut(words[i], "="); ok && isName(strings.TrimLeft(k, "+")) { // Hydra's overrides
				argument(r, rec.At, strings.TrimLeft(k, "+"), v)
			}
			continue
		}
		name, value, has := strings.Cut(name, "=")
		if !has {
			value = "true"
			if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
				value = words[i+1]
				i++
			}
		}
		if name = strings.ReplaceAll(name, "-", "_"); isName(name) {
			argument(r, rec.At, name, value)
		}
	}
	return false
}
