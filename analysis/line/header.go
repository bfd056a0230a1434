package line

import "bytes"

// bracket reads every prefix that begins with '['.
func (c *cursor) bracket(k int) bool {
	b := c.b
	switch {
	case hasAt(b, k, "[rank"):
		return c.rank(k)
	case hasAt(b, k, "[NeMo "):
		return c.nemo(k)
	case hasAt(b, k, podPrefix):
		return !c.inner && c.pod(k)
	}
	if c.c10(k) || c.bracketStamp(k) || (!c.inner && (c.role(k) || c.mpi(k) || c.lineNumber(k))) || c.process(k) {
		return true
	}
	if c.logged && (c.bracketLevel(k) || c.source(k)) {
		return true
	}
	return c.source(k) || c.tagged(k)
}

// podPrefix begins what kubectl logs --prefix puts in front of each line: "[pod/train-worker-3/pytorch] ".
const podPrefix = "[pod/"

// pod reads the name of a pod, which is that of the host that its processes see.
func (c *cursor) pod(k int) bool {
	e := closing(c.b, k, 160, ']')
	if e < 0 || at(c.b, e+1) != ' ' {
		return false
	}
	name, _, ok := bytes.Cut(c.b[k+len(podPrefix):e], []byte("/"))
	if !ok {
		return false
	}
	if c.p.Who.Host == "" {
		c.p.Who.Host = c.names.of(name)
	}
	c.i = c.past(e + 1)
	return true
}

// stern reads what stern puts in front of lines that begin with a time: "train-worker-3 pytorch 2026-05-04T09:58:21Z ".
func (c *cursor) stern(k int) bool {
	b := c.b
	pod := closing(b, k, maxService, ' ')
	if pod < 0 || bytes.IndexByte(b[k:pod], '-') < 0 {
		return false
	}
	for _, ch := range b[k:pod] {
		if !isAlnum(ch) && ch != '-' && ch != '.' {
			return false
		}
	}
	container := closing(b, pod+1, maxService, ' ')
	if container <= pod+1 || !isDigit(at(b, container+1)) {
		return false
	}
	if s, n := ParseStamp(b[container+1 : min(len(b), container+49)]); n == 0 || s.Kind != Zoned {
		return false
	}
	if c.p.Who.Host == "" {
		c.p.Who.Host = c.names.of(b[k:pod])
	}
	c.i = container + 1
	return true
}

// rank reads PyTorch's "[rank99]:", the global rank. Python's excepthook puts one blank behind it, the C++ logger none.
// "[rank: 3]", "[Rank 3]" and "[RANK 3]" are other things and no prefix.
func (c *cursor) rank(k int) bool {
	n, e := number(c.b, k+5, 7)
	if e == k+5 || at(c.b, e) != ']' || at(c.b, e+1) != ':' {
		return false
	}
	if _, label := rankLabel(c.b[e+2:]); label > 0 && !c.inner {
		// "[rank2]:[rank6]: ": torchrun labels lines by a role that is called "rank" (torchtitan's is), and by the local rank.
		if c.p.Who.Local == Unknown {
			c.p.Who.Local, c.p.Who.Role = n, RankRole
		}
		c.i = e + 2
		return true
	}
	if c.p.Who.Global == Unknown {
		c.p.Who.Global = n
	}
	c.i, c.inner = c.past(e+2), true
	return true
}

// RankRole is the role of torchrun whose labels look like PyTorch's own, and hold the local rank. It is told only where both stand in
// front of a line: what bears one label has it from torchrun as well.
const RankRole = "rank"

// role reads torchrun's "[default3]:" (role and local rank). The colon must follow, and something in front of the
// number, or it is an item of a failure block ("[3]:").
func (c *cursor) role(k int) bool {
	e := closing(c.b, k, 64, ']')
	if e < 0 || at(c.b, e+1) != ':' {
		return false
	}
	d := e
	for d > k+1 && isDigit(c.b[d-1]) {
		d--
	}
	if d == e || d == k+1 || e-d > 5 {
		return false
	}
	for _, ch := range c.b[k+1 : d] {
		if !isAlnum(ch) && ch != '_' && ch != '-' {
			return false
		}
	}
	if !isLetter(c.b[k+1]) {
		return false
	}
	if c.p.Who.Local == Unknown {
		c.p.Who.Local, _ = number(c.b, d, 5)
		c.p.Who.Role = c.names.of(c.b[k+1 : d])
	}
	c.i = c.past(e + 2)
	return true
}

// mpi reads mpirun --tag-output: "[1,3]<stderr>:" (job, rank), with a daemon's name and '@' in front in Open MPI 5, and
// SageMaker's "[1,mpirank:3,algo-1]<stderr>:", which names the host as well. Horovod's own launcher writes "[3]<stderr>:".
func (c *cursor) mpi(k int) bool {
	e := closing(c.b, k, 96, ']')
	if e < 0 || !(hasAt(c.b, e, "]<stderr>:") || hasAt(c.b, e, "]<stdout>:")) {
		return false
	}
	in := c.b[k+1 : e]
	if a := bytes.LastIndexByte(in, '@'); a >= 0 {
		in = in[a+1:]
	}
	_, j := number(in, 0, 9)
	switch {
	case j > 0 && at(in, j) == ',':
		j++
	case j > 0 && j == e-k-1: // Horovod counts no jobs
		j = 0
	default:
		return false
	}
	if hasAt(in, j, "mpirank:") {
		j += len("mpirank:")
	}
	r, f := number(in, j, 7)
	switch {
	case f == j:
		return false
	case f == len(in):
	case in[f] == ',' && hostname(in[f+1:]):
		if c.p.Who.Host == "" {
			c.p.Who.Host = c.names.of(in[f+1:])
		}
	default:
		return false
	}
	if c.p.Who.MPIRank == Unknown {
		c.p.Who.MPIRank = r
	}
	c.i = c.past(e + len("]<stderr>:"))
	return true
}

// lineNumber reads a collector's line number "[80746] ". Short numbers also stand in front of messages ("[3] is setting
// up …"), so those count only in front of another prefix.
func (c *cursor) lineNumber(k int) bool {
	if k != 0 {
		return false
	}
	_, e := number(c.b, k+1, 12)
	if e == k+1 || at(c.b, e) != ']' || at(c.b, e+1) != ' ' || e+2 >= len(c.b) {
		return false
	}
	if e-k-1 < 4 {
		rest := cursor{b: c.b[:min(len(c.b), e+600)], i: e + 2, p: &Prefix{Who: NoOne}}
		if !rest.peel() {
			return false
		}
	}
	c.i = e + 2
	return true
}

// process reads UCX's "[host:pid:tid] ", and Open MPI's "[host:pid] ***".
func (c *cursor) process(k int) bool {
	b := c.b
	e := closing(b, k, 160, ']')
	if e < 0 || (at(b, e+1) != ' ' && at(b, e+1) != ':') {
		return false
	}
	in := b[k+1 : e]
	z := bytes.LastIndexByte(in, ':')
	if z <= 0 || !digits(in[z+1:]) {
		return false
	}
	y := bytes.LastIndexByte(in[:z], ':')
	host, pid := in[:z], in[z+1:]
	if y > 0 && digits(in[y+1:z]) {
		host, pid = in[:y], in[y+1:z]
	} else if !hasAt(b, e, "] *** ") {
		return false
	}
	if !hostname(host) || sourceName(host) {
		return false
	}
	n, end := number(pid, 0, 9)
	if end == 0 {
		return false
	}
	w := &c.p.Who
	if w.Pid == Unknown || w.RayName == "" {
		w.Host, w.Pid = c.names.of(host), n
	}
	c.i, c.inner = c.past(e+1), true
	return true
}

// bracketStamp reads a stamp in brackets: Python loggers, Megatron, NCCL ≥ 2.26, Determined, dmesg, UCX.
func (c *cursor) bracketStamp(k int) bool {
	b := c.b
	i := spaces(b, k+1)
	if n := c.seconds(i); n {
		return true
	}
	s, n := ParseStamp(b[i:min(len(b), i+48)])
	if n == 0 || at(b, i+n) != ']' {
		return false
	}
	switch {
	case s.Kind == TimeOnly && c.inner:
		return false
	case isLetter(b[i]): // only dmesg -T writes asctime in brackets
		s.Emitter = Kernel
	case s.Kind == Zoned:
		s.Emitter = Collector
	default:
		s.Emitter = Container
	}
	c.push(s)
	c.i = c.past(i + n + 1)
	c.written(s)
	c.determined()
	return true
}

// written notes what may follow a stamp: a logger's other parts, unless the kernel wrote the line. Its messages look
// like labels ("nvidia-nvswitch5: open", "INFO: task python:42 blocked").
func (c *cursor) written(s Stamp) {
	if s.Emitter == Kernel {
		c.inner = true
		return
	}
	c.logged = true
}

// determined passes over the allocation's short id, and reads the rank behind it, which multi-process trials have:
// "[2024-02-27T21:35:32.106313Z] fa88a9df || ", "[2024-02-27T21:35:32.106313Z] fa88a9df [rank=3] || ".
func (c *cursor) determined() {
	b, i := c.b, c.i
	if i+8 > len(b) {
		return
	}
	rank, end := Unknown, i+8
	if hasAt(b, end, " [rank=") {
		n, e := number(b, end+len(" [rank="), 7)
		if e == end+len(" [rank=") || at(b, e) != ']' {
			return
		}
		rank, end = n, e+1
	}
	if !hasAt(b, end, " || ") {
		return
	}
	for _, ch := range b[i : i+8] {
		if !isDigit(ch) && (ch < 'a' || ch > 'f') {
			return
		}
	}
	if rank != Unknown && c.p.Who.Global == Unknown {
		c.p.Who.Global, c.inner = rank, true
	}
	c.i, c.logged = end+4, false
}

// seconds reads "[12345.678901] " (kernel, since boot), "[  +0.000316] " (dmesg -d) and "[1579244743.735971] " (UCX, Unix).
func (c *cursor) seconds(i int) bool {
	b := c.b
	if at(b, i) == '+' {
		if _, e := number(b, i+1, 9); e > i+1 && at(b, e) == '.' {
			if _, f := fraction(b, e+1); at(b, f) == ']' && f > e+1 {
				c.inner = true
				c.i = c.past(f + 1)
				return true
			}
		}
		return false
	}
	v, e := number(b, i, 11)
	if e == i || at(b, e) != '.' || !isDigit(at(b, e+1)) {
		return false
	}
	nanos, f := fraction(b, e+1)
	if f-e-1 != 6 && f-e-1 != 3 && f-e-1 != 9 || at(b, f) != ']' {
		return false
	}
	s := Stamp{Kind: Uptime, Emitter: Kernel, Unix: int64(v), Nanos: nanos}
	if v >= 1_000_000_000 { // 31 years of uptime, or September 2001
		s.Kind, s.Emitter = Epoch, Container
	}
	c.push(s)
	if s.Emitter == Kernel {
		c.inner = true
	}
	c.i = c.past(f + 1)
	return true
}

// nemo reads "[NeMo W 2025-06-03 17:48:01 nemo_logging:381] ", with "rank:N" behind the stamp in some versions.
func (c *cursor) nemo(k int) bool {
	b := c.b
	i := k + len("[NeMo ")
	if !severity(at(b, i)) || at(b, i+1) != ' ' {
		return false
	}
	s, n := ParseStamp(b[i+2 : min(len(b), i+50)])
	if n == 0 {
		return false
	}
	e := closing(b, i+2+n, 160, ']')
	if e < 0 {
		return false
	}
	s.Emitter = Container
	c.push(s)
	c.p.Severity, c.p.Form = b[i], PyLog
	c.sourceOf(bytes.TrimSpace(b[i+2+n : e]))
	c.i, c.done = c.past(e+1), true
	return true
}

// c10 reads PyTorch's C++ header: "[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] " (≥ 2.4) or
// "[E ProcessGroupNCCL.cpp:821] ". The day are the last two digits of the number, the month the others. The fraction
// is CLOCK_MONOTONIC's and has nothing to do with the second in front of it, so it is not kept.
func (c *cursor) c10(k int) bool {
	s, src, ln, e := native(c.b, k)
	if e == 0 {
		return false
	}
	if s.Kind != NoStamp {
		c.push(s)
	}
	c.p.Severity, c.p.Form, c.p.Source, c.p.SourceLn = c.b[k+1], C10, c.names.of(src), ln
	c.i, c.inner, c.done = c.past(e), true, true
	return true
}

// native reads the header whose '[' stands at k; end is 0 if there is none.
func native(b []byte, k int) (s Stamp, src []byte, ln, end int) {
	if !severity(at(b, k+1)) {
		return Stamp{}, nil, 0, 0
	}
	i := k + 2
	if isDigit(at(b, i)) {
		v, e := number(b, i, 4)
		if e-i < 3 || at(b, e) != ' ' || !validDay(v/100, v%100) {
			return Stamp{}, nil, 0, 0
		}
		s = Stamp{Kind: MonthDay, Emitter: Container, Month: int8(v / 100), Day: int8(v % 100)}
		if i = clock(b, e+1, &s); i == 0 {
			return Stamp{}, nil, 0, 0
		}
		s.Nanos = 0
	}
	if at(b, i) != ' ' {
		return Stamp{}, nil, 0, 0
	}
	src, ln, e := fileLine(b, spaces(b, i))
	if e == 0 || at(b, e) != ']' {
		return Stamp{}, nil, 0, 0
	}
	return s, src, ln, e + 1
}

// glog reads "E0603 17:48:01.005271 12345 file.cpp:632] ": glog builds, absl, and torchrun's agent from 2.3 on
// ("W0801 13:23:17.366000 32974 torch/distributed/elastic/multiprocessing/api.py:900] "). Here the fraction is true. From 0.5 on glog
// prints the year as well, as in Debian's PyTorch 1.13: "I20261122 17:40:36.950467     7 logger.cpp:213] ".
func (c *cursor) glog(k int) bool {
	b := c.b
	if !severity(b[k]) {
		return false
	}
	s := Stamp{Kind: MonthDay, Emitter: Container}
	day := k + 1
	if y, ok := fixed(b, day, 8); ok && y/10000 >= 1970 && y/10000 < 2100 {
		s.Kind, s.Year = DateTime, int16(y/10000)
		day += 4
	}
	md, ok := fixed(b, day, 4)
	if !ok || at(b, day+4) != ' ' || !validDay(md/100, md%100) {
		return false
	}
	s.Month, s.Day = int8(md/100), int8(md%100)
	i := clock(b, day+5, &s)
	if i == 0 || at(b, i) != ' ' {
		return false
	}
	i = spaces(b, i)
	pid := Unknown
	if v, e := number(b, i, 18); e > i && at(b, e) == ' ' {
		if e-i <= 9 {
			pid = v
		}
		i = spaces(b, e)
	}
	src, ln, e := fileLine(b, i)
	if e == 0 || at(b, e) != ']' {
		return false
	}
	c.push(s)
	if c.p.Who.Pid == Unknown {
		c.p.Who.Pid = pid
	}
	c.p.Severity, c.p.Form, c.p.Source, c.p.SourceLn = b[k], Glog, c.names.of(src), ln
	c.i, c.inner, c.done = c.past(e+1), true, true
	return true
}

// nccl reads "host:pid:tid [dev] NCCL INFO " and "host:pid:tid [dev] file.cc:line (function) NCCL WARN " (the function
// from 2.30 on).
func (c *cursor) nccl(k int) bool {
	b := c.b
	e := closing(b, k, 300, ' ')
	if e < 0 || at(b, e+1) != '[' {
		return false
	}
	dev, j := number(b, e+2, 4)
	if j == e+2 || at(b, j) != ']' || at(b, j+1) != ' ' {
		return false
	}
	host, pid, ok := hostPidTid(b[k:e])
	if !ok {
		return false
	}
	i := j + 2
	src, ln, se := fileLine(b, i)
	if se > 0 {
		i = se
		if at(b, i) == ' ' && at(b, i+1) == '(' {
			if f := closing(b, i, 128, ')'); f > 0 {
				i = f + 1
			}
		}
		if at(b, i) != ' ' {
			return false
		}
		i++
	}
	if !hasAt(b, i, "NCCL ") {
		return false
	}
	i += 5
	w := closing(b, i, 12, ' ')
	if w < 0 {
		w = min(len(b), i+12)
	}
	switch string(b[i:w]) {
	case "WARN":
		c.p.Severity, c.p.Form = 'W', NCCLWarn
	case "INFO", "TRACE", "CALL", "VERSION", "ABORT", "PROFILE":
		c.p.Severity, c.p.Form = 'I', NCCLInfo
	default:
		return false
	}
	if se > 0 {
		c.p.Source, c.p.SourceLn = c.names.of(src), ln
	}
	who := &c.p.Who
	who.Host, who.CudaDev = c.names.of(host), dev
	if who.RayName == "" || who.Pid == Unknown {
		who.Pid = pid
	}
	c.i, c.inner, c.done = c.past(w), true, true
	return true
}

// ucx reads "ucp_worker.c:1720 UCX  WARN  ", behind UCX's epoch and process.
func (c *cursor) ucx(k int) bool {
	b := c.b
	src, ln, e := fileLine(b, k)
	if e == 0 || at(b, e) != ' ' {
		return false
	}
	i := spaces(b, e)
	if !hasAt(b, i, "UCX ") {
		return false
	}
	i = spaces(b, i+4)
	sev, l := levelAt(b, i)
	if l == 0 {
		return false
	}
	c.p.Severity, c.p.Form, c.p.Source, c.p.SourceLn = sev, UCX, c.names.of(src), ln
	c.i, c.inner, c.done = spaces(b, i+l), true, true
	return true
}

func severity(ch byte) bool { return ch == 'E' || ch == 'W' || ch == 'I' || ch == 'F' || ch == 'V' }

func digits(b []byte) bool {
	for _, ch := range b {
		if !isDigit(ch) {
			return false
		}
	}
	return len(b) > 0
}

// hostname accepts what may stand as a host's name or address.
func hostname(b []byte) bool {
	if len(b) == 0 || len(b) > 255 || !isAlnum(b[0]) {
		return false
	}
	for _, ch := range b {
		if !isAlnum(ch) && ch != '-' && ch != '.' && ch != '_' {
			return false
		}
	}
	return true
}

func hostPidTid(b []byte) (host []byte, pid int, ok bool) {
	t := bytes.LastIndexByte(b, ':')
	if t < 0 || !digits(b[t+1:]) {
		return nil, 0, false
	}
	p := bytes.LastIndexByte(b[:t], ':')
	if p < 0 || !digits(b[p+1:t]) {
		return nil, 0, false
	}
	pid, end := number(b, p+1, 9)
	return b[:p], pid, end == t && hostname(b[:p])
}

// fileLine reads "path/file.ext:123" at i; the end is 0 if there is none.
func fileLine(b []byte, i int) (file []byte, ln, end int) {
	j := i
	dot := false
	for j < len(b) && j-i < 256 {
		if ch := b[j]; !inName[ch] {
			if ch != '.' {
				break
			}
			dot = true
		}
		j++
	}
	if j == i || !dot || at(b, j) != ':' {
		return nil, 0, 0
	}
	ln, end = number(b, j+1, 7)
	if end == j+1 {
		return nil, 0, 0
	}
	return b[i:j], ln, end
}

// sourceName says that name ends like a source file, so that "[p2p.cc:783]" is not taken for a process on a host.
func sourceName(name []byte) bool {
	d := bytes.LastIndexByte(name, '.')
	if d < 0 {
		return false
	}
	switch string(name[d+1:]) {
	case "py", "c", "h", "cc", "cpp", "hpp", "cu", "cuh", "go", "rs", "java", "inl":
		return true
	}
	return false
}
