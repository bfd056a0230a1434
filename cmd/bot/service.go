package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"faultline/chat"
	"faultline/chat/desk"
	"faultline/chat/epilog"
	"faultline/chat/page"
	"faultline/chat/slack"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/ais"
	"faultline/fetch/push"
	"faultline/fetch/spool"
	"faultline/messages"
	"faultline/store/health"
	"faultline/workflow"
)

const (
	// secretsKept is how long a typed secret is in memory when nobody uses it.
	secretsKept = 20 * time.Minute
	// uploadFiles is what Slack's upload field takes at a time.
	uploadFiles = 10
	// stopWait bounds a graceful stop of the HTTP server.
	stopWait = 5 * time.Second
	// takenKept is how long files of other machines are kept that no investigation quotes any more.
	takenKept = time.Hour
	// recentJobs is how many jobs the start window offers.
	recentJobs = 20
)

// service is a running bot.
type service struct {
	log      *slog.Logger
	store    *waking
	stores   *stores
	client   *slack.Client
	inbox    *slack.Inbox
	sender   *slack.Sender
	sockets  *slack.Sockets // nil in http mode
	desk     *desk.Desk
	workers  *desk.Workers
	watcher  *desk.Watcher
	registry *prometheus.Registry
	storage  *ais.Source
	logs     *brought
	vault    *chat.MemoryVault
	health   *health.Monitor
	policy   atomic.Pointer[desk.Policy]
	known    siteKnowledge
	cfg      config.Config
}

// newService wires a bot together. Nothing runs yet.
func newService(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *service, err error) {
	s := &service{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.stores, err = openStores(ctx, cfg); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeLogs(), s.stores.Close())
		}
	}()
	scratch, uploads := filepath.Join(s.stores.Dir, scratchDir), filepath.Join(s.stores.Dir, uploadsDir)
	for _, dir := range []string{scratch, uploads} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making room for logs: %w", err)
		}
	}
	metrics := slack.NewMetrics(s.registry)
	s.client, err = slack.NewClient(slack.Config{BotToken: cfg.Slack.BotToken, AppToken: cfg.Slack.AppToken, APIURL: cfg.Slack.APIURL}, metrics, log, time.Now)
	if err != nil {
		return nil, err
	}
	s.store = &waking{Durable: s.stores.Durable}
	s.sender = &slack.Sender{Client: s.client, Outbox: s.store, Blobs: s.stores.Blobs, Log: log, Metrics: metrics, Refused: s.refused, Trouble: s.look}
	s.vault = chat.NewVault(secretsKept, time.Now)
	s.logs, err = sources(ctx, cfg, scratch, takenIn(s.stores.Dir), spool.Options{Keep: takenKept, Used: s.used})
	if err != nil {
		return nil, err
	}
	s.logs.shared.Gate = s.stores.gate
	s.health = health.New(log, s.again, hostChecks(s.stores, s.logs)...)
	s.storage = ais.NewSource(cfg.Storage, cfg.StorageAccess, scratch)
	s.policy.Store(policyOf(cfg))
	if err := s.known.load(cfg.Knowledge); err != nil {
		return nil, err
	}
	composer := &desk.Composer{Blobs: s.stores.Blobs, Page: pages(cfg.Web)}
	storageLogs := fetch.LocalOptions{Gate: s.stores.gate, Unpack: unpack(cfg.Limits)}
	flow := &workflow.Flow{
		Fetch: s.logs, Engine: engine(s.stores.gate, &s.known), Compose: composer, Store: s.store, Now: time.Now, Hint: hints(cfg.Clusters), Zone: zones(cfg.Clusters), Workers: cfg.Limits.Workers, Version: version,
		Permit:     func(inv workflow.Investigation, found workflow.Found) bool { return s.policy.Load().Permit(inv, found) },
		OwnStorage: func(inv workflow.Investigation) string { return s.policy.Load().OwnStorage(inv) },
		Team:       s.team, Deferred: true, FirstLook: true, AskStorage: true, Storage: tellsOperator{s.storage, log}, Daemons: daemonLogs(scratch, storageLogs),
		RemindAfter: cfg.Questions.RemindAfter.Std(), ExpireAfter: cfg.Questions.ExpireAfter.Std(), Quiet: quiet(cfg.Clusters),
		Late: late(cfg.Clusters), Facts: s.logs.Facts, Trouble: s.look, Submitter: s.logs, Submitting: submitting(cfg.Clusters),
	}
	s.desk = &desk.Desk{
		Store: s.store, Flow: flow, Composer: composer, Surface: s.client, Vault: s.vault, Policy: s.policy.Load, Storage: &accesses{s.storage},
		Known:     s.known.catalogue,
		OfStorage: ofStorage(scratch, storageLogs),
		Owners: func(ctx context.Context, path string) ([]string, error) {
			return fetch.Owners(ctx, s.stores.gate, path), nil
		},
		Unused: s.logs.Unused, Prover: prover(s.logs), Recent: recent(s.logs.shared), Health: s.line, Spool: uploads,
		Uploads: desk.Limits{Files: uploadFiles, Bytes: int64(cfg.Limits.UploadMB) << 20},
		Command: cfg.Slack.Command, Name: "@faultline", Analyses: cfg.Limits.Analyses, Now: time.Now, Log: log, Hooks: hooks(s.registry),
	}
	flow.Lessons = s.desk.Lessons
	s.watcher = &desk.Watcher{Desk: s.desk, Endings: ask(s.logs.Clusters), Self: s.self, Log: log}
	s.workers = &desk.Workers{
		Desk: s.desk, Timers: &desk.Timers{Store: s.store, Flow: flow}, Watcher: s.watcher, Archive: s.archive,
		Owner: owner(), Analyses: cfg.Limits.Analyses, Log: log,
		Trouble: s.look, Say: s.sender.Say,
	}
	s.store.jobs, s.store.posts = s.workers.Wake, s.sender.Wake
	s.inbox = &slack.Inbox{
		Queue: s.store, Vault: s.vault, Wake: s.workers.Wake, Hello: desk.Hello, Check: desk.Check, Tell: s.client.Tell,
		Trouble: s.stores.refused, Now: time.Now, Log: log, Metrics: metrics,
	}
	if cfg.Slack.Mode != "http" {
		s.sockets = slack.NewSockets(s.client, s.inbox, slack.SocketOptions{N: cfg.Slack.Sockets, Idle: cfg.Slack.Recycle.Std()})
	}
	s.registry.MustRegister(newCollector(s.store), newHostCollector(s.health))
	return s, nil
}

// run works until the context ends, and then stops in order: nothing new comes in, what is claimed is given back.
func (s *service) run(ctx context.Context, ready func(addr string)) error {
	report, err := s.client.Probe(ctx, s.sockets != nil)
	var fatal *slack.FatalError
	if errors.As(err, &fatal) {
		return err
	}
	if err != nil { // Slack cannot be reached now: the sockets go on trying
		s.log.Error("Slack cannot be reached yet", "error", err)
	} else {
		s.inbox.SetHome(report.Identity.Team, report.Identity.Enterprise)
		for _, m := range report.Missing {
			s.log.Warn("a scope is missing", "scope", m.Scope, "feature", m.Feature)
		}
	}
	if why := s.cfg.StorageAccess.Untyped(); why != "" {
		s.log.Info(why)
	}
	go s.health.Run(ctx) // not waited for: a look may hang
	addr := ""
	var all sync.WaitGroup
	if s.cfg.Ops.Listen != "" {
		listener, err := net.Listen("tcp", s.cfg.Ops.Listen)
		if err != nil {
			return fmt.Errorf("listening for operators: %w", err)
		}
		addr = listener.Addr().String()
		server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: stopWait}
		all.Go(func() {
			if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("the HTTP server ended", "error", err)
			}
		})
		all.Go(func() {
			<-ctx.Done()
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
			defer cancel()
			_ = server.Shutdown(stop)
		})
	}
	clockwork, err := desk.Schedule(s.store, time.Now, s.log, s.watcher.Polls)
	if err != nil {
		return err
	}
	clockwork.Start()
	defer func() { <-clockwork.Stop().Done() }()
	all.Go(func() {
		if err := s.workers.Run(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the workers ended", "error", err)
		}
	})
	all.Go(func() {
		if err := s.sender.Run(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the sender ended", "error", err)
		}
	})
	all.Go(func() { s.sweep(ctx) })
	if s.sockets != nil {
		all.Go(func() { s.sockets.Run(ctx) })
	}
	if ready != nil {
		ready(addr)
	}
	<-ctx.Done()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * stopWait):
		s.log.Warn("stopped without waiting for everything; the next start continues where this one left off")
	}
	return nil
}

func (s *service) close() error {
	s.storage.Close()
	return errors.Join(s.closeLogs(), s.stores.Close())
}

func (s *service) closeLogs() error {
	if s.logs == nil {
		return nil
	}
	return s.logs.Close()
}

// used are the files that an investigation still quotes.
func (s *service) used(ctx context.Context) ([]string, error) {
	rows, err := s.store.Find(ctx, workflow.Query{Limit: math.MaxInt32}) // all of them: what is not named is removed
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, row := range rows {
		inv, err := s.store.Load(ctx, row.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue // forgotten in the meantime
		}
		if err != nil {
			return nil, err
		}
		for _, src := range inv.Everything() {
			paths = append(paths, src.Path)
		}
	}
	if s.logs != nil && s.logs.Pushed != nil {
		pushed, err := s.logs.Pushed.Used()
		if err != nil {
			return nil, err
		}
		paths = append(paths, pushed...) // a content is called by its sum
	}
	return paths, nil
}

// handler serves operators and, in HTTP mode, Slack.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", opsHandler(s.registry, s.checks()))
	mux.Handle(epilog.Path, s.hooks())
	if s.logs.Pushed != nil {
		mux.Handle(push.Path, s.pushes())
	}
	if s.cfg.Web.URL != "" {
		mux.Handle(page.Path, &page.Handler{Load: s.store.Load, Bound: s.bound, Expires: s.cfg.Web.Expires.Std(), Now: time.Now, Log: s.log})
	}
	if s.cfg.Slack.Mode != "socket" {
		mux.Handle("/slack/", s.inbox.Handler(s.cfg.Slack.SigningSecret))
	}
	return mux
}

// pages tells where the page of a case is; nil where no case has one.
func pages(cfg config.Web) func(inv *workflow.Investigation) string {
	if cfg.URL == "" {
		return nil
	}
	return func(inv *workflow.Investigation) string { return page.Link(cfg.URL, inv) }
}

// bound says that the channel of a case is connected to a cluster now.
func (s *service) bound(inv workflow.Investigation) bool { return s.policy.Load().Bound(inv) }

// checks are what must be well for the bot to be ready. None waits.
func (s *service) checks() map[string]func(context.Context) error {
	checks := s.health.Checks()
	if s.sockets != nil {
		checks["slack"] = func(context.Context) error {
			h := s.sockets.Health()
			if len(h.Problems) > 0 {
				return errors.New(h.Problems[0])
			}
			return nil
		}
	}
	return checks
}

// line is the bot's health in one line, for the home tab.
func (s *service) line(ctx context.Context) string {
	for _, check := range s.checks() {
		if err := check(ctx); err != nil {
			return err.Error()
		}
	}
	return "All is well: connected to Slack, and the store works."
}

// look tries now whether the bot's own host does what the bot needs.
func (s *service) look(ctx context.Context) error { return s.health.Look(ctx) }

// again goes on with what waited for the bot's own host.
func (s *service) again() {
	ctx, cancel := context.WithTimeout(context.Background(), checkWait)
	defer cancel()
	if err := s.workers.Resume(ctx); err != nil {
		s.log.Error("continuing after trouble", "error", err)
	}
	s.workers.Wake()
	s.sender.Wake()
}

// archive is the daily routine: closed incidents are copied away, what is too old goes.
func (s *service) archive(ctx context.Context) error { return s.stores.keepHouse(ctx, s.cfg, s.log) }

// sweepEvery is how often small things are tidied.
const sweepEvery = time.Minute

// tidyEvery is after how many of them what was taken from other machines is looked through.
const tidyEvery = 30

// sweep tidies until the context ends: secrets that nobody used are dropped, what people asked to forget is finished, and
// disputed cases whose owner agreed become test cases.
func (s *service) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for minutes := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.vault.Sweep()
		if minutes++; minutes%tidyEvery == 0 {
			used, err := s.used(ctx)
			if err == nil {
				err = s.logs.Tidy(time.Now().Add(-takenKept), used)
			}
			if err != nil {
				s.log.Error("old cluster answers were not cleaned up", "error", err)
			}
		}
		if s.logs.Spool != nil && minutes%tidyEvery == 0 {
			if err := s.logs.Clean(time.Now(), s.keepPushed); err != nil {
				s.log.Error("old pushed logs were not cleaned up", "error", err)
			}
			if _, err := s.logs.Spool.Clean(ctx); err != nil {
				s.log.Error("files from other machines were not cleaned up", "error", err)
			}
		}
		if _, err := s.stores.forgetter().FinishAll(ctx); err != nil {
			s.log.Error("an incident could not be forgotten yet", "error", err)
		}
		if err := s.learn(ctx); err != nil {
			s.log.Error("a disputed case could not become a test case", "error", err)
		}
	}
}

// learn writes a test case for every closed incident whose owner agreed, once.
func (s *service) learn(ctx context.Context) error {
	closed, err := s.store.Find(ctx, workflow.Query{States: []workflow.State{workflow.Closed}})
	if err != nil {
		return err
	}
	cases := filepath.Join(s.stores.Dir, "cases")
	for _, c := range closed {
		if c.Outcome != messages.VerdictWrong || ctx.Err() != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(cases, desk.EvalName(c.ID), "case.json")); err == nil {
			continue
		}
		inv, err := s.store.Load(ctx, c.ID)
		if err != nil {
			return err
		}
		if _, err := desk.EvalCase(ctx, inv, s.stores.gate.Open, cases); err != nil && !errors.Is(err, desk.ErrNoConsent) {
			return err
		}
	}
	return nil
}

// refused notes a post that Slack did not take: it cannot be told where it was to be posted, so the audit trail has it.
func (s *service) refused(ctx context.Context, p workflow.Post, reason string) {
	s.log.Error("a post was given up", "investigation", p.Investigation, "key", p.Key, "kind", p.Kind, "reason", reason)
	entry := workflow.Entry{At: time.Now(), Kind: "error", Text: fmt.Sprintf("the post %s (%s) could not be delivered: %s", p.Key, p.Kind, reason)}
	if err := s.store.Save(ctx, workflow.Change{About: p.Investigation, Entries: []workflow.Entry{entry}}); err != nil {
		s.log.Error("a post that was given up is missing from the audit trail", "investigation", p.Investigation, "error", err)
	}
}

// reload takes over what may change while the bot runs, and says what may not.
func (s *service) reload(cfg config.Config) {
	s.policy.Store(policyOf(cfg))
	s.storage.Configure(cfg.Storage, cfg.StorageAccess)
	if err := s.known.load(cfg.Knowledge); err != nil {
		s.log.Error("the site knowledge was not reloaded: the old one stays in effect", "error", err)
	}
	s.log.Warn("channels, access, identities, watches, storage names and site knowledge were reloaded; all other keys need a restart")
}

// waking is the store, with a nudge for whoever has something to do because of a change.
type waking struct {
	workflow.Durable
	jobs, posts func()
}

func (w *waking) Save(ctx context.Context, c workflow.Change) error {
	if err := w.Durable.Save(ctx, c); err != nil {
		return err
	}
	if len(c.Jobs) > 0 {
		w.jobs()
	}
	if len(c.Posts) > 0 {
		w.posts()
	}
	return nil
}

// accesses hands what people typed, or chose, to the source of storage logs.
type accesses struct{ source *ais.Source }

func (a *accesses) Access(ctx context.Context, inv workflow.Investigation, given chat.Access) error {
	access, err := a.of(given)
	if err != nil {
		return err
	}
	return a.give(ctx, inv, access)
}

// of makes an access of what was typed, or chosen.
func (a *accesses) of(given chat.Access) (ais.Access, error) {
	if given.Profile != "" {
		return a.source.Named(given.Profile)
	}
	access := ais.Access{Endpoint: given.Endpoint, Token: given.Token, SkipVerify: given.TLS == messages.TLSSkip}
	if given.TLS == messages.TLSAuthority {
		access.CA = []byte(given.CA)
	}
	return access, nil
}

// give checks an access and keeps it for the next pull.
func (a *accesses) give(ctx context.Context, inv workflow.Investigation, access ais.Access) error {
	if err := a.source.Check(ctx, access); err != nil {
		return err
	}
	a.source.Give(inv.ID, access)
	return nil
}

func (a *accesses) Known(id string) bool { return a.source.Known(id) }

// recent lists the jobs that a window may offer. Their state is not known: nobody has opened their logs yet.
func recent(logs *fetch.Shared) func(context.Context, string, []string) ([]messages.RecentJob, error) {
	return func(ctx context.Context, account string, clusters []string) ([]messages.RecentJob, error) {
		if account == "" {
			return nil, nil
		}
		found, err := logs.Recent(ctx, account, clusters, recentJobs)
		if err != nil {
			return nil, err
		}
		var jobs []messages.RecentJob
		for _, r := range found {
			cluster := r.Cluster
			if len(logs.Clusters) == 1 {
				cluster = ""
			}
			jobs = append(jobs, messages.RecentJob{Cluster: cluster, ID: r.Job, Ended: "last line " + r.Written.UTC().Format("Jan 2 15:04") + " UTC"})
		}
		return jobs, nil
	}
}

// quiet says for each cluster how long logs must be still before a job counts as ended.
func quiet(clusters []config.Cluster) func(string) time.Duration {
	return func(name string) time.Duration {
		for _, c := range clusters {
			if c.Name == name {
				return c.Logs.Quiet.Std()
			}
		}
		return 0
	}
}

// late says for each cluster how long files are looked for after a report.
func late(clusters []config.Cluster) func(string) time.Duration {
	return func(name string) time.Duration {
		for _, c := range clusters {
			if (c.Name == name || name == "") && c.Logs.Late != nil {
				return c.Logs.Late.Std()
			}
		}
		return 0
	}
}

// submitting says what each cluster lets the bot submit.
func submitting(clusters []config.Cluster) func(string) workflow.Submitting {
	return func(name string) workflow.Submitting {
		for _, c := range clusters {
			if (c.Name == name || name == "" && len(clusters) == 1) && c.Submit.Enabled {
				return workflow.Submitting{Commands: c.Submit.Commands, Partitions: c.Submit.Partitions, Hours: c.Submit.GPUHours}
			}
		}
		return workflow.Submitting{}
	}
}

// owner names this process among those that share a store.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "bot"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
