package ascii

import (
	"strings"
	"testing"
)

func TestClassesAreThoseOfASCII(t *testing.T) {
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := rune(0); c < 0x180; c++ {
		in := func(set string) bool { return strings.ContainsRune(set, c) }
		for name, x := range map[string]struct{ got, want bool }{
			"digit": {Digit(c), in(digits)}, "lower": {Lower(c), in(lower)}, "upper": {Upper(c), in(upper)},
			"letter": {Letter(c), in(lower + upper)}, "alnum": {Alnum(c), in(digits + lower + upper)},
		} {
			if x.got != x.want {
				t.Errorf("%q is a %s: %v, want %v", c, name, x.got, x.want)
			}
			if c < 0x80 && name == "alnum" && Alnum(byte(c)) != x.want {
				t.Errorf("%q as a byte: %v, want %v", c, Alnum(byte(c)), x.want)
			}
		}
	}
}

func TestWordsAndNumbers(t *testing.T) {
	for text, want := range map[string][2]bool{"send 3": {true, true}, "a recv": {true, false}, "": {}, "sen": {}} {
		if got := [2]bool{Has(text, "send", "recv"), Begins(text, "recv", "send")}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string][2]int64{"12a": {12, 2}, "": {}, "a1": {}, "1234": {}, "007": {7, 3}} {
		if n, length := Number([]byte(text), 3); n != want[0] || length != int(want[1]) {
			t.Errorf("%q: %d of %d, want %v", text, n, length, want)
		}
	}
}
