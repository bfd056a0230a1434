package worker

import (
	"bytes"
	"strconv"

	"faultline/analysis/line"
	"faultline/pattern"
)

// Keys of facts: the host and the rank that a file's own first lines give as theirs. A script may print the host of the node that it runs on
// before it starts processes on others, and the rank may be one within a node: they are hints, which resolve confirms.
const (
	HostSaid = "host_said"
	RankSaid = "rank_said"
)

const (
	saidLines = 64  // at the top of a file may say where it was written
	maxSaid   = 400 // bytes of such a line
)

// saysHost finds the host in what scripts print of their place, and in the prompts of shells: "node gx3 ranks 16-23",
// "Hostname: n12", "[me@n12 run]$ nvidia-smi", "me@n12:~$ sinfo". A host's name begins with a letter and holds a number.
var saysHost = []*pattern.Regexp{
	pattern.New(`(?i)(?:^|[\s(,;|])(?:node|host|hostname|node_?name|running on)['"]?(?:\s?[:=]\s?['"]?|\s)([a-z][a-z-]*[0-9][\w-]*(?:\.[a-z][\w-]*)*)(?:$|[\s'"),;:|])`),
	pattern.New(`^\[?[\w.-]+@([A-Za-z][A-Za-z-]*[0-9][\w-]*(?:\.[A-Za-z][\w-]*)*)(?:\s[^\]\n]{1,80}\]|:[^$#\n]{0,80})[$#](?:\s|$)`),
}

// othersHost finds the words of lines that speak of another's host.
var othersHost = pattern.New(`(?i)error|fail|warn|peer|\bfrom\b|lost|missing|wait|timeout|timed|abort|exit|kill|dead|connect|master|server|resolv|remote|driver|\bto (?:node|host)|://`)

// saidPlace reads where the file's first lines say that it is written, and by which rank, where all that name one agree.
func (r *reader) saidPlace(head []phys) {
	said, rank, agree := At{}, line.Unknown, true
	for i := range head[:min(len(head), saidLines)] {
		p := &head[i]
		text := bytes.TrimSpace(p.raw)
		if len(text) > maxSaid || othersHost.Match(text) {
			continue
		}
		pre := line.Parse(text)
		at := At{Pos: p.place(r.file, 0, len(p.raw))}
		for _, re := range saysHost {
			if m := re.FindSubmatch(text[pre.Len:]); m != nil {
				emit(r, &r.obs.Facts, Fact{At: at, Key: HostSaid, Value: clip(m[1])})
				break
			}
		}
		n := saidRank(text)
		if labelled := pre.Who != line.NoOne; n == line.Unknown || labelled || others.Match(text) || ofAGroup.Match(text) {
			continue // NCCL's ranks are those of a communicator
		}
		if rank == line.Unknown {
			said, rank = at, n
		}
		agree = agree && rank == n
	}
	if rank != line.Unknown && agree {
		emit(r, &r.obs.Facts, Fact{At: said, Key: RankSaid, Value: strconv.Itoa(rank)})
	}
}
