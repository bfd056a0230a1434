package line

// Lines that stand in logs by the million begin alike. What Parse makes of two such beginnings can be had for less, where
// nothing else of the prefix is asked for.

// RankLabel is the length of the "[rank99]:" that b begins with, and the rank; 0 if there is none, or if it is torchrun's label in front of
// PyTorch's own.
func RankLabel(b []byte) (rank, n int) {
	rank, n = rankLabel(b)
	if _, own := rankLabel(b[n:]); n > 0 && own > 0 {
		return Unknown, 0
	}
	return rank, n
}

func rankLabel(b []byte) (rank, n int) {
	if !hasAt(b, 0, "[rank") {
		return Unknown, 0
	}
	rank, e := number(b, len("[rank"), 7)
	if e == len("[rank") || at(b, e) != ']' || at(b, e+1) != ':' {
		return Unknown, 0
	}
	return rank, e + 2
}

// RankedNative reads "[rank3]:[W603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] ", what PyTorch's C++ code puts in front of
// what a rank prints. n is the length of the prefix, 0 if b begins with anything else or without a stamp.
func RankedNative(b []byte) (rank int, s Stamp, severity byte, n int) {
	rank, k := RankLabel(b)
	if k == 0 || at(b, k) != '[' {
		return Unknown, Stamp{}, 0, 0
	}
	s, _, _, e := native(b, k)
	if e == 0 || s.Kind == NoStamp {
		return Unknown, Stamp{}, 0, 0
	}
	if at(b, e) == ' ' {
		e++
	}
	return rank, s, b[k+1], e
}
