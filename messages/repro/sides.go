package repro

import (
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/pattern"
)

// side is what one rank called, as a report shows it: op is a key of operations, dtype one of dtypes or "".
type side struct {
	rank  int
	op    string
	numel int64
	dtype string
}

var (
	// PyTorch's comparison under TORCH_DISTRIBUTED_DEBUG=DETAIL prints one for each of two ranks; TensorDtypes is "Float" or,
	// before 1.13, a type such as "CUDAFloatType{}".
	fingerprint = pattern.New(`Rank (\d{1,7}) is running (?:inconsistent )?collective: CollectiveFingerPrint\(([^()]{0,400})`)
	opType      = pattern.New(`OpType=([A-Z_]{1,32})`)
	shape       = pattern.New(`TensorShape=\[([0-9, ]{0,200})\]`)
	dtype       = pattern.New(`TensorDtypes=(?:CPU|CUDA)?([A-Za-z0-9]{1,16}?)(?:Type)?\b`)
	// What the engine says of the two sides of a mismatch: "rank 3 on node07 in ALLREDUCE #12 (1 elements); …".
	stated = pattern.New(`ranks? (\d{1,7})[^;]{0,200}? in ([A-Z_]{1,32}) #\d{1,18} \((\d{1,18}) elements\)`)
)

// sides are the calls that the findings for a mechanism show, by rank, each once.
func sides(r *incident.Report, slug string) []side {
	found := map[int]side{}
	add := func(s side) {
		old, known := found[s.rank]
		if _, ok := operations[s.op]; ok && (!known || old.dtype == "" && s.dtype != "" && old.op == s.op) {
			found[s.rank] = s
		}
	}
	for _, h := range r.Hypotheses {
		if h.Mechanism != slug || h.Status == "rejected" {
			continue
		}
		for _, f := range h.For {
			for _, m := range stated.FindAllStringSubmatch(f.Statement, 16) {
				n, _ := strconv.ParseInt(m[3], 10, 64) // at most 18 digits
				add(side{rank: number(m[1]), op: m[2], numel: n})
			}
			for _, e := range f.Evidence {
				for _, m := range fingerprint.FindAllStringSubmatch(e.Text, 16) {
					add(printed(m))
				}
			}
		}
	}
	var all []side
	for _, s := range found {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b side) int { return a.rank - b.rank })
	return all
}

// printed reads one fingerprint.
func printed(m []string) side {
	s := side{rank: number(m[1]), numel: 1}
	if f := opType.FindStringSubmatch(m[2]); f != nil {
		s.op = f[1]
	}
	if f := shape.FindStringSubmatch(m[2]); f != nil {
		for _, dim := range strings.FieldsFunc(f[1], func(c rune) bool { return c == ',' || c == ' ' }) {
			n, err := strconv.ParseInt(dim, 10, 32)
			if s.numel *= max(1, n); err != nil || s.numel > 1<<30 {
				s.numel = 1 << 30
			}
		}
	}
	if f := dtype.FindStringSubmatch(m[2]); f != nil && dtypes[f[1]] != "" {
		s.dtype = f[1]
	}
	return s
}

// apart takes two calls that differ: the root's as the odd one, else that of the fewer ranks, else of the higher.
func apart(all []side, root []int) (main, odd side, ok bool) {
	key := func(s side) side { s.rank = 0; return s }
	count := map[side]int{}
	for _, s := range all {
		count[key(s)]++
	}
	if len(count) < 2 {
		return main, odd, false
	}
	least := func(a, b side) int {
		if x, y := slices.Contains(root, a.rank), slices.Contains(root, b.rank); x != y {
			if x {
				return -1
			}
			return 1
		}
		if x, y := count[key(a)], count[key(b)]; x != y {
			return x - y
		}
		return b.rank - a.rank
	}
	odd = slices.MinFunc(all, least)
	rest := slices.DeleteFunc(slices.Clone(all), func(s side) bool { return key(s) == key(odd) })
	return slices.MaxFunc(rest, least), odd, true
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // at most 7 digits
	return n
}
