package workflow

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"faultline/incident"
)

// handedSaid is how many files that are of no use are named.
const handedSaid = 4

// handed says what the files are that somebody gave after a report was there. What is a log needs no word: the report says what
// it changes.
func (f *Flow) handed(ctx context.Context, before, now []incident.Source) []string {
	if f.Engine.Look == nil {
		return nil
	}
	had := map[incident.Source]bool{}
	for _, s := range before {
		had[s.Content()] = true
	}
	var says, kinds []string
	strange := false
	of := map[string][]string{}
	for _, s := range now {
		if had[s.Content()] {
			continue
		}
		what, known, err := f.Engine.Look(ctx, s)
		switch {
		case err != nil: // whoever reads it says so
		case !known && len(says) < handedSaid:
			says, strange = append(says, fmt.Sprintf("%s is neither a job log nor evidence I can read", s.Name)), true
		case known && what != "log":
			what, _, _ = strings.Cut(what, " (")
			if len(of[what]) == 0 {
				kinds = append(kinds, what)
			}
			of[what] = append(of[what], s.Name)
		}
	}
	for _, what := range kinds {
		names := of[what]
		text := "reading " + names[0] + " as evidence: " + what
		if n := len(names); n > 1 {
			text = fmt.Sprintf("reading %s and %d more %s as evidence: %s", names[0], n-1, plural(n-1, "file", "files"), what)
		}
		says = append(says, text)
	}
	if strange {
		says = append(says, "I can read: "+named(f.Engine.Known))
	}
	return says
}

var examples = regexp.MustCompile(` \([^)]*\)`)

// named are the names of kinds of evidence, without their examples.
func named(known string) string {
	return strings.ReplaceAll(examples.ReplaceAllString(known, ""), "; ", ", ")
}

// Bounds of what is said of evidence that changed no verdict.
const (
	addedKinds    = 3
	addedFindings = 2
)

// added says what evidence shows that was handed in since, where the verdict is not its word.
func added(before, now *incident.Report) []string {
	var says []string
	for _, a := range now.Artifacts {
		news := func(file string) bool {
			return !slices.ContainsFunc(before.Artifacts, func(o incident.Artifact) bool { return o.Kind == a.Kind && slices.Contains(o.Files, file) })
		}
		i := slices.IndexFunc(a.Files, news)
		if a.Inline || i < 0 || len(says) == addedKinds {
			continue
		}
		text := "from " + a.Files[i] + ": "
		of := a.Files[i] + ", " // it need not be said twice
		if len(a.Findings) == 0 {
			text += "nothing unusual in it"
		}
		for i, finding := range a.Findings[:min(len(a.Findings), addedFindings)] {
			if i > 0 {
				text += "; "
			}
			text += clip(strings.TrimPrefix(strings.TrimRight(finding.Statement, "."), of))
		}
		says = append(says, text)
	}
	return says
}

// unusable are the warnings that came with what was given after a report: who gave it waits for a word.
func unusable(before, now []string) []string {
	var says []string
	for _, w := range now {
		if !strings.HasPrefix(w, "Left out ") && !slices.Contains(before, w) && len(says) < handedSaid {
			says = append(says, w)
		}
	}
	return says
}
