package messages

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"faultline/incident"
	"faultline/messages/redact"
)

// Extras is what only the caller can know, because this package opens no file.
type Extras struct {
	// Context holds the lines around a quotation, by "file:line" as the report names them.
	Context map[string]Excerpt
}

// Excerpt is a run of consecutive raw lines.
type Excerpt struct {
	First int64 // number of the first line, from 1
	Lines []string
}

// How much the HTML file holds, so that it stays below 5 MB whatever the job; the JSON report has everything.
const (
	htmlMapRanks = 2048 // beyond it one cell a node
	htmlMapCells = 2048
	htmlEvents   = 1000
	htmlGroups   = 24 // beyond them the script shows them
	htmlProofs   = 12
	htmlShown    = 2    // proofs of a link that stand in the page before it unfolds
	htmlQuote    = 2000 // runes of one quoted line
	htmlContext  = 40   // lines of one excerpt
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var pageCSS string

//go:embed report.js
var pageJS string

// style is all of a page's style: the policy names it by its hash.
var style = sync.OnceValue(func() string { return pageCSS + looksCSS() })

// page is parsed when somebody asks for one: the other formats do not wait for it.
var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("report").Parse(pageText)) })

// HTML writes one self-contained file: no network, no font, no script but the one inside, which the content security
// policy names by its hash. It is readable without the script.
func HTML(w io.Writer, r *incident.Report, x Extras) error {
	if err := page().Execute(w, pageOf(newView(r), x)); err != nil {
		return fmt.Errorf("write the report as HTML: %w", err)
	}
	return nil
}

// HTMLPolicy is the content security policy of what HTML writes: nothing but its own style and script, by their hashes.
func HTMLPolicy() string {
	return "default-src 'none'; style-src " + hash(style()) + "; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'"
}

type htmlPage struct {
	*view
	Policy           string
	CSS              template.CSS
	JS               template.JS
	Title, Engine    string
	Brief            string
	Status           string
	Unsure           bool   // likely, and not confirmed
	Screen, More     []part // of the first screen: what is seen at once, and what unfolds
	Chain            []htmlLink
	CourseMarks      []htmlLink
	Earlier          htmlEarlier
	StorageLogs      htmlStorage
	Beside           []htmlArtifact
	Events           []htmlEvent
	EventsLeft       int
	Clocks           []htmlLink
	Groups           []groupView
	GroupsLeft       int
	Tiles            []htmlTile
	MapAlt, MapWhat  string
	Fold             bool
	MapSize          string    // the class of its cells: the more, the smaller
	Data             *htmlData // for the script
	Legend           []htmlLegend
	Needs            []htmlNeed
	Now              []adviceView
	Later            []htmlAdvice // what prevents it, and what to collect
	Revisions        []htmlRevision
	UnclassifiedText string
	Unclassified     []htmlTally
	Guesses          []htmlGuess
	Terms            []pair
	KeyFiles         []pair
}

type (
	htmlProof struct {
		proof
		Lines []htmlLine // the quotation among its neighbours
	}
	htmlLine struct {
		Number int64
		Text   string
		Hit    bool
	}
	htmlLink struct {
		Role, Statement string
		Proofs          []htmlProof
		Folded          []htmlProof // the rest of them
		More            int
	}
	htmlEvent struct {
		eventView
		Source string
		Order  int
	}
	htmlTile struct {
		Name  string
		Root  bool // the verdict names the node
		Cells []htmlCell
	}
	htmlCell   struct{ Class, Letter, Text string }
	htmlLegend struct{ Class, Letter, Words, N string }
	htmlAdvice struct {
		When string
		List []adviceView
	}
	htmlNeed struct{ What, Why, Command, When string }

	htmlRevision struct {
		Was, Now, Because string
		Proofs            []htmlProof
	}
	htmlTally struct{ N, Text, Where string }
	htmlGuess struct {
		Title, Slug, Status string
		For, Against        []htmlLink
		WouldDecide         []string
	}
)

// unfolding keeps what proves the cause in sight; what follows from it unfolds.
func unfolding(chain []htmlLink) []htmlLink {
	for i := range chain {
		l := &chain[i]
		shown := 0
		if l.Role == incident.Cause || l.Role == incident.Trigger || l.Role == seenRole {
			shown = htmlShown
		}
		if len(l.Proofs) > shown {
			l.Proofs, l.Folded = l.Proofs[:shown], l.Proofs[shown:]
		}
	}
	return chain
}

// Lines says how many lines unfold.
func (r htmlRevision) Lines() string { return count(len(r.Proofs), "line") }

// FoldedWords says what unfolds: where the first line stands, and how many there are.
func (l htmlLink) FoldedWords() string {
	where := l.Folded[0].Where
	if n := len(l.Folded) + l.More - 1; n > 0 {
		where += fmt.Sprintf(" and %d more", n)
	}
	return where
}

// hash is the source expression of the content security policy for an inline block.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func pageOf(v *view, x Extras) *htmlPage {
	r := v.Report
	p := &htmlPage{view: v, CSS: template.CSS(style()), JS: template.JS(pageJS), MapAlt: mapAlt(v)} //nolint:gosec // style and script are constants of the program
	p.Policy = HTMLPolicy()
	p.Screen, p.More = atOnce(v.Screen)
	p.Title, p.Brief = v.Headline, brief(v, "")
	if r.Job.ID != nil {
		p.Title = "Job " + flat(*r.Job.ID) + ": " + p.Title
	}
	p.Engine = engineText(r)
	p.Unsure = r.Verdict.Status == incident.Probable
	p.Status = capital(certaintyOf(r).String())
	h := newExcerpts(x)
	p.Chain = unfolding(h.links(v.Chain))
	p.CourseMarks = h.links(v.Course.Marks)
	p.Earlier = h.earlier(v.Earlier)
	p.StorageLogs = h.storageLogs(v.Daemons)
	p.Beside = h.artifacts(v.Artifacts)
	for i, e := range v.Timeline {
		if i == htmlEvents {
			p.EventsLeft = len(v.Timeline) - i
			break
		}
		p.Events = append(p.Events, htmlEvent{e, firstQuote(e.Proofs), i})
	}
	p.Clocks = h.links(v.Clocks)
	p.Groups = v.Groups
	if len(p.Groups) > htmlGroups {
		p.Groups, p.GroupsLeft = p.Groups[:htmlGroups], len(p.Groups)-htmlGroups
	}
	block := p.tiles(v.Map)
	p.Data = detail(v.Map, block, v.Groups[len(p.Groups):])
	p.Now, p.Later = byWhen(v.Advice)
	for _, n := range r.Verdict.Needs {
		p.Needs = append(p.Needs, htmlNeed{sentence(n.What), sentence(n.Why), strings.TrimSpace(n.Command), obtainText(n.Obtainable)})
	}
	for _, c := range r.Revisions {
		p.Revisions = append(p.Revisions, htmlRevision{flat(c.Was), flat(c.Now), flat(c.Because), h.proofs(proofs(c.Evidence))})
	}
	p.UnclassifiedText = unclassifiedText(r.Coverage.Unclassified)
	for _, u := range r.Coverage.UnclassifiedTop {
		t := htmlTally{N: grouped(int64(u.Count)), Text: excerpt(flat(u.Text), htmlQuote)}
		if u.First != nil {
			t.Where = proofOf(*u.First).Where
		}
		p.Unclassified = append(p.Unclassified, t)
	}
	for _, g := range v.Guesses {
		p.Guesses = append(p.Guesses, htmlGuess{g.Title, g.Slug, g.Status, h.links(g.For), h.links(g.Against), g.WouldDecide})
	}
	for _, k := range r.KeyFiles {
		p.KeyFiles = append(p.KeyFiles, pair{fileLine(k), sentence(k.Why)})
	}
	p.Terms = termsIn(v)
	return p
}

// byWhen parts advice into what to do now and the rest.
func byWhen(list []adviceView) (now []adviceView, later []htmlAdvice) {
	for _, a := range list {
		switch n := len(later); {
		case a.When == whenText("now"):
			now = append(now, a)
		case n > 0 && later[n-1].When == a.When:
			later[n-1].List = append(later[n-1].List, a)
		default:
			later = append(later, htmlAdvice{a.When, []adviceView{a}})
		}
	}
	return now, later
}

// firstLabels are the labels of what is seen before anything unfolds: what broke, or may have, and what to do.
var firstLabels = []string{labelWhat, labelCandidates, labelClue, labelStorage, labelNext, labelSave}

// atOnce parts the first screen into what is seen at once and what unfolds. A live job's screen is read whole.
func atOnce(screen []part) (first, more []part) {
	for _, p := range screen {
		known := slices.ContainsFunc(firstLabels, func(l string) bool { return strings.HasPrefix(p.Label, l) })
		if known {
			first = append(first, p)
		} else {
			more = append(more, p)
		}
	}
	return first, more
}

// excerpts finds the lines around a quotation.
type excerpts map[string]Excerpt

// newExcerpts redacts the caller's lines: all of an excerpt together, because a key may span lines.
func newExcerpts(x Extras) excerpts {
	out := make(excerpts, len(x.Context))
	for k, e := range x.Context {
		if len(e.Lines) > htmlContext {
			e.Lines = e.Lines[:htmlContext]
		}
		lines := make([]string, len(e.Lines))
		for i, l := range e.Lines {
			lines[i] = strings.ReplaceAll(strings.ReplaceAll(l, "\r", " "), "\n", " ")
		}
		safe := strings.Split(redact.String(strings.Join(lines, "\n")), "\n")
		out[redact.String(k)] = Excerpt{e.First, safe}
	}
	return out
}

func (x excerpts) links(ls []linkView) []htmlLink {
	var out []htmlLink
	for _, l := range ls {
		h := htmlLink{Role: l.Role, Statement: l.Statement}
		ps := l.Proofs
		if len(ps) > htmlProofs {
			h.More = len(ps) - htmlProofs
			ps = ps[:htmlProofs]
		}
		h.Proofs = x.proofs(ps)
		out = append(out, h)
	}
	return out
}

func (x excerpts) proofs(ps []proof) []htmlProof {
	var out []htmlProof
	for _, p := range ps {
		p.Text = clip(p.Text, htmlQuote)
		h := htmlProof{proof: p}
		if e, ok := x[p.Where]; ok && p.Quote {
			at, _ := strconv.ParseInt(p.Where[strings.LastIndexByte(p.Where, ':')+1:], 10, 64)
			for i, l := range e.Lines {
				n := e.First + int64(i)
				h.Lines = append(h.Lines, htmlLine{n, clip(l, htmlQuote), n == at})
			}
		}
		out = append(out, h)
	}
	return out
}

// tiles draws the map; it returns how many nodes one cell stands for, 0 where each rank has its own.
func (p *htmlPage) tiles(m rankMap) (block int) {
	p.MapWhat = "One cell per rank, one strip per node."
	if m.Ranks > htmlMapRanks {
		m = m.perNode(htmlMapCells, 64)
		p.Fold, block = true, m.Block
		p.MapWhat = "One cell per node, colored by its worst rank. Click a cell to see its ranks."
		if m.Block > 1 {
			p.MapWhat = fmt.Sprintf("One cell per %d nodes, colored by their worst rank.", m.Block)
		}
	}
	cells := 0
	for _, row := range m.Rows {
		cells += len(row.Cells)
	}
	p.MapSize = mapSize(cells)
	for _, row := range m.Rows {
		t := htmlTile{Name: row.Node, Root: slices.Contains(p.Report.Verdict.Root.Nodes, row.Node)}
		for _, c := range row.Cells {
			class := "c r" + strconv.Itoa(c.Look)
			if c.Root {
				class += " root"
			}
			t.Cells = append(t.Cells, htmlCell{class, looks[c.Look].Letter, c.Text})
		}
		p.Tiles = append(p.Tiles, t)
	}
	for i, n := range m.Counts {
		if n > 0 {
			p.Legend = append(p.Legend, htmlLegend{"c r" + strconv.Itoa(i), looks[i].Letter, looks[i].Words, grouped(int64(n))})
		}
	}
	return block
}

// mapSize is the class of a map's cells, so that the map of any job is seen without scrolling.
func mapSize(cells int) string {
	switch {
	case cells > 1024:
		return "tiny"
	case cells > 256:
		return "small"
	case cells > 64:
		return "many"
	}
	return ""
}

// termsIn are the glossary's entries for words that the report uses, in alphabetical order.
func termsIn(v *view) []pair {
	all := terms()
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	add := func(ss ...string) {
		for _, s := range ss {
			b.WriteString(" " + strings.ToLower(s) + " ")
		}
	}
	add(v.Headline)
	for _, p := range v.Screen {
		add(p.Text)
	}
	for _, l := range v.Chain {
		add(l.Statement)
	}
	for _, e := range v.Timeline {
		add(e.Event)
	}
	for _, a := range v.Advice {
		add(a.Text)
	}
	for _, g := range v.Groups {
		add(g.Title, g.Stuck)
	}
	for i, n := range v.Map.Counts {
		if n > 0 {
			add(looks[i].Role)
		}
	}
	text := b.String()
	var out []pair
	for _, t := range all {
		if containsWord(text, strings.ToLower(t.Name)) {
			out = append(out, pair{t.Name, t.Text})
		}
	}
	slices.SortFunc(out, func(a, b pair) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	return out
}

// containsWord tells whether word stands in text between bytes that are no letters; a plural s may follow.
func containsWord(text, word string) bool {
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }
	for i := 0; word != ""; {
		n := strings.Index(text[i:], word)
		if n < 0 {
			return false
		}
		from, to := i+n, i+n+len(word)
		if to < len(text) && text[to] == 's' {
			to++
		}
		if (from == 0 || !letter(text[from-1])) && (to >= len(text) || !letter(text[to])) {
			return true
		}
		i = from + 1
	}
	return false
}
