package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source"
	"faultline/fetch/source/sourcetest"
)

func TestFilesAreTakenWithTheirOrigin(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/b.out", []byte("two"), "2")
	m.put("/a.out", []byte("one"), "1")
	m.put("/c.out", []byte("one"), "3")
	m.put("/empty", nil, "4")
	list := want(t, m, "/b.out", "/a.out", "/c.out", "/empty")
	list[0].Name, list[0].Node = "node01/b.out", "node01"
	got, err := s.Take(ctx, place(m), list, nil)
	if err != nil || len(got.Missed) > 0 || got.Fetched != 9 {
		t.Fatalf("%+v, %v", got, err)
	}
	var names []string
	for _, src := range got.Sources {
		names = append(names, src.Name)
		b, err := os.ReadFile(src.Path)
		sum := sha256.Sum256(b)
		if err != nil || src.Origin != "test" || src.Bytes != int64(len(b)) || src.SHA256 != hex.EncodeToString(sum[:]) || !filepath.IsAbs(src.Path) {
			t.Errorf("%+v, %v", src, err)
		}
	}
	if strings.Join(names, " ") != "a.out c.out empty node01/b.out" || got.Sources[3].Node != "node01" {
		t.Errorf("%v", names)
	}
	if got.Sources[0].Path != got.Sources[1].Path {
		t.Error("one content is kept twice")
	}
	s.account(t)
}

func TestWhatIsHereIsNotFetchedAgain(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", sourcetest.Bytes(100_000), "1")
	if n := takeAll(t, s, m, "/a"); n != 100_000 {
		t.Errorf("fetched %d", n)
	}
	s = reopen(t, s)
	if n := takeAll(t, s, m, "/a"); n != 0 {
		t.Errorf("fetched %d again", n)
	}
	other := place(m)
	other.ID = "elsewhere"
	if got, err := s.Take(ctx, other, want(t, m, "/a"), nil); err != nil || got.Fetched != 100_000 {
		t.Errorf("a file of another place: %+v, %v", got, err)
	}
}

func TestOfAFileThatGrewOnlyTheRestIsFetched(t *testing.T) {
	for _, mark := range []string{"1", ""} {
		m, s := newMemory(), open(t, t.TempDir(), Options{})
		all := sourcetest.Bytes(3 << 20)
		m.put("/a", all[:2<<20], mark)
		takeAll(t, s, m, "/a")
		first, err := s.Take(ctx, place(m), want(t, m, "/a"), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.put("/a", all, mark)
		if n := takeAll(t, reopen(t, s), m, "/a"); n != 1<<20 {
			t.Errorf("fetched %d", n)
		}
		if b, err := os.ReadFile(first.Sources[0].Path); err != nil || !bytes.Equal(b, all[:2<<20]) {
			t.Error("what an earlier report quotes has changed")
		}
	}
}

func TestAFileThatWasWrittenAnewIsNotPutBehindTheOldOne(t *testing.T) {
	old, fresh := sourcetest.Bytes(1<<20), sourcetest.Bytes(3 << 20)[1<<20:]
	late := append(bytes.Clone(old), fresh...)
	late[100] ^= 1 // only its beginning is another
	for name, content := range map[string][]byte{"longer": fresh, "shorter": fresh[:1000], "as long": fresh[:1<<20], "another beginning": late} {
		for _, mark := range []string{"1", ""} {
			m, s := newMemory(), open(t, t.TempDir(), Options{})
			m.put("/a", old, mark)
			takeAll(t, s, m, "/a")
			m.put("/a", content, mark)
			if n := takeAll(t, s, m, "/a"); n != int64(len(content)) {
				t.Errorf("%s: fetched %d of %d", name, n, len(content))
			}
		}
	}
}

func TestATransferThatIsCutAtEveryTenthLosesNothing(t *testing.T) {
	const size = 1_000_000
	for _, whole := range []bool{false, true} {
		for _, restart := range []bool{false, true} {
			m, s := newMemory(), open(t, t.TempDir(), Options{})
			m.put("/a", sourcetest.Bytes(size), "1")
			m.files["/a"].whole = whole
			m.cut = size / 10
			if !whole {
				m.cut += overlap // is read again each time
			}
			var fetched int64
			tries := 0
			for {
				got, err := s.Take(ctx, place(m), want(t, m, "/a"), nil)
				if err != nil {
					t.Fatal(err)
				}
				tries++
				fetched += got.Fetched
				if len(got.Sources) == 1 {
					break
				}
				if source.KindOf(one(t, got.Missed)) != source.Lost || tries > 10 {
					t.Fatalf("try %d: %v", tries, got.Missed)
				}
				if names, _ := filepath.Glob(filepath.Join(s.dir, "blob", "*", "*")); len(names) > 0 {
					t.Fatalf("half a file is visible: %v", names)
				}
				s.account(t)
				if restart {
					s = reopen(t, s)
				}
			}
			if fetched != size || tries < 9 {
				t.Errorf("whole %v, restart %v: fetched %d in %d tries", whole, restart, fetched, tries)
			}
			if n := takeAll(t, s, m, "/a"); n != 0 {
				t.Errorf("fetched %d again", n)
			}
		}
	}
}

func TestAPartIsBelievedOnlyAsFarAsItIsOnTheDisk(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, part string){
		"the end is holes": func(t *testing.T, part string) {
			if err := os.Truncate(part, 900_000); err != nil {
				t.Fatal(err)
			}
		},
		"the end is missing": func(t *testing.T, part string) {
			if err := os.Truncate(part, 10_000); err != nil {
				t.Fatal(err)
			}
		},
		"the note is missing": func(_ *testing.T, part string) { _ = os.Remove(part + ".json") },
		"the note is torn": func(t *testing.T, part string) {
			if err := os.WriteFile(part+".json", []byte(`{"place":"mem`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the note is hostile": func(t *testing.T, part string) {
			if err := os.WriteFile(part+".json", []byte(`{"place":"memory","name":"/a","mark":"1","size":1,"synced":-5}`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the part is missing": func(_ *testing.T, part string) { _ = os.Remove(part) },
		"the tail is damaged": func(t *testing.T, part string) {
			b, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-1] ^= 1
			if err := os.WriteFile(part, b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := newMemory(), open(t, t.TempDir(), Options{})
			m.put("/a", sourcetest.Bytes(1_000_000), "1")
			m.cut = 500_000
			if got, _ := s.Take(ctx, place(m), want(t, m, "/a"), nil); len(got.Missed) != 1 {
				t.Fatalf("%+v", got)
			}
			harm(t, s.partFile(key("memory", "/a")))
			m.cut = -1
			takeAll(t, reopen(t, s), m, "/a")
		})
	}
}

func TestAFileThatChangesWhileItIsReadIsReadAnew(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", sourcetest.Bytes(100_000), "1")
	list := want(t, m, "/a")
	m.put("/a", []byte("new"), "2") // since somebody looked
	got, err := s.Take(ctx, place(m), list, nil)
	if err != nil || len(got.Sources) != 1 || got.Sources[0].Bytes != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	s.account(t)
}

func TestAContextThatEndsLeavesWhatCame(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", sourcetest.Bytes(3<<20), "1")
	m.put("/done", []byte("x"), "2")
	why := errors.New("enough")
	stop, cancel := context.WithCancelCause(ctx)
	s.o.Together = 1
	m.during = func(name string) {
		if name == "/a" {
			cancel(why)
		}
	}
	got, err := s.Take(stop, place(m), want(t, m, "/done", "/a"), nil)
	if !errors.Is(err, why) || len(got.Sources) != 1 || len(got.Missed) != 1 || !errors.Is(got.Missed[0].Err, why) {
		t.Fatalf("%+v, %v", got, err)
	}
	m.during = nil
	if n := takeAll(t, s, m, "/a", "/done"); n != 3<<20-20_000 {
		t.Errorf("fetched %d", n)
	}
}

func TestTheSameFileIsFetchedOnceForTwoInvestigations(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", sourcetest.Bytes(100_000), "1")
	list := want(t, m, "/a")
	fetched := make(chan int64)
	for range 4 {
		go func() {
			got, _ := s.Take(ctx, place(m), list, nil)
			fetched <- got.Fetched
		}()
	}
	var all int64
	for range 4 {
		all += <-fetched
	}
	if all != 100_000 {
		t.Errorf("fetched %d", all)
	}
	s.account(t)
}

func TestProgressReachesWhatWasExpected(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("/%02d", i))
		m.put(names[i], sourcetest.Bytes(10_000*i), "1")
	}
	takeAll(t, s, m, names[3])
	var last Progress
	got, err := s.Take(ctx, place(m), want(t, m, names...), func(p Progress) {
		if p.Files < last.Files || p.Bytes < last.Bytes || p.Fetched < last.Fetched || p.Bytes > p.OfBytes || p.Files > p.OfFiles {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	})
	if err != nil || last.Files != 20 || last.OfFiles != 20 || last.Bytes != 1_900_000 || last.OfBytes != 1_900_000 || last.Fetched != 1_870_000 || got.Fetched != last.Fetched {
		t.Errorf("%+v, %v", last, err)
	}
}

func TestWhatCannotBeReadDoesNotStopTheRest(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", []byte("x"), "1")
	m.put("/gone", []byte("x"), "1")
	list := want(t, m, "/gone", "/a")
	delete(m.files, "/gone")
	got, err := s.Take(ctx, place(m), list, nil)
	if err != nil || len(got.Sources) != 1 || source.KindOf(one(t, got.Missed)) != source.NotFound || got.Missed[0].Want.File.Name != "/gone" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestASpoolServesOneProcess(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if _, err := Open(s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "another process is using it") {
		t.Errorf("got %v", err)
	}
}

func TestADiskWithoutRoom(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{Together: 1})
	m.put("/a", sourcetest.Bytes(200_000), "1")
	m.put("/b", sourcetest.Bytes(900_000), "1")
	m.put("/c", sourcetest.Bytes(300_000), "1")
	left := int64(700_000)
	create := s.create
	s.create = func(name string) (part, error) {
		p, err := create(name)
		return smallDisk{p, &left}, err
	}
	got, err := s.Take(ctx, place(m), want(t, m, "/a", "/b", "/c"), nil)
	if err != nil || len(got.Sources) != 1 || len(got.Missed) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, name := range []string{"/b", "/c"} {
		if text := got.Missed[i].Err.Error(); !strings.Contains(text, "my disk has no room for "+name) {
			t.Errorf("%s", text)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(s.dir, "part", "*")); len(names) > 0 {
		t.Errorf("the disk is still full of %v", names)
	}
	s.account(t)
	s.create = create
	if n := takeAll(t, s, m, "/a", "/b", "/c"); n != 1_200_000 {
		t.Errorf("fetched %d", n)
	}
}

func TestWhatWasNotUsedForTheLongestTimeMakesRoom(t *testing.T) {
	c := &clock{at: start}
	m := newMemory()
	var used []string
	s := open(t, t.TempDir(), Options{Max: 1000, Now: c.now, Used: func(context.Context) ([]string, error) { return used, nil }})
	content := sourcetest.Bytes(10_000)
	for i := range 4 {
		m.put(fmt.Sprint("/", i), content[i*300:][:300], "1")
	}
	takeAll(t, s, m, "/0")
	c.pass(time.Minute)
	takeAll(t, s, m, "/1")
	c.pass(time.Minute)
	takeAll(t, s, m, "/2")
	got, err := s.Take(ctx, place(m), want(t, m, "/3"), nil)
	if err != nil || source.KindOf(one(t, got.Missed)) != source.TooMuch {
		t.Errorf("what was just used has made room: %+v, %v", got, err)
	}
	c.pass(2 * time.Hour)
	s = reopen(t, s)
	takeAll(t, s, m, "/0") // is used again
	first, err := s.Take(ctx, place(m), want(t, m, "/1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	used = []string{first.Sources[0].Path}
	c.pass(2 * time.Hour)
	takeAll(t, s, m, "/0")
	takeAll(t, s, m, "/3")
	var here []string
	for i := range 4 {
		if _, err := os.Stat(s.blobFile(sumOf(content[i*300:][:300]))); err == nil {
			here = append(here, fmt.Sprint(i))
		}
	}
	if !slices.Equal(here, []string{"0", "1", "3"}) {
		t.Errorf("here are %v", here)
	}
	m.put("/large", sourcetest.Bytes(1001), "1")
	got, _ = s.Take(ctx, place(m), want(t, m, "/large"), nil)
	if text := one(t, got.Missed).Error(); !strings.Contains(text, "/large") || !strings.Contains(text, "the spool may hold 1000") {
		t.Error(text)
	}
	s.account(t)
}

func TestNothingGoesWhileItIsNotKnownWhatIsInUse(t *testing.T) {
	c := &clock{at: start}
	m := newMemory()
	s := open(t, t.TempDir(), Options{Max: 1000, Now: c.now, Used: func(context.Context) ([]string, error) { return nil, errors.New("the store is closed") }})
	m.put("/a", sourcetest.Bytes(900), "1")
	takeAll(t, s, m, "/a")
	c.pass(48 * time.Hour)
	m.put("/b", sourcetest.Bytes(800), "1")
	if got, _ := s.Take(ctx, place(m), want(t, m, "/b"), nil); len(got.Sources) != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := s.Clean(ctx); err == nil || !strings.Contains(err.Error(), "the store is closed") {
		t.Errorf("got %v", err)
	}
	if n := takeAll(t, s, m, "/a"); n != 0 {
		t.Errorf("fetched %d", n)
	}
}

func TestCleaningRemovesWhatIsPastItsTime(t *testing.T) {
	c := &clock{at: time.Now()} // parts are as old as their files
	m := newMemory()
	s := open(t, t.TempDir(), Options{Keep: 30 * 24 * time.Hour, Now: c.now})
	m.put("/old", sourcetest.Bytes(1000), "1")
	m.put("/half", sourcetest.Bytes(100_000), "1")
	takeAll(t, s, m, "/old")
	m.cut = 50_000
	if got, _ := s.Take(ctx, place(m), want(t, m, "/half"), nil); len(got.Missed) != 1 {
		t.Fatalf("%+v", got)
	}
	m.cut = -1
	if n, err := s.Clean(ctx); n != 0 || err != nil {
		t.Errorf("freed %d, %v", n, err)
	}
	c.pass(25 * time.Hour)
	if n, err := s.Clean(ctx); n != 50_000 || err != nil {
		t.Errorf("freed %d, %v", n, err)
	}
	c.pass(30 * 24 * time.Hour)
	if n, err := s.Clean(ctx); n != 1000 || err != nil {
		t.Errorf("freed %d, %v", n, err)
	}
	for _, d := range []string{"have/*", "part/*", "blob/*/*"} {
		if left, _ := filepath.Glob(filepath.Join(s.dir, d)); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
	s.account(t)
	takeAll(t, s, m, "/old", "/half")
}

func TestWhatSomebodyElseRemovedIsFetchedAgain(t *testing.T) {
	m, s := newMemory(), open(t, t.TempDir(), Options{})
	m.put("/a", sourcetest.Bytes(1000), "1")
	m.put("/b", sourcetest.Bytes(2000), "1")
	takeAll(t, s, m, "/a", "/b")
	if err := os.RemoveAll(filepath.Join(s.dir, "blob")); err != nil { // as forgetting an incident does
		t.Fatal(err)
	}
	s = reopen(t, s)
	if n := takeAll(t, s, m, "/a"); n != 1000 {
		t.Errorf("fetched %d", n)
	}
	m.put("/c", sourcetest.Bytes(3000), "1")
	takeAll(t, s, m, "/c")
	if err := os.RemoveAll(filepath.Join(s.dir, "blob")); err != nil {
		t.Fatal(err)
	}
	if n := takeAll(t, s, m, "/a", "/c"); n != 4000 {
		t.Errorf("fetched %d", n)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "blob")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Clean(ctx); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "have", "*")); len(left) > 0 {
		t.Errorf("what was removed is still named: %v", left)
	}
	if s.total != 0 {
		t.Errorf("%d bytes are counted", s.total)
	}
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// A login node tells whole seconds: what is written again in the same one, as long as before, looks the same from outside.
func TestAFileThatIsWrittenAgainWithinItsSecondIsNoticed(t *testing.T) {
	now := start.Add(time.Second / 2)
	m, s := newMemory(), open(t, t.TempDir(), Options{Now: func() time.Time { return now }})
	m.put("/a", sourcetest.Bytes(200_000), "")
	takeAll(t, s, m, "/a")
	again := sourcetest.Bytes(200_000)
	copy(again[199_000:], "the last line is another one\n")
	m.files["/a"].bytes = again
	now = now.Add(time.Hour)
	if n := takeAll(t, s, m, "/a"); n != 200_000 {
		t.Errorf("fetched %d", n)
	}
	for _, want := range []int{0, 0} { // it is known by now that it rests
		opened := len(m.opened)
		if n := takeAll(t, s, m, "/a"); n != 0 || len(m.opened)-opened != want {
			t.Errorf("fetched %d, opened %d times", n, len(m.opened)-opened)
		}
	}
	m.files["/b"] = &held{bytes: []byte("still the same\n"), written: now}
	takeAll(t, s, m, "/b")
	for _, want := range []int{1, 1, 1, 0} { // compared, until that was long enough after its last write
		opened := len(m.opened)
		if n := takeAll(t, s, m, "/b"); n != 0 || len(m.opened)-opened != want {
			t.Errorf("fetched %d, opened %d times, want %d", n, len(m.opened)-opened, want)
		}
		if want == 1 {
			now = now.Add(6 * time.Second)
		}
	}
}
