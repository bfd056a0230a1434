package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"faultline/incident"
)

// entry is an element with a place in the program, which the second one writes and later ones mean again.
func entry(i int, state string) string {
	text := func(s string) string { return fmt.Sprintf("X%c\x00\x00\x00%s", len(s), s) }
	frames := "](h\x02e"
	switch i {
	case 0:
		frames = "]"
	case 1:
		frames = "](}(" + text("name") + text("train") + "uq\x02e"
	}
	return "}(" + text("record_id") + fmt.Sprintf("J%c\x01\x00\x00", i) + text("process_group") + text("7") + text("tp") + "\x86" + text("input_sizes") + "](](K\x03K\x04ee" +
		text("frames") + frames + text("state") + text(state) + text("at") + "Nu"
}

// many is a dump of n elements of which the last two are open.
func many(n int) string {
	var b strings.Builder
	b.WriteString("\x80\x02}(X\x07\x00\x00\x00versionq\x00X\x04\x00\x00\x002.10q\x01X\x07\x00\x00\x00entries](")
	for i := range n {
		b.WriteString(entry(i, map[bool]string{false: "completed", true: "scheduled"}[i >= n-2]))
	}
	b.WriteString("eu.")
	return b.String()
}

func TestElementsThatNobodyAsksForAreGoneOver(t *testing.T) {
	data := []byte(many(100))
	for _, c := range []struct {
		place, name, value string
		holds              bool
		lacks              bool
	}{
		{"entries[98]", "state", "scheduled", true, false},
		{"entries[98]", "record_id", "354", true, false},
		{"entries[97]", "state", "scheduled", false, false},
		{"entries[99]", "process_group", "tp", true, false},
		{"entries[99]", "process_group", "dp", false, false},
		{"entries[100]", "state", "scheduled", false, false},
		{"entries[99].frames[0]", "name", "train", true, true}, // another element wrote it
		{"entries[1].frames[0]", "name", "train", true, false},
		{"", "version", "2.10", true, false},
	} {
		ev := &incident.Evidence{Kind: incident.KindRecord, File: "f", Place: c.place, Predicate: &incident.Predicate{Members: []incident.Member{{Name: c.name, Value: c.value}}}}
		asks := []*incident.Evidence{ev}
		s := new(stacker)
		root, err := s.unpickle(data, numbersIn(asks))
		if err != nil {
			t.Fatal(err)
		}
		if got := holdsAt(root, ev); s.lacks != c.lacks || !c.lacks && (got == nil) != c.holds {
			t.Errorf("%s, %s: %v, lacks %v", c.place, c.name, got, s.lacks)
		}
		if len(s.boxes) > 20 {
			t.Errorf("%s: %d lists and objects were made", c.place, len(s.boxes))
		}
		if err := Evidence(write(t, map[string]string{"f": string(data)}), *ev); (err == nil) != c.holds {
			t.Errorf("%s, %s = %s: %v", c.place, c.name, c.value, err)
		}
	}
}

// What is odd about an element is seen as if it were asked for.
func TestWhatIsOddIsNotGoneOver(t *testing.T) {
	for name, in := range map[string]string{
		"a name of Python's":           "}(X\x01\x00\x00\x00acos\nsystem\nu",
		"a call":                       "}(X\x01\x00\x00\x00acos\nsystem\nX\x02\x00\x00\x00ls\x85Ru",
		"half a pair":                  "}(K\x01u",
		"a reference to nothing":       "}(X\x01\x00\x00\x00ah\x05u",
		"taking more than there is":    "}(K\x01\x86X\x01\x00\x00\x00au",
		"a mark too few":               "}(X\x01\x00\x00\x00aK\x01eu",
		"a number of more than 64 bit": "}(X\x01\x00\x00\x00a\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01u",
		"adding to nothing":            "}((eu",
	} {
		data := []byte("\x80\x02](" + in + "}(X\x01\x00\x00\x00bK\x01ue.")
		if _, err := new(stacker).unpickle(data, map[int]bool{1: true}); err == nil {
			t.Errorf("%s: it was gone over", name)
		}
	}
}

func TestDocumentsAreHashedAsTheyAreVerified(t *testing.T) {
	text := many(3)
	contents := map[string]string{"dump": text, "dump.gz": gz(t, text), "other": text}
	files := write(t, contents)
	r, sums := &incident.Report{}, map[string]string{"dump": "", "dump.gz": "", "other": ""}
	for _, name := range []string{"dump", "dump.gz"} {
		r.Chain = append(r.Chain, incident.Link{Evidence: []incident.Evidence{{Kind: incident.KindRecord, File: name, Place: "entries[2]",
			Predicate: &incident.Predicate{Members: []incident.Member{{Name: "state", Value: "scheduled"}}}}}})
	}
	if _, failures, err := (Verifier{}).ReportAndHash(t.Context(), files, r, sums); err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	for name := range contents {
		sum := sha256.Sum256([]byte(contents[name]))
		want := hex.EncodeToString(sum[:])
		if name == "other" {
			want = ""
		}
		if sums[name] != want {
			t.Errorf("%s: %q, want %q", name, sums[name], want)
		}
	}
}
