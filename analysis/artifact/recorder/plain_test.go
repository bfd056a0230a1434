package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"faultline/analysis/artifact/pickle"
	"faultline/simulate/dumps"
)

// entriesOf reads the entries of a pickle, with or without taking the plain ones on the way.
func entriesOf(data string, plain bool) (*Dump, int, error) {
	c, taken := new(Shared).newCollector(), 0
	r := pickle.Reader{Element: c.element}
	if plain {
		r.Wanted = wanted
		r.Plain = func(key string, e *pickle.Plain) bool {
			if c.plain(key, e) {
				taken++
				return true
			}
			return false
		}
	}
	_, err := r.Read(data)
	return c.finish(), taken, err
}

func TestPlainEntriesCountAsTheyWouldAsAWhole(t *testing.T) {
	files := map[string]string{}
	for i, f := range dumps.Faults() {
		spec := dumps.Spec{Seed: uint64(i), Fault: f, TP: 2, PP: 2, DP: 2, Steps: 60, Version: []string{"2.4", "2.9", "2.10"}[i%3], Timing: i%2 == 0, Ring: []int{64, 2000}[i%2], Faulty: 1}
		if _, err := dumps.Each(spec, func(name string, data []byte) error { files[fmt.Sprint(f, " ", name)] = string(data); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	real, _ := filepath.Glob("../../../../shared/samples/flight-recorder/*/_dump_*")
	for _, name := range real {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	all, entries := 0, 0
	for name, data := range files {
		want, _, errWant := entriesOf(data, false)
		got, taken, err := entriesOf(data, true)
		if err != nil || errWant != nil {
			t.Fatal(name, err, errWant)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
		all, entries = all+taken, entries+got.Entries
	}
	if all < entries/2 {
		t.Errorf("%d of %d entries were taken on the way", all, entries)
	}
}

func FuzzPlainEntries(f *testing.F) {
	entry := func(id, seq int, state string) string {
		return fmt.Sprintf("}(X\x09\x00\x00\x00record_idK%cX\x11\x00\x00\x00collective_seq_idK%cX\x05\x00\x00\x00stateX%c\x00\x00\x00%sX\x0d\x00\x00\x00process_groupX\x01\x00\x00\x000X\x02\x00\x00\x00pg\x86X\x0b\x00\x00\x00input_sizes](](K\x07eeu", id, seq, len(state), state)
	}
	f.Add("\x80\x02}(X\x07\x00\x00\x00entries](" + entry(1, 1, "completed") + entry(2, 3, "completed") + entry(3, 2, "completed") + entry(4, 4, "started") + "eu.")
	f.Add("\x80\x02](" + strings.Repeat(entry(1, 1, "completed"), 3) + "}(N" + "u" + entry(1, 200, "scheduled") + "e.")
	f.Fuzz(func(t *testing.T, in string) {
		want, _, errWant := entriesOf(in, false)
		got, _, err := entriesOf(in, true)
		if (err == nil) != (errWant == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v\nwant %+v, %v", got, err, want, errWant)
		}
	})
}
