package novel

import "testing"

// Only a line that names a place is held against the forms of frames.
func FuzzNamesPlace(f *testing.F) {
	for _, l := range []string{
		`  File "train.py", line 7, in main`, "\t/src/main.go:12 +0x1b", "             at src/main.rs:4:5", "  at a.b.C.run(C.java:9)", "   at A.B() in /src/A.cs:line 8",
		"    at step (file:///srv/a.mjs:10:3)", "#3  0x00007f in solve () at solve.f90:77", " @ Main ~/a.jl:5", "from a.rb:3:in `go'", "  x.lua:4: in function 'f'",
		`Called from X in file "a.ml", line 3`, " at a.pl line 9", "in a.php on line 3", " in a.php:33", "At line 12 of file a.f", "a.cu:9: f: Assertion `x'", "called at A.hs:4",
		"2025-09-12 03:14:07 INFO step 3", "host:1:2", "",
	} {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, l string) {
		for i := range frameForms {
			if frameForms[i].re.MatchString(l) && !namesPlace(l) {
				t.Errorf("%q is a frame of %s", l, frameForms[i].runtime)
			}
		}
	})
}
