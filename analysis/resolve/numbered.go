package resolve

import (
	"strconv"

	"faultline/analysis/ascii"
)

// numbered reads the rank of a file off the number in its name where its siblings prove what that number is: files whose names differ in
// nothing else, most of which hold lines of one rank each, by labels or by what they say, and always that of the number. So a process that died before it wrote a
// label is known by the file that it left.
func (id *identity) numbered(files []string, seen map[string]map[int]bool) {
	type sibling struct {
		file string
		n    int
	}
	shapes := map[string][]sibling{}
	for _, f := range files {
		for from := 0; from < len(f); {
			if !ascii.Digit(f[from]) {
				from++
				continue
			}
			end := from
			for end < len(f) && ascii.Digit(f[end]) {
				end++
			}
			if n, err := strconv.Atoi(f[from:end]); err == nil && n < MaxWorld {
				shape := f[:from] + "\x00" + f[end:]
				shapes[shape] = append(shapes[shape], sibling{f, n})
			}
			from = end
		}
	}
	for _, all := range shapes {
		proven, holds := 0, true
		for _, s := range all {
			switch ranks := seen[s.file]; {
			case len(ranks) == 1 && ranks[s.n]:
				proven++
			case len(ranks) > 0:
				holds = false
			}
		}
		if !holds || proven < 2 || 2*proven <= len(all) {
			continue
		}
		for _, s := range all {
			if _, known := id.fileRank[s.file]; !known && len(seen[s.file]) == len(id.said[s.file]) {
				id.fileRank[s.file] = s.n
			}
		}
	}
}
