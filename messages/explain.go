package messages

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"faultline/knowledge"
	"faultline/knowledge/explain"
	"faultline/knowledge/severity"
	"faultline/messages/redact"
)

// explained is an entry of the knowledge in words, made once for all formats. What came from a person is redacted.
type explained struct {
	Kind      string     `json:"kind"`
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Meaning   string     `json:"meaning"`
	Role      string     `json:"role"`      // cause, symptom, consequence, noise, info, or ""
	RoleText  string     `json:"role_text"` // the same for people
	Where     *pasted    `json:"where"`     // in the text that was asked about
	Says      []said     `json:"says"`
	Default   string     `json:"default"`
	Trap      string     `json:"trap"`
	Cost      string     `json:"cost"`
	Action    string     `json:"action"`
	Cause     string     `json:"cause"`
	Check     *todo      `json:"check"`
	Collect   []setting  `json:"collect"`
	Mechanism *mechanics `json:"mechanism"`
	Example   string     `json:"example"`
	Source    string     `json:"source"`
}

type pasted struct {
	Line  int    `json:"line"` // from 1; 0: the text as a whole
	Count int    `json:"count"`
	Text  string `json:"text"`
}

type said struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// setting is a variable that makes the next run say more, and what that costs.
type setting struct {
	Set     string `json:"set"`
	Meaning string `json:"meaning"`
	Cost    string `json:"cost"`
}

type mechanics struct {
	Slug       string      `json:"slug"`
	Title      string      `json:"title"`
	Meaning    string      `json:"meaning"`
	Origin     string      `json:"origin"`
	Owner      string      `json:"owner"`
	Resubmit   string      `json:"resubmit"`
	LookAlikes []lookAlike `json:"look_alikes"`
	Now        []todo      `json:"now"`
	Structural []todo      `json:"structural"`
	NextTime   []todo      `json:"next_time"`
	Fixes      []fix       `json:"fixes"`
}

// fix is one way to mend it.
type fix struct {
	Does    string `json:"does"`
	Risk    string `json:"risk"`
	Check   string `json:"check"`
	Lasting bool   `json:"lasting"`
}

func (f fix) weighed() string { return f.Does + " Risk: " + f.Risk + " Check: " + f.Check }

type lookAlike struct {
	Mechanism string `json:"mechanism"`
	Tell      string `json:"tell"`
}

type todo struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// roleTexts answers "is it the cause?".
var roleTexts = map[knowledge.Role]string{
	knowledge.CauseRole:       "May be the cause, unless something earlier explains it.",
	knowledge.SymptomRole:     "A symptom, not the cause: it points at a state or at another process. Follow that lead.",
	knowledge.ConsequenceRole: "A consequence: something failed before it.",
	knowledge.NoiseRole:       "Noise: harmless; healthy jobs print it too.",
	knowledge.InfoRole:        "Informational: it doesn't explain a failure on its own.",
}

// directText is for a line that settles the matter by itself.
const directText = "A cause: this line alone is proof against the rank or node that wrote it."

// partText is for half a line: the other half may say otherwise.
const partText = "Can't tell from part of a line: paste the whole line."

// checks say what to look at where neither the entry nor a mechanism does.
var checks = map[knowledge.Role]string{
	knowledge.SymptomRole:     "The logs of all the other ranks and nodes: which one is missing, and which ended first?\nbot diagnose LOGS",
	knowledge.ConsequenceRole: "What was logged before it, on all ranks.\nbot diagnose LOGS",
}

func explainedOf(e explain.Entry) explained {
	x := explained{Kind: string(e.Kind), ID: redact.String(e.ID), Title: capital(redact.String(e.Title)), Meaning: e.Meaning, Role: string(e.Role), RoleText: roleTexts[e.Role],
		Default: e.Default, Trap: e.Trap, Cost: e.Cost, Action: e.Action, Cause: e.Cause, Collect: settings(e), Example: e.Example, Source: e.Source, Says: []said{}}
	if e.Direct {
		x.RoleText = directText
	}
	if e.Kind == explain.Mechanism { // not a line that one sees
		x.RoleText = ""
	}
	if e.Part && e.Role == knowledge.CauseRole {
		x.RoleText = partText
	}
	if e.Kind == explain.Variable || e.Kind == explain.Mechanism {
		x.Title = redact.String(e.Title)
	}
	if title := mechanismTitle(string(e.Mechanism)); e.Kind == explain.Line && e.Mechanism != "" && strings.EqualFold(x.Title, title) {
		x.Title = strings.TrimRight(firstClause.FindString(e.Meaning), ".; ") // what this line says: its mechanism has other lines, too
	}
	if e.Count > 0 {
		x.Where = &pasted{e.At, e.Count, redact.String(e.Text)}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		x.Says = append(x.Says, said{strings.TrimRight(strings.ReplaceAll(name, "_", " "), "0123456789"), flat(redact.String(e.Fields[name]))})
	}
	m, ok := mechanism(string(e.Mechanism))
	if ok && e.Role != knowledge.NoiseRole && (e.Role != knowledge.InfoRole || e.Check == "") {
		x.Mechanism = mechanicsOf(m)
		if e.Owner != "" {
			x.Mechanism.Owner = ownerText(string(e.Owner))
		}
	}
	check := e.Check
	if check == "" && x.Mechanism == nil {
		check = checks[e.Role]
	}
	if check != "" {
		text, command, _ := strings.Cut(check, "\n")
		x.Check = &todo{text, command}
	}
	return x
}

// settings are those of the entry, else those of the mechanism it speaks for.
func settings(e explain.Entry) []setting {
	out := []setting{}
	collect := e.Collect
	if collect == nil && (e.Role == knowledge.CauseRole || e.Role == knowledge.SymptomRole) {
		collect = knowledge.CollectFor(e.Mechanism)
	}
	for _, s := range knowledge.Settings(collect) {
		out = append(out, setting{s.Name + "=" + s.Value, capital(strings.TrimPrefix(s.Meaning, s.Value+" ")), s.Cost})
	}
	return out
}

// priced is a setting in one line: what it does, and what it costs.
func (s setting) priced() string {
	if s.Cost == "" {
		return s.Set + ": " + s.Meaning
	}
	return s.Set + ": " + s.Meaning + " Cost: " + s.Cost
}

func mechanicsOf(m knowledge.Mechanism) *mechanics {
	out := &mechanics{Slug: string(m.Slug), Title: m.Title, Meaning: m.Meaning, Origin: m.Origin, Owner: ownerText(string(m.Owner)), Resubmit: resubmitWord(m.Resubmit),
		LookAlikes: []lookAlike{}, Now: todos(m.Now), Structural: todos(m.Structural), NextTime: todos(m.NextTime), Fixes: []fix{}}
	for _, r := range knowledge.Remedies(m.Slug) {
		out.Fixes = append(out.Fixes, fix{r.Does, r.Risk, r.Verify, r.Structural})
	}
	for _, l := range knowledge.LookAlikes(m.Slug) {
		out.LookAlikes = append(out.LookAlikes, lookAlike{string(l.Mechanism), l.Tell})
	}
	return out
}

func todos(as []knowledge.Advice) []todo {
	out := []todo{}
	for _, a := range as {
		a = a.Fill(nil)
		out = append(out, todo{a.Text, a.Command})
	}
	return out
}

func explainedAll(es []explain.Entry) []explained {
	out := []explained{}
	for _, e := range es {
		out = append(out, explainedOf(e))
	}
	return out
}

// What is said beside every answer.
const (
	unknownText = "No match."
	nearText    = "Closest entries (not a match):"
	limitText   = "This explains a message, not your job. To find which rank failed first, with proof, run: bot diagnose LOGS"
)

// whose puts origin, owner and the default decision into one line.
func (m *mechanics) whose() string {
	origin := m.Origin
	if origin == "unknown" {
		origin = "unknown"
	}
	return fmt.Sprintf("%s. Origin: %s. Resubmit: %s.", m.Owner, origin, m.Resubmit)
}

// once leaves out what was told of the same mechanism above.
func (x explained) once(told map[string]bool) explained {
	if x.Mechanism == nil {
		return x
	}
	slug := x.Mechanism.Slug
	if told[slug] {
		x.Mechanism = nil
		if x.Check == nil {
			x.Check = &todo{Text: "As above, under " + slug + "."}
		}
	}
	told[slug] = true
	return x
}

func (x explained) cause() string  { return labelledText("Usually: ", x.Cause) }
func (x explained) action() string { return labelledText("NVIDIA's advice: ", x.Action) }
func (x explained) cost() string   { return labelledText("Cost: ", x.Cost) }

func labelledText(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func (x explained) checks() []todo {
	if x.Check == nil {
		return nil
	}
	return []todo{*x.Check}
}

func (x explained) says() string {
	var parts []string
	for _, s := range x.Says {
		parts = append(parts, s.Name+" = "+s.Value)
	}
	return strings.Join(parts, ", ")
}

func (x explained) where() string {
	if x.Where == nil || x.Where.Text == "" {
		return ""
	}
	at := "the text"
	if x.Where.Line > 0 {
		at = fmt.Sprintf("line %d", x.Where.Line)
	}
	if x.Where.Count > 1 {
		at += ", and " + count(x.Where.Count-1, "other line")
	}
	return at
}

// Explanation is the best of an entry in a few sentences, for a chat.
type Explanation struct {
	ID, Title, Meaning, Role, Cause, Action, Trap, Cost, Whose, Do, Command string
	// Collect is the first setting that makes the next run say more, with its cost.
	Collect string
}

// Explain says what an entry means, what it is, whose problem that is, and the first thing to do.
func Explain(e explain.Entry) Explanation {
	x := explainedOf(e)
	out := Explanation{ID: x.ID, Title: x.Title, Meaning: x.more(), Role: x.RoleText, Trap: x.Trap, Cause: x.cause(), Action: x.action(), Cost: x.cost()}
	first := x.checks()
	if x.Mechanism != nil {
		out.Whose = x.Mechanism.Slug + ": " + x.Mechanism.Title + ". Owner: " + x.Mechanism.whose()
		first = append(first, x.Mechanism.Now...)
	}
	if len(first) > 0 {
		out.Do, out.Command = first[0].Text, first[0].Command
	}
	if len(x.Collect) > 0 {
		out.Collect = "To capture more next time: " + x.Collect[0].priced()
	}
	return out
}

// more is what an entry means beyond its title.
func (x explained) more() string {
	return capital(strings.TrimLeft(strings.TrimPrefix(x.Meaning, x.Title), ".; "))
}

// firstClause is what a text says up to its first full stop or semicolon.
var firstClause = regexp.MustCompile(`^.*?(?:[.;] |\.?$)`)

// ExplainJSON writes an answer for programs: schema faultline.explain/v1, lists never null.
func ExplainJSON(w io.Writer, a explain.Answer) error {
	return encode(w, struct {
		Schema  string      `json:"schema"`
		Known   bool        `json:"known"`
		Lines   int         `json:"lines"`
		Cut     bool        `json:"cut"`
		Entries []explained `json:"entries"` // best first
		More    int         `json:"more"`
		Open    bool        `json:"open"`
		Nearest []explained `json:"nearest"`
		// Severity is how bad the text sounds where nothing is known of it, Why what makes it sound so; "" elsewhere.
		Severity string `json:"severity,omitempty"`
		Why      string `json:"why,omitempty"`
		Note     string `json:"note"`
	}{"faultline.explain/v1", len(a.Entries) > 0, a.Lines, a.Cut, explainedAll(a.Entries), a.More, a.Open, explainedAll(a.Nearest), soundsWord(a), redact.String(a.Sounds.Why), limitText})
}

// ExplainListJSON writes all that is known.
func ExplainListJSON(w io.Writer, es []explain.Entry) error {
	return encode(w, struct {
		Schema  string      `json:"schema"`
		Entries []explained `json:"entries"`
	}{"faultline.explain.list/v1", explainedAll(es)})
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the explanation as JSON: %w", err)
	}
	return nil
}

// soundsWord is how bad a text sounds of which nothing is known; "" where it does not.
func soundsWord(a explain.Answer) string {
	if len(a.Entries) > 0 || a.Sounds.Level == severity.Calm {
		return ""
	}
	return a.Sounds.Level.String()
}

// OpenText says that what was asked about doesn't tell one failure from others; "" where it does.
func OpenText(a explain.Answer) string {
	if !a.Open {
		return ""
	}
	return fmt.Sprintf("Can't tell from this alone: %s print this. Paste the whole line.", count(len(a.Entries)+a.More, "failure"))
}

// Sounds says how bad a text sounds of which nothing is known, and why; "" where it does not sound bad.
func Sounds(a explain.Answer) string {
	word := map[severity.Level]string{severity.Warning: "a warning", severity.Failed: "an error", severity.Crash: "a crash"}[a.Sounds.Level]
	if len(a.Entries) > 0 || word == "" {
		return ""
	}
	return "Closest match: " + word + " (" + redact.String(a.Sounds.Why) + ")."
}
