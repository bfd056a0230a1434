package desk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// locateWait bounds how long the clusters of a channel are asked who knows a job.
const locateWait = 20 * time.Second

// diagnose opens an investigation, or gives logs to the one in whose thread it is said.
func (a *act) diagnose(ctx context.Context, o order) error {
	if o.bad != "" {
		return a.say(ctx, malformed, code(shown(o.bad)))
	}
	if o.job == "" && a.in.Thread != "" && len(o.places) > 0 {
		inv, found, err := a.ofThread(ctx)
		if err != nil {
			return err
		}
		if found {
			return a.giveLogs(ctx, inv, o.places, logsGiven)
		}
	}
	if o.verb == "logs" { // only under a case
		return a.say(ctx, notACase, a.Command)
	}
	if ok, err := a.start(ctx, o.private); !ok {
		return err
	}
	if ok, err := a.knows(ctx, &o.cluster); !ok {
		return err
	}
	places, ok, err := a.allowed(ctx, a.rule, o.places)
	if !ok {
		return err
	}
	inv := workflow.Investigation{Cluster: o.cluster, Job: o.job, Places: places}
	if o.watch {
		inv.Watch.By = a.in.User
	}
	inv.Home.Private = o.private
	if len(places) == 0 && !o.anyway {
		if done, err := a.unused(ctx, inv); done || err != nil {
			return err
		}
	}
	if inv.Cluster != "" || len(places) > 0 || len(a.rule.Clusters) == 1 {
		if inv.Cluster == "" {
			inv.Cluster = a.clusterOf(places)
		}
		return a.open(ctx, inv, "")
	}
	return a.chooseCluster(ctx, inv)
}

// knows writes a cluster as the channel's rule does, and answers where the rule has none of that name; "" is none that was named.
func (a *act) knows(ctx context.Context, cluster *string) (ok bool, err error) {
	for _, c := range a.rule.Clusters {
		if strings.EqualFold(c, *cluster) {
			*cluster = c
		}
	}
	if *cluster == "" || slices.Contains(a.rule.Clusters, *cluster) {
		return true, nil
	}
	if _, exists := a.policy.Clusters[*cluster]; exists { // the answer does not tell
		return false, a.refuse(ctx, "", refusedCluster, unknownCluster, *cluster, list(a.rule.Clusters))
	}
	return false, a.say(ctx, unknownCluster, *cluster, list(a.rule.Clusters))
}

// unused answers, to the person alone, that no cluster has a job of this number. What is not proven goes the usual way: a case that
// asks for logs.
func (a *act) unused(ctx context.Context, inv workflow.Investigation) (done bool, err error) {
	if a.Unused == nil || inv.Job == "" {
		return false, nil
	}
	before, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Cluster: inv.Cluster, Job: inv.Job})
	if err != nil || len(before) > 0 { // logs were given to it before
		return false, err
	}
	clusters := a.rule.Clusters
	if inv.Cluster != "" {
		clusters = []string{inv.Cluster}
	}
	look, cancel := context.WithTimeout(ctx, locateWait)
	defer cancel()
	var next []string
	for _, c := range clusters {
		n, ok := a.Unused(look, c, inv.Job)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if !ok {
			return false, nil
		}
		next = append(next, fmt.Sprintf("%d on %s", n, c))
	}
	paragraphs := []string{say(unusedJob, inv.Job, list(next)), say(unusedNext, a.Command+" "+inv.Job)}
	if others := slices.DeleteFunc(slices.Clone(a.rule.Clusters), func(c string) bool { return slices.Contains(clusters, c) }); len(others) > 0 {
		paragraphs = append(paragraphs, say(unusedElsewhere, a.Command, others[0]+":"+inv.Job))
	}
	value := clusters[0] + ":" + inv.Job
	if inv.Home.Private {
		value += " private"
	}
	return true, a.answer(ctx, paragraphs, a.button(actOpen, value, "Open a case and upload logs"))
}

// clusterOf is the cluster of the channel below whose folders the first place lies, else its default one.
func (a *act) clusterOf(places []string) string {
	for _, c := range a.rule.Clusters {
		if len(places) == 0 {
			break
		}
		if _, ok := below(places[0], a.policy.Clusters[c].Roots); ok {
			return c
		}
	}
	return a.rule.Clusters[0]
}

// chooseCluster asks all clusters of the channel for a job. Several may know it, because each counts its own jobs.
func (a *act) chooseCluster(ctx context.Context, inv workflow.Investigation) error {
	look, cancel := context.WithTimeout(ctx, locateWait)
	defer cancel()
	var know []string
	for _, c := range a.rule.Clusters {
		found, err := a.Flow.Fetch.Locate(look, c, inv.Job)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Who may not see it learns nothing about it: a job that is not permitted is one that is not known.
		if err == nil && len(found.Places) > 0 && a.policy.owned(a.rule, a.in.User, found.Users) {
			know = append(know, c)
		}
	}
	switch len(know) {
	case 0:
		inv.Cluster = a.rule.Clusters[0]
		return a.open(ctx, inv, say(searchedAll, list(a.rule.Clusters), inv.Job))
	case 1:
		inv.Cluster = know[0]
		return a.open(ctx, inv, "")
	}
	var buttons []blockkit.Button
	for _, c := range know[:min(len(know), 5)] {
		value := c + ":" + inv.Job
		if inv.Home.Private {
			value += " private"
		}
		if inv.Watch.By != "" {
			value = "watch " + value
		}
		b := a.button(actCluster, value, c)
		b.ActionID += "/" + c
		buttons = append(buttons, b)
	}
	return a.answer(ctx, []string{say(severalClusters, inv.Job, list(know))}, buttons...)
}

// open opens an investigation. Private in its home says whether the answer is for the person alone.
func (a *act) open(ctx context.Context, inv workflow.Investigation, remark string) error {
	if inv.Home.Channel == "" {
		private := inv.Home.Private && !a.info.Direct
		inv.Home = workflow.Home{Team: a.in.Team, Channel: a.in.Channel, Private: private || a.info.Direct}
		if private {
			inv.Home.AskedIn = a.in.Channel
			channel, err := a.Surface.Direct(ctx, a.in.User)
			if err != nil {
				return fmt.Errorf("opening direct messages: %w", err)
			}
			inv.Home.Channel = channel
		}
	}
	inv.Home.Requester = a.in.User
	if all, err := a.watchesRunning(ctx); err != nil {
		return err
	} else if all {
		inv.Watch.By = a.in.User
	}
	ahead, err := a.ahead(ctx)
	if err != nil {
		return err
	}
	if inv.ID, err = a.Store.NewID(ctx); err != nil {
		return err
	}
	var text string
	switch to := link(workflow.LinkPlaceholder); {
	case inv.Again != "":
		text = say(rerunStarted, orUnknown(inv.Job), inv.Again, inv.ID, to)
	case inv.Job == "":
		text = say(startedPaths, inv.ID, to)
	case ahead >= max(a.Analyses, 1):
		text = say(queued, inv.Job, inv.ID, ahead, plural(ahead, "other is", "others are"), to)
	case inv.Home.Private:
		text = say(startedPrivate, inv.Job, inv.ID, to)
	default:
		text = say(started, inv.Job, inv.ID, to)
	}
	paragraphs := []string{text}
	if remark != "" {
		paragraphs = append(paragraphs, remark)
	}
	p, err := a.post(inv.ID, workflow.KeyCase, paragraphs)
	if err != nil {
		return err
	}
	err = a.Flow.Open(ctx, inv, workflow.Input{Actor: a.in.User, Done: a.lease, Posts: []workflow.Post{p}})
	if errors.Is(err, workflow.ErrOpen) {
		return a.isOpen(ctx, inv)
	}
	return err
}

// ahead counts the investigations that are worked on or wait for their turn.
func (a *act) ahead(ctx context.Context) (int, error) {
	jobs, err := a.Store.Waiting(ctx, workflow.JobRun)
	if err != nil {
		return 0, err
	}
	ids := map[string]bool{}
	for _, j := range jobs {
		ids[j.Investigation] = true
	}
	return len(ids), nil
}

// isOpen answers a second question about a run that is being investigated.
func (a *act) isOpen(ctx context.Context, inv workflow.Investigation) error {
	inv.State = workflow.Requested
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Cluster: inv.Cluster, Job: inv.Job, Open: true})
	if err != nil {
		return err
	}
	for _, s := range rows {
		other, err := a.Store.Load(ctx, s.ID)
		if err != nil || other.OpenKey() != inv.OpenKey() {
			continue
		}
		if a.rule.restricts() && !a.sees(other) {
			found, err := a.Flow.Fetch.Locate(ctx, inv.Cluster, inv.Job)
			if err != nil {
				return err
			}
			if !a.policy.owned(a.rule, a.in.User, found.Users) {
				return a.refuse(ctx, other.ID, refusedCase, unknownHere, inv.Job)
			}
		}
		if len(inv.Places) > 0 && !other.Held && a.sees(other) { // logs were named with the question
			return a.giveLogs(ctx, other, inv.Places, logsOfOpen, other.ID, link(workflow.LinkPlaceholder))
		}
		row, _ := workflow.About(other.State)
		change := workflow.Change{Done: a.lease}
		if other.Held { // begun by itself, and shown to nobody: now somebody wants to see it
			if err := a.show(ctx, &other, &change); err != nil {
				return err
			}
		}
		p, err := a.post(other.ID, workflow.KeyCase,
			[]string{say(alreadyOpen, orUnknown(inv.Job), other.ID, person(other.Home.Requester), row.Doing, link(workflow.LinkPlaceholder))},
			a.button(actRerun, name(&other), "Run again"))
		if err != nil {
			return err
		}
		change.Posts = append(change.Posts, p)
		return again(a.Store.Save(ctx, change))
	}
	return errLater{busyWait} // it was closed in the meantime
}

// show adds to a change what shows an investigation that was held.
func (a *act) show(ctx context.Context, inv *workflow.Investigation, change *workflow.Change) error {
	st, n, err := note[channelState](ctx, a.Store, noteChannel(inv.Home.Channel))
	if err != nil {
		return err
	}
	posts, err := a.unveil(ctx, inv, st.of(inv.ID), "", false)
	if err != nil {
		return err
	}
	if n, err = with(n, st); err != nil {
		return err
	}
	change.Investigation, change.Posts, change.Notes = inv, posts, []workflow.Note{n}
	change.Entries = []workflow.Entry{{Kind: "posted", Actor: a.in.User, Text: "shown in the channel because someone asked for it"}}
	return nil
}

// rerun puts an investigation aside and begins anew.
func (a *act) rerun(ctx context.Context, old workflow.Investigation) error {
	event := workflow.Cancel
	if slices.Contains([]workflow.State{workflow.Reported, workflow.Disputed, workflow.Fixing, workflow.VerifyingFix, workflow.Isolating}, old.State) {
		event = workflow.Close
	}
	if row, _ := workflow.About(old.State); row.Kind != workflow.Settled {
		if event == workflow.Cancel {
			if ok, err := a.trusted(ctx, old); err != nil {
				return err
			} else if !ok {
				return a.refuse(ctx, old.ID, refusedPerson, notYours, "stop "+old.ID+", which is at work", person(old.Home.Requester))
			}
		}
		// Two changes: were the bot to die between them, handling this again would find the old one put aside.
		err := a.Flow.Handle(ctx, old.ID, workflow.Input{Event: event, Actor: a.in.User, Text: "it is run again"})
		var not *workflow.NotAllowedError
		if errors.As(err, &not) || errors.Is(err, workflow.ErrConflict) {
			return errLater{0}
		}
		if err != nil {
			return err
		}
	}
	inv := workflow.Investigation{Cluster: old.Cluster, Job: old.Job, Again: old.ID}
	inv.Home = old.Home
	inv.Home.Shared = ""
	uploads := slices.ContainsFunc(old.Places, func(p string) bool { return a.Spool != "" && within(p, a.Spool) })
	if old.Job == "" || uploads {
		inv.Places = old.Places
	}
	return a.open(ctx, inv, "")
}

// giveLogs adds files that people named to an investigation. The answer counts the files; more fills in the rest of it.
func (a *act) giveLogs(ctx context.Context, inv workflow.Investigation, paths []string, answer situation, more ...any) error {
	rule, ok := a.policy.rule(inv.Home)
	if !ok || rule.ReadOnly {
		return a.refuse(ctx, inv.ID, refusedReadOnly, readOnly)
	}
	places, ok, err := a.allowed(ctx, rule, paths)
	if !ok {
		return err
	}
	return a.apply(ctx, inv, workflow.Input{Event: workflow.LogsGiven, Places: places}, answer, append([]any{len(places), plural(len(places), "place", "places")}, more...)...)
}

// allowed checks that paths lie below the folders of a rule, links followed, and answers where one does not.
func (a *act) allowed(ctx context.Context, rule Rule, paths []string) (places []string, ok bool, err error) {
	if len(paths) == 0 {
		return nil, true, nil
	}
	roots := a.policy.roots(rule)
	if len(roots) == 0 {
		return nil, false, a.refuse(ctx, "", refusedPath, noRoots)
	}
	for _, p := range paths {
		real, ok := below(p, roots)
		if ok && rule.restricts() {
			ok = false
			if a.Owners != nil {
				owners, err := a.Owners(ctx, real)
				ok = err == nil && a.policy.owned(rule, a.in.User, owners)
			}
		}
		if !ok {
			return nil, false, a.refuse(ctx, "", refusedPath, forbiddenPath, code(shown(p)), list(roots))
		}
		places = append(places, real)
	}
	return places, true, nil
}

// below resolves a path and says whether what it leads to lies below one of the roots. A path that climbs is refused
// even where it would end up inside: nobody needs one.
func below(path string, roots []string) (string, bool) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) || slices.Contains(strings.Split(path, "/"), "..") {
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return "", false
	}
	for _, root := range roots {
		if root, err := filepath.EvalSymlinks(root); err == nil && within(real, root) {
			return real, true
		}
	}
	return "", false
}

// within says whether a clean path is the folder or lies below it.
func within(path, folder string) bool {
	folder = filepath.Clean(folder)
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// startView is the modal of the bare command.
func (a *act) startView(ctx context.Context) (blockkit.View, error) {
	recent, err := a.recent(ctx)
	if err != nil {
		a.Log.Warn("the user's recent jobs are unknown", "error", err)
	}
	return messages.StartView(a.in.Channel, a.rule.Clusters, recent, ""), nil
}
