package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// runeWidth is the number of terminal columns of a rune: Unicode's East Asian Width, combining marks count nothing.
func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// clip shortens s to at most columns, with "…" where something was cut.
func clip(s string, columns int) string {
	if textWidth(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > columns-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// excerpt shortens a line of a log to at most columns, and keeps what makes it sound bad.
func excerpt(s string, columns int) string { return clip(severity.Excerpt(s, columns), columns) }

// flat makes one line of a text: any white space becomes one space.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// wrap breaks s at white space into lines of at most columns; a word that is longer is broken where it must be.
func wrap(s string, columns int) []string {
	columns = max(columns, 8)
	var lines []string
	var line []byte
	used := 0
	for word := range strings.FieldsSeq(s) {
		w := textWidth(word)
		// A line may hold runes and still be no column wide: a text of format characters only.
		if len(line) > 0 && used+1+w > columns {
			lines, line, used = append(lines, string(line)), line[:0], 0
		}
		for w > columns {
			end, n := breakAt(word, columns)
			lines = append(lines, word[:end])
			word, w = word[end:], w-n
		}
		if len(line) > 0 {
			line, used = append(line, ' '), used+1
		}
		line, used = append(line, word...), used+w
	}
	if len(line) > 0 || len(lines) == 0 {
		lines = append(lines, string(line))
	}
	return lines
}

// breakAt says after how many bytes, and columns, a word is broken that is wider than a line: where a long name is read in
// parts, if that fills half the line.
func breakAt(word string, columns int) (end, width int) {
	joint, at := 0, 0
	for i, r := range word {
		w := runeWidth(r)
		if width+w > columns {
			end = i
			break
		}
		width += w
		if strings.ContainsRune("./_:,=)-", r) && 2*width >= columns {
			joint, at = i+utf8.RuneLen(r), width
		}
	}
	if joint > 0 {
		return joint, at
	}
	return end, width
}

func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-textWidth(s)))
}

// ranges writes sorted distinct numbers as "0-36,38-127".
func ranges(ns []int) string {
	ns = slices.Clone(ns)
	slices.Sort(ns)
	ns = slices.Compact(ns)
	var b strings.Builder
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ns[i]))
		switch {
		case j == i+1:
			b.WriteString("," + strconv.Itoa(ns[j]))
		case j > i:
			b.WriteString("-" + strconv.Itoa(ns[j]))
		}
		i = j + 1
	}
	return b.String()
}

// maxRangeText bounds a list of ranks in a sentence or a table cell, in bytes.
const maxRangeText = 96

func shortRanges(ns []int) string {
	s := ranges(ns)
	if len(s) <= maxRangeText {
		return s
	}
	cut := strings.LastIndexByte(s[:maxRangeText], ',')
	return fmt.Sprintf("%s,… (%s in all)", s[:max(cut, 0)], grouped(int64(len(ns))))
}

func rankText(ns []int) string {
	if len(ns) == 1 {
		return "rank " + strconv.Itoa(ns[0])
	}
	return "ranks " + shortRanges(ns)
}

// splitName separates a trailing number: "node09" is "node" and "09".
func splitName(s string) (prefix, number string) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' && len(s)-i < 9 {
		i--
	}
	return s[:i], s[i:]
}

// byName orders node2 before node10.
func byName(a, b string) int {
	ap, an := splitName(a)
	bp, bn := splitName(b)
	if ap != bp || an == "" || bn == "" {
		return cmp.Compare(a, b)
	}
	x, _ := strconv.Atoi(an) // at most nine digits
	y, _ := strconv.Atoi(bn)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// nodeList writes names in SLURM's short form, "node[01-16]", at most maxRangeText bytes.
func nodeList(names []string) string {
	names = slices.Clone(names)
	slices.SortFunc(names, byName)
	names = slices.Compact(names)
	var parts []string
	for i := 0; i < len(names); {
		prefix, num := splitName(names[i])
		j := i + 1
		var ns []int
		if n, err := strconv.Atoi(num); err == nil {
			ns = append(ns, n)
			for ; j < len(names); j++ {
				p, m := splitName(names[j])
				if p != prefix || len(m) != len(num) {
					break
				}
				n, _ := strconv.Atoi(m)
				ns = append(ns, n)
			}
		}
		if len(ns) < 3 {
			parts = append(parts, names[i])
			i++
			continue
		}
		parts = append(parts, prefix+"["+zeroRanges(ns, len(num))+"]")
		i = j
	}
	s := strings.Join(parts, ", ")
	if len(s) > maxRangeText {
		s = fmt.Sprintf("%s … (%d in all)", strings.TrimRight(strings.ToValidUTF8(s[:maxRangeText], ""), ", "), len(names))
	}
	return s
}

// zeroRanges is ranges with zero-padded numbers.
func zeroRanges(ns []int, digits int) string {
	parts := strings.FieldsFunc(ranges(ns), func(r rune) bool { return r == ',' })
	for i, p := range parts {
		a, b, both := strings.Cut(p, "-")
		x, _ := strconv.Atoi(a)
		parts[i] = fmt.Sprintf("%0*d", digits, x)
		if both {
			y, _ := strconv.Atoi(b)
			parts[i] += fmt.Sprintf("-%0*d", digits, y)
		}
	}
	return strings.Join(parts, ",")
}

// grouped writes 12000 as "12,000".
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		return "-" + s
	}
	return s
}

// bytesText writes a size in decimal units, three significant digits at most.
func bytesText(n int64) string {
	f := float64(n)
	for _, u := range []string{"B", "kB", "MB", "GB"} {
		if f < 999.5 {
			return trimFloat(f) + " " + u
		}
		f /= 1000
	}
	return trimFloat(f) + " TB"
}

func trimFloat(f float64) string {
	if f >= 9.95 || f == float64(int64(f)) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// count writes "1 node", "3 nodes".
func count(n int, noun string) string {
	s := grouped(int64(n)) + " " + noun
	if n == 1 {
		return s
	}
	return s + "s"
}

// capital begins a sentence. A first word that is a name of its own (torch.cuda, srun, 3 ranks) stays as it is.
func capital(s string) string { return knowledge.Capital(s) }

// lowered takes the capital off the first word, unless that is a name: more than its first letter is no small letter.
func lowered(s string) string {
	word, _, _ := strings.Cut(s, " ")
	for i, r := range strings.TrimRight(word, ",:;") {
		if i > 0 && !unicode.IsLower(r) {
			return s
		}
	}
	for i, r := range s {
		return string(unicode.ToLower(r)) + s[i+utf8.RuneLen(r):]
	}
	return s
}

// sentence makes s begin and end like one.
func sentence(s string) string {
	s = capital(flat(s))
	last, _ := utf8.DecodeLastRuneInString(s)
	if s == "" || strings.ContainsRune(".!?…:", last) {
		return s
	}
	return s + "."
}

// cut ends s with exactly one "…" within the columns, after a whole word: the text goes on, but not here.
func cut(s string, columns int) string {
	s = strings.TrimRight(s, " .…")
	if textWidth(s) >= columns {
		if i := strings.LastIndexByte(clip(s, columns-1), ' '); i > 0 {
			return strings.TrimRight(s[:i], " .,;:…") + "…"
		}
		return clip(s+"…", columns)
	}
	return s + "…"
}
