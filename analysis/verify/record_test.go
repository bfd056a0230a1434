package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
)

func members(pairs ...string) (out []incident.Member) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, incident.Member{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func TestMembersOfObjectsAreCounted(t *testing.T) {
	lines := []string{
		`{"id":"1/0","nodes":["a","b"],"step":5,"done":true}`,
		`{ "id" : "2/0" , "nodes" : [ "b", "\u0061" ], "step": 5.0 }`,
		`{"id":"3/0","nodes":[["a"]],"NODES":["a"],"x":{"nodes":"a"}}`,
		`{"id":"4/0","nodes":"a"}`,
		`{"id":"5/0","nodes":["a"]`,
		`{"id":"6/0","nodes":["a"]} {"id":"7/0"}`,
		`["nodes","a"]`, `"a"`, ``, `nodes a`,
		`{"id":"8/0","pad":"` + strings.Repeat("x", incident.MaxRecord) + `","nodes":["a"]}`,
		"\x1b[1m" + `{"id":"9/0","nodes":["c"],"step":null}` + "\x1b[0m",
	}
	path := filepath.Join(t.TempDir(), "h")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	files := Files{"h": path}
	count := func(n int64, all, none []incident.Member) error {
		return Evidence(files, incident.Evidence{Kind: incident.KindCount, Files: []string{"h"}, N: n, Predicate: &incident.Predicate{Members: all, NotMembers: none}})
	}
	for _, tt := range []struct {
		n         int64
		all, none []incident.Member
	}{
		{3, members("nodes", "a"), nil}, // in lines 1, 2 and 4
		{2, members("nodes", "a"), members("id", "4/0")},
		{1, members("nodes", "a", "nodes", "b", "step", "5"), nil},
		{1, members("step", "5.0"), nil},
		{1, members("done", "true"), nil},
		{1, members("id", "9/0"), members("step", "null")},
	} {
		if err := count(tt.n, tt.all, tt.none); err != nil {
			t.Errorf("%v without %v: %v", tt.all, tt.none, err)
		}
		if count(tt.n+1, tt.all, tt.none) == nil {
			t.Errorf("%v: a wrong number holds", tt.all)
		}
	}
	for name, p := range map[string]*incident.Predicate{
		"only what must not be": {NotMembers: members("id", "1/0")},
		"a name that is empty":  {Members: members("", "a")},
		"no value":              {Members: members("id", "")},
	} {
		if err := Evidence(files, incident.Evidence{Kind: incident.KindCount, Files: []string{"h"}, N: 1, Predicate: p}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	set := incident.Evidence{Kind: incident.KindSet, Files: []string{"h"}, Predicate: &incident.Predicate{Members: members("nodes", "a")},
		Capture: &incident.Capture{Member: "id"}, Values: []string{"1/0", "2/0", "4/0"}}
	if err := Evidence(files, set); err != nil {
		t.Error(err)
	}
	set.Values = set.Values[:2]
	if Evidence(files, set) == nil {
		t.Error("a set that lacks a value holds")
	}
	set.Capture = &incident.Capture{Member: "id", Key: "id"}
	if Evidence(files, set) == nil {
		t.Error("a capture of two things holds")
	}
	absent := incident.Evidence{Kind: incident.KindAbsence, Files: []string{"h"}, Bytes: 1, Predicate: &incident.Predicate{Members: members("nodes", "a")}}
	if Evidence(files, absent) == nil {
		t.Error("what is there is absent")
	}
}
