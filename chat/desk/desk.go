// Package desk is what people say and what happens then: it reads commands, clicks and modals, checks who may do what,
// moves investigations, and composes everything that is posted. It knows no transport: chat.Inbound comes in, posts in the
// outbox go out.
package desk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"faultline/chat"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// Desk answers people. All members are set before the first use and not changed afterwards; what may be nil says so.
type Desk struct {
	Store    workflow.Durable
	Flow     *workflow.Flow // Deferred, with Compose
	Composer *Composer
	Surface  chat.Surface
	Vault    chat.Vault
	// Policy returns the rules that hold now.
	Policy func() *Policy
	// Storage takes the access to storage that somebody gave; nil: fetching storage logs is not built in.
	Storage Storage
	// Known is what is known of the wordings of lines; nil: what package knowledge holds.
	Known func() *knowledge.Catalogue
	// OfStorage says that files are, or hold, logs of storage daemons and none of a job; nil: nobody can tell.
	OfStorage func(ctx context.Context, paths []string) bool
	// Owners tells who owns a file, in names of the cluster; nil: nobody can tell, and channels that restrict whose jobs
	// they show take no paths.
	Owners func(ctx context.Context, path string) ([]string, error)
	// Recent lists failed jobs of a user (a name on the clusters), the newest first; nil: not known.
	Recent func(ctx context.Context, user string, clusters []string) ([]messages.RecentJob, error)
	// Unused says that a cluster has not given a number to any job, and which one it gives next; ok is false where that is not
	// proven. nil: nobody can tell.
	Unused func(ctx context.Context, cluster, job string) (next int, ok bool)
	// Prover tries where a team says that its logs are; nil: teams cannot say so.
	Prover workflow.Prover
	// Health is one line about the bot itself, for the home tab; nil: none.
	Health func(ctx context.Context) string
	// Spool is an existing directory for uploads.
	Spool string
	// Uploads bound what people may upload at a time.
	Uploads Limits
	// Command and Name are how people write the command ("/diagnose") and the bot ("@faultline").
	Command, Name string
	// Analyses is how many investigations are worked on at a time.
	Analyses int
	Now      workflow.Clock
	Log      *slog.Logger
	Hooks    Hooks
}

// Storage takes the access to the logs of a storage cluster.
type Storage interface {
	// Access keeps what was given in memory, for the investigation's next fetch. Its error is shown to the person.
	Access(ctx context.Context, inv workflow.Investigation, access chat.Access) error
	// Known says whether an access that was given before is still in memory.
	Known(id string) bool
}

// Limits bound an upload.
type Limits struct {
	Files int
	Bytes int64 // of one file
}

// Hooks tell what happened, for metrics; every one may be nil. Labels are from small fixed sets.
type Hooks struct {
	Handled func(kind, verb string, took time.Duration)
	Refused func(reason string)
	Outcome func(mechanism, verdict string)
	Buried  func(kind string)
	Failed  func(kind string) // one attempt
}

// errLater asks for another try soon; it is no failure.
type errLater struct{ after time.Duration }

func (e errLater) Error() string { return "not now; retrying in " + e.after.String() }

// act is one thing that a person did, while it is handled.
type act struct {
	*Desk
	policy *Policy
	in     chat.Inbound
	lease  *workflow.Lease
	verb   string // for metrics
	thread string // key of the message under which answers go, where the act happened in a window
	info   chat.ChannelInfo
	rule   Rule
	ruled  bool
}

// Handle does what a person asked for. Whatever it writes is one change together with the end of the lease's job, so that
// handling the same act again after a crash writes nothing twice; nil means that the job is finished.
func (d *Desk) Handle(ctx context.Context, lease *workflow.Lease, in chat.Inbound) error {
	a := &act{Desk: d, policy: d.Policy(), in: in, lease: lease}
	start := d.Now()
	err := a.handle(ctx)
	if err != nil {
		return fmt.Errorf("handling a %s (%s): %w", in.Kind, a.verb, err)
	}
	if d.Hooks.Handled != nil {
		d.Hooks.Handled(in.Kind, a.verb, d.Now().Sub(start))
	}
	return nil
}

func (a *act) handle(ctx context.Context) error {
	switch a.in.Kind {
	case chat.Command, chat.Mention:
		return a.typed(ctx)
	case chat.Click:
		return a.click(ctx)
	case chat.Submit:
		return a.submit(ctx)
	case chat.Dismiss:
		a.verb = "dismiss"
		return a.finish(ctx)
	case chat.Home:
		a.verb = "home"
		return a.home(ctx)
	}
	return fmt.Errorf("there is no kind %q", a.in.Kind)
}

// enter checks what holds for everything that is done in a channel, and says no where it must. ok means: go on.
func (a *act) enter(ctx context.Context) (ok bool, err error) {
	if a.in.Channel == "" {
		return true, nil
	}
	if a.info, err = a.Surface.ChannelInfo(ctx, a.in.Channel); err != nil {
		return false, fmt.Errorf("looking up the channel: %w", err)
	}
	a.rule, a.ruled = a.policy.of(a.in.Channel, a.info.Direct)
	if a.in.External && !a.rule.External {
		return false, a.refuse(ctx, "", refusedExternal, external)
	}
	return true, nil
}

// start checks what must hold where an investigation is opened.
func (a *act) start(ctx context.Context, private bool) (ok bool, err error) {
	switch {
	case a.info.Direct && a.policy.Direct == nil && !a.ruled:
		return false, a.refuse(ctx, "", refusedDirect, directOff)
	case !a.ruled || len(a.rule.Clusters) == 0:
		return false, a.refuse(ctx, "", refusedChannel, unboundChannel)
	case a.rule.ReadOnly:
		return false, a.refuse(ctx, "", refusedReadOnly, readOnly)
	case private || a.info.Direct:
		return true, nil
	case a.info.Archived:
		return false, a.say(ctx, archived)
	case !a.info.Member:
		return false, a.say(ctx, notInChannel, a.Name)
	case a.info.Shared && !a.rule.External:
		return false, a.refuse(ctx, "", refusedShared, sharedChannel)
	}
	return true, nil
}

// say answers, and nothing else happens.
func (a *act) say(ctx context.Context, s situation, args ...any) error {
	return a.answer(ctx, []string{say(s, args...)})
}

// answer is the one answer, seen by the person alone.
func (a *act) answer(ctx context.Context, paragraphs []string, buttons ...blockkit.Button) error {
	p, err := a.post("", "", paragraphs, buttons...)
	if err != nil {
		return err
	}
	return a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Done: a.lease})
}

// refuse answers no, and keeps in the ledger of the investigation (or, without one, of the bot) that somebody tried.
func (a *act) refuse(ctx context.Context, id, reason string, s situation, args ...any) error {
	p, err := a.post("", "", []string{say(s, args...)})
	if err != nil {
		return err
	}
	if a.Hooks.Refused != nil {
		a.Hooks.Refused(reason)
	}
	e := workflow.Entry{At: a.Now(), Kind: "refused", Actor: a.in.User, Text: fmt.Sprintf("%s in %s: %s", a.verb, a.in.Channel, reason)}
	return a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{e}, About: id, Done: a.lease})
}

// finish ends the act without a word.
func (a *act) finish(ctx context.Context) error { return a.Store.Finish(ctx, a.lease) }

// post is an answer that only the person sees. linkTo is the key of the message whose link it waits for.
func (a *act) post(investigation, linkTo string, paragraphs []string, buttons ...blockkit.Button) (workflow.Post, error) {
	b, err := payload(message(paragraphs, buttons...))
	thread := ""
	if investigation != "" { // who sent a window from the thread looks for the answer there
		thread = a.thread
	}
	return workflow.Post{
		Investigation: investigation, Kind: workflow.PostEphemeral, Key: "answer/" + short(a.in.Key), Thread: thread,
		Channel: a.in.Channel, ThreadTS: a.in.Thread, User: a.in.User, Respond: a.in.Respond, LinkTo: linkTo, Payload: b,
	}, err
}

// apply gives an input to the flow, together with the answer and the end of the job.
func (a *act) apply(ctx context.Context, inv workflow.Investigation, in workflow.Input, s situation, args ...any) error {
	p, err := a.post(inv.ID, "", []string{say(s, args...)})
	if err != nil {
		return err
	}
	in.Actor, in.Done, in.Posts = a.in.User, a.lease, append(in.Posts, p)
	err = a.Flow.Handle(ctx, inv.ID, in)
	var not *workflow.NotAllowedError
	switch {
	case errors.As(err, &not):
		row, _ := workflow.About(not.State)
		gives := in.Event == workflow.LogsGiven || in.Event == workflow.Evidence || in.Event == workflow.AISGiven
		if row.Kind == workflow.Working && gives {
			return errLater{busyWait} // a step is at work; what was given fits when it is done
		}
		return a.say(ctx, wrongState, row.Doing)
	case errors.Is(err, workflow.ErrConflict):
		return errLater{0}
	}
	return err
}

// busyWait is how long an answer waits for a step that is at work.
const busyWait = 2 * time.Second

// change is what an act alters outside of the table of states: what is noted, not where the investigation stands.
type change struct {
	notice workflow.Notice // questions that were answered
	posts  []workflow.Post
	jobs   []workflow.Job
	entry  string // for the ledger
	answer string
	none   bool // nothing is changed: only the answer
}

// change alters an investigation; its case file is edited with it.
func (a *act) change(ctx context.Context, id string, alter func(inv *workflow.Investigation) change) error {
	inv, err := a.Store.Load(ctx, id)
	if err != nil {
		return fmt.Errorf("investigation %s: %w", id, err)
	}
	c := alter(&inv)
	if c.none {
		return a.answer(ctx, []string{c.answer})
	}
	c.notice.Event, c.notice.From, c.notice.Actor = workflow.Tick, inv.State, a.in.User
	posts, err := a.Composer.Compose(ctx, &inv, c.notice)
	if err != nil {
		return err
	}
	posts = append(posts, c.posts...)
	for i := range posts {
		posts[i].Answer = true
	}
	p, err := a.post(inv.ID, "", []string{c.answer})
	if err != nil {
		return err
	}
	err = a.Store.Save(ctx, workflow.Change{
		Investigation: &inv, Posts: append(posts, p), Jobs: c.jobs, Done: a.lease,
		Entries: []workflow.Entry{{At: a.Now(), Kind: "answer", Actor: a.in.User, Text: c.entry}},
	})
	if errors.Is(err, workflow.ErrConflict) {
		return errLater{0}
	}
	return err
}

// trusted says whether the person may give access, cancel, mute or close.
func (a *act) trusted(ctx context.Context, inv workflow.Investigation) (bool, error) {
	if inv.Home.Requester == a.in.User {
		return true, nil
	}
	rule, _ := a.policy.rule(inv.Home)
	return a.among(ctx, rule.Trusted, a.policy.Admins)
}

// short is a key of bounded length.
func short(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

func list(items []string) string {
	const most = 12
	if len(items) > most {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", len(items)-most)
	}
	return strings.Join(items, ", ")
}
