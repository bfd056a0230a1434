package bundle

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"faultline/messages"
	"faultline/messages/redact"
	"faultline/workflow"
)

// How much the Markdown version shows; the JSON has everything.
const (
	maxFilesShown  = 200
	maxWordsShown  = 4000 // runes of one post
	maxPostsQuoted = 200
)

// Markdown writes incident.md: the audit trail for people. It is escaped: text of people and logs is data here.
func (inc *Incident) Markdown(w io.Writer) error {
	m := &page{w: bufio.NewWriter(w)}
	m.head(inc)
	m.conclusion(inc)
	m.people(inc)
	m.course(inc)
	m.fetched(inc)
	m.posted(inc)
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("writing incident %s as Markdown: %w", inc.Investigation.ID, err)
	}
	return nil
}

type page struct{ w *bufio.Writer }

func (m *page) f(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

// escape makes text stand for itself in Markdown, on one line.
var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;",
	"&", "&amp;", "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`, "\n", " ", "\t", " ", "://", "&#58;//", "@", "&#64;")

func escape(s string) string { return escaper.Replace(strings.TrimSpace(s)) }

// fence writes text as it is, in a fence that no run of backticks inside can close.
func (m *page) fence(text string) {
	longest, run := 2, 0
	for _, c := range text {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	bar := strings.Repeat("`", longest+1)
	m.f("%stext\n%s\n%s\n\n", bar, strings.TrimRight(text, "\n"), bar)
}

func when(t time.Time) string {
	if t.IsZero() {
		return "not known"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func (m *page) head(inc *Incident) {
	inv := inc.Investigation
	job := cmp.Or(inv.Job, "(unknown)")
	if inv.Cluster != "" {
		job += " on " + inv.Cluster
	}
	m.f("# Incident %s: job %s\n\n", escape(inv.ID), escape(job))
	m.f("All times are UTC. Secrets in logs and messages are masked.\n\n")
	m.row("Asked", when(inv.Asked)+" by "+person(inv.Requester)+where(inv))
	m.row("State", string(inv.State)+" since "+when(inv.Since))
	m.row("Rerun of", inv.Again)
	m.row("Storage", inv.Storage)
	if inc.Engine != nil {
		m.row("Engine", inc.Engine.Version+", rules "+inc.Engine.RulesVersion)
	}
	if len(inv.Nodes) > 0 {
		m.row("Nodes stated", strings.Join(inv.Nodes, " "))
	}
	if inv.WorldSize > 0 {
		m.row("Ranks stated", fmt.Sprint(inv.WorldSize))
	}
	for _, n := range inv.Notes {
		m.row("Note", n)
	}
	m.f("\n")
}

func (m *page) row(name, value string) {
	if value != "" {
		m.f("- **%s:** %s\n", name, escape(value))
	}
}

func person(id string) string { return cmp.Or(id, "no one known") }

func where(inv Investigation) string {
	switch {
	case inv.Private && inv.Shared != "":
		return ", in direct messages, later shared in " + inv.Shared
	case inv.Private:
		return ", in direct messages"
	case inv.Channel != "":
		return " in " + inv.Channel
	}
	return ""
}

func (m *page) conclusion(inc *Incident) {
	m.f("## Conclusions\n\n")
	if inc.Verdict == nil {
		m.f("Nothing yet: there is no report.\n\n")
	} else {
		m.fence(strings.Join(messages.FirstScreen(redact.Report(inc.snapshot.Report), 0), "\n"))
	}
	for _, s := range inc.Superseded {
		m.f("- No longer holds: ~~%s~~\n", escape(s))
	}
	if len(inc.Superseded) > 0 {
		m.f("\n")
	}
	for _, r := range inc.Revisions {
		m.f("- **Was:** %s\n  **Now:** %s\n  **Because:** %s\n", escape(r.Was), escape(r.Now), escape(r.Because))
	}
	if len(inc.Revisions) > 0 {
		m.f("\n")
	}
	if o := inc.Outcome; o != nil {
		m.f("%s says that the verdict is **%s**.", escape(person(o.By)), escape(o.Verdict))
		for _, part := range []struct{ name, text string }{{"True mechanism", o.Mechanism}, {"Cause", o.Cause}, {"What fixed it", o.Fix}} {
			if part.text != "" {
				m.f(" %s: %s.", part.name, escape(strings.TrimRight(part.text, ".")))
			}
		}
		m.f("\n\n")
	}
	for _, q := range inc.Open {
		m.f("- Still open: %s\n", escape(q.Text))
	}
	if len(inc.Open) > 0 {
		m.f("\n")
	}
}

// people lists what persons did: asked, answered, skipped, disputed, closed, were refused.
func (m *page) people(inc *Incident) {
	m.f("## Who did what\n\n")
	n := 0
	for _, e := range inc.Ledger {
		if e.Actor == "" {
			continue
		}
		n++
		m.f("- %s %s: %s\n", when(e.At), escape(e.Actor), escape(words(e)))
	}
	if n == 0 {
		m.f("No actions are recorded.\n")
	}
	m.f("\n")
}

// deeds are the words for what people and timers cause.
var deeds = map[string]string{
	string(workflow.LogsGiven): "gave logs", string(workflow.Evidence): "stated facts", string(workflow.AISGiven): "gave access to storage logs",
	string(workflow.SkipStorage): "skipped the storage logs", string(workflow.Dispute): "disputed the verdict", string(workflow.Uphold): "withdrew the dispute",
	string(workflow.Close): "closed", string(workflow.Cancel): "cancelled", string(workflow.Retry): "tried again", string(workflow.LookNow): "asked for the snapshot now",
	string(workflow.Expire): "no answer in time",
}

func words(e Entry) string {
	text := e.Kind
	if e.To != "" {
		text = cmp.Or(deeds[e.Event], e.Event)
		if e.From != "" {
			text += " (" + e.From + " → " + e.To + ")"
		}
	}
	if e.Text != "" {
		text = strings.TrimPrefix(text+": "+e.Text, ": ")
	}
	return text
}

func (m *page) course(inc *Incident) {
	m.f("## Timeline\n\n| time | who | what |\n|---|---|---|\n")
	for _, e := range inc.Ledger {
		m.f("| %s | %s | %s |\n", when(e.At), escape(cmp.Or(e.Actor, "the bot")), escape(words(e)))
	}
	m.f("\n")
}

func (m *page) fetched(inc *Incident) {
	var bytes int64
	cited := 0
	for _, f := range inc.Fetched {
		bytes += f.Bytes
		if f.Cited {
			cited++
		}
	}
	m.f("## Files fetched\n\n%d files, %d bytes; the report cites %d of them.", len(inc.Fetched), bytes, cited)
	if inc.StorageLogs > 0 {
		m.f(" %d are logs of the storage cluster.", inc.StorageLogs)
	}
	m.f("\n\n")
	if cited > 0 {
		m.f("| cited file | bytes | SHA-256 | origin |\n|---|---|---|---|\n")
	}
	shown := 0
	for _, f := range inc.Fetched {
		if !f.Cited {
			continue
		}
		if shown++; shown > maxFilesShown {
			break
		}
		m.f("| %s | %d | %s | %s |\n", escape(f.Name), f.Bytes, cmp.Or(escape(f.SHA256), "not computed"), escape(f.Origin))
	}
	if cited > maxFilesShown {
		m.f("\n%d more are in incident.json.\n", cited-maxFilesShown)
	}
	if cited > 0 {
		m.f("\n")
	}
	for _, text := range inc.Warnings {
		m.f("- %s\n", escape(text))
	}
	if len(inc.Warnings) > 0 {
		m.f("\n")
	}
}

func (m *page) posted(inc *Incident) {
	m.f("## Posts\n\n")
	if len(inc.Posts) == 0 {
		m.f("Nothing.\n\n")
		return
	}
	m.f("| no. | time | what | where | state |\n|---|---|---|---|---|\n")
	newest := map[string]int64{} // of the edits of a message only the newest is shown in words
	for _, p := range inc.Posts {
		state := p.State
		if p.Marked {
			state += ", marked as a repetition"
		}
		if p.LastError != "" {
			state += " (" + p.LastError + ")"
		}
		to := p.Channel
		if p.User != "" {
			to += ", to " + p.User + " alone"
		}
		m.f("| %d | %s | %s %s | %s | %s |\n", p.ID, when(p.Added), escape(string(p.Kind)), escape(p.Key), escape(to), escape(state))
		if p.Kind == workflow.PostEdit && p.State == workflow.PostSent {
			newest[p.Key] = p.ID
		}
	}
	m.f("\n")
	quoted := 0
	for _, p := range inc.Posts {
		if p.Text == "" || p.State != workflow.PostSent || p.Kind == workflow.PostEdit && newest[p.Key] != p.ID {
			continue
		}
		if quoted++; quoted > maxPostsQuoted {
			m.f("Other posts are in incident.json.\n")
			break
		}
		m.f("**%d. %s %s**\n\n", p.ID, escape(string(p.Kind)), escape(p.Key))
		text := []rune(p.Text)
		if len(text) > maxWordsShown {
			text = append(text[:maxWordsShown], []rune("\n(cut; all of it is in incident.json)")...)
		}
		m.fence(string(text))
		for _, f := range p.Files {
			m.f("- attached: %s (%d bytes)\n", escape(f.Name), f.Bytes)
		}
		if len(p.Files) > 0 {
			m.f("\n")
		}
	}
}
