package aislog

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
)

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		up + "I 23:15:00.000000 {err.get.n:3,get.n:5,state.flags:6}\nI 23:15:10.000000 {get.n:5,sI 23:15:20.000000 {get.n:1,state.flags:262}\nI 23:15:20.000001 running(1): get-batch[g]\n",
		"I 23:59:59.999999 t:1 t[a] is ready\nI 00:00:00.000000 common:494 21 Nov 26 00:00 UTC =============\nW 00:00:00.000001 x\n",
		"Rotated at 2026/11/20 23:27:41, host vm, go1.26.8 for linux/amd64\nNode t[a], Version 5.0.v1.5.0, build\nI 23:28:06.884431 Warning: state alerts:\nI 23:28:06.884434 [OOS]\n" + up,
		up + "W 23:15:36.125090 c:1 Error: shared-dm[a=>b] [ write tcp4 1:2->3:4: broken ]E 23:15:36.125091 ErrCapExceeded: x: PUT /v1/objects/b/o (t[a]: htrun.go:1])\r\n\x00\xff[",
		"I 23:15:00.000000 {\nI 23:15:00.000000 {:1}\nI 23:15:00.000000 {a:9223372036854775807}\nI 23:15:00.000000 {a.n:9223372036854775808,state.flags:-1}\n",
	} {
		f.Add(s, 40)
	}
	sc := scanner(f)
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = min(max(at, 0), len(text))
		Recognise([]byte(text))
		file := func(name, s string) *File {
			r, err := Read(context.Background(), Source{Name: name}, strings.NewReader(s), sc)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		contents := map[string]string{"aistarget-a.tar.gz/x.INFO.1": text, "y.ERROR.2": text[:at], "z": text[at:]}
		var files []*File
		for name, s := range contents {
			files = append(files, file(name, s))
		}
		all := Merge(files)
		files[0], files[2] = files[2], files[0]
		if !reflect.DeepEqual(all, Merge(files)) {
			t.Fatal("the order of files matters")
		}
		for i := range all {
			check(t, &all[i], contents)
		}
	})
}

// check is what must hold of any daemon.
func check(t *testing.T, d *Daemon, contents map[string]string) {
	t.Helper()
	for i := range d.Intervals {
		for _, g := range d.Intervals[i].By {
			if g.N <= 0 {
				t.Fatalf("%s grew by %d", g.Name, g.N)
			}
		}
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		sum := 0
		for _, m := range g.Minutes {
			sum += m.Count
		}
		if sum != g.Count || len(g.Events) == 0 || len(g.Events) > 2*edge {
			t.Fatalf("%s: %d records, %d by minute, %d held", g.Kind, g.Count, sum, len(g.Events))
		}
		for j := range g.Events {
			e := &g.Events[j]
			text := contents[e.File]
			if e.Off < 0 || e.Off+int64(e.Len) > int64(len(text)) {
				t.Fatalf("%s: %d+%d of %d", e.File, e.Off, e.Len, len(text))
			}
			raw := []byte(text[e.Off : e.Off+int64(e.Len)])
			if e.Text != clip(raw, maxText) || bytes.IndexByte(raw, '\n') >= 0 {
				t.Fatalf("%q does not stand where it is said to: %q", e.Text, raw)
			}
			if line := int64(strings.Count(text[:e.Off], "\n")) + 1; line != e.Line {
				t.Fatalf("line %d, not %d", line, e.Line)
			}
			if j > 0 && e.Time.Wall.Before(g.Events[j-1].Time.Wall) {
				t.Fatal("out of order")
			}
		}
	}
	for _, r := range d.Runs {
		if r.Ended == "" || r.Last.Wall.Before(r.Start.Wall) && r.Started {
			t.Fatalf("%+v", r)
		}
	}
}
