package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/analysis/hostlist"
	"faultline/workflow"
)

// Endings is a Backend that lists which jobs ended badly.
type Endings interface {
	// Ended are the runs whose end lies in [from, to), in the order of their ends. One call is one query.
	Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error)
	// Runs are the runs of a user's jobs of one name, whatever their end, that ended in [from, to), in the order of their ends.
	Runs(ctx context.Context, user, name string, from, to time.Time) ([]workflow.Ended, error)
}

var (
	_ Endings = (*Commands)(nil)
	_ Endings = (*REST)(nil)
)

// Ended asks the first of the cluster's backends that answers.
func (c *Cluster) Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error) {
	return c.endings(ctx, func(e Endings) ([]workflow.Ended, error) { return e.Ended(ctx, from, to) })
}

// Runs asks as Ended does.
func (c *Cluster) Runs(ctx context.Context, user, name string, from, to time.Time) ([]workflow.Ended, error) {
	return c.endings(ctx, func(e Endings) ([]workflow.Ended, error) { return e.Runs(ctx, user, name, from, to) })
}

func (c *Cluster) endings(ctx context.Context, ask func(Endings) ([]workflow.Ended, error)) ([]workflow.Ended, error) {
	var failed []error
	for _, b := range c.Backends {
		asked, ok := b.(Endings)
		if !ok {
			continue
		}
		list, err := ask(asked)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			for i := range list {
				list[i].Cluster = c.Name
			}
			return list, nil
		}
		failed = append(failed, err)
	}
	if len(failed) == 0 {
		return nil, errors.New("no source is configured for ended jobs")
	}
	return nil, errors.Join(failed...)
}

type stateName struct{ short, full string }

// endedStates are the states that are looked for: their short forms for sacct, and the same in full. Cancellations are
// people's own, and a job that was preempted or requeued goes on by itself.
var endedStates = []stateName{
	{"F", "FAILED"}, {"NF", nodeFail}, {"TO", "TIMEOUT"}, {"OOM", outOfMemory}, {"BF", "BOOT_FAIL"}, {"DL", "DEADLINE"},
}

// overStates are those of every run that is over, well or not.
var overStates = append(slices.Clone(endedStates), stateName{"CD", "COMPLETED"}, stateName{"CA", "CANCELLED"}, stateName{"PR", "PREEMPTED"})

// stateList is what to ask for.
func stateList(states []stateName, full bool) string {
	var list []string
	for _, s := range states {
		if full {
			list = append(list, s.full)
		} else {
			list = append(list, s.short)
		}
	}
	return strings.Join(list, ",")
}

// endedColumns are what every version since 20.11 has. JobName is last, for it may hold anything.
var endedColumns = []string{"JobID", "JobIDRaw", "User", "Account", "Partition", "State", "NodeList", "Submit", "Start", "End", "JobName"}

// Ended implements Endings: the one query that works from 20.11 on. Both ends are stated, because without an end sacct
// answers a question for states with nothing.
func (c *Commands) Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error) {
	records, err := c.over(ctx, endedStates, from, to, "-a")
	return endings(records, endedStates, from, to), err
}

// Runs implements Endings. sacct takes a comma in a name for the end of it: what it lists besides is left out.
func (c *Commands) Runs(ctx context.Context, user, name string, from, to time.Time) ([]workflow.Ended, error) {
	records, err := c.over(ctx, overStates, from, to, "--user="+user, "--name="+name)
	return named(endings(records, overStates, from, to), user, name), err
}

func (c *Commands) over(ctx context.Context, states []stateName, from, to time.Time, which ...string) ([]Record, error) {
	at := func(t time.Time) string { return fmt.Sprintf("uts%d", t.Unix()) }
	argv := append([]string{"sacct"}, which...)
	out, err := c.run(ctx, append(argv, "-X", "-P", "-n", "-D", "--delimiter="+separator, "-S", at(from), "-E", at(to),
		"--state="+stateList(states, false), "-o", strings.Join(endedColumns, ","))...)
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return nil, c.failed("sacct", out)
	}
	records, err := parseSacct(out.Stdout, endedColumns, separator, c.Zone)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return records, nil
}

// Ended implements Endings.
func (r *REST) Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error) {
	records, err := r.over(ctx, endedStates, from, to, url.Values{})
	return endings(records, endedStates, from, to), err
}

// Runs implements Endings.
func (r *REST) Runs(ctx context.Context, user, name string, from, to time.Time) ([]workflow.Ended, error) {
	records, err := r.over(ctx, overStates, from, to, url.Values{"users": {user}, "job_name": {name}})
	return named(endings(records, overStates, from, to), user, name), err
}

func (r *REST) over(ctx context.Context, states []stateName, from, to time.Time, q url.Values) ([]Record, error) {
	v, err := r.discover(ctx)
	if err != nil {
		return nil, err
	}
	if v.db == "" {
		return nil, fmt.Errorf("%s: %w: there is no accounting", r, errShape)
	}
	q.Set("start_time", "uts"+strconv.FormatInt(from.Unix(), 10))
	q.Set("end_time", "uts"+strconv.FormatInt(to.Unix(), 10))
	q.Set("state", stateList(states, true))
	t, err := r.get(ctx, "/slurmdb/"+v.db+"/jobs/?"+q.Encode())
	if err != nil {
		return nil, err
	}
	return dbRecords(t), nil
}

// named are those of one user and name: a server that does not know a filter lists everybody's.
func named(list []workflow.Ended, user, name string) []workflow.Ended {
	return slices.DeleteFunc(list, func(e workflow.Ended) bool { return e.User != user || e.Name != name })
}

// endings keeps the records that are what was asked for: older versions take the window for "was there at that time", and
// some ignore the states.
func endings(records []Record, states []stateName, from, to time.Time) []workflow.Ended {
	var out []workflow.Ended
	for _, r := range records {
		state := State(r.State)
		id, err := ParseID(r.JobID)
		if err != nil || !among(states, state) || r.End.IsZero() || r.End.Before(from) || !r.End.Before(to) {
			continue
		}
		e := workflow.Ended{Job: r.JobID, Raw: r.Raw, Name: r.Job, User: r.User, Account: r.Account, Partition: r.Partition, State: state,
			Submit: r.Submit, Start: r.Start, End: r.End}
		if whole(e.Raw) == None {
			e.Raw = id.master()
		}
		if id.Task != None || id.Component != None || id.Tasks != "" {
			e.Of = id.master()
		}
		if id.Tasks != "" { // elements that never began have one record together
			e.Job = id.master()
		}
		if nodes, err := hostlist.Expand(none(r.NodeList)); err == nil {
			e.Nodes = nodes
		}
		out = append(out, e)
		if len(out) == maxJobs {
			break
		}
	}
	sortEnded(out)
	return out
}

func among(states []stateName, state string) bool {
	return slices.ContainsFunc(states, func(s stateName) bool { return s.full == state })
}

// sortEnded puts runs into the order in which they ended; ties break by number.
func sortEnded(list []workflow.Ended) {
	slices.SortFunc(list, func(a, b workflow.Ended) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(whole(a.Raw), whole(b.Raw)), a.Start.Compare(b.Start))
	})
}
