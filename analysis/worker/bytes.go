package worker

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

// ofName says that a byte may stand in the name of a number: "fwd-bwd", "timing_s/gen".
func ofName(c byte) bool { return isWord(c) || c == '/' || c == '-' }
