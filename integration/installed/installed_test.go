//go:build linux

package installed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/integration/loopback"
	"faultline/simulate"
	"faultline/simulate/slack"
)

const patience = 2 * time.Minute

// host is a file system of its own in which the bot is installed, and how it is run there.
type host struct {
	t        *testing.T
	root     string
	uid, gid uint32
	bot      string   // path within root
	args     []string // of serve
	env      []string
	state    string // folder of the store
}

// asRoot skips what only root can try: to run as another account, and in another root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: another account cannot be tried")
	}
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// shell runs commands at the root of the repository.
func shell(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// newRoot is not below t.TempDir, which other accounts cannot enter.
func newRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "faultline-root-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (h *host) write(name, content string, mode os.FileMode) {
	h.t.Helper()
	p := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), mode); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.bot, args...)
	cmd.Dir, cmd.Env = "/", h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: h.root, Credential: &syscall.Credential{Uid: h.uid, Gid: h.gid}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// tried starts the bot beside a Slack look-alike, lets it diagnose a job, stops it, starts it again and reads what it has kept.
func (h *host) tried() {
	t := h.t
	t.Helper()
	look := slack.New(slack.Options{Patience: 20 * time.Second})
	url, err := look.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	inc, err := simulate.Generate(simulate.Spec{Seed: 3, Mechanism: "rank-stalled", Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 16}, NodeCount: 2, PerNode: 8, FileMode: "node"})
	if err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprint(inc.Played.Job)
	for _, f := range inc.Files {
		h.write(filepath.Join("logs", job, f.Name), string(f.Data), 0o644)
	}
	h.write("etc/faultline/faultline.yaml", fmt.Sprintf(`clusters: [{name: west, logs: {roots: [/logs]}}]
channels: [{id: %s, clusters: [west]}]
slack: {app_token: "${SLACK_APP_TOKEN}", bot_token: "${SLACK_BOT_TOKEN}", api_url: %s/api/}
ops: {listen: %s}
%s`, slack.Training, url, loopback.Address(t), h.data()), 0o640)
	if err := os.Chown(filepath.Join(h.root, "etc/faultline/faultline.yaml"), 0, int(h.gid)); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "SLACK_APP_TOKEN="+slack.AppToken, "SLACK_BOT_TOKEN="+slack.BotToken)
	for start := range 2 {
		cmd := h.command(h.args...)
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := look.Until(ctx, func() bool { return look.Sockets() > 0 })
		if err == nil && start == 0 {
			if _, err = look.Slash(slack.Alice, slack.Training, "/diagnose", job); err == nil {
				err = look.Until(ctx, func() bool {
					for _, f := range look.Files() {
						if f.Name == "report.json" {
							return true
						}
					}
					return false
				})
			}
		}
		cancel()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if werr := cmd.Wait(); err != nil || werr != nil {
			t.Fatalf("start %d: %v; %v\n%s", start, err, werr, log.String())
		}
		err = look.Until(t.Context(), func() bool { return look.Sockets() == 0 })
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := h.command("export", "--config", "/etc/faultline/faultline.yaml", "--format", "markdown", "F-1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), job) {
		t.Errorf("what it kept: %v\n%s", err, out)
	}
	h.kept()
}

// data says where the store is, unless the environment does.
func (h *host) data() string {
	for _, v := range h.env {
		if strings.HasPrefix(v, "XDG_STATE_HOME=") {
			return ""
		}
	}
	return "data: {dir: " + h.state + "}\n"
}

// kept checks whose the store is, and that nobody else may read it.
func (h *host) kept() {
	h.t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(h.root, h.state), func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if uid := st.Sys().(*syscall.Stat_t).Uid; uid != h.uid {
			h.t.Errorf("%s belongs to %d", p, uid)
		}
		if !d.IsDir() {
			files++
			if st.Mode()&0o077 != 0 && strings.Contains(p, ".db") {
				h.t.Errorf("others may read %s: %s", p, st.Mode())
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		h.t.Errorf("%d files in %s; %v", files, h.state, err)
	}
}

// directive returns what stands behind a word at the beginnings of a Dockerfile's lines, continued ones joined.
func directive(dockerfile, word string) (out []string) {
	for _, l := range strings.Split(strings.ReplaceAll(dockerfile, "\\\n", " "), "\n") {
		if rest, ok := strings.CutPrefix(l, word+" "); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return out
}

// TestTheImageIsPinned holds the base image to a digest, and to the release of Go that go.mod asks for.
func TestTheImageIsPinned(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go ([0-9.]+)$`).FindStringSubmatch(text(t, "go.mod"))[1]
	args, from := directive(text(t, "Dockerfile"), "ARG"), directive(text(t, "Dockerfile"), "FROM")
	want := regexp.MustCompile(`^GO=golang:` + regexp.QuoteMeta(version) + `-[a-z]+@sha256:[0-9a-f]{64}$`)
	if len(args) == 0 || !want.MatchString(args[0]) {
		t.Errorf("%q is not %s", args, want)
	}
	if len(from) != 2 || from[0] != "${GO} AS build" || from[1] != "scratch" {
		t.Errorf("the stages are %q", from)
	}
}

// TestTheImageRuns makes the image's files by the Dockerfile's own commands, on this machine instead of the base image, and runs the
// program as the image does: in a root of its own, as its user, with a volume that is as the image leaves it.
func TestTheImageRuns(t *testing.T) {
	if os.Getenv("FAULTLINE_FULL") == "" {
		t.Skip("builds all of the bot once more, without cgo: FAULTLINE_FULL=1, as CI does")
	}
	asRoot(t)
	dockerfile := text(t, "Dockerfile")
	root, out := newRoot(t), newRoot(t)
	runs := directive(dockerfile, "RUN")
	build := runs[len(runs)-1]
	if !strings.Contains(build, "go build") {
		t.Fatalf("the last command does not build: %s", build)
	}
	build = strings.Replace(build, "-trimpath ", "", 1) // with it all packages would be compiled anew, for other names of files
	shell(t, "VERSION=test; "+strings.ReplaceAll(build, "/out", out))
	for _, c := range directive(dockerfile, "COPY") {
		from, ok := strings.CutPrefix(c, "--from=build ")
		if !ok {
			continue
		}
		owner, rest := "0:0", from
		if o, found := strings.CutPrefix(from, "--chown="); found {
			owner, rest, _ = strings.Cut(o, " ")
		}
		src, dst, _ := strings.Cut(rest, " ")
		src = strings.Replace(src, "/out", out, 1)
		shell(t, fmt.Sprintf("mkdir -p %q; if [ -d %q ]; then mkdir -p %q; cp -rp %q/. %q; else cp %q %q; fi; chown -R %s %q; [ ! -d %[2]q ] || chmod --reference=%[2]q %[3]q",
			filepath.Dir(filepath.Join(root, dst)), src, filepath.Join(root, dst), src, filepath.Join(root, dst), src, filepath.Join(root, dst), owner, filepath.Join(root, dst)))
	}
	user := regexp.MustCompile(`^(\d+):(\d+)$`).FindStringSubmatch(directive(dockerfile, "USER")[0])
	uid, _ := strconv.Atoi(user[1])
	gid, _ := strconv.Atoi(user[2])
	entry := strings.Trim(directive(dockerfile, "ENTRYPOINT")[0], `[]"`)
	volume := directive(dockerfile, "VOLUME")[0]
	if !strings.Contains(text(t, "docs", "operations.md"), "-v faultline:"+volume) {
		t.Errorf("the documents mount another folder than %s", volume)
	}
	h := &host{t: t, root: root, uid: uint32(uid), gid: uint32(gid), bot: entry, env: directive(dockerfile, "ENV"), state: volume, args: []string{"serve", "--config", "/etc/faultline/faultline.yaml"}}
	if out, err := h.command(strings.Trim(directive(dockerfile, "CMD")[0], `[]"`)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.tried()
}

// TestTheServiceRuns installs the program as a package would, with the unit of the documents, and runs it as the unit says.
func TestTheServiceRuns(t *testing.T) {
	if os.Getenv("FAULTLINE_FULL") == "" {
		t.Skip("builds all of the bot once more, without cgo: FAULTLINE_FULL=1, as CI does")
	}
	asRoot(t)
	doc := text(t, "docs", "operations.md")
	_, unit, _ := strings.Cut(doc, "# /etc/systemd/system/faultline.service\n")
	unit, _, found := strings.Cut(unit, "```")
	if !found {
		t.Fatal("there is no unit in the documents")
	}
	set := map[string]string{}
	for _, l := range strings.Split(unit, "\n") {
		if k, v, ok := strings.Cut(l, "="); ok {
			set[k] = v
		}
	}
	const uid = 64919 // nobody has it
	root := newRoot(t)
	h := &host{t: t, root: root, uid: uid, gid: uid, env: []string{"USER=" + set["User"]}, state: "/var/lib/" + set["StateDirectory"]}
	start := strings.Fields(set["ExecStart"])
	h.bot, h.args = start[0], start[1:]
	shell(t, fmt.Sprintf("mkdir -p %q; CGO_ENABLED=0 go build -o %q ./cmd/bot", filepath.Dir(filepath.Join(root, h.bot)), filepath.Join(root, h.bot)))
	h.write("etc/passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\n%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", set["User"], uid, uid), 0o644)
	h.write("etc/group", fmt.Sprintf("root:x:0:\n%s:x:%d:\n", set["User"], uid), 0o644)
	h.write("etc/systemd/system/faultline.service", unit, 0o644)
	h.write("bin/kill", "", 0o755) // systemd asks whether it is there, and for the targets that every unit has
	for _, target := range []string{"sysinit", "basic", "shutdown", "network-online", "multi-user"} {
		h.write("usr/lib/systemd/system/"+target+".target", "[Unit]\nDescription="+target+"\n", 0o644)
	}
	h.write("tmp/.keep", "", 0o644)
	mode, err := strconv.ParseUint(set["StateDirectoryMode"], 8, 32)
	state := filepath.Join(root, h.state)
	for _, step := range []error{err, os.Chmod(filepath.Join(root, "tmp"), 0o1777), os.MkdirAll(state, 0o755), os.Chmod(state, os.FileMode(mode)), os.Chown(state, uid, uid)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	h.tried()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("systemd is not here: the unit is not checked by it")
		return
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--root="+root, "faultline.service").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd says of the unit: %v\n%s", err, out)
	}
}
