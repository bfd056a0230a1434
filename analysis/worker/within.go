package worker

import "sort"

// Within is the part of a merged list that stands in one file: merged lists are sorted by file, then by place in it. Whoever asks for each of
// many files must not look at all of the list each time.
func Within[T any, P placed[T]](list []T, file string) []T {
	name := func(i int) string { return P(&list[i]).place().File }
	from := sort.Search(len(list), func(i int) bool { return name(i) >= file })
	to := from + sort.Search(len(list)-from, func(i int) bool { return name(from+i) > file })
	return list[from:to:to]
}
