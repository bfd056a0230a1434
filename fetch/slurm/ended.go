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
}

var (
	_ Endings = (*Commands)(nil)
	_ Endings = (*REST)(nil)
)

// Ended asks the first of the cluster's backends that answers.
func (c *Cluster) Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error) {
	var failed []error
	for _, b := range c.Backends {
		asked, ok := b.(Endings)
		if !ok {
			continue
		}
		list, err := asked.Ended(ctx, from, to)
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

// endedStates are the states that are looked for: their short forms for sacct, and the same in full. Cancellations are
// people's own, and a job that was preempted or requeued goes on by itself.
var endedStates = []struct{ short, full string }{
	{"F", "FAILED"}, {"NF", nodeFail}, {"TO", "TIMEOUT"}, {"OOM", outOfMemory}, {"BF", "BOOT_FAIL"}, {"DL", "DEADLINE"},
}

// stateList is what to ask for.
func stateList(full bool) string {
	var list []string
	for _, s := range endedStates {
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
	at := func(t time.Time) string { return fmt.Sprintf("uts%d", t.Unix()) }
	out, err := c.run(ctx, "sacct", "-a", "-X", "-P", "-n", "-D", "--delimiter="+separator, "-S", at(from), "-E", at(to),
		"--state="+stateList(false), "-o", strings.Join(endedColumns, ","))
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
	return endings(records, from, to), nil
}

// Ended implements Endings.
func (r *REST) Ended(ctx context.Context, from, to time.Time) ([]workflow.Ended, error) {
	v, err := r.discover(ctx)
	if err != nil {
		return nil, err
	}
	if v.db == "" {
		return nil, fmt.Errorf("%s: %w: there is no accounting", r, errShape)
	}
	q := url.Values{"start_time": {"uts" + strconv.FormatInt(from.Unix(), 10)}, "end_time": {"uts" + strconv.FormatInt(to.Unix(), 10)}, "state": {stateList(true)}}
	t, err := r.get(ctx, "/slurmdb/"+v.db+"/jobs/?"+q.Encode())
	if err != nil {
		return nil, err
	}
	return endings(dbRecords(t), from, to), nil
}

// endings keeps the records that are what was asked for: older versions take the window for "was there at that time", and
// some ignore the states.
func endings(records []Record, from, to time.Time) []workflow.Ended {
	var out []workflow.Ended
	for _, r := range records {
		state := State(r.State)
		id, err := ParseID(r.JobID)
		if err != nil || !bad(state) || r.End.IsZero() || r.End.Before(from) || !r.End.Before(to) {
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

func bad(state string) bool {
	for _, s := range endedStates {
		if s.full == state {
			return true
		}
	}
	return false
}

// sortEnded puts runs into the order in which they ended; ties break by number.
func sortEnded(list []workflow.Ended) {
	slices.SortFunc(list, func(a, b workflow.Ended) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(whole(a.Raw), whole(b.Raw)), a.Start.Compare(b.Start))
	})
}
