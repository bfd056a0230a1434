package messages

import (
	"fmt"
	"strings"

	"faultline/incident"
)

// gapsSaid bounds what the row says of what was not found or looked at; the warnings say all.
const gapsSaid = 2

// gapsText says what was not seen; where nothing is missing it says from what that is known.
func gapsText(r *incident.Report) string {
	c := r.Coverage
	whole := len(c.NodesMissing) == 0 && len(c.RanksMissing) == 0 && c.RanksExpected != nil && c.RanksSeen >= *c.RanksExpected
	var gaps []string
	if len(c.NodesMissing) > 0 {
		gaps = append(gaps, fmt.Sprintf("no log from %s (%s)", nodeList(c.NodesMissing), count(len(c.NodesMissing), "node")))
	}
	switch {
	case len(c.RanksMissing) > 0:
		gaps = append(gaps, "no lines from "+rankText(c.RanksMissing))
	case c.RanksExpected != nil && c.RanksSeen == 0:
		gaps = append(gaps, fmt.Sprintf("rank numbers (not shown in the logs; %s expected)", count(*c.RanksExpected, "rank")))
	case c.RanksExpected != nil && c.RanksSeen < *c.RanksExpected:
		gaps = append(gaps, fmt.Sprintf("no lines from %s of %s", grouped(int64(*c.RanksExpected-c.RanksSeen)), count(*c.RanksExpected, "rank")))
	}
	if len(c.FilesMissing) > 0 {
		gaps = append(gaps, count(len(c.FilesMissing), "file")+" of a series")
	}
	empty, unread := 0, 0
	for _, f := range c.Truncated {
		switch f.How {
		case "empty":
			empty++
		case "unreadable":
			unread++
		}
	}
	if unread > 0 {
		gaps = append(gaps, count(unread, "unreadable file"))
	}
	if empty > 0 {
		gaps = append(gaps, count(empty, "empty file"))
	}
	if n := len(c.Truncated) - empty - unread; n > 0 {
		gaps = append(gaps, count(n, "file")+" truncated")
	}
	if r.Storage.Status == "not-provided" {
		gaps = append(gaps, storageGap(r))
	}
	if c.NodesExpected == nil && c.RanksExpected == nil {
		gaps = append(gaps, "the world size (--world-size N)")
	}
	for _, g := range c.Gaps[:min(len(c.Gaps), gapsSaid)] {
		gaps = append(gaps, flat(g))
	}
	t := capital(strings.Join(gaps, "; "))
	switch {
	case len(gaps) == 0 && whole:
		t = "Nothing (" + seenText(c) + ")"
	case len(gaps) == 0:
		t = "Nothing"
	}
	return t + "."
}

// storageGap: where nothing but the frame of a data loader hints at a store, there may be none.
func storageGap(r *incident.Report) string {
	if r.Verdict.Origin == "storage" || r.Job.DataSource != nil {
		return "storage logs"
	}
	return "storage logs (if the job reads from a store)"
}

// seenText says that every rank was seen.
func seenText(c incident.Coverage) string {
	t := fmt.Sprintf("%s of %s seen", grouped(int64(c.RanksSeen)), count(*c.RanksExpected, "rank"))
	if len(c.NodesExpected) > 0 {
		t += fmt.Sprintf(" on %s of %s", grouped(int64(len(c.NodesExpected)-len(c.NodesMissing))), count(len(c.NodesExpected), "node"))
	}
	return t
}
