package mechanism

import (
	"cmp"
	"maps"
	"slices"
)

// head is the first n of a list.
func head[T any](v []T, n int) []T { return v[:min(n, len(v))] }

// every says that all of a list are so.
func every[T any](v []T, is func(T) bool) bool {
	return !slices.ContainsFunc(v, func(x T) bool { return !is(x) })
}

// appendNew adds to a sorted list what it does not have.
func appendNew(s []int, vs ...int) []int {
	for _, v := range vs {
		i := slices.IndexFunc(s, func(x int) bool { return x >= v })
		switch {
		case i < 0:
			s = append(s, v)
		case s[i] != v:
			s = slices.Insert(s, i, v)
		}
	}
	return s
}

// appendOnce adds to a copy of a list what it does not have.
func appendOnce[T comparable](list []T, s T) []T {
	if slices.Contains(list, s) {
		return list
	}
	return append(slices.Clone(list), s)
}

// keysOf are the keys of a set, sorted.
func keysOf[K cmp.Ordered](m map[K]bool) []K {
	return slices.Sorted(maps.Keys(m))
}
