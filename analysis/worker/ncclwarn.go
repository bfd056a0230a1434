package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
)

// What NCCL itself prints: warnings with the peer they name, and the lines that tie a communicator's rank to a GPU.
// Wordings: NCCL 2.18 … 2.30 (init.cc, misc/socket.cc, transport/net_ib.cc).

func ncclWarnHandlers() []handler {
	return []handler{
		{"NCCL warning", []string{"NCCL WARN"}, readNCCLWarn},
		{"communicator", []string{"Init START", "Init COMPLETE", "Abort COMPLETE", "Destroy COMPLETE"}, readCommInit},
	}
}

// readNCCLWarn reads "host:pid:tid [dev] file.cc:line [(function)] NCCL WARN text".
func readNCCLWarn(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("NCCL WARN"))
	if i < 0 {
		return false
	}
	if rec.excess {
		return true
	}
	text := bytes.TrimSpace(rec.Text[i+len("NCCL WARN"):])
	w := NCCLWarn{At: rec.At, Text: clip(text), Peer: peer(text), Source: ncclSource(rec.Text[:i])}
	w.Signs = slices.Clone(r.signs(rec))
	emit(r, &r.obs.NCCLWarns, w)
	return true
}

// ncclSource finds the "transport/net_ib.cc" in "… [0] transport/net_ib.cc:488 (function) ".
func ncclSource(before []byte) string {
	for _, ext := range []string{".cc:", ".h:", ".cu:", ".cpp:"} {
		i := bytes.LastIndex(before, []byte(ext))
		if i < 0 {
			continue
		}
		start := bytes.LastIndexAny(before[:i], " \t]") + 1
		return clip(before[start : i+len(ext)-1])
	}
	return ""
}

// peer finds the address or host in front of a "<port>" which a preposition makes the other end: "from peer
// 10.1.2.3<4791>", "remote peer node-7.ib<51159>", "Call to recv from 10.0.0.2<34567>", "connect to 10.0.0.2<40001>".
// For IB lines it is the peer's out-of-band socket address.
func peer(text []byte) string {
	for from := 0; from < len(text); {
		i := bytes.IndexByte(text[from:], '<')
		if i < 0 {
			return ""
		}
		i += from
		from = i + 1
		if _, n := intAt(text[i+1:]); n == 0 || i+1+n >= len(text) || text[i+1+n] != '>' {
			continue
		}
		start := bytes.LastIndexAny(text[:i], " \t(,") + 1
		if start == i {
			continue
		}
		switch word := text[:max(0, start-1)]; string(word[bytes.LastIndexByte(word, ' ')+1:]) {
		case "peer", "from", "to", "remote", "with":
			return clip(bytes.Trim(text[start:i], "[]"))
		}
	}
	return ""
}

// commPhases: what ends the line.
var commPhases = []struct{ literal, phase string }{
	{"Init START", "START"},
	{"Init COMPLETE", "COMPLETE"},
	{"Abort COMPLETE", "Abort COMPLETE"},
	{"Destroy COMPLETE", "Destroy COMPLETE"},
}

// readCommInit reads "[ncclCommInitRank] comm 0x… rank 3 nranks 16 cudaDev 3 [nvmlDev 3] busId 5d000 [commId 0x…] -
// Init COMPLETE". The rank is the rank inside the communicator.
func readCommInit(r *reader, rec *record) bool {
	b := rec.Text
	c := CommInit{At: rec.At}
	end := -1
	for _, p := range commPhases {
		if end = bytes.Index(b, []byte(p.literal)); end >= 0 {
			c.Phase = p.phase
			break
		}
	}
	i := bytes.Index(b, []byte("comm 0x"))
	if end < 0 || i < 0 || i > end {
		return false
	}
	b = b[i:end]
	c.Comm = wordAfter(b, "comm ")
	c.CommID = wordAfter(b, "commId ")
	c.BusID = wordAfter(b, "busId ")
	c.Rank = int(orUnknown(intAfter(b, " rank ")))
	c.NRanks = int(orUnknown(intAfter(b, " nranks ")))
	c.CudaDev = int(orUnknown(intAfter(b, " cudaDev ")))
	if c.Rank == line.Unknown {
		return false
	}
	emit(r, &r.obs.CommInits, c)
	return true
}
