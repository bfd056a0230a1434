//go:build realslurm

package slurm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// layout is one way to write a batch script. %J stands for the job's number, %D for its directory.
type layout struct {
	name   string
	script string            // below the #! line
	files  map[string]string // beside it, "x.sh" made executable
	sbatch []string
	want   []string // logs that have to be found
	gap    string   // a part of what the first screen has to say is missing, "" = nothing is
}

// perTask and perNode are the names of files with a number in place of #.
func numbered(name string, n int) (list []string) {
	for i := range n {
		list = append(list, strings.ReplaceAll(name, "#", string(rune('0'+i))))
	}
	return list
}

func named(name string) (list []string) {
	for _, n := range []string{"node01", "node02", "node03", "node04"} {
		list = append(list, strings.ReplaceAll(name, "#", n))
	}
	return list
}

// work is a task: it says who it is on both streams.
const work = "#!/bin/bash\necho \"[rank$SLURM_PROCID] step 1 loss 2.0 on $SLURMD_NODENAME\"\necho \"[rank$SLURM_PROCID] warming up\" >&2\n"

func layouts() []layout {
	run := "$PWD/work.sh"
	return []layout{
		{name: "plain", script: "srun " + run},
		{name: "per-node", script: "srun -o out-%j-%n.log -e err-%j-%n.log " + run, want: slices.Concat(numbered("out-%J-#.log", 4), numbered("err-%J-#.log", 4))},
		{name: "per-task", script: "srun --output=%j_%t.log " + run, want: numbered("%J_#.log", 8)},
		{name: "per-host", script: "srun --output %x-%N.log " + run, gap: "host names"},
		{name: "variable-before", script: "NCCL_DEBUG=INFO srun -o o-%j-%t.log " + run, want: numbered("o-%J-#.log", 8)},
		{name: "args-variable", script: "SRUN_ARGS=\"-l --output=logs/%j_%n.out\"\nmkdir -p logs\nsrun $SRUN_ARGS " + run, want: numbered("logs/%J_#.out", 4)},
		{name: "args-list", script: "A=(-l)\nA+=(-o \"log dir/%t.out\")\nmkdir -p 'log dir'\nsrun \"${A[@]}\" " + run, want: numbered("log dir/#.out", 8)},
		{name: "semicolons", script: "A=b; srun -o $A-%n.log " + run, want: numbered("b-#.log", 4)},
		{name: "home", script: "mkdir -p $HOME/l-$SLURM_JOB_ID\nsrun -o $HOME/l-$SLURM_JOB_ID/%n.log " + run, gap: "$HOME"},
		{name: "tilde", script: "mkdir -p ~/t-$SLURM_JOB_ID\nsrun -o ~/t-$SLURM_JOB_ID/%n.log " + run, gap: "$HOME"},
		{name: "default", script: "D=${X:-logs}\nmkdir -p $D\nsrun -o $D/%t.txt " + run, want: numbered("logs/#.txt", 8)},
		{name: "cd", script: "W=$PWD\nRUN=$PWD/run_$SLURM_JOB_ID\nmkdir -p $RUN && cd $RUN && srun -o %t.log $W/work.sh", want: numbered("run_%J/#.log", 8)},
		{name: "redirect-task", script: "mkdir -p logs/$SLURM_JOB_ID\nsrun bash -c './work.sh > logs/$SLURM_JOB_ID/rank_$SLURM_PROCID.log 2>&1'", want: numbered("logs/%J/rank_#.log", 8)},
		{name: "redirect-batch", script: "srun " + run + " > train_$SLURM_JOB_ID.txt 2>&1", want: []string{"train_%J.txt"}},
		{name: "redirect-plain", script: "srun " + run + " &> train.log", want: []string{"train.log"}},
		{name: "launched", script: "bash launch.sh 3", files: map[string]string{"launch.sh": "srun -o v$1-%n.log ./work.sh"}, want: numbered("v3-#.log", 4)},
		{name: "launched-program", script: "srun ./launch.sh", files: map[string]string{"launch.sh": "#!/bin/bash\nexec > task.$(hostname -s).$SLURM_PROCID.log 2>&1\n./work.sh"}, gap: "host names"},
		{name: "sourced", script: "source env.sh\nmkdir -p $LOGS\nsrun -o $LOGS/%n.log " + run, files: map[string]string{"env.sh": "export LOGS=$PWD/from-env"}, want: numbered("from-env/#.log", 4)},
		{name: "exported", script: "export LOGS=here\nmkdir -p here\n./launch.sh", files: map[string]string{"launch.sh": "#!/bin/bash\nsrun -o $LOGS/%n.log ./work.sh"}, want: numbered("here/#.log", 4)},
		{name: "loop-nodes", script: "for n in $(scontrol show hostnames); do srun -N1 -n1 -w $n -o n-$SLURM_JOB_ID-$n.log " + run + " & done; wait", want: named("n-%J-#.log")},
		{name: "loop-list", script: "for n in a b; do srun -o $n-%t.log " + run + "; done", want: slices.Concat(numbered("a-#.log", 8), numbered("b-#.log", 8))},
		{name: "loop-count", script: "for ((i=0;i<2;i++)); do srun -o try$i-%j.log " + run + "; done", want: []string{"try0-%J.log", "try1-%J.log"}},
		{name: "function", script: "launch() { local n=$1; shift; srun -o $n-%n.log \"$@\"; }\nlaunch train " + run, want: numbered("train-#.log", 4)},
		{name: "heredoc", script: "srun bash <<'EOF'\n./work.sh > h$SLURM_PROCID.log 2>&1\nEOF", want: []string{"h0.log"}},
		{name: "heredoc-file", script: "cat > gen_$SLURM_JOB_ID.sh <<EOF\n./work.sh > g\\$SLURM_PROCID.log\nEOF\nsrun bash gen_$SLURM_JOB_ID.sh", want: numbered("g#.log", 8)},
		{name: "heredoc-variable", script: "D=$PWD\nsrun bash <<EOF\n./work.sh > $D/hv.log 2>&1\nEOF", want: []string{"hv.log"}},
		{name: "script-by-echo", script: "echo '#!/bin/bash' > e.sh\necho './work.sh > e$SLURM_PROCID.log' >> e.sh\nsrun bash e.sh", want: numbered("e#.log", 8)},
		{name: "script-by-pipe", script: "cat <<'EOF' | srun -n1 -N1 bash\n./work.sh > p$SLURM_PROCID.log\nEOF", want: []string{"p0.log"}},
		{name: "read-fields", script: "for r in a:one b:two; do IFS=: read -r n d <<< $r; mkdir -p $d; srun -o $d/$n-%t.log " + run + "; done", want: slices.Concat(numbered("one/a-#.log", 8), numbered("two/b-#.log", 8))},
		{name: "assigned-default", script: ": \"${D:=results}\"\nmkdir -p $D\nsrun -o $D/%t.log " + run, want: numbered("results/#.log", 8)},
		{name: "starting-directory", script: "mkdir -p sub; W=$PWD\nsrun env -C $PWD/sub bash -c \"$W/work.sh > s\\$SLURM_PROCID.log\"", want: numbered("sub/s#.log", 8)},
		{name: "command-line", script: "#SBATCH -o no-%j.out\nsrun " + run, sbatch: []string{"--output=cl-%j.txt"}, want: []string{"cl-%J.txt"}},
		{name: "batch-error", script: "srun " + run, sbatch: []string{"--error=e-%j.err"}, want: []string{"e-%J.err"}},
		{name: "batch-node", script: "srun " + run, sbatch: []string{"--output=b-%N-%j.out"}, want: []string{"b-*-%J.out"}},
		{name: "tee", script: "srun " + run + " 2>&1 | tee -a all_$SLURM_JOB_ID.log", want: []string{"all_%J.log"}},
		{name: "exec", script: "exec > >(tee batch.log) 2>&1\nsrun " + run, want: []string{"batch.log"}},
		{name: "exec-plain", script: "exec &> ex-$SLURM_JOB_ID.log\nsrun " + run, want: []string{"ex-%J.log"}},
		{name: "nccl", script: "export NCCL_DEBUG_FILE=$PWD/nccl.%h.%p.log\nsrun bash -c 'echo \"NCCL INFO\" > nccl.$SLURMD_NODENAME.$$.log; ./work.sh'", want: []string{"nccl.*.*.log"}},
		{name: "recorder", script: "mkdir -p fr\nexport TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/fr/trace_\nsrun bash -c 'echo x > fr/trace_$SLURM_PROCID; ./work.sh'", want: numbered("fr/trace_#", 8)},
		{name: "hydra", script: "srun bash -c 'mkdir -p runs/$SLURM_JOB_ID; ./work.sh > runs/$SLURM_JOB_ID/train.log' x hydra.run.dir=runs/$SLURM_JOB_ID", want: []string{"runs/%J/train.log"}},
		{name: "torchrun", script: "srun ./torchrun --log-dir tl --redirects 3 x.py", files: map[string]string{"torchrun": "#!/bin/bash\nd=tl/none_$SLURM_JOB_ID/attempt_0/$SLURM_PROCID; mkdir -p $d; ./work.sh > $d/stdout.log"}, want: numbered("tl/none_%J/attempt_0/#/stdout.log", 8)},
		{name: "two-steps", script: "srun -N1 -n1 -o prep-%j-%n.log " + run + "\nsrun -o main-%j-%n.log " + run, want: slices.Concat([]string{"prep-%J-0.log"}, numbered("main-%J-#.log", 4))},
		{name: "second-step-not-reached", script: "set -e\nsrun -o a-%n.log false\nsrun -o b-%n.log " + run, want: []string{}},
		{name: "some-nodes", script: "srun -N2 -n2 -o s-%n.log " + run, want: numbered("s-#.log", 2)},
		{name: "branch", script: "if [ -n \"$SLURM_ARRAY_TASK_ID\" ]; then O=a_%a; else O=j_%j; fi\nsrun -o $O-%n.log " + run, want: numbered("j_%J-#.log", 4)},
		{name: "options-file", script: "O=$(cat opts)\nsrun $O " + run, files: map[string]string{"opts": "-o hidden-%j-%n.log"}, want: numbered("hidden-%J-#.log", 4), gap: "$(cat opts)"},
		{name: "program-writes", script: "srun bash -c './work.sh > mine-$SLURM_JOB_ID-$SLURM_PROCID.log'", want: numbered("mine-%J-#.log", 8)},
		{name: "removed", script: "srun -o r-%j-%n.log " + run + "\nrm r-$SLURM_JOB_ID-2.log", want: []string{"r-%J-0.log", "r-%J-1.log", "r-%J-3.log"}, gap: "node03"},
		{name: "batch-removed", script: "srun -o q-%j-%n.log " + run + "\nrm slurm-$SLURM_JOB_ID.out", want: numbered("q-%J-#.log", 4), gap: "batch log"},
		{name: "denied", script: "mkdir deep; srun -o deep/%n.log " + run + "\nsrun -N1 -n1 -o /root/x-%j.log " + run, want: numbered("deep/#.log", 4), gap: "may not read"},
		{name: "append", script: "#SBATCH --open-mode=append\nsrun -o ap-%j-%n.log " + run, want: numbered("ap-%J-#.log", 4)},
		{name: "wrapped", script: "time env A=1 timeout 60 srun -o w-%t.log " + run, want: numbered("w-#.log", 8)},
		{name: "lines-in-quotes", script: "srun -o lq-%t.log bash -c '\n./work.sh\n\n'", want: numbered("lq-#.log", 8)},
		{name: "said", script: "srun bash -c 'd=$PWD/runs/$SLURM_JOB_ID; mkdir -p $d; echo \"[hydra] Working directory : $d\"; ./work.sh > $d/rank$SLURM_PROCID.log' | cat", want: numbered("runs/%J/rank#.log", 8)},
		{name: "moved", script: "srun " + run + " > m.log\nmkdir -p kept; mv m.log kept/", want: []string{"kept/m.log"}},
		{name: "tries", script: "for i in 1 2 3; do srun " + run + " > try$i.log 2>&1 && break; done", want: []string{"try1.log"}},
		{name: "counted", script: "i=0\nwhile [ $i -lt 2 ]; do srun -o c$i-%j.log " + run + "; i=$((i+1)); done", want: []string{"c0-%J.log", "c1-%J.log"}},
		{name: "filtered", script: "srun " + run + " 2>&1 | grep -v warming > f_$SLURM_JOB_ID.txt", want: []string{"f_%J.txt"}},
		{name: "option-from-outside", script: "srun " + run + " --log-dir=$ELSEWHERE", gap: "$ELSEWHERE"},
		{name: "container-path", script: "srun -o o%t.log bash -c './work.sh' sh --log_dir=$PWD/app; mkdir -p app; echo x > app/a.log", want: numbered("o#.log", 8)},
	}
}

// sample are those that each run of the test tries; FAULTLINE_LAYOUTS=all tries all of them, or names one.
var sample = []string{"plain", "per-node", "args-variable", "cd", "redirect-task", "launched", "function", "command-line", "second-step-not-reached", "removed", "batch-removed", "options-file", "lines-in-quotes", "said", "tries", "option-from-outside"}

// Every log of a job is found from nothing but its number, or the first screen says which is not, and why.
func TestLayouts(t *testing.T) {
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	config := c.ways(t)["commands"]
	chosen := layouts()
	if pick := os.Getenv("FAULTLINE_LAYOUTS"); pick != "all" {
		chosen = slices.DeleteFunc(chosen, func(l layout) bool {
			return pick == "" && !slices.Contains(sample, l.name) || pick != "" && !slices.Contains(strings.Split(pick, ","), l.name)
		})
	}
	home := filepath.Join(c.work, "home")
	folder(t, home, c.user)
	jobs := map[string]job{}
	for _, l := range chosen {
		jobs[l.name] = c.lays(t, l, home)
	}
	none := filepath.Join(c.work, "no-accounting")
	folder(t, none, c.user)
	write(t, filepath.Join(none, "sacct"), "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n", 0o755)
	found := 0
	for _, l := range chosen {
		ok := t.Run(l.name, func(t *testing.T) {
			j := jobs[l.name]
			c.ended(t, j)
			c.judgeLayout(t, bot, config, l, j, home, os.Getenv("PATH"))
			t.Run("no accounting", func(t *testing.T) {
				c.judgeLayout(t, bot, config, l, j, home, none+":"+os.Getenv("PATH"))
			})
		})
		if ok {
			found++
		}
	}
	t.Logf("%d of %d layouts", found, len(chosen))
	t.Run("other accounts", func(t *testing.T) { c.strangers(t, bot, config, home) })
}

// strangers look at a script whose file is its owner's alone. To an ordinary account SLURM shows no scripts of others: the script is
// said to be unseen, or the file that was submitted is read instead. To an Operator it shows them.
func (c *cluster) strangers(t *testing.T, bot, config, home string) {
	t.Helper()
	l := layout{name: "stranger", script: "chmod 700 job.sh; srun -o sub-%n.log $PWD/work.sh", sbatch: []string{"--output=sl-%j.out"}}
	open := layout{name: "stranger-open", script: l.script[len("chmod 700 job.sh; "):], sbatch: l.sbatch}
	hidden, shown := c.lays(t, l, home), c.lays(t, open, home)
	c.ended(t, hidden)
	c.ended(t, shown)
	tools := filepath.Join(c.work, "tools")
	folder(t, tools, c.user)
	raw, err := os.ReadFile(bot)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tools, "bot"), string(raw), 0o755)
	conf, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tools, "bot.yaml"), string(conf), 0o644)
	seen := func(id string, as account) string {
		cmd := exec.Command(filepath.Join(tools, "bot"), "diagnose", "--full", "--config", filepath.Join(tools, "bot.yaml"), "--job", id)
		cmd.Dir = tools
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as.uid, Gid: as.gid}}
		cmd.Env = append(os.Environ(), "HOME="+tools, "TMPDIR=/tmp")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	operator := lookup(t, "games")
	c.must(t, "sacctmgr", "-i", "add", "account", "storage-team")
	c.must(t, "sacctmgr", "-i", "add", "user", operator.name, "account=storage-team", "adminlevel=Operator")
	for _, look := range []struct {
		at        job
		as        account
		say, hush []string
	}{
		{hidden, ordinary, []string{"I couldn't see it", "because"}, []string{"Missing Nothing"}},
		{shown, ordinary, []string{"so I read the current"}, []string{"I couldn't see it"}},
		{hidden, operator, []string{"sub-0.log", "4 of 4 seen"}, []string{"I couldn't see it", "so I read the current", "script"}},
	} {
		out := seen(look.at.id, look.as)
		said := strings.Join(strings.Fields(out), " ")
		for _, text := range look.say {
			if !strings.Contains(said, text) {
				t.Errorf("uid %d is not told %q of %s:\n%s", look.as.uid, text, look.at.dir, out)
			}
		}
		for _, text := range look.hush {
			if strings.Contains(said, text) {
				t.Errorf("uid %d is told %q of %s:\n%s", look.as.uid, text, look.at.dir, out)
			}
		}
	}
}

// ordinary is an account without a name, and without any rights in SLURM.
var ordinary = account{uid: 64321, gid: 64321}

// lays submits a layout as the ordinary user.
func (c *cluster) lays(t *testing.T, l layout, home string) job {
	t.Helper()
	dir := filepath.Join(c.work, l.name)
	folder(t, dir, c.user)
	files := map[string]string{"work.sh": work, "job.sh": "#!/bin/bash\n" + l.script + "\n"}
	for k, v := range l.files {
		files[k] = v
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text, 0o755)
		if err := os.Chown(filepath.Join(dir, name), int(c.user.uid), int(c.user.gid)); err != nil {
			t.Fatal(err)
		}
	}
	args := append(append([]string{"--parsable", "-N4", "--ntasks-per-node=2", "--chdir=" + dir, "--job-name=" + l.name}, l.sbatch...), "job.sh")
	cmd := c.command("sbatch", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user.uid, Gid: c.user.gid}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sbatch %v: %v: %s", args, err, stderr.Bytes())
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
	return job{id, dir}
}

// judgeLayout compares what is there, what the bot found, and what its first screen says.
func (c *cluster) judgeLayout(t *testing.T, bot, config string, l layout, j job, home, path string) {
	t.Helper()
	run := func(args ...string) []byte {
		cmd := exec.Command(bot, append(args, "--config", config, "--job", j.id)...)
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, _ := cmd.CombinedOutput() // what it says counts, not its code
		return out
	}
	out := run("doctor")
	var got []string
	for line := range strings.Lines(string(out)) {
		if _, rest, ok := strings.Cut(line, "readable: "); ok {
			name, _, _ := strings.Cut(rest, " (")
			got = append(got, name)
		}
	}
	has := func(want string) bool {
		return slices.ContainsFunc(got, func(name string) bool {
			ok, _ := filepath.Match(want, name)
			return ok || name == want || strings.HasSuffix(want, "/"+name) || strings.HasSuffix(name, "/"+want)
		})
	}
	for _, want := range l.want {
		want = strings.NewReplacer("%J", j.id, "%H", home).Replace(want)
		if !has(want) {
			t.Errorf("not found: %s", want)
		}
	}
	if len(l.sbatch) == 0 && !strings.HasPrefix(l.script, "#SBATCH -o") && l.name != "batch-removed" && !has("slurm-"+j.id+".out") {
		t.Error("the batch log was not found")
	}
	screen := run("diagnose")
	missing := ""
	in := false
	for line := range strings.Lines(string(screen)) {
		if in = strings.HasPrefix(line, "Missing") || in && strings.HasPrefix(line, "  "); in {
			missing += " " + strings.TrimSpace(line)
		}
	}
	missing = strings.Join(strings.Fields(missing), " ")
	switch {
	case l.gap == "" && (strings.Contains(missing, "log of") || strings.Contains(missing, "logs called") || strings.Contains(missing, "batch log") || strings.Contains(missing, "may ") || strings.Contains(missing, "script")):
		t.Errorf("a false alarm: %q", missing)
	case l.gap != "" && !strings.Contains(missing, l.gap):
		t.Errorf("%q does not say %q", missing, l.gap)
	case l.gap != "" && strings.Contains(missing, "Nothing"):
		t.Errorf("a false %q", missing)
	}
	if t.Failed() {
		t.Logf("found %q\n%s\n%s", got, screen, out)
		t.Log(c.accounting(t, j))
		files, _ := exec.Command("find", j.dir, "-type", "f").Output()
		t.Logf("%s", files)
	}
}
