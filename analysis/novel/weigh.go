package novel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/knowledge/severity"
)

// World is what the weigher asks of the rest of the engine. Every function may be nil.
type World struct {
	// Place names the rank (−1 unknown) and the node of a line.
	Place func(file string, at Place, who *line.Who) (rank int, node string)
	// Behind says whether a line was printed after the job's last step, in files without steps of their own.
	Behind func(file string, at Place, text string) (after, known bool)
	// Known is what the catalogue says of a line.
	Known func(text string) Known
	// Good says whether good runs of the job printed lines of this template; HasGood that such runs are known at all.
	Good    func(template uint64) bool
	HasGood bool
	// When is the time of a line, in seconds.
	When func(file string, at Place, text string) (seconds float64, known bool)
	// Names is the node of the job that a text names; "" where it names none, or several.
	Names func(text string) string
	// Ranks are the ranks that the job has, ascending.
	Ranks []int
	// Writers is how many ranks are known to write a file.
	Writers func(file string) int
	// Tables says that the files are what tools print of a state, not logs: then the place of a line in them means nothing.
	Tables bool
	// Stepped says that the job took steps, in whatever file.
	Stepped bool
}

// Known is what the catalogue says of a line.
type Known struct {
	Meaning string // "" where it says nothing
	Noise   bool   // it is harmless
	Echo    bool   // it mostly follows from another failure
	Read    bool   // a reader of logs made something of it
	Form    bool   // one knows its form, and not what it says
}

// Part is one reason why a line stands out or not.
type Part struct {
	Name   string // severity, order, position, rarity, spatial, cross-job, temporal, background, known, stack, words, end
	Points int
	Why    string
}

// Line is a line that was weighed.
type Line struct {
	File     string
	At       Place
	Text     string
	Template uint64
	Score    int
	Parts    []Part // that count, heaviest first
	Level    severity.Level
	Sign     severity.Sign // what makes it sound bad
	N        int64         // how often its template was printed, in all files
	Files    int           // how many files hold it
	Rank     int           // −1 unknown
	Node     string
	Stop     *Stop
	Boxed    bool // it stands in a record, in which some letters are written otherwise
	Known    Known
	// Behind: it was printed after the last step, or there was none. Background: it was printed while the training went on afterwards. Unsure:
	// neither is known.
	proven bool // that it was printed behind the last step
	// Minority: few of those who could print it do. Earliest: nothing in the job sounds bad before it.
	Behind, Background, Unsure, Minority, Earliest bool
	// Named is a node that the line names; its writer is another, or nobody knows it.
	Named string
	// Silent are the few ranks that do not print what all others print; Instead is what the first of them printed that sounds as bad.
	Silent  []int
	Instead *Spot
	// Spoken is how many ranks print it, where all who do are known.
	Spoken int
	Last   int
}

// Spot is a line of a file.
type Spot struct {
	File string
	At   Place
}

// Suspicious is from how many points on a line stands out by itself.
const Suspicious = 45

// Stands says that a line stands out, and that nobody else made anything of it: in a run that has one nobody may say that nothing is wrong.
func (l *Line) Stands() bool {
	score := l.Score - l.points("order") - l.points("end")
	explained := l.Background || l.Known.Noise || l.Known.Read || l.Known.Form
	if score < Suspicious || !l.Behind || explained {
		return false
	}
	return l.Level >= severity.Failed || l.Level == severity.Warning && l.Last > 0 && l.Minority && l.proven
}

// points are what one part adds to the score.
func (l *Line) points(part string) (n int) {
	for _, p := range l.Parts {
		if p.Name == part {
			n += p.Points
		}
	}
	return n
}

// Suspect says that a line may be where a failure began that is proven already: it sounds bad, nobody made anything of it, and nothing shows
// that training went on after it.
func (l *Line) Suspect() bool {
	score := max(l.Score, l.Score-l.points("order")) - l.points("end")
	return score >= Suspicious && l.lasting() && !l.Known.Read
}

// lasting says that a line sounds bad, and that nothing shows that training went on after it.
func (l *Line) lasting() bool {
	return l.Level >= severity.Failed && (l.Behind || l.Unsure) && !l.Background && !l.Known.Noise
}

// Sounds says that a line sounds bad and says why, and that nothing shows that training went on after it.
func (l *Line) Sounds() bool {
	return l.lasting() && !l.Sign.Ends && l.points("words") == 0
}

// Unread says that a line sounds bad and says why, that it is known for one of its kind, and that nobody made anything of what it says: a
// warning of NCCL. Of one after which its thread went on, nothing came. Other lines are left out: a frame or a heading of what is known sounds as bad.
func (l *Line) Unread() bool {
	return l.Sounds() && l.Known.Form && l.Known.Meaning == "" && l.points("outcome") >= 0
}

// Uncommon says that a line sounds out of the ordinary by itself, and that nothing shows that training went on after it.
func (l *Line) Uncommon() bool {
	harmless := l.Background || l.Known.Noise || l.points("words") < 0
	return l.Level >= severity.Warning && (l.Behind || l.Unsure) && !harmless
}

// Tells says that a line is worth showing where the run may be well: it stands out, or it is what few said last, and after the last step.
func (l *Line) Tells() bool {
	parting := l.Last > 0 && l.Minority && l.proven && l.points("words") == 0
	return l.Stands() || parting && !l.Background && !l.Known.Noise && !l.Known.Read
}

// Within says that a line belongs to the traceback, panic or stack that another one opens.
func (l *Line) Within(o *Line) bool {
	return o.Stop != nil && o.Holds(l.File, l.At.Off)
}

// Holds says that a place is that of the line, or lies within the traceback, panic or stack that it opens.
func (l *Line) Holds(file string, off int64) bool {
	end := l.At.Off
	if l.Stop != nil {
		end = max(end, l.Stop.At.Off, l.Stop.Frame.At.Off)
	}
	return file == l.File && l.At.Off <= off && off <= end
}

// candidate is a template with all its lines.
type candidate struct {
	Line
	kind    *Kind
	files   int
	before  int64 // lines printed before the last step of their file
	who     []line.Who
	few     bool // its writers are all known
	late    bool
	counted bool
	world   *World
	peers   int // files that could have printed it
	rank    map[int]bool
	spoke   map[int]Spot // where each rank printed it first
	crowd   bool         // some of its writers are not known
	// stated is where each rank printed it first by what the lines themselves state; nameless: some state nothing.
	stated   map[int]Spot
	nameless bool
	side     side
	time     moment
	first    map[string]int64 // where it sounds bad first, by file
	follows  bool             // something in its file sounds bad before it
	outdone  bool             // it tells only that something ended, where others tell more
	allOver  bool             // it is printed from the beginning of a file to its end
	outcome
}

// side is where a line stands against the job's last step.
type side int

const (
	before side = iota // training went on after it
	unsure             // nothing tells
	behind             // the last step was before it, or the job took none
)

// moment is a time that may not be known.
type moment struct {
	seconds float64
	known   bool
}

// Weigh puts the lines of files in the order in which an expert would look at them, at most n of them.
func Weigh(files []*File, w World, n int) []Line {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
	by := map[string]*candidate{}
	var all []*candidate
	crowded := false
	written := 0
	for _, f := range files {
		crowded = crowded || f.Crowded
		if f.Lines > 0 || len(f.Kinds) > 0 {
			written++
		}
		inFile := map[*candidate]bool{}
		for _, k := range f.Kinds {
			t := Template(Message(k.Text))
			key := t
			if k.Stop != nil {
				key += "\n" + Template(k.Stop.Type+": "+k.Stop.Message) // all tracebacks begin alike
			}
			c := by[key]
			if c == nil {
				c = &candidate{Line: Line{File: f.Name, At: k.At, Text: k.Text, Template: Hash([]byte(t)), Level: k.Sign.Level, Rank: -1}, kind: k, few: true, world: &w, rank: map[int]bool{}, spoke: map[int]Spot{}, stated: map[int]Spot{}, first: map[string]int64{}}
				by[key] = c
				all = append(all, c)
			}
			if !inFile[c] {
				inFile[c] = true
				c.files++
			}
			c.merge(f, k)
		}
	}
	for _, c := range all {
		c.peers = written
		c.place()
	}
	order(all)
	silences(all)
	for _, c := range all {
		c.weigh(crowded)
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), -cmp.Compare(a.Level, b.Level), cmp.Compare(a.At.Off, b.At.Off), cmp.Compare(a.Text, b.Text))
	})
	var out []Line
	for _, c := range all[:min(len(all), n)] {
		out = append(out, c.Line)
	}
	return out
}

// Message is a line without what loggers and launchers print before it: the same message of several ranks is one.
func Message(text string) string {
	p := line.Parse([]byte(text))
	if m := strings.TrimSpace(text[min(p.Len, len(text)):]); m != "" {
		return m
	}
	return text
}

// merge adds the lines of one file. The line that is quoted is one behind the last step if there is any, of several the earliest.
func (c *candidate) merge(f *File, k *Kind) {
	c.N += k.N
	if k.Sign.Level >= severity.Failed {
		note(c.first, f.Name, k.At.Off)
	}
	where, proven, earlier := c.sideOf(f, k)
	c.before += earlier
	when := c.when(f, k)
	if c.kind == k || where > c.side || where == c.side && c.better(k, when) {
		c.kind, c.File, c.At, c.Text, c.Stop, c.time = k, f.Name, k.At, k.Text, k.Stop, when
	}
	c.outcome, c.Boxed = c.kind.outcome, c.kind.Boxed
	c.side = max(c.side, where)
	c.proven = c.proven || proven
	c.Behind = c.side == behind || k.Last > 0 && where == unsure || c.Behind // nothing of a file came after its last lines
	c.Unsure = c.side == unsure
	c.Level = max(c.Level, k.Sign.Level)
	c.few = c.few && k.N <= fewEach
	c.writers(f, k)
	if k.Last > 0 && (c.Last == 0 || k.Last < c.Last) {
		c.Last = k.Last
	}
	c.late = c.late || f.Size > 0 && k.first.Off*10 >= f.Size*9
	c.allOver = c.allOver || k.N >= allOver && k.until-k.first.Off > f.Size/2
}

// sideOf is where lines of a file stand against the last step, whether that is proven, and how many are known to be before it.
func (c *candidate) sideOf(f *File, k *Kind) (where side, proven bool, earlier int64) {
	switch {
	case !c.world.Stepped:
		return behind, false, 0
	case f.Stepped && k.After > 0:
		return behind, true, k.N - k.After
	case f.Stepped:
		return before, false, k.N
	case c.world.Behind == nil:
		return unsure, false, 0
	}
	is, known := c.world.Behind(f.Name, k.At, k.Text)
	switch {
	case !known:
		return unsure, false, 0
	case is:
		return behind, true, 0
	}
	return before, false, k.N
}

func (c *candidate) when(f *File, k *Kind) (m moment) {
	if c.world.When != nil && k.Sign.Level >= severity.Failed {
		m.seconds, m.known = c.world.When(f.Name, k.At, k.Text)
	}
	return m
}

// writers adds those who wrote lines of a shape.
func (c *candidate) writers(f *File, k *Kind) {
	c.crowd, c.nameless = c.crowd || k.Crowd, c.nameless || k.nameless || k.N > mostSpoken
	for rank, at := range k.spoken {
		if spot, had := c.stated[rank]; !had || f.Name < spot.File {
			c.stated[rank] = Spot{f.Name, at}
		}
	}
	for i, who := range k.Who {
		if c.world.Place != nil && k.Sign.Level >= severity.Failed {
			if rank, _ := c.world.Place(f.Name, k.At, who); rank >= 0 {
				c.rank[rank] = true
				if _, had := c.spoke[rank]; !had && i < len(k.firsts) {
					c.spoke[rank] = Spot{f.Name, k.firsts[i]}
				}
			} else {
				c.crowd = true
			}
		}
		if !slices.Contains(c.who, *who) && len(c.who) < 4*fewEach {
			c.who = append(c.who, *who)
		}
	}
}

// better says that a shape tells more than the one that is quoted: it sounds worse, it opens a traceback, its call failed, or it was printed
// earlier.
func (c *candidate) better(k *Kind, when moment) bool {
	switch was := c.kind; {
	case k.Sign.Level != was.Sign.Level:
		return k.Sign.Level > was.Sign.Level
	case (k.Stop != nil) != (was.Stop != nil):
		return k.Stop != nil
	case (k.outcome == returned) != (was.outcome == returned):
		return k.outcome == returned
	case when.known && c.time.known && when.seconds != c.time.seconds:
		return when.seconds < c.time.seconds
	default:
		return k.At.Off < was.At.Off
	}
}

// allOver is how many lines of a shape, over more than half of its file, show that nothing came of it when it was printed first.
const allOver = 8

// trouble says that a template sounds bad, and that nothing shows that training went on after it.
func (c *candidate) trouble() bool {
	return c.Level >= severity.Failed && c.side != before && !c.Background && !c.allOver && !c.Known.Noise && c.outcome != endured
}

// note keeps the first offset in each file.
func note(first map[string]int64, file string, at int64) {
	if off, ok := first[file]; !ok || at < off {
		first[file] = at
	}
}

// heading says that a line ends where what it announces would begin. An exception whose message is empty announces nothing.
func (c *candidate) heading() bool {
	return c.Stop == nil && strings.HasSuffix(strings.TrimSpace(c.Text), ":")
}

// together is within how many seconds of the first line that sounds bad others count as first, too: the clocks of nodes differ.
const together = 2

// order finds out what sounded bad first, in each file and in the whole job: what comes below may follow from it.
func order(all []*candidate) {
	first, failed := map[string]int64{}, map[string]int64{} // of what sounds bad, and of calls that failed
	noteAll := func(m map[string]int64, c *candidate) {
		for file, at := range c.first {
			note(m, file, at)
		}
	}
	var earliest moment
	reasons := slices.ContainsFunc(all, func(c *candidate) bool { return c.trouble() && !c.kind.Sign.Ends })
	for _, c := range all {
		c.outdone = reasons && c.kind.Sign.Ends
		if !c.trouble() || c.outdone { // what tells an end is no reason for what is said below
			continue
		}
		noteAll(first, c)
		if c.outcome == returned {
			noteAll(failed, c)
		}
		if c.time.known && (!earliest.known || c.time.seconds < earliest.seconds) {
			earliest = c.time
		}
	}
	for _, c := range all {
		above := first
		if c.outcome == returned { // what only sounds bad did not make it fail
			above = failed
		}
		off, ok := above[c.File]
		c.follows = c.Level > severity.Calm && ok && off < c.At.Off
		c.Earliest = c.trouble() && !c.outdone && c.time.known && c.time.seconds <= earliest.seconds+together
	}
}

// rule is one row of the table by which lines are weighed.
type rule struct {
	part   string
	points int
	holds  func(c *candidate) bool
	why    func(c *candidate) string
}

func always(text string) func(*candidate) string { return func(*candidate) string { return text } }

// rules are all there is to the score: it is the sum of the points of the rows that hold. Of rows of one part the first that holds counts.
var rules = []rule{
	{"severity", 40, func(c *candidate) bool { return c.Level == severity.Crash }, sounds},
	{"severity", 30, func(c *candidate) bool { return c.Level == severity.Failed }, sounds},
	{"severity", 12, func(c *candidate) bool { return c.Level == severity.Warning }, sounds},
	{"stack", 10, func(c *candidate) bool { return c.Stop != nil }, always("a traceback or stack belongs to it")},
	{"outcome", 15, func(c *candidate) bool { return c.outcome == returned }, always("the call failed, and its error is passed on below")},
	{"outcome", -15, func(c *candidate) bool { return c.outcome == endured }, always("its thread continued with something else")},
	{"background", -60, func(c *candidate) bool { return c.Background }, always("training continued after similar lines")},
	{"background", -15, func(c *candidate) bool { return c.allOver && !c.world.Tables }, always("similar lines run through its whole file")},
	{"known", -40, func(c *candidate) bool { return c.Known.Noise }, always("it is known to be harmless")},
	{"known", -10, func(c *candidate) bool { return c.Known.Echo }, always("similar lines are usually consequences of another failure")},
	{"words", -20, func(c *candidate) bool { return c.kind.mute }, always("it means little on its own")},
	{"words", -25, func(c *candidate) bool { return c.heading() }, always("it only introduces what follows")},
	{"words", -25, func(c *candidate) bool { return severity.Advises(Message(c.Text)) }, always("it gives advice")},
	{"end", -15, func(c *candidate) bool { return c.outdone }, always("it says how something ended, not why")},
	{"position", 18, func(c *candidate) bool { return c.Last == 1 && !c.world.Tables }, func(c *candidate) string { return c.ends("the last line") }},
	{"position", 14, func(c *candidate) bool { return c.Last > 0 && !c.world.Tables }, func(c *candidate) string { return c.ends("among the last lines") }},
	{"position", 14, func(c *candidate) bool { return c.world.Stepped && c.Behind && c.kind.Next > 0 }, always("it comes right after the last step")},
	{"position", 10, func(c *candidate) bool { return c.world.Stepped && c.Behind }, always("it comes after the last step")},
	{"position", 6, func(c *candidate) bool { return c.Unsure && c.Level >= severity.Failed }, always("nothing shows that training continued after it")},
	{"order", 20, func(c *candidate) bool { return c.Earliest }, always("nothing earlier in the job looks like trouble")},
	{"order", -20, func(c *candidate) bool { return c.follows && !c.world.Tables }, always("something earlier in its file looks like trouble")},
	{"spatial", 15, func(c *candidate) bool { return c.Minority }, only},
	{"spatial", 22, func(c *candidate) bool { return len(c.Silent) > 0 }, allBut},
	{"cross-job", -60, func(c *candidate) bool { return c.world.HasGood && c.world.Good != nil && c.world.Good(c.Template) }, always("good runs print it too")},
	{"cross-job", 10, func(c *candidate) bool { return c.world.HasGood && c.Level > severity.Calm }, always("no good run prints it")},
	{"names", 8, func(c *candidate) bool { return c.Named != "" && c.Minority }, func(c *candidate) string { return "it names " + c.Named }},
	{"rarity", 8, func(c *candidate) bool { return c.N == 1 && c.counted }, always("it is printed once")},
	{"rarity", 4, func(c *candidate) bool { return c.N <= 3 && c.counted }, func(c *candidate) string { return fmt.Sprintf("it is printed %d times", c.N) }},
	{"rarity", -8, func(c *candidate) bool { return c.N > 100 && c.N > 4*int64(c.peers) }, func(c *candidate) string { return fmt.Sprintf("it is printed %d times", c.N) }},
	{"temporal", 4, func(c *candidate) bool { return c.late && !c.Background && !c.world.Tables }, always("it first appears near the end")},
}

// ends says where a line stands at the end of its file: the one that is quoted, or another like it.
func (c *candidate) ends(where string) string {
	if c.kind.Ends && c.kind.Last == c.Last {
		return "it is " + where + " of its file"
	}
	return "a similar line is " + where + " of its file"
}

func sounds(c *candidate) string { return c.kind.Sign.Why }

// place finds out all that the order of lines depends on.
func (c *candidate) place() {
	c.Files, c.Sign = c.files, c.kind.Sign
	c.Background = c.before > 0 && c.world.Stepped
	if c.world.Known != nil && c.Level > severity.Calm {
		c.Known = c.world.Known(c.Text)
	}
	if c.world.Place != nil {
		var who *line.Who
		if len(c.kind.Who) == 1 {
			who = c.kind.Who[0]
		}
		c.Rank, c.Node = c.world.Place(c.File, c.At, who)
	}
	if c.world.Names == nil || c.Level < severity.Failed {
		return
	}
	if n := c.world.Names(Message(c.Text)); n != "" && c.Rank < 0 && n != c.Node {
		c.Named = n
	}
}

// weigh fills in the score.
func (c *candidate) weigh(crowded bool) {
	c.counted = !crowded
	c.Minority = minority(c)
	done := map[string]bool{}
	for _, r := range rules {
		if done[r.part] || !r.holds(c) {
			continue
		}
		done[r.part] = true
		c.Score += r.points
		c.Parts = append(c.Parts, Part{r.part, r.points, r.why(c)})
	}
	slices.SortStableFunc(c.Parts, func(a, b Part) int { return -cmp.Compare(math.Abs(float64(a.Points)), math.Abs(float64(b.Points))) })
}

// minority says that few of those who could print a line do: files of one job, or ranks that write one file.
func minority(c *candidate) bool {
	if c.peers > 1 {
		return c.files <= max(1, c.peers/4)
	}
	if c.world.Writers == nil || !c.few || len(c.who) == 0 {
		return false
	}
	all := c.world.Writers(c.File)
	return all > 1 && len(c.who) <= max(1, all/4)
}

// leastSpoken is how many ranks must print a line before it tells something that others do not.
const leastSpoken = 3

// printed says whether a rank printed it, for how many ranks that holds, and whether all who printed it are known: by the places of its lines,
// else by the ranks that they state.
func (c *candidate) printed() (by func(rank int) bool, n int, known bool) {
	if !c.crowd {
		return func(rank int) bool { return c.rank[rank] }, len(c.rank), true
	}
	return func(rank int) bool { _, ok := c.stated[rank]; return ok }, len(c.stated), !c.nameless
}

// silent are the few ranks that do not print what all others print; nil where nobody knows all who do.
func (c *candidate) silent() (silent []int) {
	all, most := len(c.world.Ranks), c.world.fewRanks()
	by, n, known := c.printed()
	if !known || !c.trouble() || n < leastSpoken || n == all || all-n > most {
		return nil
	}
	for _, r := range c.world.Ranks {
		if !by(r) {
			silent = append(silent, r)
		}
	}
	if len(silent) > most {
		return nil
	}
	c.Spoken = n
	return silent
}

// fewRanks is how many ranks are few among those of the job.
func (w *World) fewRanks() int { return max(1, len(w.Ranks)/8) }

// silences finds lines that all ranks print but a few. A rank that sounded bad before, in words of its own, is none that was silent: the others
// answer it.
func silences(all []*candidate) {
	voices := ownWords(all)
	for _, c := range all {
		if c.Silent = c.silent(); len(c.Silent) == 0 {
			continue
		}
		first, spoke := moment{}, false
		for _, r := range c.Silent {
			if t, ok := voices[r].first(len(c.Silent)); ok && (!spoke || t.before(first)) {
				first, spoke = t, true
			}
		}
		if spoke && (!c.time.known || first.before(c.time)) {
			c.Silent = nil
			continue
		}
		c.Instead = instead(all, c)
	}
}

// instead is the line of the first silent rank that sounds bad and says most: the longest.
func instead(all []*candidate, silent *candidate) (most *Spot) {
	for _, c := range all {
		s, ok := c.spoke[silent.Silent[0]]
		if ok && c.trouble() && (most == nil || s.At.Len > most.At.Len) {
			most = &s
		}
	}
	return most
}

// before orders moments: what has no time may have come before everything that has one.
func (m moment) before(o moment) bool { return o.known && (!m.known || m.seconds < o.seconds) }

// voice is when a rank first sounded bad, by how many ranks sounded so: the fewest first, each no later than the one before it.
type voice []struct {
	ranks int
	at    moment
}

// ownWords are the voices of ranks in words that only few of them use.
func ownWords(all []*candidate) map[int]voice {
	var own []*candidate
	for _, c := range all {
		if len(c.rank) > 0 && len(c.rank) <= c.world.fewRanks() && c.trouble() {
			own = append(own, c)
		}
	}
	slices.SortStableFunc(own, func(a, b *candidate) int { return cmp.Compare(len(a.rank), len(b.rank)) })
	voices := map[int]voice{}
	for _, c := range own {
		for r := range c.rank {
			if v := voices[r]; len(v) == 0 || c.time.before(v[len(v)-1].at) {
				voices[r] = append(v, struct {
					ranks int
					at    moment
				}{len(c.rank), c.time})
			}
		}
	}
	return voices
}

// first is when it was first heard in words of at most so many ranks.
func (v voice) first(ranks int) (at moment, ok bool) {
	for _, w := range slices.Backward(v) {
		if w.ranks <= ranks {
			return w.at, true
		}
	}
	return at, false
}

func allBut(c *candidate) string {
	var names []string
	for _, r := range c.Silent[:min(len(c.Silent), fewEach)] {
		names = append(names, fmt.Sprint(r))
	}
	more := ""
	if n := len(c.Silent) - fewEach; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	what := "rank"
	if len(c.Silent) > 1 {
		what = "ranks"
	}
	return fmt.Sprintf("every rank prints it except %s %s%s", what, strings.Join(names, ", "), more)
}

func only(c *candidate) string {
	if c.peers > 1 {
		if c.files == 1 {
			return fmt.Sprintf("of %d files, only this one has it", c.peers)
		}
		return fmt.Sprintf("only %d of %d files have it", c.files, c.peers)
	}
	return fmt.Sprintf("only %d of %d ranks print it", len(c.who), c.world.Writers(c.File))
}
