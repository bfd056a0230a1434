package verify

import (
	"fmt"
	"testing"

	"faultline/incident"
)

// Elements that are written alike are gone over by their form. Whatever differs but numbers is seen.
func TestFormsOfElements(t *testing.T) {
	numbers := func(a, b byte) string {
		return fmt.Sprintf("}(X\x01\x00\x00\x00aK%cX\x01\x00\x00\x00bM%c\x01X\x01\x00\x00\x00cNX\x01\x00\x00\x00d\x8a\x01%cu", a, b, a)
	}
	other := "}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00bM\x01\x01X\x01\x00\x00\x00c\x88X\x01\x00\x00\x00d\x8a\x01\x01u"
	list := ""
	for i := range 90 {
		list += numbers(byte(i), byte(2*i)&0x7f) + map[bool]string{true: other}[i%3 == 0]
	}
	s := new(stacker)
	ev := &incident.Evidence{Place: "[120]", Predicate: &incident.Predicate{Members: []incident.Member{{Name: "a", Value: "1"}, {Name: "c", Value: "true"}}}}
	for range 2 { // the second time in the memory of the first
		root, err := s.unpickle([]byte("\x80\x02]("+list+other+"e."), numbersIn([]*incident.Evidence{ev}))
		if err != nil {
			t.Fatal(err)
		}
		if err := holdsAt(root, ev); err != nil || s.lacks {
			t.Error(err, s.lacks)
		}
		if s.forms.n != 2 || len(s.boxes) != 2 {
			t.Errorf("%d forms, %d lists and objects made", s.forms.n, len(s.boxes))
		}
	}
	odd := "}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00bM\x01\x01X\x01\x00\x00\x00cNX\x01\x00\x00\x00d\x8a\x01\x01e"
	if _, err := s.unpickle([]byte("\x80\x02]("+list+odd+"e."), map[int]bool{}); err == nil {
		t.Error("an element that does not end as the others was gone over")
	}
}
