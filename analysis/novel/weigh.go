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
}

// Part is one reason why a line stands out or not.
type Part struct {
	Name   string // severity, position, rarity, spatial, cross-job, temporal, background, known, stack
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
	StopFile string // that holds it: of a template that several files print it may be another than File
	Known    Known
	// Behind: it was printed after the last step, or there was none. Background: it was printed while the training went on afterwards.
	proven bool // that it was printed behind the last step
	// Minority: few of those who could print it do.
	Behind, Background, Minority bool
	Last                         int
}

// Suspicious is from how many points on a line stands out by itself.
const Suspicious = 45

// Stands says that a line stands out, and that nobody else made anything of it: in a run that has one nobody may say that nothing is wrong.
func (l *Line) Stands() bool {
	if l.Score < Suspicious || !l.Behind || l.Background || l.Known.Noise || l.Known.Read {
		return false
	}
	return l.Level >= severity.Failed || l.Level == severity.Warning && l.Last > 0 && l.Minority && l.proven
}

// Tells says that a line is worth showing where the run may be well: it stands out, or it is what few said last, and after the last step.
func (l *Line) Tells() bool {
	parting := l.Last > 0 && l.Minority && l.proven
	return l.Stands() || parting && !l.Background && !l.Known.Noise && !l.Known.Read
}

// Within says that a line belongs to the traceback, panic or stack that another one opens.
func (l *Line) Within(o *Line) bool {
	switch {
	case o.Stop == nil, l.File != o.StopFile, o.File != o.StopFile, l.At.Off < o.At.Off:
		return false
	}
	return l.At.Off <= max(o.Stop.At.Off, o.Stop.Frame.At.Off)
}

// candidate is a template with all its lines.
type candidate struct {
	Line
	kind    *Kind
	file    *File
	files   int
	before  int64 // lines printed before the last step of their file
	who     []line.Who
	few     bool // its writers are all known
	late    bool
	counted bool
	world   *World
	peers   int // files that could have printed it
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
			t := Template(message(k.Text))
			c := by[t]
			if c == nil {
				c = &candidate{Line: Line{File: f.Name, At: k.At, Text: k.Text, Template: Hash([]byte(t)), Level: k.Sign.Level, Rank: -1}, kind: k, file: f, few: true, world: &w}
				by[t] = c
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

// message is a line without what loggers and launchers print before it: the same message of several ranks is one.
func message(text string) string {
	p := line.Parse([]byte(text))
	if m := strings.TrimSpace(text[min(p.Len, len(text)):]); m != "" {
		return m
	}
	return text
}

// merge adds the lines of one file. The line that is quoted is one behind the last step if there is any, else the first.
func (c *candidate) merge(f *File, k *Kind) {
	c.N += k.N
	after, proven, before := c.behind(f, k)
	c.before += before
	if after && !c.Behind || after == c.Behind && better(k, c.kind) {
		c.kind, c.file, c.File, c.At, c.Text = k, f, f.Name, k.At, k.Text
	}
	if k.Stop != nil && (c.Stop == nil || c.kind == k) {
		c.Stop, c.StopFile = k.Stop, f.Name
	}
	c.proven = c.proven || proven
	c.Behind = c.Behind || after || !c.world.Stepped
	c.Level = max(c.Level, k.Sign.Level)
	c.few = c.few && k.N <= fewEach
	c.writers(k)
	if k.Last > 0 && (c.Last == 0 || k.Last < c.Last) {
		c.Last = k.Last
	}
	c.late = c.late || f.Size > 0 && k.first.Off*10 >= f.Size*9
}

// behind says whether lines of a file were printed behind the last step, whether that is proven, and how many were not.
func (c *candidate) behind(f *File, k *Kind) (after, proven bool, before int64) {
	if f.Stepped {
		return k.After > 0, k.After > 0, k.N - k.After
	}
	if !c.world.Stepped || c.world.Behind == nil {
		return false, false, 0
	}
	is, known := c.world.Behind(f.Name, k.At, k.Text)
	if !known {
		return k.Last > 0, false, 0 // nothing of the file came after its last lines
	}
	if !is {
		before = k.N
	}
	return is, is, before
}

// writers adds those who wrote lines of a shape.
func (c *candidate) writers(k *Kind) {
	for _, who := range k.Who {
		if !slices.Contains(c.who, who) && len(c.who) < 4*fewEach {
			c.who = append(c.who, who)
		}
	}
}

// better says that one shape tells more than another of the same template.
func better(a, b *Kind) bool {
	if a == b {
		return false
	}
	return cmp.Or(cmp.Compare(a.Sign.Level, b.Sign.Level), cmp.Compare(b.At.Off, a.At.Off)) > 0
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
	{"background", -60, func(c *candidate) bool { return c.Background }, always("training went on after lines like it")},
	{"known", -40, func(c *candidate) bool { return c.Known.Noise }, always("it is known to be harmless")},
	{"known", -10, func(c *candidate) bool { return c.Known.Echo }, always("lines like it mostly follow from another failure")},
	{"position", 18, func(c *candidate) bool { return c.Last == 1 && !c.world.Tables }, always("it is the last line of its file")},
	{"position", 14, func(c *candidate) bool { return c.Last > 0 && !c.world.Tables }, always("it is among the last lines of its file")},
	{"position", 14, func(c *candidate) bool { return c.world.Stepped && c.Behind && c.kind.Next > 0 }, always("it comes right after the last step")},
	{"position", 10, func(c *candidate) bool { return c.world.Stepped && c.Behind }, always("it comes after the last step")},
	{"spatial", 15, func(c *candidate) bool { return c.Minority }, only},
	{"cross-job", -60, func(c *candidate) bool { return c.world.HasGood && c.world.Good != nil && c.world.Good(c.Template) }, always("good runs print it, too")},
	{"cross-job", 10, func(c *candidate) bool { return c.world.HasGood && c.Level > severity.Calm }, always("no good run prints it")},
	{"rarity", 8, func(c *candidate) bool { return c.N == 1 && c.counted }, always("it is printed once")},
	{"rarity", 4, func(c *candidate) bool { return c.N <= 3 && c.counted }, func(c *candidate) string { return fmt.Sprintf("it is printed %d times", c.N) }},
	{"rarity", -8, func(c *candidate) bool { return c.N > 200 && c.N > 4*int64(c.peers) }, func(c *candidate) string { return fmt.Sprintf("it is printed %d times", c.N) }},
	{"temporal", 4, func(c *candidate) bool { return c.late && !c.Background && !c.world.Tables }, always("it first appears near the end")},
}

func sounds(c *candidate) string { return c.kind.Sign.Why }

// weigh fills in the score.
func (c *candidate) weigh(crowded bool) {
	c.Files, c.counted, c.Sign = c.files, !crowded, c.kind.Sign
	c.Background = c.before > 0 && c.world.Stepped
	if c.world.Known != nil && c.Level > severity.Calm {
		c.Known = c.world.Known(c.Text)
	}
	if c.world.Place != nil {
		var who *line.Who
		if len(c.kind.Who) == 1 {
			who = &c.kind.Who[0]
		}
		c.Rank, c.Node = c.world.Place(c.File, c.At, who)
	}
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

func only(c *candidate) string {
	if c.peers > 1 {
		if c.files == 1 {
			return fmt.Sprintf("of %d files only this one has it", c.peers)
		}
		return fmt.Sprintf("only %d of %d files have it", c.files, c.peers)
	}
	return fmt.Sprintf("only %d of %d ranks print it", len(c.who), c.world.Writers(c.File))
}
