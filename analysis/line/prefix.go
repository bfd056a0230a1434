package line

import "bytes"

// maxPeels bounds the stack of prefixes; the longest seen in the wild (shipper, srun, Ray, torchrun, PyTorch) has six.
const maxPeels = 16

// Parse peels the prefixes off the left of one segment, outermost first, until what is left is a message. Escape
// sequences between them are passed over. Strings in the result are copies.
//
// A host in the form "name: " (pdsh, DeepSpeed's launcher) looks like any "key: value"; Parse takes only names that
// hold a digit and are no known key, so it is a candidate which resolve must see used consistently.
func Parse(seg []byte) Prefix { return (*Names)(nil).Parse(seg) }

// Names parses prefixes like Parse and remembers the names it met, so that the millionth line of a host does not cost
// another copy of its name. The zero value is ready; it is not for use by several goroutines.
type Names struct {
	slots [256]string
}

// of is string(b).
func (n *Names) of(b []byte) string {
	if n == nil || len(b) == 0 {
		return string(b)
	}
	slot := &n.slots[(uint(len(b))*31+uint(b[0])*7+uint(b[len(b)-1])+uint(b[len(b)/2])*17)%uint(len(n.slots))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// Parse is the function Parse.
func (n *Names) Parse(seg []byte) Prefix {
	var p Prefix
	n.ParseInto(&p, seg)
	return p
}

// nothing is the prefix of a line that states nothing.
var nothing = Prefix{Who: NoOne, SourceLn: Unknown}

// ParseInto is Parse with the result in p, whatever that held: a prefix is large, and there are many lines.
func (n *Names) ParseInto(p *Prefix, seg []byte) {
	*p = nothing
	c := cursor{b: seg, p: p, names: n}
	for k := 0; k < maxPeels && c.i < len(seg) && !c.done; k++ {
		if !c.peel() {
			break
		}
	}
	p.Len = c.i
}

// Labelled adds to w what labels of launchers in front of the physical line say (task, host, torchrun's local rank,
// Ray, MPI) where w states nothing of the kind. Launchers label whole physical lines, so the label holds for a segment
// after \r and for a record glued behind another. Rank, pid and device are of the writer and are never passed on.
func (w Who) Labelled(outer Who) Who {
	if w.Task == Unknown {
		w.Task = outer.Task
	}
	if w.Host == "" && outer.Pid == Unknown {
		w.Host = outer.Host
	}
	if w.Local == Unknown {
		w.Local, w.Role = outer.Local, outer.Role
	}
	if w.RayName == "" && w.RayRank == Unknown && outer.RayName != "" {
		w.RayName, w.RayRank, w.RayIP = outer.RayName, outer.RayRank, outer.RayIP
		if w.Pid == Unknown {
			w.Pid = outer.Pid
		}
		if w.Host == "" {
			w.Host = outer.Host
		}
	}
	if w.MPIRank == Unknown {
		w.MPIRank = outer.MPIRank
	}
	return w
}

// CollectedBy adds to w what the columns of a collector say of the writer.
func (w Who) CollectedBy(by *Who) Who {
	if by == nil {
		return w
	}
	outer := *by
	outer.Pid = Unknown // else the host would be that of a process of the container's
	own := w
	w = w.Labelled(outer)
	if w.Pid == Unknown && own.Host == "" {
		w.Pid = by.Pid
	}
	return w
}

type cursor struct {
	b []byte
	i int
	p *Prefix
	// inner: a prefix of the writing process itself was seen, so labels of launchers can no longer follow.
	inner bool
	// done: a complete record header was seen; what follows is the message whatever it looks like.
	done bool
	// logged: a stamp, level or source of a Python logger was just seen, so that its other parts may follow.
	logged bool
	names  *Names
}

// peel takes one prefix at c.i and reports whether there was one.
func (c *cursor) peel() bool {
	if c.b[c.i] == esc {
		n := escLen(c.b[c.i:])
		c.i += n
		return true
	}
	k := spaces(c.b, c.i)
	if k-c.i > maxIndent || k == len(c.b) {
		return false
	}
	if c.b[k] == esc && k > c.i {
		return false
	}
	ch := c.b[k]
	switch {
	case ch == '[':
		return c.bracket(k)
	case ch == '(':
		return !c.inner && c.ray(k)
	case c.logged && (ch == '-' || ch == '|' || ch == '<' || ch == '>'):
		return c.layout(k)
	case isDigit(ch):
		return c.stamp(k) || (!c.inner && c.task(k)) || c.nccl(k) || (!c.inner && c.host(k))
	case isLetter(ch):
		return c.glog(k) || c.level(k) || (c.logged && c.logger(k)) || c.stamp(k) ||
			c.nameLike(k) && (c.nccl(k) || c.ucx(k) || (!c.inner && (c.stream(k) || c.host(k)))) || !c.inner && (c.service(k) || c.stern(k))
	}
	return false
}

// nameLike says that the first word may be a name that stands in front of a message: it ends with a colon or a number, or a
// bracket follows. Most words are none.
func (c *cursor) nameLike(k int) bool {
	e := closing(c.b, k, 300, ' ')
	return e > k && (c.b[e-1] == ':' || isDigit(c.b[e-1]) || at(c.b, e+1) == '[')
}

// maxIndent is how many blanks may stand in front of a prefix: srun pads its label to the width of the largest task.
const maxIndent = 12

// push makes s the innermost stamp. One that was there becomes the collector's.
func (c *cursor) push(s Stamp) {
	if c.p.Stamp.Kind == NoStamp {
		c.p.Stamp = s
		return
	}
	if s.Kind == Uptime { // a wall clock is already known, from the same line
		return
	}
	if c.p.Outer.Kind == NoStamp {
		c.p.Outer = c.p.Stamp
		if c.p.Outer.Emitter == Container {
			c.p.Outer.Emitter = Collector
		}
	}
	c.p.Stamp = s
}

// past skips one blank at i.
func (c *cursor) past(i int) int {
	if at(c.b, i) == ' ' {
		return i + 1
	}
	return i
}

// task reads srun --label: "12: ", padded on the left.
func (c *cursor) task(k int) bool {
	n, e := number(c.b, k, 6)
	if e == k || at(c.b, e) != ':' || (e+1 < len(c.b) && c.b[e+1] != ' ') {
		return false
	}
	if c.p.Who.Task == Unknown {
		c.p.Who.Task = n
	}
	c.i = c.past(e + 1)
	return true
}

// ray reads "(WorkerDict pid=3490362) ", "(MegatronPolicyWorker[rank=9] pid=3098846, ip=10.65.5.217) ",
// "(VllmWorker rank=3 pid=4242) ", "(pid=4242) ".
func (c *cursor) ray(k int) bool {
	e := closing(c.b, k, 160, ')')
	if e < 0 {
		return false
	}
	in := c.b[k+1 : e]
	p := bytes.Index(in, []byte("pid="))
	if p < 0 || (p > 0 && in[p-1] != ' ') {
		return false
	}
	pid, pe := number(in, p+4, 9)
	if pe == p+4 {
		return false
	}
	if pe < len(in) && in[pe] != ',' {
		return false
	}
	w := &c.p.Who
	name := bytes.TrimRight(in[:p], " ")
	rank := Unknown
	if q := bytes.Index(name, []byte("rank=")); q > 0 && (name[q-1] == '[' || name[q-1] == ' ') {
		if n, qe := number(name, q+5, 7); qe > q+5 {
			rank = n
			name = bytes.TrimRight(name[:q-1], " ")
		}
	}
	if w.RayName == "" && w.Pid == Unknown {
		w.Pid, w.RayName, w.RayRank = pid, c.names.of(name), rank
		if q := bytes.Index(in[pe:], []byte("ip=")); q >= 0 {
			w.RayIP = c.names.of(bytes.TrimRight(in[pe+q+3:], " "))
		}
	}
	c.i = c.past(e + 1)
	return true
}

// stream reads what wrappers put in front of a child's output: accelerate's "stderr: ", milabench's
// "bench.node [stderr] ".
func (c *cursor) stream(k int) bool {
	if hasAt(c.b, k, "stderr: ") || hasAt(c.b, k, "stdout: ") {
		c.i = k + 8
		return true
	}
	e := closing(c.b, k, 96, ' ')
	if e < 0 || !(hasAt(c.b, e, " [stderr] ") || hasAt(c.b, e, " [stdout] ")) {
		return false
	}
	c.i = e + 10
	return true
}

// service reads what composers of containers and process managers put in front of each line, padded to one width:
// "trainer-1  | ", "web.1   | ". A word of letters alone may head the column of a table.
func (c *cursor) service(k int) bool {
	b := c.b
	e := k
	compound := false
	for e < len(b) && e-k < maxService && (isAlnum(b[e]) || b[e] == '-' || b[e] == '.' || b[e] == '_') {
		compound = compound || !isLetter(b[e])
		e++
	}
	bar := spaces(b, e)
	if !compound || bar == e || bar-e > maxIndent || at(b, bar) != '|' || at(b, bar+1) != ' ' || !isAlnum(b[e-1]) || key(b[k:e]) {
		return false
	}
	if value(b[bar+2 : min(len(b), bar+66)]) {
		return false // a row of a table
	}
	if c.p.Who.Host == "" {
		c.p.Who.Host = c.names.of(b[k:e]) // its containers are places of their own
	}
	c.i = bar + 2
	return true
}

// maxService is how long the name of a container may be.
const maxService = 64

// host reads "node1: ", "10.10.23.10: ".
func (c *cursor) host(k int) bool {
	b := c.b
	e := k
	digit, letter := false, false
	for e < len(b) && e-k < 128 {
		ch := b[e]
		switch {
		case isDigit(ch):
			digit = true
		case isLetter(ch):
			letter = true
		case ch != '.' && ch != '-':
			goto end
		}
		e++
	}
end:
	if at(b, e) != ':' || at(b, e+1) != ' ' || e == k || !isAlnum(b[e-1]) {
		return false
	}
	name := b[k:e]
	switch {
	case !letter:
		if !ipv4(name) {
			return false
		}
	case !digit && string(name) != "localhost":
		return false
	case isDigit(name[0]):
		return false
	case key(name), errorCode(name):
		return false
	}
	if value(b[e+2 : min(len(b), e+66)]) {
		return false
	}
	if c.p.Who.Host == "" {
		c.p.Who.Host = c.names.of(name)
	}
	c.i = e + 2
	return true
}

// keys are names with digits that training logs print as "key: value"; compared without trailing digits.
var keys = map[string]bool{
	"fp": true, "bf": true, "tf": true, "int": true, "uint": true, "float": true, "sha": true, "md": true, "utf-": true,
	"step": true, "epoch": true, "iter": true, "iteration": true, "layer": true, "cuda": true, "gpu": true, "rank": true,
	"lr": true, "loss": true, "acc": true, "top": true, "top-": true, "expert": true, "group": true, "block": true,
	"stage": true, "zero": true, "test": true, "train": true, "val": true, "eval": true, "phase": true, "part": true,
	"shard": true, "chunk": true, "batch": true, "param": true, "arg": true, "torch": true, "python": true, "beta": true,
	"adam": true, "worker": true, "task": true, "thread": true, "process": true, "device": true, "proc": true, "v": true,
	"l": true, "f": true, "k": true, "map": true, "ndcg": true, "bleu-": true, "rouge-": true, "rouge": true, "ipv": true,
	"mlx": true, "eth": true, "bond": true, "nvme": true, // devices and their drivers
}

// key says that name is rather a key than a host.
func key(name []byte) bool {
	n := len(name)
	for n > 0 && isDigit(name[n-1]) {
		n--
	}
	var low [24]byte
	if n > len(low) {
		return false
	}
	for i, ch := range name[:n] {
		if ch >= 'A' && ch <= 'Z' {
			ch |= 0x20
		}
		low[i] = ch
	}
	return keys[string(low[:n])]
}

// errorCode says that name is the code of a message ("EI0002", "ERR02200", "E19999"): capitals, and then four digits or more.
// Hosts are written small.
func errorCode(name []byte) bool {
	n := 0
	for n < len(name) && name[n] >= 'A' && name[n] <= 'Z' {
		n++
	}
	return n > 0 && n <= 4 && (name[0] == 'E' || name[0] == 'W') && len(name)-n >= 4 && digits(name[n:])
}

// value says that rest is nothing but a number, a truth value or None: then "name: " was a key.
func value(rest []byte) bool {
	rest = bytes.TrimRight(bytes.TrimSpace(rest), ",;")
	switch string(rest) {
	case "True", "False", "None", "true", "false", "null", "nan", "inf":
		return true
	}
	if len(rest) == 0 || len(rest) > 24 {
		return false
	}
	for i, ch := range rest {
		if !isDigit(ch) && ch != '.' && ch != '%' && ch != '-' && ch != '+' && !(i > 0 && (ch == 'e' || ch == 'E')) {
			return false
		}
	}
	return true
}

func ipv4(b []byte) bool {
	i := 0
	for n := 0; n < 4; n++ {
		v, e := number(b, i, 3)
		if e == i || v > 255 {
			return false
		}
		if i = e; n < 3 {
			if at(b, i) != '.' {
				return false
			}
			i++
		}
	}
	return i == len(b)
}
