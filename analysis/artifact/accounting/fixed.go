package accounting

import (
	"slices"
	"strings"

	"faultline/pattern"
)

// sacct without -P prints columns of fixed widths, the names above lines of dashes. What does not fit ends with "+".

var (
	dashed = pattern.New(`^-+(?: -+)+ *$`)
	states = []string{"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "REQUEUED", "RESIZING", "REVOKED", "RUNNING", "SUSPENDED", "TIMEOUT"}
)

// table reads the two lines above such a table: the names of its columns and where they stand; nil if they are none.
func table(names, dashes string) (columns []string, cuts [][2]int) {
	if len(dashes) > 4096 || !dashed.MatchString(dashes) {
		return nil, nil
	}
	for i := 0; i < len(dashes); i++ {
		if dashes[i] != '-' {
			continue
		}
		from := i
		for i < len(dashes) && dashes[i] == '-' {
			i++
		}
		name := within(names, from, i)
		if !column.MatchString(name) {
			return nil, nil
		}
		if c, ok := known[strings.ToLower(name)]; ok {
			name = c
		}
		columns, cuts = append(columns, name), append(cuts, [2]int{from, i})
	}
	if !slices.Contains(columns, "JobID") || !slices.Contains(columns, "State") {
		return nil, nil
	}
	return columns, cuts
}

func within(text string, from, to int) string {
	from, to = min(from, len(text)), min(to, len(text))
	return strings.TrimSpace(text[from:to])
}

// cut takes a row apart by the widths of the columns. A value that did not fit is left out, but for a state that only one begins so.
func (r *reader) cut(text string, off, no int64) map[string]Cell {
	cells := map[string]Cell{}
	for i, c := range r.columns {
		v := within(text, r.cuts[i][0], r.cuts[i][1])
		if v == "" {
			continue
		}
		at := r.cuts[i][0] + strings.Index(text[r.cuts[i][0]:], v)
		cell := Cell{File: r.file, Line: no, Off: off + int64(at), Len: len(v), Value: v}
		if head, short := strings.CutSuffix(v, "+"); short {
			if c != "State" {
				continue
			}
			var full []string
			for _, s := range states {
				if strings.HasPrefix(s, head) {
					full = append(full, s)
				}
			}
			if len(full) != 1 {
				continue
			}
			cell.Value = full[0]
			if full[0] == "CANCELLED" && head == full[0] {
				cell.Value = "CANCELLED by +" // what did not fit says by whom
			}
		}
		cells[c] = cell
	}
	return cells
}
