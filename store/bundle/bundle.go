// Package bundle writes an incident as it is exported and archived: the audit trail for programs and for people, every
// report that was posted, and the cited log files. Everything in it has been through messages/redact. The same incident gives
// the same bytes.
package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

// Schema names the version of incident.json.
const Schema = "faultline.incident/v1"

// Store is what is read of a workflow.Durable.
type Store interface {
	Load(ctx context.Context, id string) (workflow.Investigation, error)
	Ledger(ctx context.Context, id string) ([]workflow.Entry, error)
	Posts(ctx context.Context, investigation string) ([]workflow.Post, error)
}

// Blobs is what is read of the store of attachments. A key without content is an error that is fs.ErrNotExist.
type Blobs interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// Source is where the parts of an incident are.
type Source struct {
	Store Store
	Blobs Blobs // nil: attachments are said to be missing
	// OpenLog opens a log and unpacks it where it is compressed; nil is os.Open, which does not.
	OpenLog func(path string) (io.ReadCloser, error)
	// Open opens a log as it is stored; nil is os.Open.
	Open func(path string) (*os.File, error)
	// Raw says that a log may go into a zip as it is stored, with its secrets; nil: none may.
	Raw func(file string, info fs.FileInfo) bool
	// Price is what a GPU costs, for post-mortems.
	Price messages.Price
}

// ErrForgotten says that the incident was forgotten: all that is left is that it was.
var ErrForgotten = errors.New("it was forgotten")

// Incident is incident.json: what was asked, done, found and said about one incident. All of its text is redacted.
type Incident struct {
	Schema        string              `json:"schema"`
	Investigation Investigation       `json:"investigation"`
	Engine        *incident.Engine    `json:"engine"` // of the newest report; null while there is none
	Verdict       *Verdict            `json:"verdict"`
	Superseded    []string            `json:"superseded"` // headlines of verdicts that no longer hold
	Revisions     []incident.Revision `json:"revisions"`
	Outcome       *Outcome            `json:"outcome"` // what people said about the verdict; null while nobody did
	Open          []Question          `json:"open_questions"`
	Transitions   []Transition        `json:"transitions"`
	Ledger        []Entry             `json:"ledger"`
	Fetched       []File              `json:"fetched"`
	StorageLogs   int                 `json:"storage_logs"` // files of the storage cluster among them
	Warnings      []string            `json:"warnings"`
	Posts         []Post              `json:"posts"`

	snapshot workflow.Investigation
	posts    []workflow.Post
	story    messages.Story
}

// Investigation says what was asked, by whom, and where it stands.
type Investigation struct {
	ID        string         `json:"id"`
	Key       string         `json:"key"` // tells it from another of the same id, before or after a restore
	Cluster   string         `json:"cluster"`
	Job       string         `json:"job"`
	JobID     string         `json:"job_in_files"` // the one that was chosen where the files hold several
	State     workflow.State `json:"state"`
	Since     time.Time      `json:"since"`
	Asked     time.Time      `json:"asked"`
	Requester string         `json:"requester"`
	Team      string         `json:"team"`
	Channel   string         `json:"channel"`
	Private   bool           `json:"private"`
	Shared    string         `json:"shared_in"`
	Again     string         `json:"again"` // the investigation that this one runs anew
	Nodes     []string       `json:"nodes_stated"`
	WorldSize int            `json:"world_size_stated"`
	Storage   string         `json:"storage_access"` // who gave it, never the access
	Acting    []string       `json:"acting"`
	Notes     []string       `json:"notes"`
	Verdicts  int            `json:"verdicts_posted"`
	Version   int            `json:"version"` // counts saves
}

// Verdict is the newest conclusion; the whole report is a file of its own.
type Verdict struct {
	Status     string              `json:"status"`
	Origin     string              `json:"origin"`
	Mechanism  string              `json:"mechanism"`
	Confidence incident.Confidence `json:"confidence"`
	Summary    string              `json:"summary"`
	Headline   string              `json:"headline"` // as posted
	Action     string              `json:"action"`
}

// Outcome is what people said about a verdict.
type Outcome struct {
	Verdict   string `json:"verdict"` // right, wrong, unknown
	Mechanism string `json:"mechanism"`
	Cause     string `json:"cause"`
	Fix       string `json:"fix"`
	By        string `json:"by"`
	Consent   bool   `json:"consent"`
}

// Question is one that nobody has answered.
type Question struct {
	Kind  string    `json:"kind"`
	Asked time.Time `json:"asked"`
	Text  string    `json:"text"`
	Why   string    `json:"why"`
	Items []string  `json:"items"`
}

// Transition is a change of state.
type Transition struct {
	At     time.Time      `json:"at"`
	From   workflow.State `json:"from"`
	Event  workflow.Event `json:"event"`
	To     workflow.State `json:"to"`
	Actor  string         `json:"actor"` // "" = the bot
	Reason string         `json:"reason"`
}

// Entry is one line of the ledger.
type Entry struct {
	Seq   int       `json:"seq"`
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Actor string    `json:"actor"` // "" = the bot
	Text  string    `json:"text"`
	From  string    `json:"from,omitempty"`
	Event string    `json:"event,omitempty"`
	To    string    `json:"to,omitempty"`
}

// File is a log as it was fetched.
type File struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	Origin string `json:"origin"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // "" where it was not computed: files that no report cites
	Cited  bool   `json:"cited"`  // by the newest report
}

// Post is one thing that the bot said, changed or removed.
type Post struct {
	ID        int64             `json:"id"`
	Kind      workflow.PostKind `json:"kind"`
	Key       string            `json:"key"`
	Channel   string            `json:"channel"`
	Under     string            `json:"under"` // key of the head of its thread
	User      string            `json:"user"`  // who alone saw it
	State     string            `json:"state"`
	Added     time.Time         `json:"added"`
	TS        string            `json:"ts"`
	Link      string            `json:"link"`
	Marked    bool              `json:"marked_as_repetition"`
	Attempts  int               `json:"failed_attempts"`
	LastError string            `json:"last_error"`
	Text      string            `json:"text"`
	Payload   json.RawMessage   `json:"payload"`
	Files     []Attached        `json:"files"`
}

// Attached is a file of a post.
type Attached struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Alt   string `json:"alt"`
	Bytes int64  `json:"bytes"`
}

// Read collects an incident. ErrForgotten for one that was forgotten, workflow.ErrUnknown for one that never was.
func Read(ctx context.Context, src Source, id string) (*Incident, error) {
	inv, err := src.Store.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) {
		return nil, forgotten(ctx, src.Store, id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading incident %s: %w", id, err)
	}
	ledger, err := src.Store.Ledger(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger of %s: %w", id, err)
	}
	posts, err := src.Store.Posts(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading what was posted about %s: %w", id, err)
	}
	inc := &Incident{Schema: Schema, Investigation: about(inv), Superseded: inv.Superseded, Fetched: fetched(inv),
		StorageLogs: len(inv.StorageLogs), Warnings: inv.Warnings, snapshot: inv, posts: posts, story: workflow.StoryOf(inv, ledger)}
	inc.story.Price = src.Price
	if r := inv.Report; r != nil {
		inc.Engine = &incident.Engine{Version: r.Engine.Version, RulesVersion: r.Engine.RulesVersion}
		inc.Verdict = &Verdict{Status: r.Verdict.Status, Origin: r.Verdict.Origin, Mechanism: r.Verdict.Mechanism,
			Confidence: r.Verdict.Confidence, Summary: r.Verdict.Summary, Headline: inv.Told, Action: r.Action.Text}
		inc.Revisions = slices.Clone(r.Revisions)
	}
	if o := inv.Outcome; o != nil {
		inc.Outcome = &Outcome{o.Verdict, o.Mechanism, o.Cause, o.Fix, o.By, o.Consent}
	}
	for _, q := range inv.Open {
		inc.Open = append(inc.Open, Question{q.Kind, q.Asked.UTC(), q.Text, q.Why, q.Items})
	}
	for _, e := range ledger {
		inc.Ledger = append(inc.Ledger, Entry{e.Seq, e.At.UTC(), e.Kind, e.Actor, e.Text, string(e.From), string(e.Event), string(e.To)})
		if e.To != "" {
			inc.Transitions = append(inc.Transitions, Transition{e.At.UTC(), e.From, e.Event, e.To, e.Actor, e.Text})
		}
	}
	for _, p := range posts {
		inc.Posts = append(inc.Posts, said(p))
	}
	inc.clean()
	return inc, nil
}

func forgotten(ctx context.Context, s Store, id string) error {
	ledger, err := s.Ledger(ctx, id)
	if err != nil {
		return fmt.Errorf("reading the ledger of %s: %w", id, err)
	}
	for _, e := range ledger {
		if e.Kind == workflow.EntryForgotten {
			return fmt.Errorf("incident %s: %w on %s by %s", id, ErrForgotten, e.At.UTC().Format(time.DateTime), by(e.Actor))
		}
	}
	return fmt.Errorf("incident %s: %w", id, workflow.ErrUnknown)
}

func by(actor string) string {
	if actor == "" {
		return "the bot"
	}
	return actor
}

func about(inv workflow.Investigation) Investigation {
	return Investigation{
		ID: inv.ID, Key: inv.Key, Cluster: inv.Cluster, Job: inv.Job, JobID: inv.JobID, State: inv.State, Since: inv.Since.UTC(), Asked: inv.Asked.UTC(),
		Requester: inv.Home.Requester, Team: inv.Home.Team, Channel: inv.Home.Channel, Private: inv.Home.Private, Shared: inv.Home.Shared,
		Again: inv.Again, Nodes: inv.Nodes, WorldSize: inv.WorldSize, Storage: inv.Storage, Acting: inv.Acting, Notes: inv.Notes,
		Verdicts: inv.Verdicts, Version: inv.Version,
	}
}

// fetched lists the sources with the hashes that are known: the report holds those of the files that it cites.
func fetched(inv workflow.Investigation) []File {
	cited := map[string]string{}
	if inv.Report != nil {
		for _, s := range inv.Report.Sources {
			cited[s.Name] = s.SHA256
		}
	}
	var files []File
	for _, s := range inv.Everything() {
		f := File{Name: s.Name, Node: s.Node, Origin: s.Origin, Bytes: s.Bytes, SHA256: s.SHA256}
		if sum, ok := cited[s.Name]; ok {
			f.Cited = true
			if f.SHA256 == "" {
				f.SHA256 = sum
			}
		}
		files = append(files, f)
	}
	return files
}

func said(p workflow.Post) Post {
	out := Post{ID: p.ID, Kind: p.Kind, Key: p.Key, Channel: p.Channel, Under: p.Thread, User: p.User, State: p.State, Added: p.Added.UTC(),
		TS: p.TS, Link: p.Link, Marked: p.Marked, Attempts: p.Attempts, LastError: p.LastError}
	if out.Under == "" {
		out.Under = p.ThreadTS
	}
	var message struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(p.Payload, &message) == nil {
		out.Text, out.Payload = message.Text, p.Payload
	} else {
		out.Text = string(p.Payload) // what an old version wrote is still part of the trail
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, Attached{f.Name, f.Title, f.Alt, f.Bytes})
	}
	return out
}

// JSON writes incident.json.
func (inc *Incident) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(inc); err != nil {
		return fmt.Errorf("writing incident %s as JSON: %w", inc.Investigation.ID, err)
	}
	return nil
}

func (s Source) open(path string) (*os.File, error) {
	if s.Open != nil {
		return s.Open(path)
	}
	return os.Open(path)
}

func (s Source) openLog(path string) (io.ReadCloser, error) {
	if s.OpenLog != nil {
		return s.OpenLog(path)
	}
	return s.open(path)
}
