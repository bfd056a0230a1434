package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"faultline/analysis/hostlist"
	"faultline/preflight"
)

func newCheckCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags] [--wrap -- COMMAND...]",
		Short: "check a job's nodes before training starts",
		Long: `
Run it in the batch script before training, once on each node. Each node checks its GPUs, limits, memory, ports, name resolution and
directories, the libraries you name, and whether MASTER_PORT is free. The nodes then compare notes: which are missing, what differs
(driver, libc, library versions, MTU, variables, number of GPUs), whose clock is off, which can't reach MASTER_PORT, where large packets
are lost, and which sent at less than half the usual speed twice. Where nccl-tests (all_reduce_perf) or perftest (ib_write_bw) are
installed, the GPUs of each node and RDMA to the next node are measured too, and held to --baseline or to what most nodes reach. The
first node prints the result; all exit with the same code. It only reads, except
for one temporary file in each --write directory.

Under SLURM it detects the nodes. Otherwise, list all nodes with --nodes and name this one with --node. On a single node there is nothing to wait for.

With --checklist it also goes through a checklist: pre-training, scaling-up or long-run, or one of your team's own (checklists in
--config). Items that the nodes, --plan, --write and --checkpoint prove are ticked, with the proof; you tick the rest with --tick. An
unticked critical item blocks, so you can run it before sbatch.

With --wrap it then runs the training: every task waits for its node's check, and starts the command after -- only if it passed. The
log is on disk, with job, node, task, time and command, before anything starts, so even a crash at startup leaves one. Output still
goes to SLURM too. Signals reach the command once, its exit code is kept (128 + N for signal N, 127 if not found), and bot push runs
at the end if FAULTLINE_PUSH_TO is set. With --debug DIR the training's NCCL logs, flight-recorder dumps and stacks on a crash are written to DIR, and
the state of the node's GPUs once a minute.

Examples:
  srun --ntasks-per-node=1 bot check --gpus 8 --write /scratch/ckpt --checkpoint 200 --read /data/train || exit 1
  bot check --write /scratch/ckpt
  bot check --nodes cn[01-04] --node cn02 --lead cn01:20001
  bot check --checklist pre-training --plan params=7e9,dp=8,zero=1,hidden=4096,layers=32,seq=4096,flash=1,gpu-memory=80 && sbatch train.sh
  bot check --format json
  srun --ntasks-per-node=8 bot check --gpus 8 --wrap -- python train.py --config big.yaml
  srun --ntasks-per-node=8 bot check --gpus 8 --debug /scratch/debug-%j --wrap -- python train.py

Exit code: 0 = no blocking problem found (warnings are printed); 1 = a blocking problem, or the nodes could not connect; 2 = usage error. With --wrap, once the
command has started: the exit code of the command.`,
	}
	fs := cmd.Flags()
	var c checking
	c.declare(fs)
	complete(cmd, "format", []string{"terminal", "json"})
	cmd.RunE = e.does(c.run)
	return cmd
}

// checking is one run of the command.
type checking struct {
	options     preflight.Options
	wants       preflight.Wants
	nodes, lead string
	format      string
	checkpoint  float64
	wait, send  time.Duration
	starts      bool
	wrapped     wrapping
	list        listing
	record      string
	baselines   []string
}

func (c *checking) declare(fs *pflag.FlagSet) {
	fs.StringArrayVar(&c.options.Read, "read", nil, "a directory or file the job reads, `PATH`; may be repeated\ne.g. --read /data/train")
	fs.StringArrayVar(&c.options.Write, "write", nil, "a directory the job writes to, `PATH`; may be repeated\ne.g. --write /scratch/ckpt")
	fs.StringArrayVar(&c.options.Names, "name", nil, "a name that must resolve, `HOST`; may be repeated\ne.g. --name storage.example")
	fs.StringArrayVar(&c.options.Libraries, "library", nil, "a shared library that must load, with everything it needs, `NAME`; may be repeated\ne.g. --library libnccl.so.2")
	fs.Float64Var(&c.checkpoint, "checkpoint", 0, "size of one checkpoint in `GB`\ne.g. --checkpoint 200")
	fs.IntVar(&c.wants.GPUs, "gpus", 0, "GPUs each node must have, `N`\ne.g. --gpus 8")
	fs.IntVar(&c.wants.MTU, "mtu", 0, "minimum MTU for each node's interfaces, `N`\ne.g. --mtu 9000")
	fs.StringVar(&c.nodes, "nodes", "", "the job's nodes (`LIST`); not needed under SLURM\ne.g. --nodes 'cn[01-04]'")
	fs.StringVar(&c.options.Node, "node", "", "this node's `NAME` in that list\ne.g. --node cn02")
	fs.StringVar(&c.lead, "lead", "", "rendezvous address: `HOST:PORT` on the first node\ne.g. --lead cn01:20001")
	fs.DurationVar(&c.wait, "wait", 30*time.Second, "how long to wait for missing nodes (`D`)\ne.g. --wait 2m")
	fs.DurationVar(&c.send, "send", 2*time.Second, "how long each node sends to the next, 0 = measure nothing (`D`)\ne.g. --send 5s")
	c.list.declare(fs)
	fs.StringVar(&c.record, "record", "", "keep a health record in `FILE`: say what changed since each node last passed, and append this check\ne.g. --record /shared/health.jsonl")
	fs.StringArrayVar(&c.baselines, "baseline", nil, "least rates in GB/s, `KIND=GB/s,…`: tcp between nodes, bus of an all-reduce within a node, rdma between nodes; a node below fails\ne.g. --baseline tcp=10,bus=380,rdma=45")
	fs.BoolVar(&c.starts, "wrap", false, "start the command after -- when the check passes\ne.g. --wrap -- python train.py")
	fs.StringVar(&c.wrapped.log, "log", "train-%j-%t.log", "with --wrap: also write the output to `FILE`, which is on disk before the command starts; SLURM's %j %t %N %n %A %a %s are replaced\ne.g. --log logs/error-%j-%n-%t.out")
	fs.StringVar(&c.wrapped.push, "push", pushFailed, "with --wrap and $FAULTLINE_PUSH_TO: send the logs to the bot afterwards (`WHEN`): failed, always or never\ne.g. --push always")
	fs.StringVar(&c.wrapped.debug.folder, "debug", "", "with --wrap: have NCCL, the flight recorder and Python say more, in files in `DIR`; variables that are set stay\ne.g. --debug debug-%j")
	fs.DurationVar(&c.wrapped.debug.every, "watch", time.Minute, "with --debug: record each GPU's use, memory, clock and errors this often (`D`), 0 = not\ne.g. --watch 30s")
	fs.StringVar(&c.format, "format", "terminal", "terminal or json (`FORMAT`)\ne.g. --format json")
}

// passed is what --format json prints.
type passed struct {
	Pass     bool                `json:"pass"`
	Findings []preflight.Finding `json:"findings"`
	Nodes    []preflight.Facts   `json:"nodes"`
	// Checklist is null where none was asked for.
	Checklist []preflight.Item `json:"checklist"`
}

func (c *checking) run(ctx context.Context, e env, args []string) (int, error) {
	if len(args) > 0 && !c.starts {
		return exitUsage, usage("bot check takes no argument: %q; to start a command, bot check --wrap -- COMMAND", args[0])
	}
	if c.format != "terminal" && c.format != "json" {
		return exitUsage, usage("--format %s: choose terminal or json", c.format)
	}
	if c.wait <= 0 || c.send < 0 || c.checkpoint < 0 {
		return exitUsage, usage("--wait must be positive; --send and --checkpoint must not be negative")
	}
	cfg, err := c.list.configured()
	if err != nil {
		return exitUsage, err
	}
	if err := c.list.load(cfg); err != nil {
		return exitUsage, err
	}
	c.wants.Baseline = preflight.Baseline{TCP: cfg.Baselines.TCP * 1e9, Bus: cfg.Baselines.Bus * 1e9, RDMA: cfg.Baselines.RDMA * 1e9}
	if err := c.wants.Baseline.Set(c.baselines); err != nil {
		return exitUsage, usage("--baseline: %v", err)
	}
	if c.starts {
		return c.wrap(ctx, e, args)
	}
	return c.check(ctx, e)
}

// check looks at this node and meets the others.
func (c *checking) check(ctx context.Context, e env) (int, error) {
	if local := os.Getenv("SLURM_LOCALID"); local != "" && local != "0" {
		return exitOK, nil // the node's first task does it for all
	}
	nodes, err := c.expected()
	if err != nil {
		return exitUsage, usage("%v", err)
	}
	c.wants.Checkpoint = int64(c.checkpoint * 1e9)
	if i := slices.Index(nodes, c.options.Node); len(nodes) > 1 { // they find each other by name: each name is looked up by two nodes
		c.options.Names = append(c.options.Names, nodes[0], c.options.Node, nodes[(i+1)%len(nodes)])
	}
	if addr := os.Getenv("MASTER_ADDR"); addr != "" {
		c.options.Names = append(c.options.Names, addr)
	}
	self := preflight.Gather(ctx, c.options)
	if c.send > 0 {
		preflight.MeasureBus(ctx, &self, tools)
	}
	leads := len(nodes) < 2 || self.Node == nodes[0]
	judge := func(all []preflight.Facts) []preflight.Finding {
		findings := preflight.Judge(all, nodes, c.wants)
		if leads { // one that could not join is no measure for the next time
			findings = append(findings, c.remember(e.err, all, findings)...)
		}
		return append(findings, c.list.tick(all, findings, c.wants)...)
	}
	if leads {
		c.list.run(ctx)
	}
	if len(nodes) < 2 {
		all := []preflight.Facts{self}
		return c.show(e.out, all, judge(all))
	}
	m := preflight.Meeting{Addr: c.lead, Token: "faultline check " + os.Getenv("SLURM_JOB_ID"), Nodes: len(nodes), Wait: c.wait, Send: c.send, Least: c.wants.Baseline.TCP, Tools: tools}
	if self.Node != nodes[0] {
		end, err := m.Join(ctx, self)
		if err != nil { // nobody else can say what is wrong here
			for _, f := range judge([]preflight.Facts{self}) {
				if f.Node == self.Node {
					fmt.Fprintln(e.err, line(f))
				}
			}
			return exitUnreadable, fmt.Errorf("%s could not connect to the other nodes: %w", self.Node, err)
		}
		for _, f := range end.Findings {
			fmt.Fprintln(e.err, line(f))
		}
		if end.Fails > 0 {
			return exitUnreadable, fmt.Errorf("the check failed: see the output of %s", nodes[0])
		}
		return exitOK, nil
	}
	_, port, err := net.SplitHostPort(c.lead)
	if err != nil {
		return exitUsage, usage("--lead %s: %v", c.lead, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return exitUnreadable, fmt.Errorf("opening port %s for the others: %w", port, err)
	}
	all, findings, err := m.Lead(ctx, l, self, judge)
	if err != nil {
		return exitUnreadable, err
	}
	return c.show(e.out, all, findings)
}

// remember compares the nodes with their last pass, and notes how they are now. A record that cannot be used stops no job.
func (c *checking) remember(errs io.Writer, all []preflight.Facts, findings []preflight.Finding) []preflight.Finding {
	if c.record == "" {
		return nil
	}
	f, err := os.OpenFile(c.record, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Fprintf(errs, "no health record: %v\n", err)
		return nil
	}
	defer f.Close()
	last, unread, err := preflight.LastPasses(f)
	if unread > 0 {
		fmt.Fprintf(errs, "%s: %s ignored\n", c.record, count(unread, "line"))
	}
	if err == nil {
		err = preflight.WriteVisits(f, preflight.Visits(all, findings, time.Now(), os.Getenv("SLURM_JOB_ID")))
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", c.record, err)
	}
	return preflight.Changed(last, all)
}

// expected are the nodes of the job, the first of which leads. SLURM tells them, this node's name, and a job id for the port.
func (c *checking) expected() ([]string, error) {
	list := c.nodes
	if list == "" {
		list = os.Getenv("SLURM_JOB_NODELIST")
	}
	if c.options.Node == "" {
		c.options.Node = os.Getenv("SLURMD_NODENAME")
	}
	nodes, err := hostlist.Expand(list)
	if err != nil {
		return nil, fmt.Errorf("--nodes: %w", err)
	}
	if len(nodes) < 2 {
		return nodes, nil
	}
	if c.options.Node == "" {
		if c.options.Node, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("this node's name: %w", err)
		}
	}
	if !slices.Contains(nodes, c.options.Node) {
		return nil, fmt.Errorf("this node is %s, which is not in %s: set its name with --node", c.options.Node, list)
	}
	if c.lead == "" {
		id, err := strconv.Atoi(os.Getenv("SLURM_JOB_ID"))
		if err != nil {
			return nil, errors.New("say where the nodes meet: --lead " + nodes[0] + ":20001")
		}
		c.lead = net.JoinHostPort(nodes[0], strconv.Itoa(20000+id%10000))
	}
	return nodes, nil
}

// line is a finding on a line, which the engine knows again in the job's log. Facts come from other machines: nothing of them is trusted to be printable.
func line(f preflight.Finding) string {
	s := fmt.Sprintf("%s%s %s: %s: %s", preflight.Prefix, strings.ToUpper(string(f.Level)), cmp.Or(f.Node, "all nodes"), f.Check, f.Text)
	if f.Fix != "" {
		s += "  [" + f.Fix + "]"
	}
	return printable(s, 400)
}

func (c *checking) show(w io.Writer, all []preflight.Facts, findings []preflight.Finding) (int, error) {
	fails := 0
	for _, f := range findings {
		if f.Level == preflight.Fail {
			fails++
		}
	}
	code := exitOK
	if fails > 0 {
		code = exitUnreadable
	}
	if c.format == "json" {
		if findings == nil {
			findings = []preflight.Finding{}
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return code, enc.Encode(passed{fails == 0, findings, all, c.list.items})
	}
	c.list.show(w)
	for _, f := range findings {
		fmt.Fprintln(w, line(f))
	}
	if text := preflight.Measured(all); text != "" {
		fmt.Fprintln(w, preflight.Prefix+"measured: "+text)
	}
	gpus := 0
	for i := range all {
		gpus += len(all[i].GPUs)
	}
	verdict := "ready"
	if fails > 0 {
		verdict = "not ready"
	}
	fmt.Fprintf(w, preflight.Prefix+"%s: %s, %s; %s, %s\n", verdict, count(len(all), "node"), count(gpus, "GPU"), count(fails, "failure"), count(len(findings)-fails, "warning"))
	return code, nil
}
