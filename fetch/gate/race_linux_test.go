package gate_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// races exchange two names as fast as they can while the bot reads: what is allowed, and what is not.
var races = []struct {
	name, open, one, other string
	do                     func(g *ground)
}{
	{"a file and a link", "logs/mallory/x", "logs/mallory/x", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/x")
		g.link(mallory, "@home/alice/v.log", "logs/mallory/y")
	}},
	{"a file and a hard link", "logs/mallory/x", "logs/mallory/x", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/x")
		g.hard("home/alice/v.log", "logs/mallory/y")
	}},
	{"a file and a pipe", "logs/mallory/x", "logs/mallory/x", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/x")
		g.must(unix.Mkfifo(g.at("logs/mallory/y"), 0o666))
	}},
	{"where a link leads", "logs/mallory/x", "logs/mallory/x", "logs/mallory/y", func(g *ground) {
		g.link(mallory, "slurm-7.out", "logs/mallory/x")
		g.link(mallory, "@logs/alice/run/other.out", "logs/mallory/y")
	}},
	{"a folder and a link to one outside", "logs/mallory/deep/v.log", "logs/mallory/deep", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/deep/v.log")
		g.link(mallory, "@home/alice", "logs/mallory/y")
	}},
	{"a folder and a link to another's", "logs/mallory/deep/other.out", "logs/mallory/deep", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/deep/other.out")
		g.link(mallory, "@logs/alice/run", "logs/mallory/y")
	}},
	{"a folder above", "logs/mallory/deep/er/v.log", "logs/mallory/deep", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/deep/er/v.log")
		g.dir(mallory, 0o755, "home/mallory/er")
		g.hard("home/alice/v.log", "home/mallory/er/v.log")
		g.link(mallory, "@home/mallory", "logs/mallory/y")
	}},
	{"a folder that is read as a whole", "logs/mallory/deep", "logs/mallory/deep", "logs/mallory/y", func(g *ground) {
		g.file(mallory, mine, "logs/mallory/deep/v.log")
		g.link(mallory, "@home/alice", "logs/mallory/y")
	}},
}

func TestWhatIsExchangedMeanwhileIsNotRead(t *testing.T) {
	for _, r := range races {
		t.Run(r.name, func(t *testing.T) {
			g := lay(t)
			r.do(g)
			stop, stopped := make(chan struct{}), make(chan int)
			go func() {
				n := 0
				for {
					select {
					case <-stop:
						stopped <- n
						return
					default:
					}
					if unix.Renameat2(unix.AT_FDCWD, g.at(r.one), unix.AT_FDCWD, g.at(r.other), unix.RENAME_EXCHANGE) == nil {
						n++
					}
				}
			}()
			as(t, g.base, "TestTheBotReadsWhileNamesAreExchanged", "OPEN="+r.open)
			close(stop)
			if n := <-stopped; n < 100 {
				t.Errorf("only %d exchanges", n)
			}
		})
	}
}

func TestTheBotReadsWhileNamesAreExchanged(t *testing.T) {
	g, name := placed(t)
	ways := readings(g, name)
	read, refused := 0, 0
	// Long enough that thousands of exchanges fall between two calls; a busy machine gets until both outcomes were seen.
	enough := func(d time.Duration) bool {
		return d > 200*time.Millisecond && read > 0 && refused > 0 || d > 5*time.Second
	}
	for begun := time.Now(); !enough(time.Since(begun)); {
		for how, do := range ways {
			b, err := do()
			if len(strings.ReplaceAll(string(b), mine, "")) > 0 {
				t.Fatalf("%s reads %q", how, b)
			}
			if len(b) > 0 {
				read++
			} else if err != nil {
				refused++
			}
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: nothing was exchanged in between", read, refused)
	}
	t.Logf("%d read, %d refused", read, refused)
}
