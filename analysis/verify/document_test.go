package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
)

const dumpJSON = `{"version":"2.10","pg_status":{"5":{"last_enqueued_collective":7,"last_completed_collective":"6"}},
"entries":[{"state":"completed"},{"state":"scheduled","process_group":["37","tp"],"input_sizes":[],"seq":8,"big":1.5,"is_p2p":false,"at":null}]}`

// The same, as a pickle.
const dumpPickle = "\x80\x02}(X\x07\x00\x00\x00versionX\x04\x00\x00\x002.10X\x09\x00\x00\x00pg_status}X\x01\x00\x00\x005}(X\x18\x00\x00\x00last_enqueued_collectiveK\x07X\x19\x00\x00\x00last_completed_collectiveU\x016us" +
	"X\x07\x00\x00\x00entries](}X\x05\x00\x00\x00stateq\x00X\x09\x00\x00\x00completeds}(h\x00X\x09\x00\x00\x00scheduledX\x0d\x00\x00\x00process_groupX\x02\x00\x00\x0037X\x02\x00\x00\x00tp\x86X\x0b\x00\x00\x00input_sizes]X\x03\x00\x00\x00seqM\x08\x00X\x03\x00\x00\x00bigG?\xf8\x00\x00\x00\x00\x00\x00X\x06\x00\x00\x00is_p2p\x89X\x02\x00\x00\x00atNueu."

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	files := Files{"json": filepath.Join(dir, "json"), "pickle": filepath.Join(dir, "pickle"), "text": filepath.Join(dir, "text")}
	for name, text := range map[string]string{"json": dumpJSON, "pickle": dumpPickle, "text": "no value at all\n"} {
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := func(pairs ...string) []incident.Member {
		var out []incident.Member
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, incident.Member{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		name, place string
		all, none   []incident.Member
		why         string // "": it holds
	}{
		{"the value itself", "", m("version", "2.10"), nil, ""},
		{"below a name", "pg_status.5", m("last_enqueued_collective", "7", "last_completed_collective", "6"), nil, ""},
		{"an element", "entries[1]", m("state", "scheduled", "seq", "8", "big", "1.5", "is_p2p", "false", "at", "null"), m("state", "completed"), ""},
		{"an element of a list", "entries[1]", m("process_group", "37"), m("process_group", "38"), ""},
		{"an empty list", "entries[1]", m("input_sizes", "[]"), nil, ""},
		{"another value", "entries[1]", m("state", "completed"), nil, `state at "entries[1]" is not "completed"`},
		{"an excluded value", "entries[1]", m("seq", "8"), m("state", "scheduled"), "is \"scheduled\""},
		{"a list that is not empty", "", m("entries", "[]"), nil, "is not"},
		{"an element too far", "entries[2]", m("state", "x"), nil, "no element 2"},
		{"a name that is not there", "pg_config.0", m("state", "x"), nil, "there is no"},
		{"no object", "version", m("state", "x"), nil, "no object"},
		{"a place that is not well formed", "entries[1", m("state", "x"), nil, "well formed"},
		{"nothing claimed", "", nil, m("version", "2"), "no member is claimed"},
	} {
		for _, file := range []string{"json", "pickle"} {
			t.Run(c.name+" in "+file, func(t *testing.T) {
				err := Evidence(files, incident.Evidence{Kind: incident.KindRecord, File: file, Place: c.place, Predicate: &incident.Predicate{Members: c.all, NotMembers: c.none}})
				if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
					t.Errorf("it says %v, want %q", err, c.why)
				}
			})
		}
	}
	for name, ev := range map[string]incident.Evidence{
		"a file that holds no value": {Kind: incident.KindRecord, File: "text", Predicate: &incident.Predicate{Members: m("a", "b")}},
		"a file of nobody":           {Kind: incident.KindRecord, File: "other", Predicate: &incident.Predicate{Members: m("a", "b")}},
		"text is asked for":          {Kind: incident.KindRecord, File: "json", Predicate: &incident.Predicate{Members: m("version", "2.10"), Literals: []string{"v"}}},
		"a line is claimed":          {Kind: incident.KindRecord, File: "json", Line: 3, Predicate: &incident.Predicate{Members: m("version", "2.10")}},
	} {
		if Evidence(files, ev) == nil {
			t.Errorf("%s: it holds", name)
		}
	}
}

func FuzzUnpickle(f *testing.F) {
	f.Add([]byte(dumpPickle))
	f.Add([]byte("\x80\x02]q\x00(h\x00h\x00e."))
	f.Add([]byte(many(3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		// What is gone over and what is read as a whole hold the same, unless the pickle is none.
		ev := &incident.Evidence{Place: "entries[1]", Predicate: &incident.Predicate{Members: []incident.Member{{Name: "state", Value: "scheduled"}}}}
		v, err := new(stacker).unpickle(data, nil)
		if err != nil {
			return
		}
		want := holdsAt(v, ev)
		s := new(stacker)
		if v, err = s.unpickle(data, numbersIn([]*incident.Evidence{ev})); err != nil {
			t.Fatal(err)
		}
		if got := holdsAt(v, ev); !s.lacks && (got == nil) != (want == nil) {
			t.Errorf("it says %v, as a whole %v", got, want)
		}
	})
}
