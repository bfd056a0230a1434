package messages

import (
	"strings"

	"faultline/incident"
)

// artifactView is one kind of evidence beside the logs, in words.
type artifactView struct {
	Title, From, Limits string
	Inline              bool
	Findings            []linkView
}

// artifactFiles is how many of its files are named.
const artifactFiles = 3

func artifactViews(all []incident.Artifact) []artifactView {
	var out []artifactView
	for _, a := range all {
		v := artifactView{Title: capital(flat(a.Title)), Limits: sentence(a.Limits), Inline: a.Inline}
		var names []string
		for i, f := range a.Files {
			if i == artifactFiles && len(a.Files) > artifactFiles+1 {
				names = append(names, count(len(a.Files)-i, "more file"))
				break
			}
			names = append(names, flat(f))
		}
		v.From = strings.Join(names, ", ")
		if len(a.Findings) == 0 {
			v.Findings = []linkView{{Statement: "Nothing unusual in it, judging by this job's other files."}}
		}
		for _, f := range a.Findings {
			v.Findings = append(v.Findings, linkView{Statement: sentence(capital(f.Statement)), Proofs: proofs(f.Evidence)})
		}
		out = append(out, v)
	}
	return out
}

// artifactProofs is how many lines are shown with one finding where there is little room.
const artifactProofs = 2

func (t *term) artifacts(all []artifactView) {
	if len(all) == 0 {
		return
	}
	t.heading("Other evidence")
	for _, a := range all {
		t.line("  " + t.paint(bold, a.Title))
		t.wrapped("  from ", dim, a.From)
		for _, l := range a.Findings {
			t.wrapped("  • ", "", l.Statement)
			t.proofs(l.Proofs[:min(len(l.Proofs), artifactProofs)])
		}
		t.wrapped("  ", dim, a.Limits)
	}
}

func (m *md) artifacts(all []artifactView) {
	if len(all) == 0 {
		return
	}
	m.heading("Other evidence")
	for _, a := range all {
		m.f("\n**%s** (%s)\n\n", esc(a.Title), esc(a.From))
		for _, l := range a.Findings {
			m.f("- %s\n", esc(l.Statement))
			m.proofs("  ", l.Proofs[:min(len(l.Proofs), artifactProofs)])
		}
		m.f("\n%s\n", esc(a.Limits))
	}
}

type htmlArtifact struct {
	Title, From, Limits string
	Findings            []htmlLink
}

func (x excerpts) artifacts(all []artifactView) []htmlArtifact {
	var out []htmlArtifact
	for _, a := range all {
		out = append(out, htmlArtifact{a.Title, a.From, a.Limits, x.links(a.Findings)})
	}
	return out
}
