package messages

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// earlierView is what earlier runs say, in words.
type earlierView struct {
	Facts       []pair
	Again       []linkView
	Good        string // introduces the differences; "" where no run of the same name completed
	Differences []linkView
}

func earlier(h *incident.History) earlierView {
	if h == nil {
		return earlierView{}
	}
	none := func(n int, noun, none string) string {
		if n == 0 {
			return none
		}
		return count(n, noun)
	}
	v := earlierView{Facts: []pair{{"Compared with", none(h.Runs, "earlier run", "no earlier runs") + " in " + nodeList(h.Files)}}}
	if h.Runs > 0 {
		v.Facts = append(v.Facts, pair{"Same name", none(h.SameName, "run", "none known to be the same job")},
			pair{"Shared nodes", none(h.SharedNodes, "run", "none")})
	}
	for _, r := range h.Recurrences {
		v.Again = append(v.Again, linkView{Role: r.Kind, Statement: sentence(r.Statement), Proofs: proofs(r.Evidence)})
	}
	if h.Runs > 0 && len(h.Recurrences) == 0 {
		v.Facts = append(v.Facts, pair{"Recurrence", "first time seen in these runs"})
	}
	g := h.LastGood
	if g == nil {
		return v
	}
	v.Good = "Last good run: " + flat(g.Run)
	if g.End != "" {
		v.Good += ", ended " + flat(g.End)
	}
	switch n := len(g.Differences) + g.More; n {
	case 0:
		v.Good += ". No recorded difference."
	default:
		v.Good += ". What has changed since:"
	}
	for _, d := range g.Differences {
		v.Differences = append(v.Differences, linkView{Role: d.What, Statement: differenceText(d), Proofs: proofs(d.Evidence)})
	}
	if g.More > 0 {
		v.Differences = append(v.Differences, linkView{Statement: fmt.Sprintf("… and %s.", count(g.More, "more difference"))})
	}
	return v
}

// maxValue bounds a value in a sentence; the JSON has it all.
const maxValue = 80

func differenceText(d incident.Difference) string {
	nodes := func(s string) string {
		list := strings.Split(s, ",")
		return count(len(list), "node") + ": " + nodeList(list)
	}
	value := func(s string) string {
		if s == "" {
			return "not given"
		}
		return clip(flat(s), maxValue)
	}
	switch d.What {
	case "nodes-added":
		return "Added " + nodes(d.Now) + "."
	case "nodes-removed":
		return "Removed " + nodes(d.Was) + "."
	case "world-size":
		return "World size: " + value(d.Was) + ", now " + value(d.Now) + "."
	case "framework":
		return "Framework: " + value(knowledge.FrameworkNames(d.Was)) + ", now " + value(knowledge.FrameworkNames(d.Now)) + "."
	}
	return flat(d.Name) + ": " + value(d.Was) + ", now " + value(d.Now) + "."
}

// beforeText is the line of the first screen: what recurs and bears on the verdict or the advice, and in what the last run
// that went well was another.
func beforeText(h *incident.History) string {
	if h == nil {
		return ""
	}
	var parts []string
	for _, r := range h.Recurrences {
		if r.Weighs {
			parts = append(parts, sentence(r.Statement))
		}
	}
	if t := differencesText(h); t != "" {
		parts = append(parts, t)
	}
	return strings.Join(parts, " ")
}

func (t *term) earlier(v earlierView) {
	if len(v.Facts) == 0 {
		return
	}
	t.heading("Earlier runs")
	t.pairs(v.Facts)
	for _, l := range v.Again {
		t.wrapped("  • ", "", l.Statement)
		t.proofs(l.Proofs)
	}
	if v.Good != "" {
		t.wrapped("  ", "", v.Good)
	}
	for _, l := range v.Differences {
		t.wrapped("  • ", "", withSource(l))
	}
}

func (m *md) earlier(v earlierView) {
	if len(v.Facts) == 0 {
		return
	}
	m.heading("Earlier runs")
	m.pairs(v.Facts)
	m.f("\n")
	for _, l := range v.Again {
		m.f("- %s\n", esc(l.Statement))
		m.proofs("  ", l.Proofs)
	}
	if v.Good != "" {
		m.f("\n%s\n\n", esc(v.Good))
	}
	for _, l := range v.Differences {
		m.f("- %s\n", esc(withSource(l)))
	}
}

type htmlEarlier struct {
	Facts              []pair
	Again, Differences []htmlLink
	Good               string
}

func (x excerpts) earlier(v earlierView) htmlEarlier {
	return htmlEarlier{v.Facts, x.links(v.Again), x.links(v.Differences), v.Good}
}

// differencesText names the first of the differences from the last run that went well.
func differencesText(h *incident.History) string {
	if h == nil || h.LastGood == nil {
		return ""
	}
	n := len(h.LastGood.Differences) + h.LastGood.More
	if n == 0 {
		return ""
	}
	var names []string
	for i, d := range h.LastGood.Differences {
		if i == 3 {
			names = append(names, strconv.Itoa(n-i)+" more")
			break
		}
		names = append(names, strings.TrimRight(differenceText(d), "."))
	}
	return "Changed since " + flat(h.LastGood.Run) + ", the last good run: " + strings.Join(names, "; ") + "."
}
