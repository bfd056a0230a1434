package resolve

import (
	"strconv"
	"strings"

	"faultline/analysis/worker"
)

// place is which of how many a file says that it is.
type place struct{ number, of int }

// placesWorld is of how many the files say that they are one, in the words of their first lines, where labels of ranks prove that ranks are
// counted: each file is another one, and those with labels hold those of the rank of their number alone.
func placesWorld(obs *worker.Observations) world {
	const proof = 2 // files with labels
	labels := labelled(obs)
	w, proven, taken := world{from: "the files' own first lines"}, 0, map[int]string{}
	for i := range obs.Facts {
		x := &obs.Facts[i]
		if x.Key != worker.PlaceOf {
			continue
		}
		p, ok := placeIn(x.Value)
		if w.at == nil {
			w.size, w.at = p.of, &x.At
		}
		if other, known := taken[p.number]; known && other != x.File {
			return world{} // two files of one number
		} else if ranks := labels[x.File]; !known && len(ranks) > 0 {
			ok = ok && len(ranks) == 1 && ranks[p.number]
			proven++
		}
		if taken[p.number] = x.File; !ok || w.size != p.of {
			return world{}
		}
	}
	if proven < proof {
		return world{}
	}
	return w
}

// placeIn reads "3/10".
func placeIn(text string) (p place, ok bool) {
	k, n, _ := strings.Cut(text, "/")
	number, err1 := strconv.Atoi(k)
	of, err2 := strconv.Atoi(n)
	return place{number, of}, err1 == nil && err2 == nil && number < of
}

// labelled are the ranks that labels show in each file.
func labelled(obs *worker.Observations) map[string]map[int]bool {
	labels := map[string]map[int]bool{}
	for _, t := range obs.Tails {
		labels[t.File] = map[int]bool{}
		for i := range t.Writers {
			if id := t.Writers[i].Who.Global; id >= 0 {
				labels[t.File][id] = true
			}
		}
	}
	return labels
}
