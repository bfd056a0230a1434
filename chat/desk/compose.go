package desk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// Composer puts what happens to an investigation into posts: one case file that is edited in place, and a thread under it
// that only grows. It is the Compose of a workflow.Flow.
type Composer struct {
	Blobs Blobs
	// Page is the address of the web page of a case, "" where it has none; nil: no case has one.
	Page func(inv *workflow.Investigation) string

	picture func(w io.Writer, r *incident.Report) error // nil = the rank map; tests of other things save its time
}

// Blobs keeps the bytes of attachments. Content that is put twice is kept under one key.
type Blobs interface {
	Put(ctx context.Context, content []byte) (key string, err error)
}

// Compose implements workflow.Composer.
func (c *Composer) Compose(ctx context.Context, inv *workflow.Investigation, n workflow.Notice) ([]workflow.Post, error) {
	if inv.Held {
		return nil, nil
	}
	d := &draft{inv: inv, n: n, page: c.Page, final: n.Event == workflow.Triaged || n.Event == workflow.Correlated}
	if opened(n) {
		d.send(workflow.PostMessage, workflow.KeyCase, "", blockkit.Message{}) // its words come last, when all is noted
	}
	d.questionsSettled()
	if n.Report != nil {
		if err := c.verdict(ctx, d); err != nil {
			return nil, err
		}
	}
	if err := c.event(ctx, d); err != nil {
		return nil, err
	}
	if err := c.questionsAsked(ctx, d); err != nil {
		return nil, err
	}
	if n.Due > 0 {
		d.due()
	}
	if n.Rest != nil {
		d.thread(fmt.Sprintf("rest-%d", inv.Version+1), messages.RestPost(n.Rest.Open(), nextSteps(n.Rest)))
		d.about("rest")
	}
	d.caseFile()
	return d.posts, d.err
}

// Publish shows an investigation that was Held so far as if it began now: the case file and all that it has to say. unasked: no
// person waits for it.
func (c *Composer) Publish(ctx context.Context, inv *workflow.Investigation, unasked bool) ([]workflow.Post, error) {
	inv.Held = false
	n := workflow.Notice{Event: workflow.Start, Report: inv.Report, Look: inv.Looked, Asks: inv.Open, Unasked: unasked}
	d := &draft{inv: inv, n: n, page: c.Page, final: inv.State == workflow.Reported}
	d.send(workflow.PostMessage, workflow.KeyCase, "", blockkit.Message{})
	if inv.Report != nil {
		if err := c.verdict(ctx, d); err != nil {
			return nil, err
		}
		if inv.State == workflow.Reported {
			if err := c.final(ctx, d); err != nil {
				return nil, err
			}
		}
	}
	if err := c.questionsAsked(ctx, d); err != nil {
		return nil, err
	}
	d.caseFile()
	for i := range d.posts {
		d.posts[i].Answer = !unasked
	}
	return d.posts, d.err
}

// Holding implements workflow.Composer.
func (c *Composer) Holding(inv *workflow.Investigation) (workflow.Post, error) {
	d := &draft{inv: inv}
	d.note("holding", say(threadHolding, workflow.UnaskedMost))
	return d.posts[0], d.err
}

// opened says whether the notice is the first of an investigation.
func opened(n workflow.Notice) bool { return n.Event == workflow.Start && n.From == "" }

// draft collects the posts of one notice.
type draft struct {
	inv   *workflow.Investigation
	n     workflow.Notice
	page  func(inv *workflow.Investigation) string
	final bool // the verdict comes once more, with its files, after the last reading or at once
	posts []workflow.Post
	err   error
}

// send adds a post; thread is the key of the message that it goes under.
func (d *draft) send(kind workflow.PostKind, key, thread string, m blockkit.Message, files ...workflow.Attachment) {
	b, err := payload(m)
	if err != nil && d.err == nil {
		d.err = err
	}
	d.posts = append(d.posts, workflow.Post{
		Investigation: d.inv.ID, Kind: kind, Key: key, Channel: d.inv.Home.Channel, Thread: thread, Payload: b, Files: files,
	})
}

// thread adds a message under the case file.
func (d *draft) thread(key string, m blockkit.Message) {
	d.send(workflow.PostMessage, key, workflow.KeyCase, m)
}

// note adds sentences under the case file. The count of saves makes the key one of its own.
func (d *draft) note(name string, paragraphs ...string) {
	d.thread(fmt.Sprintf("%s-%d", name, d.inv.Version+1), message(paragraphs))
	d.about(name)
}

// about gives the newest post a topic.
func (d *draft) about(topic string) { d.posts[len(d.posts)-1].Topic = topic }

// caseFile writes the case file: at the opening as a message, later as an edit of it.
func (d *draft) caseFile() {
	c := caseOf(d.inv)
	if d.page != nil {
		c.Page = d.page(d.inv)
	}
	if opened(d.n) {
		c.Requester = "" // a name in a new message calls the person; in an edit of one it does not
	}
	m := messages.CaseFile(c)
	if opened(d.n) {
		b, err := payload(m)
		if err != nil && d.err == nil {
			d.err = err
		}
		d.posts[0].Payload = b
		return
	}
	d.send(workflow.PostEdit, workflow.KeyCase, "", m)
}

// verdict posts what was found, the first time and whenever it changes.
func (c *Composer) verdict(ctx context.Context, d *draft) error {
	inv, r := d.inv, d.n.Report
	if r.Triage != nil {
		d.triage(r)
		return nil
	}
	if inv.Verdicts > 0 && len(d.n.Revisions) == 0 {
		d.answered()
		return nil
	}
	told := headline(r)
	if inv.Told != "" && inv.Told != told && !slices.Contains(inv.Superseded, inv.Told) {
		inv.Superseded = append(inv.Superseded, inv.Told)
	}
	inv.Told = told
	if d.n.Look { // nothing to act on yet: the whole reading follows at once
		if !d.n.Unasked {
			d.thread("look", lookMessage(r))
		}
		return nil
	}
	inv.Verdicts++
	no := strconv.Itoa(inv.Verdicts)
	if len(d.n.Revisions) > 0 {
		m := messages.RevisionPost(d.n.Revisions, inv.Acting)
		if inv.Final > 0 {
			m = withParagraph(m, say(threadFiles))
		}
		d.thread("revision-"+no, m)
		d.about("revision")
	}
	if !d.n.Unasked || !d.final {
		d.thread("verdict-"+no, verdictMessage(r, verdictButtons(inv)))
		d.about("verdict")
	}
	if inv.Home.Shared != "" {
		d.share(r)
	}
	if d.n.Unasked || r.Verdict.Status == incident.NoFailure {
		return nil
	}
	file, err := c.rankMap(ctx, inv)
	if err != nil {
		return err
	}
	files, err := c.withTimes(ctx, inv, file)
	if err != nil {
		return err
	}
	d.send(workflow.PostFiles, "map-"+no, workflow.KeyCase, messages.Timeline(r), files...)
	return nil
}

// triage posts what a job that still runs looks like now. It is no verdict: that follows when the job has ended.
func (d *draft) triage(r *incident.Report) {
	d.inv.Told = headline(r)
	if d.n.Stall != "" {
		d.stall()
	}
	if d.n.Unasked || d.inv.Late.Quiet { // nobody wants to know it now
		return
	}
	buttons := []messages.Button{button(actLookNow, name(d.inv), "Look again")}
	if d.n.Look {
		buttons = nil
	}
	d.thread(fmt.Sprintf("triage-%d", d.inv.Version+1), withParagraph(messages.TriagePost(r, buttons), say(threadRunning)))
	d.about("triage")
}

// rankMap is the picture of the newest report.
func (c *Composer) rankMap(ctx context.Context, inv *workflow.Investigation) (workflow.Attachment, error) {
	var png bytes.Buffer
	picture := messages.RankMapPNG
	if c.picture != nil {
		picture = c.picture
	}
	if err := picture(&png, inv.Report); err != nil {
		return workflow.Attachment{}, err
	}
	title, alt := messages.RankMapCaption(inv.Report)
	return c.attach(ctx, "rankmap-"+strconv.Itoa(inv.Verdicts)+".png", title, alt, png.Bytes())
}

// withTimes adds the picture of the step times to the rank map, where it shows more than that the steps went on.
func (c *Composer) withTimes(ctx context.Context, inv *workflow.Investigation, rankMap workflow.Attachment) ([]workflow.Attachment, error) {
	files := []workflow.Attachment{rankMap}
	if !messages.TimesTell(inv.Report) {
		return files, nil
	}
	var png bytes.Buffer
	if err := messages.TimesPNG(&png, inv.Report); err != nil {
		return nil, err
	}
	title, alt := messages.TimesCaption(inv.Report)
	file, err := c.attach(ctx, "times-"+strconv.Itoa(inv.Verdicts)+".png", title, alt, png.Bytes())
	if err != nil {
		return nil, err
	}
	return append(files, file), nil
}

// keyShared names the message in the channel where a private investigation was shared.
const keyShared = "shared"

// share shows the newest verdict in the channel where it was shared, in the message that is there or in a first one.
func (d *draft) share(r *incident.Report) {
	d.send(workflow.PostEdit, keyShared, "", verdictMessage(r, nil))
	d.posts[len(d.posts)-1].Channel = d.inv.Home.Shared
	if len(d.n.Revisions) > 0 {
		d.send(workflow.PostMessage, "shared-revision-"+strconv.Itoa(d.inv.Verdicts), keyShared, messages.RevisionPost(d.n.Revisions, nil))
		d.about("shared-revision")
		d.posts[len(d.posts)-1].Channel = d.inv.Home.Shared
	}
}

// final posts the verdict once more after the last reading, with all of the report as files.
func (c *Composer) final(ctx context.Context, d *draft) error {
	inv, r := d.inv, d.inv.Report
	if r == nil || inv.Final >= inv.Verdicts {
		return nil
	}
	var html, md, js bytes.Buffer
	if err := messages.HTML(&html, r, messages.Extras{}); err != nil {
		return err
	}
	if err := messages.Markdown(&md, r); err != nil {
		return err
	}
	if err := messages.JSON(&js, r); err != nil {
		return err
	}
	var files []workflow.Attachment
	if d.n.Unasked && r.Verdict.Status != incident.NoFailure { // a picture is no message of its own
		file, err := c.rankMap(ctx, inv)
		if err != nil {
			return err
		}
		if files, err = c.withTimes(ctx, inv, file); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name, title string
		content     []byte
	}{
		{"report.html", "The whole report, for a browser", html.Bytes()},
		{"report.md", "The whole report, as text", md.Bytes()},
		{"report.json", "The whole report, for programs", js.Bytes()},
	} {
		file, err := c.attach(ctx, f.name, f.title, "", f.content)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	inv.Final = inv.Verdicts
	key := "final-" + strconv.Itoa(inv.Verdicts)
	if inv.Refiled > 0 {
		key += "-" + strconv.Itoa(inv.Refiled)
	}
	m := messages.FinalVerdict(r, inv.Home.Requester, inv.Verdicts > 1, d.n.Unasked, verdictButtons(inv))
	for _, l := range inv.Lessons {
		m = withParagraph(m, l)
	}
	d.send(workflow.PostFiles, key, workflow.KeyCase, m, files...)
	d.about("final")
	return nil
}

func (c *Composer) attach(ctx context.Context, name, title, alt string, content []byte) (workflow.Attachment, error) {
	key, err := c.Blobs.Put(ctx, content)
	if err != nil {
		return workflow.Attachment{}, fmt.Errorf("keeping %s: %w", name, err)
	}
	return workflow.Attachment{Name: name, Title: title, Alt: alt, Blob: key, Bytes: int64(len(content))}, nil
}

// event says what happened besides a verdict. Progress is in the case file and makes no post.
func (c *Composer) event(ctx context.Context, d *draft) error {
	inv, n := d.inv, d.n
	requester := person(inv.Home.Requester)
	switch n.Event {
	case workflow.Verified:
		if err := c.final(ctx, d); err != nil {
			return err
		}
		d.answered()
	case workflow.Fetched, workflow.NothingNew, workflow.NothingRead, workflow.AISFailed, workflow.AISFetched:
		d.answered() // somebody gave something and waits for a word
	case workflow.Correlated:
		d.answered()
		if inv.Final > 0 && inv.Final >= inv.Verdicts { // the files that are there do not have what the storage says
			inv.Final, inv.Refiled = inv.Verdicts-1, inv.Refiled+1
		}
	case workflow.SkipStorage:
		if n.Actor == "" {
			d.answered()
		}
	case workflow.Refuted:
		for _, s := range n.Says {
			inv.Notes = append(inv.Notes, fill("%s", sentence(s)))
		}
	case workflow.Fail:
		d.note("failed", say(threadFailed, requester, reason(n.Text)))
	case workflow.Cancel:
		d.note("cancelled", say(threadCancelled, person(n.Actor)))
	case workflow.Expire:
		if inv.State == workflow.Expired {
			d.note("expired", say(threadExpired, requester))
		}
	case workflow.Dispute:
		paragraphs := []string{say(threadDisputed, person(n.Actor))}
		if to := people(append([]string{inv.Home.Requester}, inv.Acting...), n.Actor); to != "" {
			paragraphs = append(paragraphs, say(threadActing, marks(to)))
		}
		d.note("disputed", append(paragraphs, outcomeText(inv.Outcome)...)...)
	case workflow.FixBegun:
		if n.Actor != "" {
			d.note("fix-begun", say(threadFixBegun, person(n.Actor)))
		}
	case workflow.FixClaimed:
		said := say(threadFixClaimed, person(n.Actor), inv.Fix.Job, inv.Fix.Case)
		if n.Actor == "" {
			said = say(threadFixNext, inv.Fix.Job, inv.Fix.Case)
		}
		d.note("fix-claimed", said)
	case workflow.FixHolds, workflow.FixFails, workflow.FixOpen:
		d.thread(fmt.Sprintf("fix-%d", inv.Version+1), messages.RerunPost(n.Rerun, inv.ID))
		d.about("fix")
		inv.Notes = append(inv.Notes, fill("%s", messages.RerunHeadline(n.Rerun)))
	case workflow.Isolate, workflow.TestEnded:
		if len(n.Tests) > 0 {
			if err := c.round(ctx, d); err != nil {
				return err
			}
		}
	case workflow.SearchEnded:
		d.searchEnded()
	case workflow.Uphold:
		inv.Outcome = nil
		d.note("upheld", say(threadUpheld, person(n.Actor)))
	case workflow.Close:
		switch {
		case n.Actor == "":
			inv.Notes = append(inv.Notes, say(threadClosedAuto))
		case inv.Outcome != nil:
			d.note("closed", append([]string{say(threadClosed, person(n.Actor), inv.Outcome.Verdict)}, outcomeText(inv.Outcome)...)...)
		default:
			inv.Notes = append(inv.Notes, say(noteClosed, n.Text))
		}
	}
	if n.Actor != "" && !opened(n) && n.Event != workflow.Tick && !slices.Contains(inv.Acting, n.Actor) {
		inv.Acting = append(inv.Acting, n.Actor)
	}
	return nil
}

// answered posts what a step has to say to somebody who gave something.
func (d *draft) answered() {
	var paragraphs []string
	for _, s := range d.n.Says {
		paragraphs = append(paragraphs, fill("%s", sentence(s)))
	}
	if len(paragraphs) > 0 {
		d.note("note", paragraphs...)
	}
}

// cameEvents say that what was asked for came without anybody's word.
var cameEvents = []workflow.Event{workflow.StillRuns, workflow.Looked, workflow.Triaged, workflow.AskStorage}

func (d *draft) questionsSettled() {
	for _, q := range d.n.Answered {
		how := say(askedNeedless)
		switch {
		case q.Given != "":
			how = say(askedAnswered, person(q.Given))
		case slices.ContainsFunc(d.inv.Without, q.Is) && d.n.Event == workflow.Tick:
			how = say(askedWithout, person(d.n.Actor))
		case q.Kind == workflow.AskLogs && d.n.Actor == "" && slices.Contains(cameEvents, d.n.Event):
			how = say(askedArrived)
		case d.n.Event == workflow.JobEnded:
			how = say(askedEnded)
		case d.n.Event == workflow.Expire:
			how = say(askedExpired)
		case d.n.Actor != "" && d.n.Event != workflow.Cancel && d.n.Event != workflow.Close:
			how = say(askedAnswered, person(d.n.Actor))
		}
		d.settled(q, how)
	}
	for _, q := range d.n.Changed {
		d.send(workflow.PostEdit, questionKey(q), "", questionMessage(d.inv, q, ""))
	}
	for _, q := range d.n.Expired {
		d.settled(q, say(askedExpired))
	}
	for _, q := range d.n.Reminders {
		d.thread("reminder-"+strconv.Itoa(q.ID), message([]string{say(threadReminder, person(d.inv.Home.Requester), q.Text)}))
	}
}

// settled takes the buttons of a question away. One that is not posted yet needs not be posted.
func (d *draft) settled(q workflow.Question, how string) {
	d.send(workflow.PostEdit, questionKey(q), "", questionMessage(d.inv, q, how))
	d.posts[len(d.posts)-1].Settles = true
}

func (c *Composer) questionsAsked(ctx context.Context, d *draft) error {
	for _, q := range d.n.Asks {
		d.thread(questionKey(q), questionMessage(d.inv, q, ""))
		if err := c.script(ctx, d, q); err != nil {
			return err
		}
	}
	return nil
}

func nextSteps(r *workflow.Rest) []messages.NextStep {
	var out []messages.NextStep
	for _, n := range r.Next {
		out = append(out, messages.NextStep{What: n.What, Command: n.Command})
	}
	return out
}

func questionKey(q workflow.Question) string { return "question-" + strconv.Itoa(q.ID) }

// reason makes an error fit for people: its first line, without what programs add.
func reason(text string) string {
	if text = firstLine(text); text == "" {
		return "reason unknown"
	}
	return clip(text)
}

// outcomeText is what people said about a verdict.
func outcomeText(o *workflow.Outcome) []string {
	if o == nil {
		return nil
	}
	var out []string
	if o.Mechanism != "" {
		out = append(out, fill("Actual cause: %s", mechanismTitle(o.Mechanism)))
	}
	if o.Cause != "" {
		out = append(out, fill("In their words: %s", o.Cause))
	}
	if o.Fix != "" {
		out = append(out, fill("What fixed it: %s", o.Fix))
	}
	return out
}

// people names everybody but one.
func people(ids []string, but string) string {
	var out []string
	for i, id := range ids {
		if id != but && !slices.Contains(ids[:i], id) {
			out = append(out, fill("%s", person(id)))
		}
	}
	return strings.Join(out, ", ")
}
