package pattern

import (
	"sync"
	"testing"
)

func TestPatternsCompileWhenNeeded(t *testing.T) {
	eager = false
	defer func() { eager = true }()
	r := New(`step (?P<n>\d+)`)
	if r.re != nil {
		t.Error("compiled before it is used")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m := r.FindSubmatch([]byte("at step 12")); len(m) != 2 || string(m[1]) != "12" || r.SubexpIndex("n") != 1 {
				t.Errorf("%q", m)
			}
		})
	}
	wg.Wait()
}

func TestInTestsAPatternThatDoesNotCompilePanicsAtOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New("a(b")
}
