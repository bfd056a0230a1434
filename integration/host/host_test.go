//go:build linux

package host

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"faultline/simulate/slack"
)

// trouble is one way in which a host fails its bot.
type trouble struct {
	name  string
	setup func(w *world)        // before the bot starts
	begin func(w *world) func() // and what ends it
	check string                // the line of /readyz
	why   string                // the reason there
	// told is what the thread, or the answer to the command, says meanwhile; "" where nothing has to be said.
	told string
	// itself: nobody ends it but the bot.
	itself bool
	// midway: the case is at work when it begins. Else people ask when it has begun, or, where the store is what fails, has been
	// noticed: a store that is lost takes what comes until then.
	midway bool
}

const filesNot, storeNot = "I can't store files right now: ", "I can't write to my store right now: "

func tmpfs(at string, options string) func(*world) {
	return func(w *world) {
		w.mount(filepath.Join(w.data, at), "-t", "tmpfs", "-o", "mode=700,"+options, "tmpfs")
	}
}

func full(at string) func(*world) func() {
	return func(w *world) func() { return w.fill(filepath.Join(w.data, at)) }
}

func asNobody(w *world) {
	if os.Getuid() != 0 {
		w.t.Skip("only root can run a bot as somebody else")
	}
	w.uid = nobody
}

func chmod(at string, mode fs.FileMode) func(*world) func() {
	return func(w *world) func() {
		name := filepath.Join(w.data, at)
		w.must(os.Chmod(name, mode))
		return func() { w.must(os.Chmod(name, 0o700)) }
	}
}

func readOnly(at string) func(*world) func() {
	return func(w *world) func() {
		name := filepath.Join(w.data, at)
		w.run("mount", "-o", "remount,ro", name)
		return func() { w.run("mount", "-o", "remount,rw", name) }
	}
}

// away moves something away, puts what is given in its place, and moves it back.
func away(at string, instead func(w *world, name string)) func(*world) func() {
	return func(w *world) func() {
		name := filepath.Join(w.data, at)
		aside := filepath.Join(w.dir, "aside")
		w.must(os.Rename(name, aside))
		if instead != nil {
			instead(w, name)
		}
		return func() {
			w.must(os.RemoveAll(name))
			w.must(os.Rename(aside, name))
		}
	}
}

func aFile(w *world, name string) { w.must(os.WriteFile(name, []byte("no folder\n"), 0o600)) }

// removed is not put back.
func removed(at ...string) func(*world) func() {
	return func(w *world) func() {
		for _, name := range at {
			w.must(os.RemoveAll(filepath.Join(w.data, name)))
		}
		return func() {}
	}
}

// disk is a file system of its own, which can be frozen.
func disk(at string) func(*world) {
	return func(w *world) {
		image := filepath.Join(w.dir, "image")
		if out, err := exec.Command("truncate", "-s", "64M", image).CombinedOutput(); err != nil {
			w.t.Skipf("%v %s", err, out)
		}
		if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
			w.t.Skipf("there is no file system to freeze: %v %s", err, out)
		}
		w.mount(filepath.Join(w.data, at), "-o", "loop", image)
	}
}

const freeze, thaw = 0xC0045877, 0xC0045878 // FIFREEZE, FITHAW

// frozen answers no write, as the file system of a server that is gone.
func frozen(at string) func(*world) func() {
	return func(w *world) func() {
		f, err := os.Open(filepath.Join(w.data, at))
		w.must(err)
		order := func(what uintptr) error {
			if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), what, 0); e != 0 {
				return e
			}
			return nil
		}
		if err := order(freeze); err != nil {
			w.t.Skipf("freezing is not permitted here: %v", err)
		}
		w.t.Cleanup(func() {
			_ = order(thaw)
			_ = f.Close()
		})
		return func() { w.must(order(thaw)) }
	}
}

func sizeLimit(w *world) func() {
	set := func(cur uint64) {
		lim := syscall.Rlimit{Cur: cur, Max: ^uint64(0)}
		_, _, e := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(w.bot.Process.Pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&lim)), 0, 0, 0)
		if e != 0 {
			w.t.Fatal(e)
		}
	}
	set(1024)
	return func() { set(^uint64(0)) }
}

func noFileLeft(w *world) func() {
	limit := func(lim, was *syscall.Rlimit) {
		_, _, e := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(w.bot.Process.Pid), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(lim)), uintptr(unsafe.Pointer(was)), 0, 0)
		if e != 0 {
			w.t.Fatal(e)
		}
	}
	var was syscall.Rlimit
	limit(nil, &was)
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.bot.Process.Pid))
	w.must(err)
	limit(&syscall.Rlimit{Cur: uint64(len(open)), Max: was.Max}, nil)
	return func() { limit(&was, nil) }
}

// locked is held by another process: this one.
func locked(w *world) func() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.data, "faultline.db")+"?_pragma=busy_timeout(5000)&_txlock=exclusive")
	w.must(err)
	tx, err := db.Begin()
	w.must(err)
	return func() {
		w.must(tx.Rollback())
		w.must(db.Close())
	}
}

// restored puts a copy of the store in the place of something that is none.
func restored(w *world) func() {
	file := filepath.Join(w.data, "faultline.db")
	copied := filepath.Join(w.dir, "backup.db")
	w.run(binary, "backup", "--config", filepath.Join(w.dir, "faultline.yaml"), copied)
	w.must(os.WriteFile(file+".bad", []byte("this is no database"), 0o600))
	w.must(os.Rename(file+".bad", file))
	return func() { w.must(os.Rename(copied, file)) }
}

var troubles = []trouble{
	{"disk-full", tmpfs("", "size=64m"), full(""), "data", "no space left", "disk full on the bot's host", false, false},
	{"inodes-used-up", tmpfs("", "size=64m,nr_inodes=300"), inodes(""), "data", "", "disk full on the bot's host", false, false},
	{"spool-full", tmpfs("spool", "size=8m"), full("spool"), "spool", "no space left", filesNot + "disk full on the bot's host", false, false},
	{"spool-inodes", tmpfs("spool", "size=8m,nr_inodes=200"), inodes("spool"), "spool", "", filesNot + "disk full on the bot's host", false, false},
	{"blobs-full", tmpfs("blobs", "size=8m"), full("blobs"), "blobs", "no space left", filesNot + "disk full on the bot's host", false, false},
	{"spool-read-only", tmpfs("spool", "size=8m"), readOnly("spool"), "spool", "read-only", filesNot + "disk is read-only", false, false},
	{"blobs-read-only", tmpfs("blobs", "size=8m"), readOnly("blobs"), "blobs", "read-only", filesNot + "disk is read-only", false, false},
	{"spool-not-permitted", asNobody, chmod("spool", 0o500), "spool", "permission denied", filesNot + "no permission", false, false},
	{"blobs-not-permitted", asNobody, chmod("blobs", 0), "blobs", "permission denied", filesNot + "no permission", false, false},
	{"blob-parts-not-permitted", asNobody, chmod("blobs/.part", 0o500), "blobs", "permission denied", filesNot + "no permission", false, false},
	{"data-not-permitted", asNobody, chmod("", 0o500), "data", "permission denied", "", false, false},
	{"spool-moved-away", nil, away("spool", nil), "spool", "no such file", filesNot + "folder is gone", false, false},
	{"blobs-moved-away", nil, away("blobs", nil), "blobs", "no such file", filesNot + "folder is gone", false, false},
	{"spool-is-a-file", nil, away("spool", aFile), "spool", "is a file", filesNot + "a file exists where a folder should be", false, false},
	{"blobs-is-a-file", nil, away("blobs", aFile), "blobs", "is a file", filesNot + "a file exists where a folder should be", false, false},
	{"data-moved-away", nil, away("", nil), "store", "is gone", storeNot + "the database file is gone", false, false},
	{"spool-removed", nil, removed("spool"), "spool", "no such file", "", true, false},
	{"blobs-removed", nil, removed("blobs"), "blobs", "no such file", "", true, false},
	{"file-size-limit", nil, sizeLimit, "data", "ulimit", storeNot + "disk error", false, false},
	{"no-file-left", nil, noFileLeft, "data", "too many open files", "", false, false},
	{"store-locked", nil, locked, "store", "", storeNot, false, false},
	{"store-moved-away", nil, away("faultline.db", nil), "store", "is gone", storeNot + "the database file is gone", false, false},
	{"store-removed", nil, removed("faultline.db", "faultline.db-wal", "faultline.db-shm", "faultline.db.lock"), "store", "is gone", "", true, false},
	{"store-file-removed", nil, removed("faultline.db"), "store", "is gone", "", true, false},
	{"store-replaced", nil, restored, "store", "replaced", storeNot + "the database file was replaced", false, false},
	{"everything-removed", nil, removed(""), "store", "is gone", "", true, false},
	{"disk-full-midway", tmpfs("", "size=64m"), full(""), "data", "no space left", "", false, true},
	{"spool-moved-away-midway", nil, away("spool", nil), "spool", "no such file", "", false, true},
	{"store-locked-midway", nil, locked, "store", "", "", false, true},
	{"blobs-hang", disk("blobs"), frozen("blobs"), "blobs", "no answer", "", false, false},
	{"everything-hangs", disk(""), frozen(""), "store", "", storeNot, false, false},
}

func inodes(at string) func(*world) func() {
	return func(w *world) func() {
		dir := filepath.Join(w.data, at, "many")
		w.must(os.Mkdir(dir, 0o700))
		for n := range 1000 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600); err != nil {
				break
			}
		}
		return func() { w.must(os.RemoveAll(dir)) }
	}
}

func TestABotThatItsHostFailsSaysSoAndGoesOn(t *testing.T) {
	for _, trouble := range append(troubles, elsewhere(t)...) {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			trouble.play(t)
		})
	}
}

func (x trouble) play(t *testing.T) {
	w := newWorld(t)
	if x.setup != nil {
		x.setup(w)
	}
	w.start()
	job := w.job(3)
	taken, sorry := false, ""
	ask := func() { taken, sorry = w.ask(job) }
	if x.midway {
		ask()
		w.within(patience, "the case to be at work", func() bool { return w.says(job) })
	}
	end := x.begin(w)
	begun := time.Now()
	var asked sync.WaitGroup
	if !x.midway && x.check != "store" {
		asked.Go(ask)
	}
	red := w.within(redWithin, "readiness to say "+x.check, func() bool {
		code, text := w.ready()
		return code == http.StatusServiceUnavailable && says(text, x.check, x.why)
	})
	if _, _, err := w.read("/metrics", metricsWithin); err != nil {
		t.Errorf("/metrics does not answer: %v", err)
	}
	if !x.midway && x.check == "store" {
		ask()
	}
	asked.Wait()
	if x.told != "" {
		w.within(patience, "people to be told "+x.told, func() bool { return strings.Contains(sorry, x.told) || w.says(x.told) })
	}
	if !x.itself && x.why != "is gone" { // else it is over before
		time.Sleep(linger())
	}
	end()
	from := time.Now()
	if x.itself {
		from = begun
	}
	w.within(greenWithin-time.Since(from), "readiness", func() bool { code, _ := w.ready(); return code == http.StatusOK })
	t.Logf("red after %s, green after %s; the command was taken: %t %s", red.Truncate(time.Millisecond), time.Since(from).Truncate(time.Millisecond), taken, sorry)
	w.within(patience, "the command to be taken", func() bool {
		if !taken { // as the answer asked
			taken, _ = w.ask(job)
		}
		return taken
	})
	w.within(patience, "the report", func() bool { return w.says("report.json") })
	for _, never := range []string{"Where are the logs", "Where are they?", "no readable log", "I tried several times", "I couldn't finish"} {
		if w.says(never) {
			t.Errorf("people read %q:\n%s", never, w.slack.Transcript(slack.Training))
		}
	}
	if n := w.count(filesNot) + w.count(storeNot); n > 3 {
		t.Errorf("people are told %d times:\n%s", n, w.slack.Transcript(slack.Training))
	}
}

// linger is how much longer a trouble lasts: with FAULTLINE_FULL=1 longer than leases, and than several tries take.
func linger() time.Duration {
	if os.Getenv("FAULTLINE_FULL") == "" {
		return 0
	}
	return 75 * time.Second
}

// says tells whether the line of a check holds the words.
func says(text, check, words string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if rest, ok := strings.CutPrefix(line, check+": "); ok && rest != "ok" && strings.Contains(rest, words) {
			return true
		}
	}
	return false
}
