package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// acts is who acts, and what to do first, by the site's own word; nothing where causes are open or the site says nothing.
func (b *builder) acts() knowledge.Act {
	v := &b.r.Verdict
	if len(v.Candidates) != 1 || len(b.d.winners) == 0 {
		return knowledge.Act{}
	}
	a, _ := b.s.Facts.Known.Acts(b.entry().ID, knowledge.Slug(v.Mechanism))
	return a
}

// bySite fills advice of the line itself, and marks it as the site's own where a place of the site's file states it.
func (b *builder) bySite(at string) func(knowledge.Advice) knowledge.Advice {
	return func(a knowledge.Advice) knowledge.Advice {
		if a = b.fillOwn(a, at); at != "" {
			a.Text += " " + cited(at)
		}
		return a
	}
}

// cited names the place of a site's file that states something.
func cited(at string) string { return "(" + knowledge.SiteWord + ": " + at + ")" }

// siteEntry is an entry of the site and the lines that it knows.
type siteEntry struct {
	knowledge.Signature
	n        int
	first    *worker.At
	failures int // of a suppression's lines those that would tell of one
	// kept and silenced count, of a suppression's lines, what proves a cause all the same, and what no longer does.
	kept, silenced map[knowledge.ID]int
}

// site says what the site's own knowledge had to do with the report.
func (b *builder) site() {
	for _, e := range b.siteEntries() {
		note := incident.SiteNote{ID: string(e.ID), At: e.Site, Part: incident.SiteNoted, N: e.n, Statement: e.Meaning, Evidence: []incident.Evidence{mechanism.QuoteAt(*e.first, nil)}}
		switch {
		case e.Mutes != nil:
			note.Part = incident.SiteSuppressed
			b.r.Warnings = append(b.r.Warnings, e.suppressed())
			if e.failures > 0 {
				b.r.Coverage.Gaps = append(b.r.Coverage.Gaps, fmt.Sprintf("%s of failures, suppressed by %s (%s)", plural(e.failures, "line", "lines"), knowledge.SiteWord, e.Site))
			}
		case b.rests(e.ID):
			note.Part = incident.SiteDecides
			b.r.Verdict.Why = "the line is defined in " + knowledge.SiteWord + " (" + e.Site + "); " + b.r.Verdict.Why
		}
		b.r.Site = append(b.r.Site, note)
	}
	b.attributeLinks()
}

// attributeLinks marks what the chain says by the site's own word.
func (b *builder) attributeLinks() {
	if len(b.r.Site) == 0 {
		return
	}
	at := map[worker.Pos]string{}
	for _, fl := range b.s.Facts.Failures {
		if s := fl.Entry().Site; s != "" {
			at[placeOf(fl.At.File, fl.At.Off)] = s
		}
	}
	for i := range b.r.Chain {
		l := &b.r.Chain[i]
		for _, e := range l.Evidence {
			if s := at[placeOf(e.File, e.Offset)]; s != "" {
				l.Statement += " " + cited(s)
				break
			}
		}
	}
}

func placeOf(file string, off int64) worker.Pos { return worker.Pos{File: file, Off: off} }

// rests says that the verdict rests on lines of an entry.
func (b *builder) rests(id knowledge.ID) bool {
	for _, w := range b.d.winners {
		for _, fl := range w.Failures {
			if fl.Sign == id {
				return true
			}
		}
	}
	return false
}

// siteEntries are the site's entries whose lines are there, in the order of their first.
func (b *builder) siteEntries() []*siteEntry {
	f := b.s.Facts
	if len(f.Known.Site().Entries) == 0 {
		return nil
	}
	found := map[knowledge.ID]*siteEntry{}
	add := func(at *worker.At, text string, raised bool, ids ...knowledge.ID) {
		for _, id := range ids {
			s := f.Known.Entry(id)
			if s.Site == "" {
				continue
			}
			e := found[id]
			if e == nil {
				e = &siteEntry{Signature: *s, first: at, kept: map[knowledge.ID]int{}, silenced: map[knowledge.ID]int{}}
				found[id] = e
			}
			e.see(at, text, raised && len(ids) == 1, f.Known.Base())
		}
	}
	for i := range f.Obs.Signs {
		add(&f.Obs.Signs[i].At, f.Obs.Signs[i].Text, false, f.Obs.Signs[i].ID)
	}
	for i := range f.Obs.NCCLWarns {
		add(&f.Obs.NCCLWarns[i].At, f.Obs.NCCLWarns[i].Text, false, f.Obs.NCCLWarns[i].Signs...)
	}
	for i := range f.Obs.Exceptions {
		x := &f.Obs.Exceptions[i]
		add(&x.At, x.Type+": "+x.Message, true, x.Signs...)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *siteEntry) int {
		return cmp.Or(cmp.Compare(a.first.File, b.first.File), cmp.Compare(a.first.Off, b.first.Off), cmp.Compare(a.ID, b.ID))
	})
}

// see counts a line; alone: it ends an exception that no other entry knows.
func (e *siteEntry) see(at *worker.At, text string, alone bool, base *knowledge.Catalogue) {
	if e.n++; at.File < e.first.File || at.File == e.first.File && at.Off < e.first.Off {
		e.first = at
	}
	if e.Mutes == nil {
		return
	}
	for _, id := range base.Match(nil, []byte(text)) {
		switch {
		case !base.Entry(id).Proven():
		case slices.Contains(e.Mutes.Causes, id):
			e.silenced[id]++
			alone = true
		default:
			e.kept[id]++
		}
	}
	if alone {
		e.failures++
	}
}

// suppressed says what a suppression did.
func (e *siteEntry) suppressed() string {
	text := fmt.Sprintf("%s suppressed as noise by %s (%s): %s", plural(e.n, "line", "lines"), knowledge.SiteWord, e.Site, strings.TrimSuffix(e.Meaning, "."))
	if len(e.silenced) > 0 {
		text += "; normally they prove a cause: " + tallied(e.silenced)
	}
	if len(e.kept) > 0 {
		text += "; these prove a cause and still count: " + tallied(e.kept)
	}
	return text
}

// tallied lists entries with how many lines each knows.
func tallied(n map[knowledge.ID]int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", id, n[id]))
	}
	return strings.Join(parts, ", ")
}
