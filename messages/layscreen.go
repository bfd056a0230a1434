package messages

import (
	"slices"
	"strings"

	"faultline/incident"
)

// FirstScreen returns at most 12 lines of plain text, more where columns are fewer than 100; none is wider than columns (0 means 100, below
// 60 it is laid out for 60): what broke, where, how sure and why, what to do now, and what is missing.
func FirstScreen(r *incident.Report, columns int) []string {
	if columns == 0 {
		columns = firstScreenWidth
	}
	v := newView(r)
	lines := []string{}
	for _, l := range layScreen(v, min(max(columns, minWidth), maxWidth)) {
		if l.label == "" {
			lines = append(lines, l.text)
			continue
		}
		lines = append(lines, strings.TrimRight(pad(strings.TrimSpace(l.label), labelWidth)+l.text, " "))
	}
	return lines
}

// screenWords is how much of the first screen is read in ten seconds.
const screenWords = 119

// shorter are the parts that end after their first sentence where the screen is too long, the readiest first.
var shorter = []string{labelAlso, labelClue + " 4", labelClue + " 3", labelReason, labelConfirm, labelClue + " 2", labelStuck, labelEvidence, labelMissing, labelConfidence, labelStorage, labelBefore}

// fitWords takes parts from the screen until it has at most so many words: first the ends of parts, then whole ones.
func fitWords(ps []part, most int) []part {
	size := func() (n int) {
		for _, p := range ps {
			n += len(strings.Fields(p.Label)) + len(strings.Fields(p.Text))
		}
		return n
	}
	for _, label := range shorter {
		if i := slices.IndexFunc(ps, func(p part) bool { return p.Label == label }); i >= 0 && size() > most {
			if end := strings.Index(ps[i].Text, ". "); end > 0 {
				ps[i].Text = ps[i].Text[:end+1]
			}
		}
	}
	for _, label := range shorter[:6] {
		if size() > most {
			ps = slices.DeleteFunc(ps, func(p part) bool { return p.Label == label })
		}
	}
	return ps
}

// screenLine is one laid-out line: the headline has no label, the second and later lines of a part a blank one.
type screenLine struct{ label, text string }

// layScreen wraps the first screen to the width and takes lines from the longest parts until few enough are left.
func layScreen(v *view, columns int) []screenLine {
	room := columns - labelWidth
	head := wrap(v.Headline, columns)
	if len(head) > 2 {
		head = []string{head[0], clip(strings.Join(head[1:], " "), columns)}
	}
	limit := firstScreenLines
	switch {
	case v.Report.Triage != nil:
		limit = triageLines
	case v.Report.Verdict.Status == incident.NoFailure:
		limit = calmLines
		head = []string{clip(v.Headline, columns)}
	}
	limit = linesAt(columns, limit)
	wrapped := laid(v.Screen, room, limit-len(head))
	total := len(head)
	for i, n := range linesKept(v.Screen, wrapped, limit-len(head)) {
		if n < len(wrapped[i]) {
			wrapped[i] = shortened(v.Screen[i], wrapped[i], n, room)
		}
		total += len(wrapped[i])
	}
	var screen []screenLine
	for _, h := range head {
		screen = append(screen, screenLine{"", h})
	}
	for i, p := range v.Screen {
		label := p.Label
		for _, t := range wrapped[i] {
			screen = append(screen, screenLine{label, t})
			label = " "
		}
		// A command is there whole or not at all: the report has it in any case.
		if c, ok := firstCommand(v); ok && p.Label == labelNext {
			if w := wrap(c, room); len(w) == 1 && total < limit {
				screen = append(screen, screenLine{labelCommand, w[0]})
			}
		}
	}
	return screen
}

// linesAt are as many lines as hold what so many lines hold at full width: a narrow screen cuts no more than a wide one.
func linesAt(columns, lines int) int {
	const full = firstScreenWidth - labelWidth
	if room := columns - labelWidth; room < full {
		lines = (lines*full + room - 1) / room
	}
	return lines
}

// laid is each part in lines. Where that alone makes room for all that is said, the longest of them leave out where to see it.
func laid(parts []part, room, limit int) [][]string {
	whole, bare, lines := make([][]string, len(parts)), make([][]string, len(parts)), 0
	for i, p := range parts {
		whole[i] = wrap(p.Text, room)
		lines += len(whole[i])
	}
	for i, p := range parts {
		bare[i] = whole[i]
		if w := wrap(strings.TrimSuffix(p.Text, p.Proof), room); lines > limit && len(w) < len(whole[i]) {
			lines -= len(whole[i]) - len(w)
			bare[i] = w
		}
	}
	if lines > limit { // something is cut in any case
		return whole
	}
	return bare
}

// linesKept says how many lines each part keeps, so that all have room together: the readiest gives up line after line, and none its last.
func linesKept(parts []part, wrapped [][]string, room int) []int {
	kept, total := make([]int, len(parts)), 0
	for i := range parts {
		kept[i] = min(len(wrapped[i]), max(room, firstScreenLines)+1) // no part keeps more, be it of 10,000 lines
		total += kept[i]
	}
	for ; total > room; total-- {
		readiest := 0
		for i, p := range parts {
			if spare(p, kept[i]) > spare(parts[readiest], kept[readiest]) {
				readiest = i
			}
		}
		if kept[readiest] < 2 {
			break
		}
		kept[readiest]--
	}
	return kept
}

// shortened is a part with n lines. Where to see it goes, whole, if what it is has room without it; else it stays, whole, if half a line is
// left for what it is: "See…" helps nobody.
func shortened(p part, lines []string, n, room int) []string {
	if p.Proof != "" && strings.Contains(strings.Join(lines, " "), strings.TrimSpace(p.Proof)) {
		text := strings.TrimSuffix(p.Text, p.Proof)
		if w := wrap(text, room); len(w) <= n {
			return w
		}
		for _, begin := range beginnings(strings.TrimRight(text, "."), room/2, n*(room+1)) {
			if w := wrap(strings.TrimRight(begin, " .,;:(…")+"…"+p.Proof, room); len(w) <= n {
				return w
			}
		}
	}
	return append(slices.Clone(lines[:n-1]), cut(lines[n-1], room))
}

// beginnings are the first words of a text, of least to most columns, the longest first.
func beginnings(text string, least, most int) (out []string) {
	begin, used := "", 0
	for word := range strings.FieldsSeq(text) {
		if begin != "" {
			begin, used = begin+" ", used+1
		}
		begin, used = begin+word, used+textWidth(word)
		if used > most {
			break
		}
		if used >= least {
			out = append(out, begin)
		}
	}
	slices.Reverse(out)
	return out
}

// spare says how readily a part gives up a line: the one with the most is cut, 0 never. The set of what it could be is the
// verdict, what to do now is what the reader came for, and how sure it is comes next: they are the last, within reason.
func spare(p part, lines int) int {
	n := lines - 1
	switch {
	case n == 0:
		return 0
	case p.Label == labelCandidates:
		return 1
	case strings.HasPrefix(p.Label, labelClue):
		return n
	case p.Label == labelNext && n <= 2:
		return 2
	}
	first := map[string]int{labelMissing: 3, labelConfirm: 2, labelAlso: 2, labelReason: 1, labelWhat: -1, labelBefore: -1, labelConfidence: -2}
	return 10*n + first[p.Label]
}
