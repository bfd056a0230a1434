package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

// topCounts is how many files and ranks a count names; the JSON has them all.
const topCounts = 3

// readCounts are the tallies of what went wrong while data were read: in total, per file and per rank.
func readCounts(n *incident.Counts) []pair {
	var ps []pair
	if t := &n.ConnectionResets; t.Total > 0 {
		ps = append(ps, pair{"Resets", count(t.Total, "connection reset") + shares(t.PerFile, t.PerRank)})
	}
	if r := &n.Retries; r.Recovered+r.Exhausted+r.Open > 0 {
		var ended []string
		if r.Recovered > 0 {
			text := grouped(int64(r.Recovered)) + " succeeded"
			if r.Idle > 0 {
				text += fmt.Sprintf(" (%s of them on idle connections, harmless)", grouped(int64(r.Idle)))
			}
			ended = append(ended, text)
		}
		if r.Exhausted > 0 {
			ended = append(ended, grouped(int64(r.Exhausted))+" gave up")
		}
		if r.Open > 0 {
			ended = append(ended, grouped(int64(r.Open))+" still retrying when the logs ended")
		}
		ps = append(ps, pair{"Retries", strings.Join(ended, ", ") + shares(sums(r.PerFile), sums(r.PerRank))})
	}
	if t := &n.LoaderErrors; t.Total > 0 {
		ps = append(ps, pair{"Loader errors", grouped(int64(t.Total)) + shares(t.PerFile, t.PerRank)})
	}
	return ps
}

func sums(m map[string]incident.Ladders) map[string]int {
	out := make(map[string]int, len(m))
	for k, l := range m {
		out[k] = l.Recovered + l.Exhausted + l.Open
	}
	return out
}

// shares names the files and ranks with the most of a count.
func shares(files, ranks map[string]int) string {
	if len(files) == 0 {
		return ""
	}
	text := " in " + count(len(files), "file")
	if list := top(files, flat); list != "" {
		text += " (" + list + ")"
	}
	if len(ranks) > 0 {
		text += "; per rank: " + top(ranks, func(s string) string { return "rank " + s })
	}
	return text
}

// top lists the largest counts, equal ones by name: "a.out: 9, b.out: 3, and 2 more".
func top(m map[string]int, name func(string) string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), byNumber(a, b)) })
	var parts []string
	for i, k := range keys {
		if i == topCounts {
			parts = append(parts, fmt.Sprintf("and %s more", grouped(int64(len(keys)-i))))
			break
		}
		parts = append(parts, name(k)+": "+grouped(int64(m[k])))
	}
	return strings.Join(parts, ", ")
}

// byNumber orders ranks as numbers and names as text.
func byNumber(a, b string) int {
	x, e1 := strconv.Atoi(a)
	y, e2 := strconv.Atoi(b)
	if e1 == nil && e2 == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}
