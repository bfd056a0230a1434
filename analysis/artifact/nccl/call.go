package nccl

import (
	"bytes"

	"faultline/analysis/ascii"
)

// operations are what NCCL_COLL lines begin with, up to 2.30 (enqueue.cc, collectives.cc); the names are kept once.
var operations = func() map[string]string {
	m := map[string]string{}
	for _, op := range []string{"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Bcast", "Reduce", "AlltoAll", "AllToAll", "AllToAllv", "AlltoAllv", "Gather", "Scatter", "Send", "Recv",
		"PutSignal", "Signal", "WaitSignal"} {
		m[op] = op
	}
	return m
}()

// oneSided are operations that only some ranks of a communicator call.
var oneSided = map[string]bool{"Send": true, "Recv": true, "PutSignal": true, "Signal": true, "WaitSignal": true}

// readCall reads "AllReduce: opCount 1f sendbuff 0x… recvbuff 0x… [acc …] count N datatype 9 op 0 root 0 comm 0x… [nranks=16] stream
// 0x… [task 0 globalrank 3]". ok says that the line is one of that kind and whole: NCCL cuts lines at 1 KiB, and files end anywhere.
func readCall(msg []byte, c *Call) (comm []byte, nranks, global int, ok bool) {
	colon := bytes.IndexByte(msg, ':')
	if colon <= 0 || colon > 16 {
		return nil, 0, 0, false
	}
	op, known := operations[string(bytes.TrimRight(msg[:colon], " "))]
	rest, is := bytes.CutPrefix(msg[colon+1:], []byte(" opCount "))
	if !known || !is {
		return nil, 0, 0, false
	}
	*c = Call{Op: op}
	n := 0
	for n < len(rest) && n < 16 {
		d, hex := hexDigit(rest[n])
		if !hex {
			break
		}
		c.OpCount = c.OpCount<<4 | uint64(d)
		n++
	}
	if n == 0 {
		return nil, 0, 0, false
	}
	rest = rest[n:]
	if rest, ok = upTo(rest, " count "); !ok {
		return nil, 0, 0, false
	}
	n = 0
	for n < len(rest) && n < 20 && ascii.Digit(rest[n]) {
		c.Count = 10*c.Count + uint64(rest[n]-'0')
		n++
	}
	if rest, ok = upTo(rest[n:], " datatype "); !ok {
		return nil, 0, 0, false
	}
	v, n := digits(rest)
	c.Datatype = int32(v)
	if rest, ok = upTo(rest[n:], " root "); !ok {
		return nil, 0, 0, false
	}
	if len(rest) > 0 && rest[0] != '-' {
		v, _ = digits(rest)
		c.Root = int32(v)
	}
	if rest, ok = upTo(rest, " comm "); !ok {
		return nil, 0, 0, false
	}
	n = bytes.IndexByte(rest, ' ')
	if n <= 2 || n > 20 {
		return nil, 0, 0, false
	}
	comm = rest[:n]
	after, ok := bytes.CutPrefix(rest[n:], []byte(" [nranks="))
	if !ok {
		return nil, 0, 0, false
	}
	nranks, n = digits(after)
	if n == 0 || n >= len(after) || after[n] != ']' {
		return nil, 0, 0, false
	}
	global = Unknown
	if bytes.Contains(after, []byte(" globalrank ")) {
		global = numberAfter(after, " globalrank ")
	}
	return comm, nranks, global, true
}

// upTo cuts b behind the first key, which stands near.
func upTo(b []byte, key string) ([]byte, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil, false
	}
	return b[i+len(key):], true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case ascii.Digit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
