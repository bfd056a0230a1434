//go:build linux

package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"faultline/workflow"
)

func running(t *testing.T, well func(), checks ...Check) *Monitor {
	t.Helper()
	m := New(slog.New(slog.DiscardHandler), well, checks...)
	go m.Run(t.Context())
	return m
}

func TestWhatStopsWorkingIsNoticedAndSoIsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var wells atomic.Int32
		m := running(t, func() { wells.Add(1) },
			Check{Name: "a", Cannot: "store files", Probe: func(context.Context) error {
				if broken.Load() {
					return fmt.Errorf("writing: %w", syscall.ENOSPC)
				}
				return nil
			}},
			Check{Name: "b", Aside: true, Probe: func(context.Context) error { return errors.New("refused") }})
		time.Sleep(time.Minute)
		if err := m.Known(); err != nil || wells.Load() != 0 {
			t.Errorf("%v, well %d times", err, wells.Load())
		}
		broken.Store(true)
		if err := m.Look(t.Context()); err == nil || err.Error() != "I can't store files right now: disk full on the bot's host" {
			t.Errorf("a look says %v", err)
		}
		broken.Store(false)
		time.Sleep(every + time.Millisecond)
		if err := m.Known(); err != nil || wells.Load() != 1 {
			t.Errorf("%v, well %d times", err, wells.Load())
		}
		if s := m.Status(); len(s) != 2 || s[0].Err != nil || s[1].Err == nil {
			t.Errorf("%+v", s)
		}
	})
}

func TestALookThatHangsIsTroubleAndKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var looks atomic.Int32
		m := running(t, func() {}, Check{Name: "a", Cannot: "store files", Probe: func(context.Context) error {
			if looks.Add(1) > 1 {
				<-hang
			}
			return nil
		}})
		time.Sleep(time.Second)
		if err := m.Known(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for m.Known() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("noticed after %s", took)
		}
		begun = time.Now()
		if err := m.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "not responding") || time.Since(begun) > patience {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks: one hangs, and others join it", n)
		}
		close(hang)
		time.Sleep(time.Millisecond)
		if err := m.Known(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsGoneForLongIsMadeAnewAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		gone.Store(true)
		m := running(t, func() {}, Check{Name: "a", Probe: func(context.Context) error {
			if gone.Load() {
				return os.ErrNotExist
			}
			return nil
		}, Mend: func(context.Context) error { gone.Store(false); return nil }})
		time.Sleep(10 * time.Second)
		if m.Known() == nil {
			t.Error("it is made anew before anybody could put it back")
		}
		time.Sleep(9 * time.Second)
		if err := m.Known(); err != nil {
			t.Errorf("after 19 s: %v", err)
		}
	})
}

func TestAFolderIsProbedByWritingToIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	c := Folder("spool", dir, "part")
	if err := c.Probe(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "part" {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := os.Remove(filepath.Join(dir, "part")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self", filepath.Join(dir, "part")); err != nil { // root may write anywhere else
		t.Fatal(err)
	}
	if err := c.Probe(t.Context()); err == nil {
		t.Error("a folder within that takes nothing passes")
	}
	if err := c.Mend(t.Context()); !errors.Is(err, ErrLeft) {
		t.Errorf("a folder that is there is made anew: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Probe(t.Context()); workflow.DiskReason(err) != "a file exists where a folder should be on the bot's host" {
		t.Errorf("a file: %v", err)
	}
	if r, err := c.Room(); err != nil || r.Bytes == 0 {
		t.Errorf("%+v %v", r, err)
	}
}
