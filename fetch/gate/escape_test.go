package gate_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/fetch"
	"faultline/fetch/gate"
	"faultline/fetch/source/mounted"
)

// The accounts of the tests. The bot may read everything here by its rights: the gate alone keeps it from that.
const (
	alice, mallory, bot = 20001, 20002, 20003
	secret              = "SECRET of somebody else\n"
	mine                = "MINE: all ranks joined\n"
)

// ground is a small cluster: three roots of one cluster, one of another, homes, and the bot's own folders.
type ground struct {
	t    testing.TB
	base string
}

func (g *ground) at(name string) string { return strings.TrimSuffix(g.base+"/"+name, "/") }

func (g *ground) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) dir(owner int, mode fs.FileMode, names ...string) {
	for _, n := range names {
		g.must(os.MkdirAll(g.at(n), 0o755))
		g.must(os.Chown(g.at(n), owner, owner))
		g.must(os.Chmod(g.at(n), mode))
	}
}

func (g *ground) file(owner int, text string, names ...string) {
	for _, n := range names {
		g.must(os.WriteFile(g.at(n), []byte(text), 0o644))
		g.must(os.Chown(g.at(n), owner, owner))
	}
}

// link makes a link; a target that begins with "@" is a path of the ground.
func (g *ground) link(owner int, target, name string) {
	if rest, ok := strings.CutPrefix(target, "@"); ok {
		target = g.at(rest)
	}
	g.must(os.Symlink(target, g.at(name)))
	g.must(os.Lchown(g.at(name), owner, owner))
}

func (g *ground) hard(from, name string) { g.must(os.Link(g.at(from), g.at(name))) }

func (g *ground) gate() *gate.Gate {
	d, err := gate.New(
		gate.Area{Own: true, Roots: []string{g.at("data/spool"), g.at("data/uploads")}},
		gate.Area{Roots: []string{g.at("logs"), g.at("scratch"), g.at("project"), g.at("rootlink"), g.at("unmounted")}},
		gate.Area{Roots: []string{g.at("east")}},
	)
	g.must(err)
	return d
}

// build lays the ground, as root.
func (g *ground) build() {
	g.dir(0, 0o755, "", "home", "data", "scratch", "project", "east", "logs-beside", "hidden")
	g.dir(0, 0o777|fs.ModeSticky, "logs")
	g.dir(bot, 0o755, "data/spool", "data/uploads")
	g.dir(alice, 0o755, "logs/alice", "logs/alice/run", "scratch/alice", "scratch/alice/run", "project/alice", "project/alice/4242", "home/alice")
	g.dir(alice, 0o711, "logs/alice/closed")
	g.dir(alice, 0o755, "logs/alice/closed/open")
	g.dir(alice, 0o775, "logs/alice/team")
	g.dir(mallory, 0o755, "logs/mallory", "logs/mallory/deep", "logs/mallory/deep/er", "home/mallory")
	g.dir(0, 0o700, "hidden/closed")
	g.file(0, secret, "data/faultline.db", "logs-beside/a.out", "hidden/closed/a.out", "hidden/a.out", "logs/root.out", "east/a.out")
	g.file(bot, secret, "data/spool/a.out", "data/uploads/a.out")
	g.file(alice, secret, "home/alice/v.log", "logs/alice/run/other.out")
	g.file(alice, mine, "logs/alice/slurm-1.out", "scratch/alice/run/error-1-0.out", "project/alice/4242/error-4242-0.out", "logs/alice/closed/open/a.out", "logs/alice/team/a.out")
	g.file(mallory, mine, "logs/mallory/slurm-7.out", "logs/mallory/deep/slurm-7.out")
}

// escape is one try to make the bot read what it must not: what mallory does, and the name that the bot is given then.
type escape struct {
	name string
	open string // "" = logs/mallory/x
	do   func(g *ground)
}

func linked(target string) func(*ground) {
	return func(g *ground) { g.link(mallory, target, "logs/mallory/x") }
}

func chain(n int, target string) func(*ground) {
	return func(g *ground) {
		for i := range n {
			g.link(mallory, "c"+string(rune('A'+i)), "logs/mallory/"+map[bool]string{true: "x", false: "c" + string(rune('A'+i-1))}[i == 0])
		}
		g.link(mallory, target, "logs/mallory/c"+string(rune('A'+n-1)))
	}
}

func device(mode uint32, number int) func(*ground) {
	return func(g *ground) {
		if err := syscall.Mknod(g.at("logs/mallory/x"), mode|0o666, number); err != nil {
			g.t.Logf("no device can be made here: %v", err)
		}
	}
}

// escapes: the file that each would show is readable for the bot's account.
var escapes = []escape{
	{"a link to a file outside", "", linked("@home/alice/v.log")},
	{"a relative link", "", linked("../../home/alice/v.log")},
	{"a link with .. behind a directory", "", linked("@logs/alice/../../home/alice/v.log")},
	{"a link through a directory's link and ..", "", func(g *ground) {
		g.link(mallory, "@home/alice", "logs/mallory/d")
		g.link(mallory, "d/../alice/v.log", "logs/mallory/x")
	}},
	{"a chain of 2", "", chain(2, "@home/alice/v.log")},
	{"a chain of 20", "", chain(20, "@home/alice/v.log")},
	{"a chain over root's link", "", func(g *ground) {
		g.link(0, "@home/alice", "logs/homes")
		g.link(mallory, "@logs/homes/v.log", "logs/mallory/x")
	}},
	{"root's link that leads outside", "logs/homes/v.log", func(g *ground) { g.link(0, "@home/alice", "logs/homes") }},
	{"a directory's link", "logs/mallory/x/v.log", linked("@home/alice")},
	{"a directory's link, listed", "", linked("@home/alice")},
	{"a link to /etc", "", linked("/etc")},
	{"a link to /etc/passwd", "", linked("/etc/passwd")},
	{"a link to /", "", linked("/")},
	{"through a link to /", "logs/mallory/x/etc/passwd", linked("/")},
	{"a link to /proc", "", linked("/proc")},
	{"the bot's environment", "", linked("/proc/self/environ")},
	{"the bot's memory map", "", linked("/proc/self/maps")},
	{"the bot's command line", "", linked("/proc/thread-self/cmdline")},
	{"an open file of the bot's", "", linked("/proc/self/fd/3")},
	{"the same, shorter", "", linked("/dev/fd/3")},
	{"the bot's working directory", "logs/mallory/x/v.log", linked("/proc/self/cwd/home/alice")},
	{"the bot's root directory", "", func(g *ground) { g.link(mallory, "/proc/self/root"+g.at("home/alice/v.log"), "logs/mallory/x") }},
	{"the first process's root directory", "", func(g *ground) { g.link(mallory, "/proc/1/root"+g.at("home/alice/v.log"), "logs/mallory/x") }},
	{"standard input", "", linked("/dev/stdin")},
	{"a device by a link", "", linked("/dev/zero")},
	{"a character device", "", device(syscall.S_IFCHR, 1<<8|5)},
	{"a block device", "", device(syscall.S_IFBLK, 7<<8)},
	{"a pipe", "", func(g *ground) { g.must(syscall.Mkfifo(g.at("logs/mallory/x"), 0o666)) }},
	{"a pipe by a link", "", func(g *ground) {
		g.must(syscall.Mkfifo(g.at("logs/mallory/p"), 0o666))
		g.link(mallory, "p", "logs/mallory/x")
	}},
	{"a socket", "", func(g *ground) {
		l, err := net.Listen("unix", g.at("logs/mallory/x"))
		g.must(err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
	}},
	{"another's file below the root", "", linked("@logs/alice/run/other.out")},
	{"another's file, relative", "", linked("../alice/run/other.out")},
	{"another's folder", "", linked("@logs/alice/run")},
	{"a file in another's folder", "logs/mallory/x/other.out", linked("@logs/alice/run")},
	{"another's link", "", func(g *ground) {
		g.link(alice, "run/other.out", "logs/alice/latest.out")
		g.link(mallory, "@logs/alice/latest.out", "logs/mallory/x")
	}},
	{"another's file over root's link", "", func(g *ground) {
		g.link(0, "@logs/alice", "logs/shortcut")
		g.link(mallory, "@logs/shortcut/run/other.out", "logs/mallory/x")
	}},
	{"another's file out of a folder of mine", "logs/mallory/x/y", func(g *ground) {
		g.link(mallory, "deep", "logs/mallory/x")
		g.link(mallory, "@logs/alice/run/other.out", "logs/mallory/deep/y")
	}},
	{"a folder of mine with a link in it, listed", "logs/mallory/deep", func(g *ground) { g.link(mallory, "@home/alice/v.log", "logs/mallory/deep/y") }},
	{"a folder of mine with a folder's link in it, listed", "logs/mallory/deep", func(g *ground) { g.link(mallory, "@home/alice", "logs/mallory/deep/er/y") }},
	{"root's file", "", linked("@logs/root.out")},
	{"the root of the logs", "", linked("@logs")},
	{"in the world-writable root", "logs/slurm-9.out", func(g *ground) { g.link(mallory, "@logs/alice/run/other.out", "logs/slurm-9.out") }},
	{"a hard link", "", func(g *ground) { g.hard("logs/alice/run/other.out", "logs/mallory/x") }},
	{"a hard link to what is outside", "", func(g *ground) { g.hard("home/alice/v.log", "logs/mallory/x") }},
	{"a hard link to root's file", "", func(g *ground) { g.hard("logs/root.out", "logs/mallory/x") }},
	{"a hard link to the bot's file", "", func(g *ground) { g.hard("data/spool/a.out", "logs/mallory/x") }},
	{"a hard link in the world-writable root", "logs/slurm-9.out", func(g *ground) { g.hard("home/alice/v.log", "logs/slurm-9.out") }},
	{"a hard link behind a link", "", func(g *ground) {
		g.hard("home/alice/v.log", "logs/mallory/h")
		g.link(mallory, "h", "logs/mallory/x")
	}},
	{"a hard link to another's link", "", func(g *ground) {
		g.link(alice, "@logs/alice/run/other.out", "logs/alice/latest.out")
		g.hard("logs/alice/latest.out", "logs/mallory/x")
	}},
	{"a hard link to root's link", "", func(g *ground) {
		g.link(0, "@logs/alice/run/other.out", "logs/shortcut")
		g.hard("logs/shortcut", "logs/mallory/x")
	}},
	{"another cluster's file", "", linked("@east/a.out")},
	{"another cluster's root", "logs/mallory/x/a.out", linked("@east")},
	{"the bot's spool", "", linked("@data/spool/a.out")},
	{"the bot's uploads, by a folder", "logs/mallory/x/uploads/a.out", linked("@data")},
	{"the bot's database", "", linked("@data/faultline.db")},
	{"the bot's database by its name", "data/faultline.db", nil},
	{"a link in the spool", "data/spool/x", func(g *ground) { g.link(bot, "@home/alice/v.log", "data/spool/x") }},
	{"a link in the spool to the logs", "data/spool/x", func(g *ground) { g.link(mallory, "@logs/alice/run/other.out", "data/spool/x") }},
	{"a link in the spool to itself", "data/spool/x", func(g *ground) { g.link(bot, "a.out", "data/spool/x") }},
	{"a link from elsewhere into the spool", "home/mallory/x", func(g *ground) { g.link(mallory, "@data/spool/a.out", "home/mallory/x") }},
	{"a link from elsewhere to another's log", "home/mallory/x", func(g *ground) { g.link(mallory, "@logs/alice/run/other.out", "home/mallory/x") }},
	{"a name outside", "home/alice/v.log", nil},
	{"a name beside the root", "logs-beside/a.out", nil},
	{"a name with ..", "logs/../home/alice/v.log", nil},
	{"a name with .. deeper", "logs/mallory/deep/../../../home/alice/v.log", nil},
	{"a name with many slashes", "logs//..///home/alice/v.log", nil},
	{"a name with NUL", "logs/mallory/x\x00/../../../home/alice/v.log", linked("@home/alice/v.log")},
	{"no name", "", linked("")},
	{"a link with a slash behind it", "", linked("@home/alice/v.log/")},
	{"a link to .", "", linked(".")},
	{"a loop", "", linked("x")},
	{"a long way round", "", linked(strings.Repeat("../mallory/", 200) + "../../home/alice/v.log")},
	{"a closed folder outside", "", linked("@hidden/closed/a.out")},
	{"a root that is not there", "unmounted/a.out", func(g *ground) { g.link(mallory, "@home/alice", "logs/mallory/unmounted") }},
	{"a mount", "logs/mallory/mnt/v.log", func(g *ground) { g.dir(mallory, 0o755, "logs/mallory/mnt") }}, // an account cannot mount here
}

func init() {
	for i := range escapes {
		if e := &escapes[i]; e.name == "no name" {
			e.do = nil
		} else if e.open == "" {
			e.open = "logs/mallory/x"
		}
	}
}

// usual are names that have to work.
var usual = []struct {
	name, open string
	do         func(g *ground)
}{
	{"a plain log", "logs/alice/slurm-1.out", nil},
	{"latest.out", "logs/alice/latest.out", func(g *ground) { g.link(alice, "slurm-1.out", "logs/alice/latest.out") }},
	{"latest.out by two links", "logs/alice/now", func(g *ground) {
		g.link(alice, "slurm-1.out", "logs/alice/latest.out")
		g.link(alice, "latest.out", "logs/alice/now")
	}},
	{"the machine's link to scratch", "sc/alice/run/error-1-0.out", func(g *ground) { g.link(0, "scratch", "sc") }},
	{"home's link to scratch", "home/alice/sc/run/error-1-0.out", func(g *ground) { g.link(alice, "@scratch/alice", "home/alice/sc") }},
	{"a run's folder on scratch", "logs/alice/4242/error-1-0.out", func(g *ground) { g.link(alice, "@scratch/alice/run", "logs/alice/4242") }},
	{"a folder linked by root", "logs/4242/error-4242-0.out", func(g *ground) { g.link(0, "@project/alice/4242", "logs/4242") }},
	{"from root to root to root", "logs/alice/a/error-4242-0.out", func(g *ground) {
		g.link(alice, "@scratch/alice/b", "logs/alice/a")
		g.link(alice, "@project/alice/4242", "scratch/alice/b")
	}},
	{"a root that is a link", "rootlink/error-4242-0.out", func(g *ground) { g.link(mallory, "@project/alice/4242", "rootlink") }},
	{"behind a folder that may only be passed", "logs/alice/closed/open/a.out", nil},
	{"two names by the owner", "logs/alice/again.out", func(g *ground) { g.hard("logs/alice/slurm-1.out", "logs/alice/again.out") }},
	{"a link through the root's own name", "logs/alice/self", func(g *ground) { g.link(alice, "@logs/../logs/alice/slurm-1.out", "logs/alice/self") }},
}

// as runs tests of this binary as the bot's account, in a ground that root laid.
func as(t *testing.T, base, run string, env ...string) {
	t.Helper()
	open, err := os.Open(base + "/home/alice/v.log")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // whoever waits for a pipe has lost
	defer stop()
	cmd := exec.CommandContext(ctx, program, "-test.run", "^"+run+"$", "-test.v", "-test.count=1")
	cmd.Dir, cmd.ExtraFiles = base, []*os.File{open}
	cmd.Env = append([]string{"GROUND=" + base, "TMPDIR=" + base + "/data/spool", "PATH=/usr/bin:/bin", "SECRET=" + strings.TrimSpace(secret)}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bot, Gid: bot}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+run) {
		t.Errorf("%v\n%s", err, out)
	}
}

// program is this test binary, where every account may run it; made by TestMain.
var program string

func TestMain(m *testing.M) {
	code := func() int {
		if os.Geteuid() != 0 {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "gate-suite-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = dir + "/suite"
		self, err := os.Executable()
		if err == nil {
			var text []byte
			if text, err = os.ReadFile(self); err == nil {
				err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(dir, 0o755))
			}
		}
		if err != nil {
			panic(err)
		}
		return m.Run()
	}()
	os.Exit(code)
}

// lay makes a ground for one test; only root can give files to others.
func lay(t *testing.T) *ground {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	base, err := os.MkdirTemp("", "gate-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	g := &ground{t, base}
	g.build()
	return g
}

func TestNothingOutsideOrOfAnothersIsRead(t *testing.T) {
	if len(escapes) < 60 {
		t.Fatalf("only %d escapes", len(escapes))
	}
	for _, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			g := lay(t)
			if e.do != nil {
				e.do(g)
			}
			as(t, g.base, "TestTheBotReadsNothing", "OPEN="+strings.ReplaceAll(e.open, "\x00", "%00"))
		})
	}
}

func TestUsualLinksAreRead(t *testing.T) {
	for _, u := range usual {
		t.Run(u.name, func(t *testing.T) {
			g := lay(t)
			if u.do != nil {
				u.do(g)
			}
			as(t, g.base, "TestTheBotReads", "OPEN="+u.open)
		})
	}
}

// placed is the ground of the test that runs as the bot.
func placed(t *testing.T) (*ground, string) {
	t.Helper()
	base := os.Getenv("GROUND")
	if base == "" {
		t.Skip("runs as another account, out of another test")
	}
	g := &ground{t, base}
	open := os.Getenv("OPEN")
	if open == "" {
		return g, ""
	}
	return g, strings.ReplaceAll(g.base+"/"+open, "%00", "\x00")
}

// readings are all ways to the bytes of a name: the gate itself, everything below it, the source of mounted files, and the fetcher.
func readings(g *ground, name string) map[string]func() ([]byte, error) {
	door := g.gate()
	through := func(f *os.File, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, 1<<10))
	}
	return map[string]func() ([]byte, error){
		"the gate": func() ([]byte, error) { return through(door.Open(name)) },
		"a list": func() ([]byte, error) {
			list, err := door.List(name)
			var all []byte
			for _, d := range list {
				b, _ := through(door.Open(name + "/" + d.Name()))
				all = append(all, b...)
			}
			return all, err
		},
		"the mounted source": func() ([]byte, error) {
			files, err := mounted.New(g.at("logs"), g.at("scratch"), g.at("project"), g.at("rootlink"), g.at("unmounted"))
			if err != nil {
				return nil, err
			}
			_, body, err := files.Open(context.Background(), name, 0)
			if err != nil {
				return nil, err
			}
			defer body.Close()
			return io.ReadAll(io.LimitReader(body, 1<<10))
		},
		"the fetcher": func() ([]byte, error) {
			s := &fetch.Shared{Spool: g.at("data/spool"), Gate: door}
			got, err := s.Collect(context.Background(), []string{name})
			var all []byte
			for _, src := range got.Sources {
				b, oerr := through(door.Open(src.Path))
				all, err = append(all, b...), errors.Join(err, oerr)
			}
			return all, err
		},
	}
}

func TestTheBotReadsNothing(t *testing.T) {
	g, name := placed(t)
	begun := time.Now()
	for how, read := range readings(g, name) {
		if how == "the fetcher" && strings.HasPrefix(name, g.at("data/spool")+"/a") {
			continue
		}
		b, err := read()
		if strings.Contains(string(b), "SECRET") || strings.Contains(string(b), "root:") || len(b) > 0 && !strings.HasPrefix(string(b), "MINE") {
			t.Errorf("%s reads %q of %s", how, b, name)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s says %v", how, err)
		}
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestTheBotReads(t *testing.T) {
	g, name := placed(t)
	for how, read := range readings(g, name) {
		if how == "a list" {
			continue
		}
		if b, err := read(); string(b) != mine {
			t.Errorf("%s: %q, %v", how, b, err)
		}
	}
}
