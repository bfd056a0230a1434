package severity

import "bytes"

// marked is the level that the mark of a logger states.
type marked Level

const (
	unmarked marked = -1           // no mark is seen
	ordinary marked = marked(Calm) // information, notices, debugging
	warned   marked = marked(Warning)
	erred    marked = marked(Failed)
	fatal    marked = marked(Crash)
)

// mark is a logger's own statement of how bad a line is.
type mark struct {
	Level marked
	Word  string // as printed
	At    int
}

// front is how many bytes of a line may come before the word of its level; levels as fields of a record may stand anywhere.
const front = 160

// markOf finds the mark of a logger: glog and absl ("E0603 17:48:01"), Python, log4j, Rust, slog and logfmt ("level=error"), JSON
// ("severity":"ERROR", "level":50), syslog ("<3>"), the journal ("PRIORITY=3"), and single letters in brackets ("[E]").
func markOf(line []byte) mark {
	if m := priority(line); m.Level != unmarked {
		return m
	}
	if m := field(line); m.Level != unmarked {
		return m
	}
	head := line[:min(len(line), front)]
	for i := 0; i < len(head); {
		if !wordByte(head[i]) {
			i++
			continue
		}
		end := i
		for end < len(head) && wordByte(head[end]) {
			end++
		}
		word := head[i:end]
		if l, ok := levels[string(word)]; ok && stands(line, i, end) {
			if own, ok := worse[string(word)]; ok && bytes.HasSuffix(line[:i], own.before) {
				l = own.level
			}
			return mark{l, string(word), i}
		}
		if l, ok := letters[word[0]]; ok && lettered(line, i, end) {
			return mark{l, string(word), i}
		}
		i = end
	}
	return mark{Level: unmarked}
}

// stands says that the word of a level stands as one: at the front, or behind what loggers print before it, and before what they print behind.
func stands(line []byte, from, to int) bool {
	if from > 0 && bytes.IndexByte([]byte(" \t[<(|:>\"'-\x1b"+"m"), line[from-1]) < 0 {
		return false
	}
	if to < len(line) && bytes.IndexByte([]byte(" \t]>)|:,\"'-!\x1b"), line[to]) < 0 {
		return false
	}
	// In a sentence a word of small letters stands between others of the kind: "the error is". As a mark it stands in brackets or before a colon.
	if c := line[from]; c >= 'a' && c <= 'z' {
		if quantity(line[to:]) {
			return false
		}
		closed := to < len(line) && bytes.IndexByte([]byte("]>)|:"), line[to]) >= 0
		return closed && (from == 0 || line[from-1] != ' ' || to < len(line) && line[to] != ':')
	}
	return true
}

// sourced says that a place in source code closes the bracket: "socket.cpp:697] ".
func sourced(rest []byte) bool {
	place, _, closed := bytes.Cut(rest[:min(len(rest), front)], []byte("]"))
	file, number, numbered := bytes.Cut(place, []byte(":"))
	return closed && numbered && bytes.IndexByte(file, '.') > 0 && bytes.IndexByte(file, ' ') < 0 && len(number) > 0 && len(bytes.Trim(number, "0123456789")) == 0
}

// lettered says that a word is a level by its first letter: "E0603 17:48:01", "[E603 17:48:01", "[E]", "[E file.cpp:12]".
func lettered(line []byte, from, to int) bool {
	word := line[from:to]
	if len(word) == 1 {
		return from > 0 && line[from-1] == '[' && to < len(line) && (line[to] == ']' || line[to] == ' ' && sourced(line[to+1:]))
	}
	if len(word) < 4 || len(word) > 5 {
		return false
	}
	for _, c := range word[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	rest := line[to:]
	return len(rest) > 3 && rest[0] == ' ' && rest[1] >= '0' && rest[1] <= '9' && rest[2] >= '0' && rest[2] <= '9' && rest[3] == ':'
}

// priority reads syslog's "<3>" at the front and the journal's "PRIORITY=3".
func priority(line []byte) mark {
	var i, n int
	switch {
	case len(line) > 2 && line[0] == '<':
		i = 1
	case bytes.HasPrefix(line, []byte("PRIORITY=")):
		i = len("PRIORITY=")
	default:
		return mark{Level: unmarked}
	}
	from := i
	for i < len(line) && i-from < 3 && line[i] >= '0' && line[i] <= '9' {
		n, i = n*10+int(line[i]-'0'), i+1
	}
	if i == from || line[0] == '<' && (i >= len(line) || line[i] != '>') {
		return mark{Level: unmarked}
	}
	l := [...]marked{fatal, fatal, fatal, erred, warned, ordinary, ordinary, ordinary}[n&7]
	return mark{l, string(line[:min(i+1, len(line))]), 0}
}

// field reads the member of a record that states its level: level=error, "level": "ERROR", "severity":"Critical", "levelname", "lvl", "level":50.
func field(line []byte) mark {
	for _, name := range fieldNames {
		for from := 0; ; {
			i := bytes.Index(line[from:], name)
			if i < 0 {
				break
			}
			i += from
			from = i + len(name)
			j := from
			for j < len(line) && bytes.IndexByte([]byte("\"' :="), line[j]) >= 0 {
				j++
			}
			if j == from || !bounded(line, i, from) || bytes.IndexByte(line[from:j], ':') < 0 && bytes.IndexByte(line[from:j], '=') < 0 {
				continue
			}
			end := j
			for end < len(line) && wordByte(line[end]) {
				end++
			}
			word := bytes.ToUpper(line[j:end])
			if l, ok := levels[string(word)]; ok {
				return mark{l, string(line[j:end]), j}
			}
			if l, ok := pino[string(word)]; ok && bytes.IndexByte(line, '{') >= 0 {
				return mark{l, string(line[j:end]), j}
			}
		}
	}
	return mark{Level: unmarked}
}

var fieldNames = [][]byte{[]byte("levelname"), []byte("level"), []byte("severity"), []byte("lvl"), []byte("loglevel"), []byte("SeverityText"), []byte("priority")}

// levels are the words of loggers: Python, log4j, absl, slog, Rust, java.util.logging, syslog, Ruby, .NET, Fluent Bit.
var levels = map[string]marked{
	"TRACE": ordinary, "DEBUG": ordinary, "INFO": ordinary, "INFORMATION": ordinary, "NOTICE": ordinary, "VERBOSE": ordinary, "FINE": ordinary, "FINER": ordinary,
	"FINEST": ordinary, "CONFIG": ordinary, "DIAG": ordinary, "SUCCESS": ordinary, "Info": ordinary, "info": ordinary, "debug": ordinary, "notice": ordinary,
	"WARN": warned, "WARNING": warned, "Warning": warned, "Warn": warned, "warn": warned, "warning": warned,
	"ERROR": erred, "ERR": erred, "SEVERE": erred, "Error": erred, "error": erred, "err": erred, "FAIL": erred, "FAILURE": erred,
	"FATAL": fatal, "CRITICAL": fatal, "CRIT": fatal, "ALERT": fatal, "EMERG": fatal, "EMERGENCY": fatal, "PANIC": fatal, "DPANIC": fatal, "FTL": fatal,
	"Fatal": fatal, "Critical": fatal, "fatal": fatal, "critical": fatal, "crit": fatal, "emerg": fatal, "alert": fatal, "WRN": warned, "INF": ordinary, "DBG": ordinary,
}

// worse are the levels of programs that have no word for what is worse: NCCL and RCCL log every error as WARN.
var worse = map[string]struct {
	before []byte
	level  marked
}{"WARN": {[]byte("CCL "), erred}}

// letters are the levels that glog, absl, PyTorch's c10 and Android write as one letter.
var letters = map[byte]marked{'I': ordinary, 'V': ordinary, 'D': ordinary, 'W': warned, 'E': erred, 'F': fatal, 'C': fatal}

// pino are the numbers of Node's loggers (pino, bunyan).
var pino = map[string]marked{"10": ordinary, "20": ordinary, "30": ordinary, "40": warned, "50": erred, "60": fatal}
