package desk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"faultline/chat"
	"faultline/config"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// teamLogs is what the people of a channel have said about where their logs are.
type teamLogs struct {
	Clusters map[string]teamTemplate `json:"clusters,omitempty"`
	// Drafts are what was tried and not found well, by who tried it: kept in case they want it all the same.
	Drafts map[string]teamTemplate `json:"drafts,omitempty"`
}

// teamTemplate are names of logs on one cluster.
type teamTemplate struct {
	Cluster   string    `json:"cluster"`
	Templates []string  `json:"templates"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Job       string    `json:"job"` // that they were tried on
	Files     int       `json:"files"`
	Complete  bool      `json:"complete"`
}

const (
	maxTemplates = 8
	maxTemplate  = 500
	maxDrafts    = 50
	actSetup     = "setup_save"
)

func noteLogs(channel string) string { return "logs/channel/" + channel }

// Templates are the names, by cluster, that the people of an investigation's channel have said their logs have.
func Templates(ctx context.Context, store workflow.Durable, inv workflow.Investigation) (map[string][]string, error) {
	st, _, err := note[teamLogs](ctx, store, noteLogs(orElse(inv.Home.AskedIn, inv.Home.Channel)))
	if err != nil || len(st.Clusters) == 0 {
		return nil, err
	}
	out := map[string][]string{}
	for cluster, t := range st.Clusters {
		out[cluster] = t.Templates
	}
	return out, nil
}

// setup does `setup`, `setup show`, `setup clear west` and `setup 4242 TEMPLATE…`.
func (a *act) setup(ctx context.Context, text string) error {
	words := split(strings.ReplaceAll(text, "`", " "))
	if !a.ruled || len(a.rule.Clusters) == 0 {
		return a.refuse(ctx, "", refusedChannel, unboundChannel)
	}
	verb := ""
	if len(words) > 0 {
		verb = strings.ToLower(words[0])
	}
	if verb == "show" {
		return a.setupShow(ctx)
	}
	if ok, err := a.mayconfigure(ctx); !ok {
		return err
	}
	switch {
	case verb == "clear":
		return a.setupClear(ctx, words[1:])
	case a.Prover == nil:
		return a.say(ctx, setupOff)
	case verb == "" && a.in.Kind == chat.Command && a.in.Trigger != "":
		return a.window(ctx, a.setupView)
	case verb == "":
		return a.say(ctx, setupWhat, code(a.Command+" setup 12345 {user}/logs/error-%j-%n.err"))
	}
	var o order
	if o.name(words[0]) {
		words = words[1:]
	}
	return a.propose(ctx, o.cluster, o.job, words)
}

// mayconfigure answers those who may not change what holds for a channel.
func (a *act) mayconfigure(ctx context.Context) (bool, error) {
	if a.rule.ReadOnly {
		return false, a.refuse(ctx, "", refusedReadOnly, readOnly)
	}
	ok, err := a.among(ctx, a.rule.Trusted, a.policy.Admins)
	if err == nil && !ok {
		err = a.refuse(ctx, "", refusedPerson, adminsOnly, "set this channel's log location")
	}
	return ok, err
}

// propose tries names on a job and keeps them where they find all of its logs.
func (a *act) propose(ctx context.Context, cluster, job string, templates []string) error {
	for _, c := range a.rule.Clusters {
		if strings.EqualFold(c, cluster) {
			cluster = c
		}
	}
	if cluster == "" {
		cluster = a.rule.Clusters[0]
	}
	if !slices.Contains(a.rule.Clusters, cluster) {
		return a.say(ctx, unknownCluster, cluster, list(a.rule.Clusters))
	}
	if wrong := wrongTemplates(templates); wrong != "" {
		return a.say(ctx, setupWrong, wrong)
	}
	if job == "" {
		var err error
		if job, err = a.lastJob(ctx, cluster); err != nil {
			return err
		}
	}
	if job == "" {
		return a.say(ctx, setupWhich, code(a.Command+" setup 12345 "+strings.Join(templates, " ")))
	}
	proof, err := a.Prover.Prove(ctx, cluster, job, templates)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// It looks like a job that nobody knows, also where trying it failed: the reason would tell that it is there.
	if (err == nil || len(proof.Users) > 0) && !a.policy.owned(a.rule, a.in.User, proof.Users) {
		return a.refuse(ctx, "", refusedCase, setupFailed, job, cluster, fmt.Sprintf("the cluster has no job %s; give one of your finished jobs", job))
	}
	if err != nil {
		return a.say(ctx, setupFailed, job, cluster, err)
	}
	t := teamTemplate{Cluster: cluster, Templates: templates, By: a.in.User, At: a.Now().UTC(), Job: proof.Job, Files: proof.Files, Complete: proof.Complete && proof.Files > 0}
	lines := []string{say(setupTried, proof.Job, cluster)}
	const most = 12
	for i, s := range proof.Says {
		if i == most {
			break
		}
		lines = append(lines, fill("• %s", s))
	}
	if t.Complete {
		return a.keepTemplate(ctx, t, append(lines, say(setupSaved, cluster, a.Command)))
	}
	st, n, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return err
	}
	if st.Drafts == nil || len(st.Drafts) >= maxDrafts {
		st.Drafts = map[string]teamTemplate{}
	}
	st.Drafts[a.in.User] = t
	return a.storeLogs(ctx, n, st, "", append(lines, say(setupUnproven, a.Command)), a.button(actSetup, t.id(), "Save anyway"))
}

// wrongTemplates says what makes names unfit, "" where nothing does.
func wrongTemplates(templates []string) string {
	switch {
	case len(templates) == 0:
		return "no log file pattern was given"
	case len(templates) > maxTemplates:
		return fmt.Sprintf("that's %d patterns, more than the limit of %d", len(templates), maxTemplates)
	}
	for _, t := range templates {
		if len(t) > maxTemplate {
			return fmt.Sprintf("a pattern is longer than %d characters", maxTemplate)
		}
		if wrong := config.CheckTemplate(t); wrong != "" {
			return wrong
		}
	}
	return ""
}

// id tells a draft from a later one.
func (t teamTemplate) id() string {
	return short(t.Cluster + "\x00" + strings.Join(t.Templates, "\x00"))
}

// lastJob is the newest job of this channel that does not run.
func (a *act) lastJob(ctx context.Context, cluster string) (string, error) {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Channel: a.in.Channel, Limit: 50})
	if err != nil {
		return "", err
	}
	for _, s := range rows {
		row, _ := workflow.About(s.State)
		if s.Job != "" && s.Cluster == cluster && row.Kind != workflow.Working && s.State != workflow.AwaitingEnd && (!a.info.Direct || s.Requester == a.in.User) {
			return s.Job, nil
		}
	}
	return "", nil
}

// saveDraft keeps what was not found well, because the person wants it.
func (a *act) saveDraft(ctx context.Context) error {
	if ok, err := a.mayconfigure(ctx); !ok {
		return err
	}
	st, _, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return err
	}
	t, ok := st.Drafts[a.in.User]
	if !ok || t.id() != a.in.Value || !slices.Contains(a.rule.Clusters, t.Cluster) {
		return a.say(ctx, setupStale, a.Command)
	}
	return a.keepTemplate(ctx, t, []string{say(setupAnyway, t.Cluster, a.Command)})
}

// keepTemplate makes names count.
func (a *act) keepTemplate(ctx context.Context, t teamTemplate, answer []string) error {
	st, n, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return err
	}
	if st.Clusters == nil {
		st.Clusters = map[string]teamTemplate{}
	}
	st.Clusters[t.Cluster] = t
	delete(st.Drafts, a.in.User)
	how := fmt.Sprintf("tried on job %s: %d files, complete: %t", t.Job, t.Files, t.Complete)
	return a.storeLogs(ctx, n, st, fmt.Sprintf("logs of %s in %s match %s (%s)", t.Cluster, a.in.Channel, strings.Join(t.Templates, " "), how), answer)
}

// storeLogs writes what holds for the channel, with the answer and, where it is not empty, a line of the audit trail.
func (a *act) storeLogs(ctx context.Context, n workflow.Note, st teamLogs, audit string, answer []string, buttons ...blockkit.Button) error {
	n, err := with(n, st)
	if err != nil {
		return err
	}
	p, err := a.post("", "", answer, buttons...)
	if err != nil {
		return err
	}
	c := workflow.Change{Posts: []workflow.Post{p}, Notes: []workflow.Note{n}, Done: a.lease}
	if audit != "" {
		c.Entries = []workflow.Entry{{At: a.Now(), Kind: "answer", Actor: a.in.User, Text: audit}}
	}
	return again(a.Store.Save(ctx, c))
}

// setupShow says what holds, who said so and when.
func (a *act) setupShow(ctx context.Context) error {
	st, _, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return err
	}
	var lines []string
	for _, c := range slices.Sorted(maps.Keys(st.Clusters)) {
		t := st.Clusters[c]
		if !slices.Contains(a.rule.Clusters, c) {
			continue
		}
		how := fmt.Sprintf("%s found on job %s", count(t.Files, "file"), t.Job)
		if !t.Complete {
			how += ", not all of them"
		}
		lines = append(lines, say(setupIs, c, code(strings.Join(t.Templates, "  ")), person(t.By), t.At.UTC().Format("2 January 15:04"), how))
	}
	if len(lines) == 0 {
		return a.say(ctx, setupNone, a.Command)
	}
	return a.answer(ctx, append(lines, say(setupOrder, a.Command)))
}

func (a *act) setupClear(ctx context.Context, words []string) error {
	st, n, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return err
	}
	cleared := []string{}
	for c := range st.Clusters {
		if len(words) == 0 || strings.EqualFold(words[0], c) {
			cleared = append(cleared, c)
		}
	}
	if len(cleared) == 0 {
		return a.say(ctx, setupNone, a.Command)
	}
	slices.Sort(cleared)
	for _, c := range cleared {
		delete(st.Clusters, c)
	}
	return a.storeLogs(ctx, n, st, fmt.Sprintf("log patterns for %s in %s: withdrawn", list(cleared), a.in.Channel), []string{say(setupCleared, list(cleared))})
}

// setupView is the window, with what holds now and the channel's last job.
func (a *act) setupView(ctx context.Context) (blockkit.View, error) {
	st, _, err := note[teamLogs](ctx, a.Store, noteLogs(a.in.Channel))
	if err != nil {
		return blockkit.View{}, err
	}
	job := ""
	if len(a.rule.Clusters) == 1 { // else it may be tried on another cluster, where the number is another job's
		if job, err = a.lastJob(ctx, a.rule.Clusters[0]); err != nil {
			return blockkit.View{}, err
		}
	}
	return messages.SetupView(a.in.Channel, a.rule.Clusters, st.Clusters[a.rule.Clusters[0]].Templates, job), nil
}

// setupSent is the window when it comes back.
func (a *act) setupSent(ctx context.Context) error {
	f := a.in.View.Fields
	a.in.Channel = a.in.View.Private
	if ok, err := a.enter(ctx); !ok {
		return err
	}
	if !a.ruled || len(a.rule.Clusters) == 0 {
		return a.refuse(ctx, "", refusedChannel, unboundChannel)
	}
	if ok, err := a.mayconfigure(ctx); !ok {
		return err
	}
	if a.Prover == nil {
		return a.say(ctx, setupOff)
	}
	o := order{}
	if typed := strings.TrimSpace(f[messages.FieldJob]); typed != "" && !o.name(typed) {
		return a.say(ctx, malformed, code(shown(typed)))
	}
	return a.propose(ctx, orElse(o.cluster, f[messages.FieldCluster]), o.job, strings.Fields(f[messages.FieldTemplates]))
}

// checkSetup looks at the window while it is open.
func checkSetup(f map[string]string) map[string]string {
	if wrong := wrongTemplates(strings.Fields(f[messages.FieldTemplates])); wrong != "" {
		return map[string]string{messages.FieldTemplates: plain(say(setupWrong, errors.New(wrong)))}
	}
	var o order
	if typed := strings.TrimSpace(f[messages.FieldJob]); typed != "" && !o.name(typed) {
		return map[string]string{messages.FieldJob: plain(say(fieldJob))}
	}
	return nil
}
