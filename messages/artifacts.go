package messages

import (
	"slices"
	"strings"

	"faultline/incident"
	"faultline/messages/blockkit"
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
			v.Findings = []linkView{{Statement: "Nothing in it is out of the ordinary, as far as it can be told without more of the job."}}
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
	t.heading("Evidence beside the logs")
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
	m.heading("Evidence beside the logs")
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

// Room of the evidence beside the logs in the thread.
const (
	artifactRoom  = 2500
	artifactShown = 3 // findings of one kind
)

// artifactBlocks are the telling findings of each kind that somebody handed in, each with the line that shows it. What the logs hold by
// the way is in the report's file: in the thread it would stand between the reader and the cause.
func artifactBlocks(all []artifactView) blockkit.Blocks {
	var out blockkit.Blocks
	all = slices.DeleteFunc(slices.Clone(all), func(a artifactView) bool { return a.Inline })
	room := artifactRoom
	for i, a := range all {
		part := []blockkit.RichElement{labelled(blockkit.Clip(a.Title, 200), blockkit.Clip(a.Limits, slackSentence))}
		for _, l := range a.Findings[:min(len(a.Findings), artifactShown)] {
			part = append(part, para(run("• "+blockkit.Clip(l.Statement, slackSentence))))
			part = append(part, evidenceParts(l.Proofs[:min(len(l.Proofs), 1)])...)
		}
		size := partsSize(part)
		if room < size {
			return append(out, rich(para(run("… and "+count(len(all)-i, "more kind")+" of evidence in the report file.")))...)
		}
		room -= size
		out = append(out, rich(part...)...)
	}
	return out
}
