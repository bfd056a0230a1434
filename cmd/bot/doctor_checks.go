package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"faultline/chat/slack"
	"faultline/config"
	"faultline/fetch/ais"
	"faultline/fetch/spool"
	"faultline/store/blob"
	"faultline/workflow"
)

func (d *doctor) configuration(context.Context) {
	if d.file == "" {
		d.warn("config", "no configuration file: using defaults. config.example.yaml explains every key; pass yours with --config.")
	} else {
		d.ok("config", "%s is valid: %s, %s.", d.file, count(len(d.cfg.Clusters), "cluster"), count(len(d.cfg.Channels), "channel"))
	}
	if len(d.cfg.Channels) == 0 && !d.cfg.Access.AnyChannel && !d.cfg.Access.Direct {
		d.warn("config", "no one can use the bot: list channels, or set access.any_channel or access.direct.")
	}
	if len(d.cfg.Clusters) == 0 {
		d.warn("config", "no clusters are configured, so the bot can't find logs and people have to upload them: list clusters with logs.roots.")
	}
	if told := config.Exposed(d.file); told != "" {
		d.warn("config", "%s", told)
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (d *doctor) client() (*slack.Client, error) {
	c := d.cfg.Slack
	return slack.NewClient(slack.Config{BotToken: c.BotToken, AppToken: c.AppToken, APIURL: c.APIURL}, slack.NewMetrics(nil), slog.New(slog.DiscardHandler), d.now)
}

// unslacked says that the bot is not set up for Slack at all.
func (d *doctor) unslacked() bool { return d.cfg.Slack.BotToken == "" && d.cfg.Slack.AppToken == "" }

// slack checks the tokens and what they may do.
func (d *doctor) slack(ctx context.Context) {
	if d.cfg.Slack.Mode != "socket" && d.cfg.Slack.SigningSecret == "" {
		d.fail("slack", "slack.mode is %s but there is no signing secret: find it on the app's “Basic Information” page.", d.cfg.Slack.Mode)
	}
	if d.unslacked() {
		d.warn("slack", "no tokens: bot diagnose works without them, bot serve does not (docs/operations.md).")
		return
	}
	client, err := d.client()
	if err != nil {
		d.fail("slack", "%v.", err)
		return
	}
	report, err := client.Probe(ctx, d.cfg.Slack.Mode != "http")
	var fatal *slack.FatalError
	switch {
	case errors.As(err, &fatal):
		d.fail("slack", "%s", fatal.Msg)
	case err != nil:
		d.fail("slack", "Slack can't be reached: %s. The bot needs HTTPS to slack.com and, for Socket Mode, to wss-primary.slack.com; behind a proxy set HTTPS_PROXY.", timedOut(err))
	}
	if report.Bot == "" {
		return
	}
	d.ok("slack", "the bot token belongs to %s in %s.", report.Bot, report.TeamName)
	for _, m := range report.Missing {
		if m.Optional {
			d.warn("scopes", "%s is missing, so this does not work: %s. Add it under “OAuth & Permissions” and reinstall the app, or do without.", m.Scope, m.Feature)
		} else {
			d.fail("scopes", "%s is missing, which is needed for %s. Add it under “OAuth & Permissions” and reinstall the app; slack-manifest.yaml has all of them.", m.Scope, m.Feature)
		}
	}
	if len(report.Missing) == 0 && len(report.Granted) > 0 {
		d.ok("scopes", "all scopes the bot uses are granted.")
	}
}

// clock compares this machine's clock with Slack's. Slack refuses signatures, and the bot requests, that are five minutes old.
func (d *doctor) clock(ctx context.Context) {
	api := d.cfg.Slack.APIURL
	if api == "" {
		api = "https://slack.com/api/"
	}
	if !d.unslacked() {
		d.skew(ctx, "Slack", api)
	}
	switch a := d.cfg.Archive; {
	case a.Bucket == "":
	case a.Endpoint != "":
		d.skew(ctx, "the archive", a.Endpoint)
	default:
		d.skew(ctx, "the archive", "https://s3."+a.Region+".amazonaws.com/")
	}
}

const (
	skewNoted   = 30 * time.Second
	skewRefused = 4 * time.Minute
)

// skew reads the time in the header of any answer. No token is sent.
func (d *doctor) skew(ctx context.Context, whose, address string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		d.fail("clock", "%s: %q is not an address.", whose, address)
		return
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		d.warn("clock", "can't be compared with %s's: %s.", whose, timedOut(err))
		return
	}
	resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		d.warn("clock", "can't be compared with %s's: the response has no time.", whose)
		return
	}
	switch off := d.now().Sub(theirs).Abs().Truncate(time.Second); {
	case off > skewRefused:
		d.fail("clock", "this machine's is %s off %s's, and requests more than five minutes old are refused: enable NTP (timedatectl set-ntp true).", off, whose)
	case off > skewNoted:
		d.warn("clock", "this machine's is %s off %s's: enable NTP (timedatectl set-ntp true).", off, whose)
	default:
		d.ok("clock", "agrees with %s's.", whose)
	}
}

// dataDir checks rights and room.
func (d *doctor) dataDir(context.Context) {
	dir, err := dataDir(d.cfg)
	if err != nil {
		d.fail("data", "%v.", err)
		return
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.warn("data", "%s does not exist; the first start creates it if this account has permission: mkdir -m 700 %s.", dir, dir)
		return
	case err != nil:
		d.fail("data", "%v.", err)
		return
	case !st.IsDir():
		d.fail("data", "%s is not a directory: set data.dir to one.", dir)
		return
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		d.fail("data", "this account can't write to %s: chown it to the bot's account.", dir)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	if st.Mode().Perm()&0o077 != 0 {
		d.warn("data", "other users on this machine can read %s, which holds logs and posts: chmod 700 %s.", dir, dir)
	}
	d.disk(dir)
}

const (
	diskLow  = 10 << 30 // an archive of logs may unpack to this
	diskFull = 1 << 30
)

func (d *doctor) disk(dir string) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		d.warn("disk", "the free space for %s is unknown: %v.", dir, err)
		return
	}
	free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // the types differ between systems
	switch gb := float64(free) / (1 << 30); {
	case free < diskFull:
		d.fail("disk", "%.1f GiB free for %s: free up space, or shorten data.keep.", gb, dir)
	case free < diskLow:
		d.warn("disk", "%.1f GiB free for %s; uploads and unpacked archives may need more.", gb, dir)
	default:
		d.ok("disk", "%.0f GiB free for %s.", gb, dir)
	}
}

// store reads a copy of the store, as it is.
func (d *doctor) store(ctx context.Context) {
	if d.cfg.Data.Postgres == "" {
		dir, err := dataDir(d.cfg)
		if err != nil {
			return // told already
		}
		file := databaseFile(dir)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			d.ok("store", "none yet; the first start creates %s.", file)
			return
		}
		db, err := readSQLite(file)
		if err == nil {
			err = integrity(ctx, db)
			_ = db.Close()
		}
		if err != nil {
			d.fail("store", "%s is damaged or unreadable: %s. Stop the bot and restore the newest backup (docs/operations.md, Restore).", file, timedOut(err))
			return
		}
	}
	s, done, err := openToRead(ctx, d.cfg)
	if err != nil {
		d.fail("store", "%s.", timedOut(err))
		return
	}
	defer func() { _ = done() }()
	all, err := s.Find(ctx, workflow.Query{Limit: 1 << 30})
	if err != nil {
		d.fail("store", "%s.", timedOut(err))
		return
	}
	open, err := s.Find(ctx, workflow.Query{Open: true, Limit: 1 << 30})
	if err != nil {
		d.fail("store", "%s.", timedOut(err))
		return
	}
	d.ok("store", "intact and readable by this version: %s, %d of them open.", count(len(all), "incident"), len(open))
	n, oldest, err := s.Backlog(ctx)
	if err == nil && n > 0 && d.now().Sub(oldest) > 10*time.Minute {
		d.warn("store", "%s waiting to be sent, the oldest for %s: is the bot running, and does Slack accept them (see the bot's log)?", count(n, "post"), d.now().Sub(oldest).Truncate(time.Minute))
	}
}

// integrity reads all of a database.
func integrity(ctx context.Context, db *sql.DB) error {
	var text string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&text); err != nil {
		return err
	}
	if text != "ok" {
		return errors.New(text)
	}
	return nil
}

// running asks a bot that runs here how it is.
func (d *doctor) running(ctx context.Context) {
	if d.cfg.Ops.Listen == "" {
		return
	}
	host, port, err := net.SplitHostPort(d.cfg.Ops.Listen)
	if err != nil {
		return
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		d.warn("ops", "%s is reachable from other machines, and the metrics show clusters and mechanisms: protect it with a firewall or proxy.", d.cfg.Ops.Listen)
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.ok("ops", "no bot is responding at %s; none is running here.", d.cfg.Ops.Listen)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != http.StatusOK {
		d.fail("ops", "the bot at %s is not ready: %s", d.cfg.Ops.Listen, strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "))
		return
	}
	d.ok("ops", "the bot at %s is ready.", d.cfg.Ops.Listen)
}

// archive puts, reads and removes a probe object.
func (d *doctor) archive(ctx context.Context) {
	if d.cfg.Archive.Bucket == "" {
		d.ok("archive", "none configured: closed incidents are kept only in the store, for %s.", d.cfg.Data.Keep)
		return
	}
	bucket, err := openArchive(ctx, d.cfg)
	if err != nil {
		d.fail("archive", "%v.", err)
		return
	}
	if err := probe(ctx, bucket); err != nil {
		d.fail("archive", "%s. Check archive.endpoint, region, bucket and the key pair, which needs put, get, list and delete permission.", timedOut(err))
		return
	}
	d.ok("archive", "wrote, read, listed and removed a probe object in %s.", d.cfg.Archive.Bucket)
}

func probe(ctx context.Context, bucket blob.Bucket) (err error) {
	key := "probe-" + rand.Text()
	content := []byte("bot doctor wrote this and removes it again")
	if err := bucket.Put(ctx, key, bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	defer func() {
		if rerr := bucket.Remove(ctx, key); rerr != nil {
			err = errors.Join(err, fmt.Errorf("%w; remove %s by hand", rerr, key))
		}
	}()
	in, err := bucket.Open(ctx, key)
	if err != nil {
		return err
	}
	defer in.Close()
	got, err := io.ReadAll(io.LimitReader(in, 1<<10))
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("what was put there comes back changed")
	}
	if err != nil {
		return err
	}
	keys, err := bucket.List(ctx, key)
	if err == nil && len(keys) != 1 {
		err = errors.New("what was put there is not listed")
	}
	return err
}

// clusters looks whether the roots can be read.
func (d *doctor) clusters(context.Context) {
	for _, c := range d.cfg.Clusters {
		if !c.Logs.IsMounted() {
			d.ok("cluster", "%s: its logs are fetched over %s; try it with --job ID.", c.Name, c.Logs.Source)
			continue
		}
		if len(c.Logs.Roots) == 0 {
			d.warn("cluster", "%s has no logs.roots: people have to upload the logs of its jobs.", c.Name)
		}
		for _, root := range c.Logs.Roots {
			f, err := os.Open(root)
			if err == nil {
				_, err = f.Readdirnames(1)
				_ = f.Close()
			}
			switch {
			case err == nil:
				d.ok("cluster", "%s: %s can be read.", c.Name, root)
			case errors.Is(err, io.EOF):
				d.warn("cluster", "%s: %s is empty: is the file system mounted?", c.Name, root)
			case errors.Is(err, fs.ErrNotExist):
				d.fail("cluster", "%s: %s does not exist: is the file system mounted, and the path right?", c.Name, root)
			case errors.Is(err, fs.ErrPermission):
				d.fail("cluster", "%s: this account can't read %s: add it to the group that can.", c.Name, root)
			default:
				d.fail("cluster", "%s: %s: %v.", c.Name, root, err)
			}
		}
	}
}

// schedulers asks each cluster's SLURM whether it answers, as the account that runs this.
func (d *doctor) schedulers(ctx context.Context) {
	if !slices.ContainsFunc(d.cfg.Clusters, func(c config.Cluster) bool { return c.Slurm.Asked() }) {
		return
	}
	temp, remove, err := scratch()
	if err != nil {
		d.fail("slurm", "%v.", err)
		return
	}
	defer remove()
	logs, err := sources(ctx, d.cfg, temp, takenIn(temp), spool.Options{})
	if err != nil {
		d.fail("slurm", "%v.", err)
		return
	}
	defer logs.Close()
	for i := range logs.Clusters {
		c := &logs.Clusters[i]
		if c.Ask == nil {
			continue
		}
		for _, b := range c.Ask.Backends {
			switch err := b.Answers(ctx); {
			case err != nil:
				d.fail("slurm", "%s: %s. Check that this account can run the commands, and SLURM_CONF.", c.Name, strings.ReplaceAll(strings.TrimSuffix(timedOut(err), "."), "\n", "; "))
			default:
				d.ok("slurm", "%s: %s respond.", c.Name, b)
			}
		}
	}
}

// storage tries each configured access to an AIStore cluster, as the pull of its logs does.
func (d *doctor) storage(ctx context.Context) {
	client := ais.NewSource(d.cfg.Storage, d.cfg.StorageAccess, "")
	defer client.Close()
	if why := d.cfg.StorageAccess.Untyped(); why != "" {
		d.ok("storage", "%s.", why)
	}
	for i, s := range d.cfg.Storage {
		access, err := client.Named(s.Name)
		if err == nil {
			access.Cluster = "" // whoever reads this can fix what is configured, and is told how
			err = client.Check(ctx, access)
		}
		var refused *ais.Error
		switch {
		case err == nil:
			d.ok("storage", "%s: a proxy responds and forwards requests to the daemons.", s.Name)
		case errors.As(err, &refused) && refused.Field() != "":
			key := map[string]string{"endpoint": "endpoint", "token": "token", "tls": "ca_file"}[refused.Field()]
			d.fail("storage", "%s: %s. It is configured as storage[%d].%s.", s.Name, refused.Text, i, key)
		default:
			d.fail("storage", "%s: %s.", s.Name, strings.TrimSuffix(timedOut(err), "."))
		}
	}
}

// shownFiles bounds the list of --job.
const shownFiles = 40

// job says which logs of a job are found and which cannot be read.
func (d *doctor) job(ctx context.Context, cluster, job string) {
	temp, remove, err := scratch()
	if err != nil {
		d.fail("job", "%v.", err)
		return
	}
	defer remove()
	logs, err := sources(ctx, d.cfg, temp, takenIn(temp), spool.Options{})
	if err != nil {
		d.fail("job", "%v.", err)
		return
	}
	defer logs.Close()
	found, err := logs.Locate(ctx, cluster, job)
	if err != nil {
		d.fail("job", "%s.", timedOut(err))
		return
	}
	for _, n := range found.Notes {
		d.ok("job", "%s", n)
	}
	if len(found.Places) == 0 {
		d.fail("job", "nothing under %s matches job %s: set logs.patterns to how logs are named there.", strings.Join(found.Searched, ", "), job)
		return
	}
	set, err := logs.Collect(ctx, found.Places)
	for _, p := range found.Places {
		d.ok("job", "found %s.", p)
	}
	if len(set.Sources) > 0 {
		var bytes int64
		for i, s := range set.Sources {
			bytes += s.Bytes
			if i < shownFiles {
				d.ok("job", "readable: %s (%d bytes).", s.Name, s.Bytes)
			}
		}
		if more := len(set.Sources) - shownFiles; more > 0 {
			d.ok("job", "and %d more readable files.", more)
		}
		for _, w := range set.Warnings {
			d.warn("job", "%s", w)
		}
		d.ok("job", "%s with %d bytes, owned by %s.", count(len(set.Sources), "log"), bytes, orNobody(found.Users))
		d.newest(found.Written)
	}
	if err != nil {
		d.fail("job", "none of it is readable: %s.", timedOut(err))
	}
}

func (d *doctor) newest(written time.Time) {
	if !written.IsZero() {
		d.ok("job", "last written on %s.", written.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
}

func orNobody(users []string) string {
	if len(users) == 0 {
		return "an unknown user"
	}
	return strings.Join(users, ", ")
}
