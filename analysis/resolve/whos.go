package resolve

import "faultline/analysis/line"

// whos numbers writers. What a line states of its writer is long, and most lines of one writer share it: they are known again
// by where it lies in memory. Equal ones have one number, wherever they lie.
type whos struct {
	at    map[*line.Who]int
	equal map[line.Who]int
}

func (w *whos) number(who *line.Who) int {
	if n, ok := w.at[who]; ok {
		return n
	}
	if w.at == nil {
		w.at, w.equal = map[*line.Who]int{}, map[line.Who]int{}
	}
	n, ok := w.equal[*who]
	if !ok {
		n = len(w.equal)
		w.equal[*who] = n
	}
	w.at[who] = n
	return n
}

// clear forgets them: a large job has many, and those of one file at a time are enough.
func (w *whos) clear() {
	clear(w.at)
	clear(w.equal)
}
