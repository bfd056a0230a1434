package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"faultline/analysis/hostlist"
	"faultline/fetch/source"
)

// Backend is one way to ask a cluster.
type Backend interface {
	// Jobs are the job, all elements of an array, or all components of a heterogeneous job. ErrUnknown where there is none.
	Jobs(ctx context.Context, id ID) ([]Job, error)
	// Nodes is what `scontrol show node` prints of these nodes, block by block.
	Nodes(ctx context.Context, nodes []string) (string, error)
	// Script is the batch script; ErrUnknown where the cluster does not keep it or shows it to others only.
	Script(ctx context.Context, id ID) (string, error)
	// Answers says whether the cluster can be asked at all; nil = it can.
	Answers(ctx context.Context) error
	// Deaths are the jobs that ended badly in a window.
	Deaths(ctx context.Context, from, to time.Time) ([]Death, error)
	String() string
}

// Death is a job that ended badly: what is needed to count it, and nothing else.
type Death struct {
	Raw   int
	End   time.Time
	Nodes []string
}

// Commands asks with SLURM's own commands.
type Commands struct {
	Command source.Command
	// Zone is that of the cluster, for versions that do not give seconds since 1970; nil = UTC.
	Zone *time.Location
	// Where names the machine in sentences: "this machine", "login.west".
	Where string

	mu     sync.Mutex
	listed map[string]bool // what `sacct -e` printed; nil = not asked yet
}

func (c *Commands) String() string { return "the SLURM commands on " + orThis(c.Where) }

func orThis(where string) string {
	if where == "" {
		return "this machine"
	}
	return where
}

// seconds makes SLURM print times as seconds since 1970.
var seconds = []string{"env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C"}

func (c *Commands) run(ctx context.Context, argv ...string) (source.Output, error) {
	out, err := c.Command.Run(ctx, append(slices.Clone(seconds), argv...)...)
	if err != nil {
		return out, fmt.Errorf("%s: %w", c, err)
	}
	return out, nil
}

// failed is what a command printed when it did not do what it was asked.
func (c *Commands) failed(name string, out source.Output) error {
	text := strings.TrimSpace(string(out.Stderr))
	if text == "" {
		text = fmt.Sprintf("exit code %d and no output", out.Code)
	}
	return fmt.Errorf("%s: %s said %q", c, name, oneLine(text))
}

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '\ufffd' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

// A cluster that works answers what is asked first within a moment; one that does not is not waited for. Where the accounting
// did not answer, the controller is given less.
const (
	firstAnswer  = 5 * time.Second
	secondAnswer = 4 * time.Second
)

// asked bounds a question, and says so in words where it was given up.
func asked(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no response within %s", d))
}

// Jobs implements Backend: accounting first, for it knows steps and runs and forgets nothing; the controller for what the
// accounting of that version does not say, or where there is none.
func (c *Commands) Jobs(ctx context.Context, id ID) ([]Job, error) {
	records, err := c.sacct(ctx, id)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	jobs := assemble(records, "sacct", 0)
	if len(jobs) > 0 && settledAndWhole(jobs) {
		return only(jobs, id)
	}
	live, liveErr := c.live(ctx, id, err)
	switch {
	case len(jobs) == 0 && len(live) == 0:
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		if liveErr != nil {
			return nil, liveErr
		}
		return nil, fmt.Errorf("%w: neither the accounting nor the controller has %s (or they show it only to its owner)", ErrUnknown, id)
	case len(jobs) == 0:
		jobs = assemble(live, "scontrol", 0)
		for i := range jobs {
			jobs[i].Notes = append(jobs[i].Notes, "The accounting has no answer for this job, so its steps and earlier runs are unknown.")
		}
	default:
		complement(jobs, assemble(live, "scontrol", 0))
	}
	return only(jobs, id)
}

// live asks the controller, not for long where the accounting did not answer.
func (c *Commands) live(ctx context.Context, id ID, failed error) ([]Record, error) {
	if failed == nil || errors.Is(failed, ErrUnknown) {
		return c.showJob(ctx, id)
	}
	quick, cancel := asked(ctx, secondAnswer)
	defer cancel()
	return c.showJob(quick, id)
}

// settledAndWhole says that the controller can add nothing.
func settledAndWhole(jobs []Job) bool {
	for i := range jobs {
		j := &jobs[i]
		if !j.Ended() || j.StillReporting() || j.StdOut == "" {
			return false
		}
	}
	return true
}

// complement adds to jobs of the accounting what only the controller knows.
func complement(jobs, live []Job) {
	for i := range jobs {
		j := &jobs[i]
		k := slices.IndexFunc(live, func(l Job) bool { return l.Raw == j.Raw })
		if k < 0 || !j.stub() && live[k].User != "" && j.User != "" && live[k].User != j.User {
			continue
		}
		l := live[k]
		if j.stub() {
			j.User, j.UID, j.Name = l.User, l.UID, l.Name
		}
		fill(&j.StdOut, l.StdOut)
		if j.StdErr == "" && l.StdErr != l.StdOut {
			j.StdErr = l.StdErr
		}
		fill(&j.Command, l.Command)
		fill(&j.WorkDir, l.WorkDir)
		fill(&j.User, l.User)
		fill(&j.UID, l.UID)
		fill(&j.Account, l.Account)
		fill(&j.Partition, l.Partition)
		newest, now := j.Newest(), l.Newest()
		if newest == nil || now == nil || !newest.Start().Equal(now.Start()) {
			continue
		}
		rec := &newest.Records[len(newest.Records)-1]
		if rec.Restarts == None && now.Restart >= 0 && now.Records[0].Restarts != None {
			rec.Restarts, newest.Restart = now.Records[0].Restarts, now.Records[0].Restarts
		}
		fill(&rec.FailedNode, now.last().FailedNode)
		if State(now.last().State) == completing {
			rec.State = completing
		}
	}
}

func fill(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

// only keeps what was asked for: an element, a component, or all.
func only(jobs []Job, id ID) ([]Job, error) {
	var out []Job
	for _, j := range jobs {
		switch {
		case id.Task != None && (j.Array != id.Job || j.Task != id.Task),
			id.Component != None && (j.Het != id.Job || j.Component != id.Component):
			continue
		}
		out = append(out, j)
	}
	// A plain number may be an array or a heterogeneous job, or the raw id of one element of another.
	if id.Task == None && id.Component == None {
		own := slices.DeleteFunc(slices.Clone(out), func(j Job) bool { return j.Array != id.Job && j.Het != id.Job && j.Raw != id.Job })
		whole := slices.DeleteFunc(slices.Clone(own), func(j Job) bool { return j.Array != id.Job && j.Het != id.Job })
		if len(whole) > 0 {
			own = whole
		}
		out = own
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	return out, nil
}

// sacct asks the accounting, with as many columns as this version has.
func (c *Commands) sacct(ctx context.Context, id ID) ([]Record, error) {
	listed, err := c.fields(ctx)
	if err != nil {
		return nil, err
	}
	for range len(sometimes) + 1 {
		cols := columns(listed)
		out, err := c.run(ctx, "sacct", "-D", "-P", "-n", "--delimiter="+separator, "-j", id.query(), "-o", strings.Join(cols, ","))
		if err != nil {
			return nil, err
		}
		if m := invalidField.FindSubmatch(out.Stderr); m != nil && listed[strings.ToLower(string(m[1]))] {
			listed = c.without(string(m[1])) // upgraded, or downgraded, since it was asked
			continue
		}
		if out.Code != 0 {
			return nil, c.failed("sacct", out)
		}
		records, err := parseSacct(out.Stdout, cols, separator, c.Zone)
		if err == nil && len(records) == 0 {
			err = ErrUnknown
		}
		return records, err
	}
	return nil, fmt.Errorf("%s: sacct rejects every column", c)
}

// fields asks once which columns there are.
func (c *Commands) fields(ctx context.Context) (map[string]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed != nil {
		return c.listed, nil
	}
	quick, cancel := asked(ctx, firstAnswer)
	defer cancel()
	out, err := c.run(quick, "sacct", "-e")
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return nil, c.failed("sacct -e", out)
	}
	c.listed = parseFields(out.Stdout)
	return c.listed, nil
}

func (c *Commands) without(field string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	less := map[string]bool{}
	for f := range c.listed {
		less[f] = !strings.EqualFold(f, field) && c.listed[f]
	}
	c.listed = less
	return less
}

// showJob asks the controller, which knows running jobs and those that ended some minutes ago.
func (c *Commands) showJob(ctx context.Context, id ID) ([]Record, error) {
	out, err := c.run(ctx, "scontrol", "show", "job", id.query())
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		if strings.Contains(string(out.Stderr), "Invalid job id") {
			return nil, nil
		}
		return nil, c.failed("scontrol", out)
	}
	return parseShowJob(out.Stdout, c.Zone), nil
}

// nodesAtOnce bounds the names on one command line.
const nodesAtOnce = 512

// Nodes implements Backend.
func (c *Commands) Nodes(ctx context.Context, nodes []string) (string, error) {
	wanted := map[string]bool{}
	for _, n := range nodes {
		wanted[n] = true
	}
	var b strings.Builder
	for chunk := range slices.Chunk(nodes, nodesAtOnce) {
		list := hostlist.Compress(chunk)
		if _, err := hostlist.Expand(list); err != nil || strings.HasPrefix(list, "-") {
			return "", fmt.Errorf("node list %q: %w", clip(list), errShape)
		}
		out, err := c.run(ctx, "scontrol", "show", "node", list)
		if err != nil {
			return "", err
		}
		if out.Code != 0 && len(out.Stdout) == 0 {
			return "", c.failed("scontrol", out)
		}
		found := parseNodes(out.Stdout, wanted)
		for _, n := range chunk {
			if found[n] != "" {
				b.WriteString(found[n] + "\n\n")
			}
		}
	}
	return b.String(), nil
}

// maxScript bounds a batch script; SLURM's own limit is 4 MB.
const maxScript = 4 << 20

// Script implements Backend.
func (c *Commands) Script(ctx context.Context, id ID) (string, error) {
	out, err := c.run(ctx, "scontrol", "write", "batch_script", id.query(), "-")
	if err != nil {
		return "", err
	}
	if script := string(out.Stdout); out.Code == 0 && strings.HasPrefix(script, "#!") {
		return script[:min(len(script), maxScript)], nil
	}
	refused := c.failed("scontrol", out)
	out, err = c.run(ctx, "sacct", "-B", "-P", "-j", id.query())
	if err != nil {
		return "", err
	}
	if _, script, ok := strings.Cut(string(out.Stdout), "\n#!"); ok && out.Code == 0 {
		return ("#!" + script)[:min(len(script)+2, maxScript)], nil
	}
	return "", refused
}

// Answers implements Backend. Accounting may be switched off: then the controller alone has to answer.
func (c *Commands) Answers(ctx context.Context) error {
	_, err := c.fields(ctx)
	quick, cancel := asked(ctx, secondAnswer)
	defer cancel()
	out, liveErr := c.run(quick, "scontrol", "ping")
	switch {
	case liveErr != nil:
		return errors.Join(err, liveErr)
	case out.Code != 0 || !strings.Contains(string(out.Stdout), " UP"):
		return c.failed("scontrol ping", source.Output{Code: out.Code, Stderr: append(out.Stderr, out.Stdout...)})
	}
	if err != nil && strings.Contains(err.Error(), "accounting storage is disabled") {
		return nil
	}
	return err
}

// died are the states that a window is searched for; cancellations are people's own.
const died = "F,NF,TO,OOM,BF,DL"

// Deaths implements Backend. Both ends are stated: without an end, sacct answers a question for states with nothing.
func (c *Commands) Deaths(ctx context.Context, from, to time.Time) ([]Death, error) {
	at := func(t time.Time) string { return fmt.Sprintf("uts%d", t.Unix()) }
	cols := []string{"JobIDRaw", "End", "NodeList"}
	out, err := c.run(ctx, "sacct", "-a", "-X", "-P", "-n", "-D", "--delimiter="+separator, "-S", at(from), "-E", at(to), "--state="+died, "-o", strings.Join(cols, ","))
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return nil, c.failed("sacct", out)
	}
	records, err := parseSacct(out.Stdout, cols, separator, c.Zone)
	if err != nil {
		return nil, err
	}
	return deaths(records, from, to), nil
}

func deaths(records []Record, from, to time.Time) []Death {
	var out []Death
	for _, r := range records {
		if r.End.Before(from) || r.End.After(to) {
			continue
		}
		nodes, err := hostlist.Expand(r.NodeList)
		if err != nil {
			nodes = nil
		}
		out = append(out, Death{Raw: whole(r.Raw), End: r.End, Nodes: nodes})
	}
	return out
}
