package stacks

import (
	"bytes"
	"maps"
	"testing"
)

func TestTheSameSpecGivesTheSameBytes(t *testing.T) {
	for _, f := range Formats() {
		for _, l := range Layouts() {
			s := Spec{Seed: 3, Place: Queue, Waiting: Calls, Format: f, Layout: l, World: 8, PerNode: 4, Root: 5, Twice: true, Helpers: true}
			a, err := Play(s)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Play(s)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(a.Files, b.Files, bytes.Equal) || len(a.Files) == 0 {
				t.Errorf("%s, %s: %d and %d files, or others", f, l, len(a.Files), len(b.Files))
			}
			if !a.Truth.Seen || a.Truth.Others != 7 || a.Truth.Node != "node02" {
				t.Errorf("%+v", a.Truth)
			}
		}
	}
}
