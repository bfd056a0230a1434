package line

import (
	"slices"
	"strconv"
	"strings"
)

// column is what the rows say at one place.
type column struct {
	at     int
	values []string // one for each row
	kind   byte
}

// mayTell says that a column may say who writes.
func (c column) mayTell() bool {
	if c.kind != wordPiece {
		return false
	}
	return c.numeric() || c.named()
}

func textColumns(rows []row, n int) []column {
	var out []column
	for k := range n {
		if kind := kindAt(rows, k); kind == wordPiece || kind == stampPiece {
			c := column{at: k, kind: kind, values: make([]string, len(rows))}
			for i := range rows {
				if k < len(rows[i].pieces) {
					c.values[i] = rows[i].value(k)
				}
			}
			out = append(out, c)
		}
	}
	return out
}

func bodies(rows []row, n int) [][]byte {
	out := make([][]byte, len(rows))
	for i := range rows {
		out[i] = rows[i].body(n, widest)
	}
	return out
}

// shape is a message without its numbers.
func shape(b []byte) string {
	out := make([]byte, 0, 64)
	for _, ch := range b[:min(len(b), 64)] {
		if isDigit(ch) {
			ch = '0'
			if n := len(out); n > 0 && out[n-1] == '0' {
				continue
			}
		}
		out = append(out, ch)
	}
	return string(out)
}

func (c *column) distinct() int {
	seen := map[string]bool{}
	for _, v := range c.values {
		if v != "" {
			seen[v] = true
		}
	}
	return len(seen)
}

// alternates says that a column goes back and forth between several values: what mostly goes up counts, or tells the time.
func (c *column) alternates() bool {
	n, changes, ups, last := c.distinct(), 0, 0, ""
	for _, v := range c.values {
		if v != "" && v != last {
			changes++
			if len(v) > len(last) || len(v) == len(last) && v > last {
				ups++
			}
			last = v
		}
	}
	if n > len(c.values)/2 {
		return !c.numeric() || ups*10 < changes*9
	}
	return n > 1 && changes > n
}

// independent says that of what is written more than once a good part is written under several values of the column. Names of loggers and
// levels decide what is written.
func (c *column) independent(shapes []string) bool {
	under, several, often := map[string]string{}, map[string]bool{}, map[string]bool{}
	for i, s := range shapes {
		v, known := under[s]
		if often[s] = often[s] || known; known && v != c.values[i] {
			several[s] = true
		}
		under[s] = c.values[i]
	}
	return len(several) > 1 || 8*len(several) > len(often)
}

// numeric says that all values are numbers.
func (c *column) numeric() bool {
	return !slices.ContainsFunc(c.values, func(v string) bool { return v != "" && !digits([]byte(v)) })
}

// named says that all values are names with a number in them, or addresses.
func (c *column) named() bool {
	return !slices.ContainsFunc(c.values, func(v string) bool {
		if v == "" || ipv4([]byte(v)) {
			return false
		}
		numbered := isLetter(v[0]) && strings.ContainsAny(v, "0123456789")
		return !numbered || key([]byte(v))
	})
}

// family says that the values are several names that begin alike and end with numbers, which do not only go up.
func (c *column) family() bool {
	stem, names, most, up := "", map[string]bool{}, -1, true
	for _, v := range c.values {
		if v == "" {
			continue
		}
		name, _, _ := strings.Cut(v, ".")
		s, number := ordinal(name)
		n, err := strconv.Atoi(number)
		if err != nil || s == "" || len(names) > 0 && s != stem {
			return false
		}
		stem, names[v] = s, true
		up = up && n >= most
		most = max(most, n)
	}
	return len(names) > 1 && !up
}

func (c *column) bounds() (least, most int) {
	least = 1 << 30
	for _, v := range c.values {
		if n, err := strconv.Atoi(v); err == nil {
			least, most = min(least, n), max(most, n)
		}
	}
	return least, most
}

// decides says that each value of c stands beside one value of the other.
func (c *column) decides(other *column) bool {
	with := map[string]string{}
	for i, v := range c.values {
		if o, known := with[v]; known && o != other.values[i] {
			return false
		}
		with[v] = other.values[i]
	}
	return true
}

// ordinals are the numbers at the end of names that begin alike and are counted from 0, as those of replicas are; nil where they are not.
func (c *column) ordinals() *column {
	out := &column{at: c.at, kind: c.kind, values: make([]string, len(c.values))}
	stem := ""
	for i, v := range c.values {
		if v == "" {
			continue
		}
		s, n := ordinal(v)
		if n == "" || stem != "" && s != stem {
			return nil
		}
		stem, out.values[i] = s, n
		if n[0] == '0' && n != "0" {
			return nil // hosts are numbered with as many digits
		}
	}
	if least, most := out.bounds(); least > 0 || most >= 2*out.distinct()+8 {
		return nil
	}
	return out
}

// ordinal splits a name in front of the number at its end.
func ordinal(name string) (stem, number string) {
	n := len(name)
	for n > 0 && isDigit(name[n-1]) {
		n--
	}
	return name[:n], name[n:]
}
