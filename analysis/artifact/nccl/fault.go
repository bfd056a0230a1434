package nccl

import "bytes"

// Peer finds the address or host in front of a "<port>" which a preposition makes the other end: "from peer 10.1.2.3<4791>",
// "remote peer node-7.ib<51159>", "Call to recv from 10.0.0.2<34567>", "connect to 10.0.0.2<40001>". For IB lines it is the peer's
// out-of-band socket address.
func Peer(text []byte) string {
	for from := 0; from < len(text); {
		i := bytes.IndexByte(text[from:], '<')
		if i < 0 {
			return ""
		}
		i += from
		from = i + 1
		if _, n := digits(text[i+1:]); n == 0 || i+1+n >= len(text) || text[i+1+n] != '>' {
			continue
		}
		start := bytes.LastIndexAny(text[:i], " \t(,") + 1
		if start == i {
			continue
		}
		switch w := text[:max(0, start-1)]; string(w[bytes.LastIndexByte(w, ' ')+1:]) {
		case "peer", "from", "to", "remote", "with":
			return clip(bytes.Trim(text[start:i], "[]"))
		}
	}
	return ""
}

// faultKinds: the first whose texts a warning holds is its kind. Wordings: the reference of formats, §4.3.
var faultKinds = []struct {
	kind  FaultKind
	texts []string
	local bool
}{
	{IBCompletion, []string{"Got completion from peer"}, false},
	{IBAsync, []string{"Got async event", "async fatal event", "non-fatal async event"}, true},
	{IBSetup, []string{"Call to ibv_modify_qp failed"}, false},
	{PeerClosed, []string{"Connection closed by remote peer", "Connection reset by peer", "Broken pipe"}, false},
	{Refused, []string{"Connection refused", "exceeded retries", "exceeded error retry count"}, false},
	{Unreachable, []string{"No route to host", "Connection timed out", "Network is unreachable", "no socket interface found"}, false},
	{Bootstrap, []string{"Bootstrap Root : mismatch", "has already checked in", "Mismatched NCCL version"}, false},
	{Truncated, []string{"message truncated", "Message truncated"}, false},
	{CUDAFailure, []string{"Cuda failure"}, true},
	{SharedMemory, []string{"/dev/shm/nccl-"}, true},
}

// readFault reads a warning.
func readFault(msg []byte) Fault {
	f := Fault{Kind: OtherWarning, Status: Unknown, Peer: Peer(msg), Text: string(bytes.ToValidUTF8(msg[:min(len(msg), maxText)], []byte("?")))}
kinds:
	for i := range faultKinds {
		for _, t := range faultKinds[i].texts {
			if bytes.Contains(msg, []byte(t)) {
				f.Kind, f.InvolvesOnlyLocalSide = faultKinds[i].kind, faultKinds[i].local
				break kinds
			}
		}
	}
	if f.Kind != IBCompletion {
		if f.Kind == IBAsync || f.Kind == IBSetup {
			f.HCA = hcaIn(msg)
		}
		return f
	}
	// "with error 12, opcode" (up to 2.19), "with status=12 opcode=", "with status=IBV_WC_RETRY_EXC_ERR(12) opcode=" (from 2.28.9).
	for _, key := range []string{"with error ", "with status="} {
		w := word(msg, key)
		if i := bytes.IndexByte(w, '('); i >= 0 {
			w = w[i+1:]
		}
		if n, k := digits(w); k > 0 {
			f.Status = n
		}
	}
	f.HCA, f.LocalGID, f.RemoteGID = clip(word(msg, " hca ")), clip(word(msg, "localGid ")), clip(word(msg, "remoteGids"))
	return f
}

// hcaIn finds the adapter of "NET/IB : mlx5_3:1 Got async event" and "on dev mlx5_3:1,".
func hcaIn(msg []byte) string {
	for _, key := range []string{"on dev ", "NET/IB : ", "NET/IB: "} {
		if w := word(msg, key); len(w) > 0 {
			if i := bytes.IndexByte(w, ':'); i > 0 {
				return clip(w[:i])
			}
		}
	}
	return ""
}
