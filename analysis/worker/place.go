package worker

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

// Keys of facts: the host and the rank that a file's own first lines give as theirs. A script may print the host of the node that it runs on
// before it starts processes on others, and the rank may be one within a node: they are hints, which resolve confirms.
const (
	HostSaid = "host_said"
	RankSaid = "rank_said"
)

// RanksOn is the key of a fact: a host and the first and last of the ranks on it, by a table that a script prints.
const RanksOn = "ranks_on"

// PlaceOf is the key of a fact: which of how many its writer is, by a file's own first lines ("part 3/10"). Of what, resolve finds out.
const PlaceOf = "place_of"

// OfPlace says that a fact is of where the file was written: it says nothing of the job.
func (x *Fact) OfPlace() bool {
	return x.Key == HostSaid || x.Key == RankSaid || x.Key == RanksOn || x.Key == PlaceOf
}

const (
	saidLines   = 64  // at the top of a file may say where it was written
	maxSaid     = 400 // bytes of such a line
	maxAssigned = 16
	placeLines  = 8 // may say which of how many: further down programs count what they do
	leastSaid   = 3 // lines that give a rank, unless one begins with it: one alone may speak of somebody else's
)

// saysHost finds the host in what scripts print of their place, and in the prompts of shells: "node gx3 ranks 16-23",
// "Hostname: n12", "[me@n12 run]$ nvidia-smi", "me@n12:~$ sinfo". A host's name begins with a letter and holds a number.
var saysHost = []*pattern.Regexp{
	pattern.New(`(?i)(?:^|[\s(,;|])(?:node|host|hostname|node_?name|running on)['"]?(?:\s?[:=]\s?['"]?|\s)([a-z][a-z-]*[0-9][\w-]*(?:\.[a-z][\w-]*)*)(?:$|[\s'"),;:|])`),
	pattern.New(`^\[?[\w.-]+@([A-Za-z][A-Za-z-]*[0-9][\w-]*(?:\.[A-Za-z][\w-]*)*)(?:\s[^\]\n]{1,80}\]|:[^$#\n]{0,80})[$#](?:\s|$)`),
}

// placeOf finds a line that begins by saying which of how many its writer is: "part 3/10 on gr4", "worker 2 of 8 ready".
var placeOf = pattern.New(`(?i)^\W{0,3}(?:[a-z]+ ){0,2}[a-z]{2,12}[ :=#]{1,3}(\d{1,6}) ?(?:/|of) ?(\d{1,6})(?:[\s,;:)\]]|$)`)

// othersHost finds the words of lines that speak of another's host.
var othersHost = pattern.New(`(?i)error|fail|warn|peer|\bfrom\b|lost|missing|wait|timeout|timed|abort|exit|kill|dead|connect|master|server|resolv|mismatch|detect|remote|driver|\bto (?:node|host)|://`)

// ranksOn finds a row of such a table: "node 2: c5n03 ranks 16-23".
var ranksOn = pattern.New(`(?i)(?:^|[\s:=(])([a-z][a-z-]*[0-9][\w-]*)[\s:,(]{1,3}ranks?[ =:]{1,2}(\d{1,6})\s?(?:-|to|\.\.)\s?(\d{1,6})\b`)

// onRanks finds a row of such a table that has the ranks in front: "ranks 0-7 c5n01, ranks 8-15 c5n02".
var onRanks = pattern.New(`(?i)\branks?[ =:]{1,2}(\d{1,6})\s?(?:-|to|\.\.)\s?(\d{1,6})\s?(?:->|on|at|[:=@])?\s?(?:node |host )?([a-z][a-z-]*[0-9][\w-]*)`)

// noHost are numbered words that are parts of a job.
var noHost = pattern.New(`(?i)^(?:rank|stage|group|gpu|cuda|device|dp|tp|pp|ep|cp|replica|worker|step|epoch|expert)[-_]?\d`)

// tabled are the rows of such tables in a line: a host, and the first and the last rank on it.
func tabled(text string) (out []string) {
	host, ranks := ranksOn.FindAllStringSubmatchIndex(text, -1), onRanks.FindAllStringSubmatchIndex(text, -1)
	order := [3]int{1, 2, 3}
	if len(ranks) > 0 && (len(host) == 0 || ranks[0][0] < host[0][0]) {
		host, order = ranks, [3]int{3, 1, 2} // else a host would get the ranks of the next
	}
	for _, m := range host {
		var row [3]string
		for i, g := range order {
			row[i] = text[m[2*g]:m[2*g+1]]
		}
		if !noHost.MatchString(row[0]) {
			out = append(out, strings.Join(row[:], " "))
		}
	}
	return out
}

// saidPlace reads where the file's first lines say that it is written, and by which rank, where all that name one agree.
func (r *reader) saidPlace(head []phys) {
	var byWriter []*rankSaid // the file's own, and those of the processes that a collector tells apart
	of := func(who line.Who) *rankSaid {
		i := slices.IndexFunc(byWriter, func(said *rankSaid) bool { return said.who.Pid == who.Pid && said.who.Host == who.Host })
		if i < 0 {
			i = len(byWriter)
			byWriter = append(byWriter, &rankSaid{who: who, rank: line.Unknown, agree: true})
		}
		return byWriter[i]
	}
	for i := range head[:min(len(head), saidLines)] {
		p := &head[i]
		text := bytes.TrimSpace(p.raw)
		if len(text) > maxSaid {
			continue
		}
		if at := (At{Pos: p.place(r.file, 0, len(p.raw))}); r.assigns(at, text) {
			continue
		}
		s := placeIn(text)
		if i >= placeLines {
			s.of = nil
		}
		// Whether they speak of another's is asked last: most lines say nothing of a place, and finding that out costs less.
		if s.silent() || othersHost.Match(text) {
			continue
		}
		s.at = At{Pos: p.place(r.file, 0, len(p.raw))}
		r.saidHost(&s)
		if r.callsItself(&s) {
			continue
		}
		if who := s.pre.Who; who == line.NoOne || s.collected() {
			of(who).hear(&s)
		}
	}
	for _, said := range byWriter {
		switch {
		case !said.agree || said.weight < leastSaid:
		case said.who == line.NoOne:
			emit(r, &r.obs.Facts, Fact{At: said.at, Key: RankSaid, Value: strconv.Itoa(said.rank)})
		default:
			identify(r, Identity{At: said.at, Host: said.who.Host, Pid: said.who.Pid, Global: said.rank, Local: line.Unknown, World: line.Unknown})
		}
	}
}

// collected says that nothing but a collector of logs tells who wrote the line: by host and process.
func (s *placeSaid) collected() bool {
	who := line.NoOne
	who.Host, who.Pid = s.pre.Who.Host, s.pre.Who.Pid
	return s.pre.Who == who && who.Host != "" && who.Pid != line.Unknown
}

// TaskNumber is the call of processes that give SLURM's number of their task: it is a rank where a node has several tasks.
const TaskNumber = "SLURM_PROCID"

var (
	// ofRanks finds a word without which nothing is said of ranks: most lines have none, and that costs least to find out.
	ofRanks = pattern.New(`(?i)rank|procid`)
	// hostStart is how the name of a host begins.
	hostStart = pattern.New(`^[A-Za-z].*[0-9]`)
	// assigned finds what a line assigns: "rank=41", "hostname: n7".
	assigned = pattern.New(`(?:^|[\s,;|{\["'(])([A-Za-z][A-Za-z_]*)["']?\s?[:=]\s?["']?([\w.-]+)`)
	// ofPlaces are the variables of launchers by which scripts print where a process runs; other readers know what programs print.
	ofPlaces = map[string]string{"ompi_comm_world_rank": "rank", "pmi_rank": "rank", "pmix_rank": "rank", "mv2_comm_world_rank": "rank",
		"slurm_procid": "task", "slurm_localid": "local", "ompi_comm_world_local_rank": "local", "mpi_localrankid": "local",
		"host": "host", "hostname": "host", "node": "host", "nodename": "host", "slurmd_nodename": "host", "slurm_ntasks": "world"}
)

// assigns reads a line that prints a launcher's variables, the rank together with the host or the local rank: "hostname: n7 SLURM_PROCID=12".
func (r *reader) assigns(at At, text []byte) bool {
	if !ofRanks.Match(text) || others.Match(text) {
		return false
	}
	said := map[string]string{}
	for _, m := range assigned.FindAllSubmatch(text, maxAssigned) {
		if key := ofPlaces[strings.ToLower(string(m[1]))]; key != "" && said[key] == "" {
			said[key] = string(m[2])
		}
	}
	number := func(key string) int {
		if n, err := strconv.Atoi(said[key]); err == nil && n >= 0 && n < 1<<24 {
			return n
		}
		return line.Unknown
	}
	id := Identity{At: at, Global: number("rank"), Local: number("local"), World: number("world"), Host: said["host"]}
	if id.Global == line.Unknown && number("task") != line.Unknown {
		id.Global, id.Call = number("task"), TaskNumber
	}
	if !hostStart.MatchString(id.Host) {
		id.Host = ""
	}
	if id.Global == line.Unknown || id.Local == line.Unknown && id.Host == "" {
		return false
	}
	identify(r, id)
	return true
}

// placeSaid is what a line says of where it is written.
type placeSaid struct {
	at   At
	pre  line.Prefix
	text []byte
	host []byte
	on   []string // what tabled finds
	row  [][]byte // the match of rowOf
	of   [][]byte // that of placeOf
	rank int      // given by a line that nothing labels; NCCL's ranks are those of a communicator, and labels are read elsewhere
}

func placeIn(text []byte) placeSaid {
	s := placeSaid{pre: line.Parse(text), text: text, rank: line.Unknown}
	msg := s.msg()
	for _, re := range saysHost {
		if m := re.FindSubmatch(msg); m != nil {
			s.host = m[1]
			break
		}
	}
	if ofRanks.Match(text) {
		s.on = tabled(string(text))
	}
	s.row = rowOf.FindSubmatch(msg)
	s.of = placeOf.FindSubmatch(msg)
	switch {
	case s.pre.Who == line.NoOne:
		s.rank = saidRank(text)
	case s.collected():
		s.rank = saidRank(msg)
	}
	return s
}

func (s *placeSaid) msg() []byte { return s.text[s.pre.Len:] }

// silent says that a line tells nothing of a place.
func (s *placeSaid) silent() bool {
	return s.host == nil && s.on == nil && s.row == nil && s.of == nil && s.rank == line.Unknown
}

// saidHost reads the host, which of how many the writer is, and which ranks are on a host.
func (r *reader) saidHost(s *placeSaid) {
	if s.host != nil {
		emit(r, &r.obs.Facts, Fact{At: s.at, Key: HostSaid, Value: clip(s.host)})
	}
	if s.of != nil {
		emit(r, &r.obs.Facts, Fact{At: s.at, Key: PlaceOf, Value: string(bytes.Join(s.of[1:], []byte("/")))})
	}
	for _, row := range s.on {
		emit(r, &r.obs.Facts, Fact{At: s.at, Key: RanksOn, Value: row})
	}
}

// rankSaid is the rank that lines give, whether all agree, and how much that weighs.
type rankSaid struct {
	who          line.Who
	at           At
	rank, weight int
	agree        bool
}

// hear takes in a line that gives a rank.
func (said *rankSaid) hear(s *placeSaid) {
	row := s.row != nil
	if s.rank == line.Unknown || !row && ofAGroup.Match(s.text) || others.Match(s.text) {
		return
	}
	if said.weight++; row {
		said.weight += leastSaid
	}
	if said.rank == line.Unknown {
		said.at, said.rank = s.at, s.rank
	}
	said.agree = said.agree && said.rank == s.rank
}

// rowOf finds the rank, the local rank and the host in the line by which each process of a job begins: "rank 7 local 3 on lion-02 pid 9007".
var rowOf = pattern.New(`(?i)^\W{0,3}((?:global[ _])?rank)[ =:]{1,3}(\d{1,6})\b(?:.{0,40}?\blocal(?:[ _]rank)?[ =:]{1,3}(\d{1,3})\b)?(?:.{0,80}?\b(?:on|host|node|hostname)[ =:]{1,3}([a-z][a-z-]*[0-9][\w-]*)\b)?`)

// callsItself reads such a line behind the label of a launcher, which tells the writers of one file apart.
func (r *reader) callsItself(s *placeSaid) bool {
	m, by := s.row, s.pre.Who
	if m == nil || by.Task == line.Unknown && by.MPIRank == line.Unknown || others.Match(s.msg()) {
		return false
	}
	at := s.at
	at.By = &by
	id := Identity{At: at, Global: bounded(string(m[2])), Local: line.Unknown, World: line.Unknown, Host: string(m[4]), Call: clip(m[1])}
	if len(m[3]) > 0 {
		id.Local = bounded(string(m[3]))
	}
	identify(r, id)
	return true
}

// rayRow is a row of the table by which Ray Train tells which process is which rank.
var rayRow = pattern.New(`\bip=([\w.:-]+), pid=(\d+)\) world_rank=(\d+), local_rank=(\d+)`)

func readRayRanks(r *reader, rec *record) bool {
	m := rayRow.FindSubmatch(rec.Text)
	if m == nil {
		return false
	}
	identify(r, Identity{At: rec.At, Host: string(m[1]), Pid: bounded(string(m[2])), Global: bounded(string(m[3])), Local: bounded(string(m[4])), World: line.Unknown})
	return true
}
