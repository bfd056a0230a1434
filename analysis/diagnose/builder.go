package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/history"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// unknown is the mechanism of a run that nothing explains.
const unknown = string(knowledge.Unknown)

// Earlier is what is kept of earlier runs, and who this one is among them.
type Earlier struct {
	Book *history.Book // nil: nothing was given
	Who  history.Who
}

type builder struct {
	s    *mechanism.Scene
	d    decision
	r    *incident.Report
	root map[int]bool // the verdict's ranks
	// beside is what evidence beside the logs says.
	beside []incident.Artifact
	// rows counts the rows of groups that carry evidence.
	rows  int
	words *lastWords
	said  *saidLast // nil where nothing tells what the rank at the root was doing
	// when are the moments of the timeline's rows, not valid where no line states one.
	when []resolve.Moment
	// outsiders are the hosts at the root that are none of the job's nodes.
	outsiders []string
	// again are the recurrences that weigh, by kind.
	again map[string]*incident.Recurrence
}

func (b *builder) lastStep() (int64, bool) {
	best, ok := int64(-1), false
	for _, p := range b.s.Facts.Progress {
		if p.Step > best {
			best, ok = p.Step, true
		}
	}
	return best, ok
}

func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func nonNil(fs []incident.Finding) []incident.Finding {
	if fs == nil {
		return []incident.Finding{}
	}
	return fs
}

// mostNamed is how many names stand in a sentence; the coverage has them all.
const mostNamed = 8

// several names a few of many in a sentence.
func several(names []string, noun string) string {
	if more := len(names) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d more %ss", strings.Join(names[:mostNamed], ", "), more, noun)
	}
	return strings.Join(names, ", ")
}

func join(ps []*mechanism.Proposal) string {
	var names []string
	for _, p := range ps {
		names = append(names, strings.TrimSuffix(p.Summary, "."))
	}
	return strings.Join(names, "; ")
}

func appendNew[T comparable](list []T, s T) []T {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func appendNeed(list []incident.Need, n incident.Need) []incident.Need {
	for _, x := range list {
		if x.What == n.What {
			return list
		}
	}
	return append(list, n)
}

// maxFindings is how much is said of one kind.
const maxFindings = 8

func origin(slug knowledge.Slug) string {
	if m, ok := knowledge.MechanismBySlug(slug); ok {
		return m.Origin
	}
	return unknown
}
