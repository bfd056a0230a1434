package line

import (
	"bytes"
	"slices"
)

// stamp reads a stamp without brackets, of a Python logger, a shipper, syslog or the journal.
func (c *cursor) stamp(k int) bool {
	b := c.b
	s, n := ParseStamp(b[k:min(len(b), k+48)])
	if n == 0 {
		return false
	}
	i := k + n
	next := at(b, i)
	switch {
	case i == len(b), next == ' ', next == '\t':
	case next == ':' && at(b, i+1) == ' ':
		i++
	default:
		return false
	}
	if s.Kind == MonthDay {
		return c.syslog(i, s)
	}
	s.Emitter = Container
	if s.Kind == Zoned {
		s.Emitter = Collector
	}
	if s.Kind == TimeOnly && c.inner {
		return false
	}
	if i < len(b) {
		i++
	}
	i = c.origin(i, &s)
	c.push(s)
	c.i = i
	c.written(s)
	c.determined()
	return true
}

// origin reads who wrote what follows at i, "gn01 kernel: " or a program of the job that the journal or syslog collected, "gn01 python3[4021]: ",
// and gives its end. A daemon's name stays: its line is read by it.
func (c *cursor) origin(i int, s *Stamp) int {
	b := c.b
	e := closing(b, i, 256, ' ')
	if e <= i || !hostname(b[i:e]) {
		return i
	}
	pid, end := tagged(b, e+1)
	ofJob := func() bool {
		return slices.ContainsFunc(programs, func(p string) bool { return hasAt(b, e+1, p) })
	}
	switch {
	case hasAt(b, e, " kernel: "):
		s.Emitter, end = Kernel, e+len(" kernel: ")
	case pid != Unknown && at(b, end) == ' ' && ofJob():
		s.Emitter, end = Collector, end+1
		if c.p.Who.Pid == Unknown {
			c.p.Who.Pid = pid
		}
	case end > 0 && s.Kind == MonthDay:
		s.Emitter, end = Kernel, e+1 // the journal's clock: local time of the node
	default:
		return i
	}
	if c.p.Who.Host == "" {
		c.p.Who.Host = c.names.of(b[i:e])
	}
	return end
}

// programs are how the programs of jobs begin that are named in the journal: the interpreter, and what PyTorch calls its processes.
// Source: torch/distributed/elastic and torch/multiprocessing, 2.6 (_set_thread_name).
var programs = []string{"python", "pt_main_thread", "pt_elastic", "torchrun"}

// syslog reads " host kernel: " or " host " behind "Jul 09 10:42:47".
func (c *cursor) syslog(i int, s Stamp) bool {
	if i < len(c.b) {
		i++
	}
	s.Emitter = Collector
	i = c.origin(i, &s)
	c.push(s)
	c.i = i
	c.inner = c.inner || s.Emitter == Kernel
	return true
}

// tagged reads "name[pid]:" or "name:" at i, as syslog names programs; end is 0 where neither stands there.
func tagged(b []byte, i int) (pid, end int) {
	for j := i; j < len(b) && j-i < 48; j++ {
		switch ch := b[j]; {
		case ch == '[':
			if n, e := number(b, j+1, 9); e > j+1 && hasAt(b, e, "]:") {
				return n, e + len("]:")
			}
			return Unknown, 0
		case ch == ':':
			if j > i && at(b, j+1) == ' ' {
				return Unknown, j + 1
			}
			return Unknown, 0
		case !isAlnum(ch) && ch != '-' && ch != '_' && ch != '.' && ch != '/':
			return Unknown, 0
		}
	}
	return Unknown, 0
}

// levels of Python, absl and UCX loggers, longest first where one begins another.
var levels = []struct {
	name string
	sev  byte
}{
	{"WARNING", 'W'}, {"WARN", 'W'}, {"ERROR", 'E'}, {"INFO", 'I'}, {"DEBUG", 'V'}, {"CRITICAL", 'F'}, {"FATAL", 'F'},
	{"TRACE", 'V'}, {"NOTICE", 'I'}, {"DIAG", 'V'},
}

// levelAt reads a level's name at i that ends as a word.
func levelAt(b []byte, i int) (sev byte, n int) {
	if ch := at(b, i); ch < 'C' || ch > 'W' { // as most lines begin
		return 0, 0
	}
	for _, l := range levels {
		if hasAt(b, i, l.name) && !isAlnum(at(b, i+len(l.name))) && at(b, i+len(l.name)) != '_' {
			return l.sev, len(l.name)
		}
	}
	return 0, 0
}

// level reads what begins with the name of a level: "WARNING:torch.distributed.run:" (Python's basicConfig, torchrun up
// to 2.0, and ": " behind the level under Determined), "INFO 06-03 17:48:01 [file.py:12] " (vLLM), and, behind a stamp,
// "INFO " and "ERROR: ".
func (c *cursor) level(k int) bool {
	b := c.b
	sev, n := levelAt(b, k)
	if n == 0 {
		return false
	}
	i := k + n
	switch {
	case at(b, i) == ':':
		j := c.past(i + 1)
		e := j
		for e < len(b) && e-j < 128 && (isAlnum(b[e]) || b[e] == '_' || b[e] == '.') {
			e++
		}
		if e > j && at(b, e) == ':' && (j == i+1 || bytes.IndexByte(b[j:e], '.') > 0) && at(b, e+1) != ':' {
			c.p.Source = c.names.of(b[j:e])
			c.i = c.past(e + 1)
		} else if c.logged {
			c.i = j
		} else {
			return false
		}
		c.done = true
	case hasAt(b, i, " ") && monthDay(b[i+1:min(len(b), i+24)]):
		m, _ := fixed(b, i+1, 2)
		d, _ := fixed(b, i+4, 2)
		s := Stamp{Kind: MonthDay, Emitter: Container, Month: int8(m), Day: int8(d)}
		c.i = c.past(clock(b, i+7, &s))
		c.push(s)
		c.logged = true
	case c.logged && at(b, i) == ' ':
		c.i = spaces(b, i)
	default:
		return false
	}
	c.p.Severity, c.p.Form, c.inner = sev, PyLog, true
	return true
}

// monthDay says that b begins with "06-03 17:48:01 ".
func monthDay(b []byte) bool {
	m, ok := fixed(b, 0, 2)
	d, ok2 := fixed(b, 3, 2)
	var s Stamp
	return ok && ok2 && at(b, 2) == '-' && at(b, 5) == ' ' && validDay(m, d) && clock(b, 6, &s) > 0
}

// bracketLevel reads "[WARNING] " behind a stamp or a source.
func (c *cursor) bracketLevel(k int) bool {
	i := spaces(c.b, k+1)
	sev, n := levelAt(c.b, i)
	e := spaces(c.b, i+n)
	if n == 0 || at(c.b, e) != ']' {
		return false
	}
	c.p.Severity, c.p.Form, c.inner = sev, PyLog, true
	c.i = c.past(e + 1)
	return true
}

// source reads "[comm.py:637:init_distributed] ", "[pair.cc:598] ", "[INFO|trainer.py:2409] 2025-06-03 17:48:01,123 >> ".
func (c *cursor) source(k int) bool {
	b := c.b
	if sev, n := levelAt(b, k+1); n > 0 && at(b, k+1+n) == '|' {
		e := closing(b, k, 256, ']')
		if e < 0 {
			return false
		}
		c.p.Severity, c.p.Form, c.inner, c.logged = sev, PyLog, true, true
		c.sourceOf(b[k+2+n : e])
		c.i = c.past(e + 1)
		return true
	}
	src, ln, e := fileLine(b, k+1)
	if e == 0 || !sourceName(src) {
		return false
	}
	if at(b, e) == ':' { // a function's name
		if e = closing(b, e, 128, ']'); e < 0 {
			return false
		}
	}
	if at(b, e) != ']' || (at(b, e+1) != ' ' && e+1 < len(b)) {
		return false
	}
	c.p.Source, c.p.SourceLn = c.names.of(src), ln
	if c.p.Form == NoForm {
		c.p.Form = FileLine
		if c.logged {
			c.p.Form = PyLog
		}
	}
	c.i, c.inner, c.done = c.past(e+1), true, true
	return true
}

// sourceOf splits "module:381" into source and line.
func (c *cursor) sourceOf(b []byte) {
	if i := bytes.LastIndexByte(b, ':'); i > 0 {
		if n, e := number(b, i+1, 7); e == len(b) && e > i+1 {
			c.p.Source, c.p.SourceLn = c.names.of(b[:i]), n
		}
	}
}

// tagged passes over a framework's own tag in front of a stamp, "[titan] 2025-06-03 …", "[RANK 1] 2026-05-19 …". It
// tells nothing: what "[RANK 1]" counts is that framework's business.
func (c *cursor) tagged(k int) bool {
	e := closing(c.b, k, 40, ']')
	if e < 0 || at(c.b, e+1) != ' ' || !isDigit(at(c.b, e+2)) {
		return false
	}
	if _, n := ParseStamp(c.b[e+2 : min(len(c.b), e+50)]); n < 17 {
		return false
	}
	c.i, c.inner = e+2, true
	return true
}

// layout reads what Python's loggers put between stamp and message: " - root - INFO - ", " - WARNING - __main__ - ",
// " | INFO     | module:func:12 - " (loguru), ">> " (Hugging Face), "<module> INFO: " (AReaL).
func (c *cursor) layout(k int) bool {
	b := c.b
	i := k + 1
	if b[k] == '<' {
		e := closing(b, k, 128, '>')
		if e < 0 || at(b, e+1) != ' ' {
			return false
		}
		c.p.Source = c.names.of(b[k+1 : e])
		c.i, c.inner = e+2, true
		return true
	}
	if b[k] == '>' {
		if at(b, i) != '>' {
			return false
		}
		c.i, c.inner, c.done = c.past(i+1), true, true
		return true
	}
	if at(b, i) != ' ' {
		return false
	}
	sep := b[k]
	i = spaces(b, i)
	for fields := 0; fields < 4; fields++ {
		e := i
		for e < len(b) && e-i < 128 && (isAlnum(b[e]) || b[e] == '_' || b[e] == '.' || b[e] == ':' || b[e] == '<' || b[e] == '>' || b[e] == '/') {
			e++
		}
		f := spaces(b, e)
		if e == i || f == e || (at(b, f) != sep && at(b, f) != '-') || at(b, f+1) != ' ' {
			break
		}
		if sev, n := levelAt(b, i); n > 0 && i+n == e {
			c.p.Severity, c.p.Form = sev, PyLog
		} else if _, ln, end := fileLine(b, i); end == e {
			c.p.SourceLn = ln
			c.p.Source = c.names.of(b[i:bytes.LastIndexByte(b[:e], ':')])
		} else if c.p.Source == "" {
			c.p.Source = c.names.of(b[i:e])
		}
		i = spaces(b, f+1)
		if c.p.Severity != 0 && (c.p.Source != "" || sep == '|' && at(b, f) == '-') {
			break
		}
	}
	if c.p.Form != PyLog {
		return false
	}
	c.i, c.inner, c.done = i, true, true
	return true
}

// logger reads "torch.distributed.elastic.multiprocessing.api: [WARNING] " behind a stamp (PyTorch 2.1 and 2.2).
func (c *cursor) logger(k int) bool {
	b := c.b
	e := k
	for e < len(b) && e-k < 128 && (isAlnum(b[e]) || b[e] == '_' || b[e] == '.') {
		e++
	}
	if !hasAt(b, e, ": [") {
		return false
	}
	sev, n := levelAt(b, e+3)
	if n == 0 || at(b, e+3+n) != ']' {
		return false
	}
	c.p.Severity, c.p.Form, c.p.Source = sev, PyLog, c.names.of(b[k:e])
	c.i, c.inner, c.done = c.past(e+4+n), true, true
	return true
}
