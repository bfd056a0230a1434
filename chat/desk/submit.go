package desk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"faultline/chat"
	"faultline/config"
	"faultline/messages"
	"faultline/messages/redact"
	"faultline/workflow"
)

// submit does what a modal says. The checks of the click that opened it are made again: time has passed.
func (a *act) submit(ctx context.Context) error {
	v := a.in.View
	if v == nil {
		return errors.New("a modal came back empty")
	}
	a.verb = v.Callback
	switch v.Callback {
	case messages.ViewStart:
		return a.startChosen(ctx)
	case messages.ViewSetup:
		return a.setupSent(ctx)
	case messages.ViewGlossary, messages.ViewLoading:
		return a.finish(ctx)
	}
	id, t := readValue(v.Private)
	inv, err := a.Store.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) { // forgotten while the modal was open: of its channel nothing is left
		if a.in.Channel, err = a.Surface.Direct(ctx, a.in.User); err != nil {
			return fmt.Errorf("opening direct messages: %w", err)
		}
		return a.say(ctx, noSuchCase, shown(id))
	}
	if err != nil {
		return fmt.Errorf("investigation %s of a modal: %w", shown(id), err)
	}
	if of, err := a.belongs(ctx, inv, t); err != nil {
		return err
	} else if !of { // of the channel that it was opened in nothing is left
		if a.in.Channel, err = a.Surface.Direct(ctx, a.in.User); err != nil {
			return fmt.Errorf("opening direct messages: %w", err)
		}
		return a.refuse(ctx, "", refusedCase, lostCase, id, a.Command)
	}
	a.place(inv)
	if ok, err := a.enter(ctx); !ok {
		return err
	}
	if rule, ok := a.policy.rule(inv.Home); !a.sees(inv) || !ok || rule.ReadOnly {
		return a.refuse(ctx, inv.ID, refusedCase, noSuchCase, id)
	}
	switch v.Callback {
	case messages.ViewUpload:
		return a.upload(ctx, inv, v.Files, t)
	case messages.ViewDispute:
		return a.dispute(ctx, inv)
	}
	if ok, err := a.trusted(ctx, inv); err != nil {
		return err
	} else if !ok {
		return a.refuse(ctx, inv.ID, refusedPerson, notYours, "do that", person(inv.Home.Requester))
	}
	switch v.Callback {
	case messages.ViewAIS:
		return a.access(ctx, inv, t)
	case messages.ViewClose:
		return a.close(ctx, inv)
	}
	return a.say(ctx, unknownButton)
}

// place says where the answer to a modal goes: modals happen in no channel.
func (a *act) place(inv workflow.Investigation) {
	if a.in.Channel != "" {
		return
	}
	a.in.Channel, a.thread = inv.Home.Channel, workflow.KeyCase
	if inv.Home.Private && inv.Home.Requester != a.in.User && inv.Home.Shared != "" {
		a.in.Channel, a.thread = inv.Home.Shared, ""
	}
}

// startChosen opens what was chosen in the modal of the bare command. Its private part is the channel.
func (a *act) startChosen(ctx context.Context) error {
	f := a.in.View.Fields
	a.in.Channel = a.in.View.Private
	text := f[messages.FieldJob]
	if strings.TrimSpace(text) == "" {
		text = f[messages.FieldRecent]
	}
	if ok, err := a.enter(ctx); !ok {
		return err
	}
	o := parse(text)
	if o.verb != "diagnose" && o.bad == "" {
		o.bad = text
	}
	o.verb = "diagnose"
	if o.bad == "" && o.job == "" && len(o.places) == 0 {
		o.bad = "nothing"
	}
	if c := f[messages.FieldCluster]; o.cluster == "" {
		o.cluster = c
	}
	return a.diagnose(ctx, o)
}

func (a *act) dispute(ctx context.Context, inv workflow.Investigation) error {
	o := a.outcome(messages.VerdictWrong)
	return a.apply(ctx, inv, workflow.Input{Event: workflow.Dispute, Text: o.Cause, Outcome: &o}, disputed)
}

func (a *act) close(ctx context.Context, inv workflow.Investigation) error {
	verdict := a.in.View.Fields[messages.FieldVerdict]
	if !slices.Contains([]string{messages.VerdictRight, messages.VerdictWrong}, verdict) {
		verdict = messages.VerdictUnknown
	}
	o := a.outcome(verdict)
	if before := inv.Outcome; before != nil && verdict == messages.VerdictWrong { // said when it was disputed
		if o.Mechanism == "" {
			o.Mechanism = before.Mechanism
		}
		if o.Cause == "" {
			o.Cause = before.Cause
		}
	}
	if err := a.apply(ctx, inv, workflow.Input{Event: workflow.Close, Text: "closed by a person", Outcome: &o}, closedNow); err != nil {
		return err
	}
	if a.Hooks.Outcome != nil && inv.Report != nil {
		a.Hooks.Outcome(inv.Report.Verdict.Mechanism, verdict)
	}
	return nil
}

// outcome reads what people say about a verdict.
func (a *act) outcome(verdict string) workflow.Outcome {
	f := a.in.View.Fields
	o := workflow.Outcome{
		Verdict: verdict, By: a.in.User, Cause: redact.String(f[messages.FieldText]), Fix: redact.String(f[messages.FieldFix]),
		Consent: strings.Contains(f[messages.FieldConsent], messages.ConsentYes),
	}
	if m := f[messages.FieldCause]; m != messages.OtherCause {
		o.Mechanism = m
	}
	return o
}

// dropped takes files that somebody put beside a mention in the thread of a case; what was written there is for people.
func (a *act) dropped(ctx context.Context) error {
	a.verb = "files"
	if a.in.Thread == "" {
		return a.say(ctx, filesNowhere, a.Command)
	}
	inv, found, err := a.ofThread(ctx)
	if err != nil {
		return err
	}
	if !found || !a.sees(inv) {
		return a.say(ctx, filesNowhere, a.Command)
	}
	if rule, ok := a.policy.rule(inv.Home); !ok || rule.ReadOnly {
		return a.refuse(ctx, inv.ID, refusedReadOnly, readOnly)
	}
	return a.upload(ctx, inv, a.in.Files, target{})
}

// upload takes files to the investigation.
func (a *act) upload(ctx context.Context, inv workflow.Investigation, files []chat.File, t target) error {
	switch {
	case len(files) == 0:
		return a.say(ctx, uploadNothing)
	case len(files) > a.Uploads.Files:
		return a.say(ctx, uploadTooMany, len(files), a.Uploads.Files)
	case !accepts(inv.State):
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	if row, _ := workflow.About(inv.State); row.Kind == workflow.Working {
		return errLater{busyWait} // before anything is fetched
	}
	for _, f := range files {
		if f.Bytes > a.Uploads.Bytes {
			return a.say(ctx, uploadTooLarge, code(shown(f.Name)), a.Uploads.Bytes>>20)
		}
	}
	// A folder of its own for each upload: two uploads may hold files of one name, and a repetition finds its own again.
	dir := filepath.Join(a.Spool, inv.ID, short(a.in.Key))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making room for an upload: %w", workflow.NotKept(err))
	}
	var places []string
	for i, f := range files {
		path := filepath.Join(dir, fileName(f.Name, i, places))
		if err := a.download(ctx, f, path); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var own *workflow.Fault
			if errors.As(err, &own) {
				return err
			}
			a.Log.Warn("could not fetch an upload", "investigation", inv.ID, "error", err)
			return a.say(ctx, uploadFailed, code(shown(f.Name)))
		}
		places = append(places, path)
	}
	in := workflow.Input{Event: workflow.LogsGiven, Places: places, Question: openQuestion(inv, t.number)}
	if slices.Contains(workflow.Allowed(inv.State), workflow.AISGiven) && (t.rest == actAISLogs || a.ofStorage(ctx, inv, places)) {
		in.Event, in.Text = workflow.AISGiven, "uploaded by "+a.in.User
	}
	return a.apply(ctx, inv, in, uploaded, len(places), plural(len(places), "file", "files"))
}

// ofStorage says that files are logs of storage daemons, whichever button they came by. Unpacking takes a while, so they are
// looked at only where such logs are waited for, or a name hints at them.
func (a *act) ofStorage(ctx context.Context, inv workflow.Investigation, places []string) bool {
	hinted := inv.State == workflow.AwaitingAIS || slices.ContainsFunc(places, func(p string) bool {
		return strings.Contains(strings.ToLower(filepath.Base(p)), "ais")
	})
	return hinted && a.OfStorage != nil && a.OfStorage(ctx, places)
}

// openQuestion is the number of a question if it is open, 0 otherwise.
func openQuestion(inv workflow.Investigation, id int) int {
	if slices.ContainsFunc(inv.Open, func(q workflow.Question) bool { return q.ID == id }) {
		return id
	}
	return 0
}

// download fetches a file unless an earlier attempt has.
func (a *act) download(ctx context.Context, f chat.File, path string) error {
	if info, err := os.Stat(path); err == nil && f.Bytes > 0 && info.Size() == f.Bytes {
		return nil
	}
	return a.Surface.Download(ctx, f, path, a.Uploads.Bytes)
}

// fileName makes a harmless name of what somebody called a file; names carry identity, so that as much as can be is kept.
func fileName(name string, i int, taken []string) string {
	name = filepath.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+=@,", r)) {
			return r
		}
		return '_'
	}, name)
	const longest = 120
	if len(name) > longest {
		name = name[len(name)-longest:]
	}
	name = strings.TrimLeft(name, ".-")
	if strings.Trim(name, "_.") == "" {
		name = "file"
	}
	if slices.ContainsFunc(taken, func(p string) bool { return filepath.Base(p) == name }) {
		name = strconv.Itoa(i+1) + "-" + name
	}
	return name
}

// access takes the access to the storage logs. The token is in the vault, never in the act; it goes back there when the
// act has to be handled again.
func (a *act) access(ctx context.Context, inv workflow.Investigation, t target) (err error) {
	if t.number != 0 && openQuestion(inv, t.number) == 0 {
		return a.stale(ctx, inv, actAccess)
	}
	f := a.in.View.Fields
	rule, _ := a.policy.rule(inv.Home)
	profile := f[messages.FieldProfile]
	if profile != "" && !slices.Contains(a.policy.profiles(rule, inv.Cluster), profile) {
		return a.refuse(ctx, inv.ID, refusedCluster, accessRefused, "this channel may not use it")
	}
	var secrets map[string]config.Secret
	if a.Vault != nil {
		secrets = a.Vault.Take(a.in.Key)
	}
	defer func() {
		if err != nil && secrets != nil {
			a.Vault.Put(a.in.Key, secrets)
		}
	}()
	typed := slices.Contains(a.in.View.Secrets, messages.FieldToken)
	access := chat.Access{Profile: profile, Endpoint: f[messages.FieldEndpoint], Token: secrets[messages.FieldToken], TLS: f[messages.FieldTLS], CA: f[messages.FieldCA]}
	switch {
	case profile == "" && typed && secrets == nil:
		return a.tokenLost(ctx, inv)
	case profile == "" && access.Endpoint == "": // a cluster may ask for no token, an address is needed
		return a.say(ctx, accessNothing)
	}
	by, answer, args := "provided by "+a.in.User, accessTyped, []any(nil)
	if profile != "" {
		by, answer, args = workflow.ByProfile(profile), accessProfile, []any{profile}
		access.Token = ""
	}
	if a.Storage == nil {
		if inv.State == workflow.AwaitingAIS { // nothing would ever come: the report need not wait
			return a.apply(ctx, inv, workflow.Input{Event: workflow.SkipStorage, Text: by + ", not used", Question: openQuestion(inv, t.number)}, accessKept)
		}
		return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
			inv.Storage = by
			return change{entry: "access to storage: " + by + "; not used, and wiped", answer: say(accessKept)}
		})
	}
	if err := a.Storage.Access(ctx, inv, access); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return a.say(ctx, accessRefused, err)
	}
	return a.apply(ctx, inv, workflow.Input{Event: workflow.AISGiven, Text: by, Question: openQuestion(inv, t.number)}, answer, args...)
}

// tokenLost says that a token was lost in a restart, and asks again: the question and its buttons are still there.
func (a *act) tokenLost(ctx context.Context, inv workflow.Investigation) error {
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Storage = "lost"
		return change{entry: "the token was lost in a restart before it could be used", answer: say(accessLost)}
	})
}
