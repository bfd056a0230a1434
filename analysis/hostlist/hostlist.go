// Package hostlist reads and writes SLURM's compressed lists of nodes, "node[01-03,07],login1". It is pure and does not
// trust its input.
package hostlist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
)

// Limits on what a list may expand to; lists come from command lines, chat and logs.
const (
	MaxHosts  = 1 << 16
	maxInput  = 1 << 20
	maxDigits = 10
	maxName   = 255
)

// ErrTooMany says that a list names more than MaxHosts nodes.
var ErrTooMany = errors.New("the list names more than 65536 nodes")

// empty are SLURM's ways to say "no nodes".
var empty = map[string]bool{"": true, "(null)": true, "None assigned": true, "None": true, "N/A": true}

// Expand returns the names in the order of "scontrol show hostnames", repetitions kept. Of several brackets in one name
// the last varies fastest; zero padding follows the lower bound. Text behind a bracket ("node[1-2]-ib0") is accepted,
// though SLURM 22.05 refuses it: other tools print it.
func Expand(list string) ([]string, error) {
	list = strings.TrimSpace(list)
	if empty[list] {
		return nil, nil
	}
	if len(list) > maxInput {
		return nil, fmt.Errorf("a node list of %d bytes is too long", len(list))
	}
	var out []string
	for rest, more := list, true; more; {
		var item string
		var err error
		if item, rest, more, err = cut(rest); err != nil {
			return nil, err
		}
		names, err := one(strings.TrimSpace(item), MaxHosts-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	return out, nil
}

// cut splits at the first comma outside brackets.
func cut(list string) (item, rest string, more bool, err error) {
	open := false
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '[':
			if open {
				return "", "", false, fmt.Errorf("node list: '[' inside brackets in %q", clip(list))
			}
			open = true
		case ']':
			if !open {
				return "", "", false, fmt.Errorf("node list: ']' without '[' in %q", clip(list))
			}
			open = false
		case ',':
			if !open {
				return list[:i], list[i+1:], true, nil
			}
		}
	}
	if open {
		return "", "", false, fmt.Errorf("node list: '[' is not closed in %q", clip(list))
	}
	return list, "", false, nil
}

// one expands a single item to at most limit names.
func one(item string, limit int) ([]string, error) {
	if item == "" {
		return nil, errors.New("node list: an empty name between commas")
	}
	heads := []string{""}
	for item != "" {
		text, rest, found := strings.Cut(item, "[")
		if err := plain(text); err != nil {
			return nil, err
		}
		for i := range heads {
			if heads[i] += text; len(heads[i]) > maxName {
				return nil, fmt.Errorf("node list: a name longer than %d bytes", maxName)
			}
		}
		if !found {
			break
		}
		in, tail, _ := strings.Cut(rest, "]")
		nums, err := ranges(in, limit/len(heads))
		if err != nil {
			return nil, err
		}
		next := make([]string, 0, len(heads)*len(nums))
		for _, h := range heads {
			for _, n := range nums {
				next = append(next, h+n)
			}
		}
		heads, item = next, tail
	}
	if len(heads) > limit {
		return nil, ErrTooMany
	}
	for _, h := range heads {
		if len(h) > maxName {
			return nil, fmt.Errorf("node list: a name longer than %d bytes", maxName)
		}
	}
	return heads, nil
}

// ranges expands "01-03,07" to at most limit numbers, as text.
func ranges(in string, limit int) ([]string, error) {
	var out []string
	for r := range strings.SplitSeq(in, ",") {
		r = strings.TrimSpace(r)
		lo, hi, isRange := strings.Cut(r, "-")
		if !isRange {
			hi = lo
		}
		a, err := number(lo)
		if err != nil {
			return nil, err
		}
		b, err := number(hi)
		if err != nil {
			return nil, err
		}
		if b < a {
			return nil, fmt.Errorf("node list: the range %q runs backwards", clip(r))
		}
		if b-a >= limit-len(out) {
			return nil, ErrTooMany
		}
		for n := a; n <= b; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(lo), n))
		}
	}
	return out, nil
}

func number(s string) (int, error) {
	if len(s) == 0 || len(s) > maxDigits {
		return 0, fmt.Errorf("node list: %q is not a number of 1 to %d digits", clip(s), maxDigits)
	}
	for i := 0; i < len(s); i++ {
		if !ascii.Digit(s[i]) {
			return 0, fmt.Errorf("node list: %q is not a number", clip(s))
		}
	}
	return strconv.Atoi(s)
}

// plain refuses what cannot be part of a host name.
func plain(s string) error {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !ascii.Alnum(c) && c != '-' && c != '.' && c != '_' {
			return fmt.Errorf("node list: %q cannot stand in a host name", clip(s[i:i+1]))
		}
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 60)] }

// Compress writes names as a list that Expand reads back: names that differ only in their last number share a bracket,
// at the place of the first of them, in input order. Sort before to get the shortest form.
func Compress(names []string) string {
	type group struct {
		head string
		nums []string
	}
	var groups []*group
	byHead := map[string]*group{}
	for _, n := range names {
		d := len(n)
		for d > 0 && ascii.Digit(n[d-1]) && len(n)-d < maxDigits {
			d--
		}
		g := byHead[n[:d]]
		if d == len(n) || g == nil {
			g = &group{head: n[:d]}
			groups = append(groups, g)
			if d < len(n) {
				byHead[n[:d]] = g
			}
		}
		if d < len(n) {
			g.nums = append(g.nums, n[d:])
		}
	}
	var b strings.Builder
	for i, g := range groups {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(g.head)
		runs := runs(g.nums)
		switch {
		case len(g.nums) == 1:
			b.WriteString(runs)
		case len(g.nums) > 1:
			b.WriteString("[" + runs + "]")
		}
	}
	return b.String()
}

// runs joins consecutive numbers of one width rule: "01","02","05" → "01-02,05".
func runs(nums []string) string {
	var b strings.Builder
	for i := 0; i < len(nums); {
		j := i
		v, _ := strconv.Atoi(nums[i])
		for j+1 < len(nums) && nums[j+1] == fmt.Sprintf("%0*d", len(nums[i]), v+j+1-i) {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(nums[i])
		if j > i {
			b.WriteString("-" + nums[j])
		}
		i = j + 1
	}
	return b.String()
}
