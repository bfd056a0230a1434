package filename

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// SeriesInfo is a set of names that differ in one number: of nodes, tasks or ranks.
type SeriesInfo struct {
	// Template is the name with '*' for the number.
	Template string
	Have     []int // ascending
	// Missing are the numbers below the largest that no file has. It is empty where the files are too sparse to be a
	// dense series (one log for each eighth rank, say).
	Missing []int
	width   int
}

// maxSeries bounds the numbers of a series; more is not a series of nodes or ranks.
const maxSeries = 1 << 17

// Series groups names by what they have in common. The result is sorted by template.
func Series(names []string) []SeriesInfo {
	by := map[string]*SeriesInfo{}
	seen := map[string]bool{}
	for name, n := range Parse(names) {
		var kind string
		var v int
		switch {
		case n.Rank != None:
			kind, v = "rank", n.Rank
		case n.Task != None:
			kind, v = "task", n.Task
		case n.NodeIndex != None:
			kind, v = "node", n.NodeIndex
		default:
			continue
		}
		template, width, ok := star(name, kind, v)
		if !ok || v >= maxSeries {
			continue
		}
		if n.Host != "" {
			template = strings.Replace(template, n.Host, "%N", 1) // the count goes on over the nodes
		}
		s := by[template]
		if s == nil {
			s = &SeriesInfo{Template: template, width: width}
			by[template] = s
		}
		s.width = max(s.width, width)
		if key := fmt.Sprint(template, v); !seen[key] { // the same log, plain and compressed
			seen[key] = true
			s.Have = append(s.Have, v)
		}
	}
	out := make([]SeriesInfo, 0, len(by))
	for _, s := range by {
		sort.Ints(s.Have)
		s.Missing = missing(s.Have)
		out = append(out, *s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Template < out[j].Template })
	return out
}

// Gaps are the names that are missing in dense series, sorted by series and number.
func Gaps(names []string) []string {
	var out []string
	for _, s := range Series(names) {
		for _, v := range s.Missing {
			out = append(out, s.Name(v))
		}
	}
	return out
}

// Name is the name of the series' file with number v.
func (s *SeriesInfo) Name(v int) string {
	for i := 0; i < len(s.Template); i++ {
		if s.Template[i] == '*' {
			return s.Template[:i] + fmt.Sprintf("%0*d", s.width, v) + s.Template[i+1:]
		}
	}
	return s.Template
}

// missing are the numbers from 0 to the largest that have does not hold, if at least two thirds are there.
func missing(have []int) []int {
	if len(have) < 2 {
		return nil
	}
	n := have[len(have)-1] + 1
	if 3*len(have) < 2*n {
		return nil
	}
	in := make(map[int]bool, len(have))
	for _, v := range have {
		in[v] = true
	}
	var out []int
	for v := range n {
		if !in[v] {
			out = append(out, v)
		}
	}
	return out
}

// last finds the last number of a stem; the patterns for nodes and tasks end with it.
var last = pattern.New(`\d+(?:_log)?$`)

// rankNumber finds the number behind "rank".
var rankNumber = pattern.New(`(?i)rank[_=-]?(\d+)`)

// star replaces the number v of the name by '*'. The width is 0 unless the number is padded with zeros.
func star(name, kind string, v int) (template string, width int, ok bool) {
	stem := trim(name)
	var at []int
	if kind == "rank" {
		all := rankNumber.FindAllStringSubmatchIndex(stem, -1)
		if len(all) == 0 {
			return "", 0, false
		}
		at = all[len(all)-1][2:4]
	} else if at = last.FindStringIndex(stem); at == nil {
		return "", 0, false
	}
	end := at[0]
	for end < len(stem) && ascii.Digit(stem[end]) {
		end++
	}
	digits := stem[at[0]:end]
	if got, err := strconv.Atoi(digits); err != nil || got != v {
		return "", 0, false
	}
	if digits[0] == '0' && len(digits) > 1 {
		width = len(digits)
	}
	return name[:at[0]] + "*" + name[end:len(uncompressed(name))], width, true
}

var compression = pattern.New(`\.(?:gz|zst|xz|bz2)$`)

func uncompressed(name string) string { return compression.ReplaceAllString(name, "") }
