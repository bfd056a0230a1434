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
		d.warn("config", "no configuration file: the defaults hold. config.example.yaml explains every key; name yours with --config.")
	} else {
		d.ok("config", "%s is valid: %s, %s.", d.file, count(len(d.cfg.Clusters), "cluster"), count(len(d.cfg.Channels), "channel"))
	}
	if len(d.cfg.Channels) == 0 && !d.cfg.Access.AnyChannel && !d.cfg.Access.Direct {
		d.warn("config", "nobody may ask anything: list channels, or set access.any_channel or access.direct.")
	}
	if len(d.cfg.Clusters) == 0 {
		d.warn("config", "there are no clusters, so the bot finds no logs by itself and people have to upload them: list clusters with logs.roots.")
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
		d.fail("slack", "slack.mode is %s and there is no signing secret: it is on the page “Basic Information” of the app.", d.cfg.Slack.Mode)
	}
	if d.unslacked() {
		d.warn("slack", "there are no tokens: bot diagnose works without them, bot serve does not (docs/operations.md).")
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
		d.fail("slack", "Slack cannot be asked: %s. The bot needs HTTPS to slack.com and, for Socket Mode, to wss-primary.slack.com; behind a proxy set HTTPS_PROXY.", timedOut(err))
	}
	if report.Bot == "" {
		return
	}
	d.ok("slack", "the bot token is of %s in %s.", report.Bot, report.TeamName)
	for _, m := range report.Missing {
		if m.Optional {
			d.warn("scopes", "%s is missing, so this does not work: %s. Add it under “OAuth & Permissions” and install the app again, or do without.", m.Scope, m.Feature)
		} else {
			d.fail("scopes", "%s is missing, which is needed for %s. Add it under “OAuth & Permissions” and install the app again; slack-manifest.yaml has all of them.", m.Scope, m.Feature)
		}
	}
	if len(report.Missing) == 0 && len(report.Granted) > 0 {
		d.ok("scopes", "all that the bot uses are granted.")
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
		d.fail("clock", "%s: %q is no address.", whose, address)
		return
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		d.warn("clock", "cannot be compared with %s's: %s.", whose, timedOut(err))
		return
	}
	resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		d.warn("clock", "cannot be compared with %s's: the answer has no time.", whose)
		return
	}
	switch off := d.now().Sub(theirs).Abs().Truncate(time.Second); {
	case off > skewRefused:
		d.fail("clock", "this machine's is %s off %s's, and requests that are five minutes old are refused: switch NTP on (timedatectl set-ntp true).", off, whose)
	case off > skewNoted:
		d.warn("clock", "this machine's is %s off %s's: switch NTP on (timedatectl set-ntp true).", off, whose)
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
		d.warn("data", "%s does not exist; the first start makes it, if this account may: mkdir -m 700 %s.", dir, dir)
		return
	case err != nil:
		d.fail("data", "%v.", err)
		return
	case !st.IsDir():
		d.fail("data", "%s is no directory: set data.dir to one.", dir)
		return
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		d.fail("data", "%s cannot be written to by this account: chown it to the account of the bot.", dir)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	if st.Mode().Perm()&0o077 != 0 {
		d.warn("data", "others on this machine may look into %s, which holds logs and posts: chmod 700 %s.", dir, dir)
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
		d.warn("disk", "the room left for %s is not known: %v.", dir, err)
		return
	}
	free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // the types differ between systems
	switch gb := float64(free) / (1 << 30); {
	case free < diskFull:
		d.fail("disk", "%.1f GiB are free for %s: make room, or shorten data.keep.", gb, dir)
	case free < diskLow:
		d.warn("disk", "%.1f GiB are free for %s; uploads and unpacked archives need more than that at times.", gb, dir)
	default:
		d.ok("disk", "%.0f GiB are free for %s.", gb, dir)
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
			d.ok("store", "there is none yet; the first start makes %s.", file)
			return
		}
		db, err := readSQLite(file)
		if err == nil {
			err = integrity(ctx, db)
			_ = db.Close()
		}
		if err != nil {
			d.fail("store", "%s is damaged or cannot be read: %s. Stop the bot and restore the newest backup (docs/operations.md, Restore).", file, timedOut(err))
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
	d.ok("store", "it is whole and this program can use it: %s, %d of them open.", count(len(all), "incident"), len(open))
	n, oldest, err := s.Backlog(ctx)
	if err == nil && n > 0 && d.now().Sub(oldest) > 10*time.Minute {
		d.warn("store", "%s wait to be sent, the oldest for %s: is the bot running, and does Slack take them (bot's log)?", count(n, "post"), d.now().Sub(oldest).Truncate(time.Minute))
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
		d.warn("ops", "%s can be reached from other machines, and the metrics name clusters and mechanisms: let a firewall or a proxy guard it.", d.cfg.Ops.Listen)
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.ok("ops", "no bot answers at %s; none is running here.", d.cfg.Ops.Listen)
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
		d.ok("archive", "none is configured: closed incidents are in the store only, for %s.", d.cfg.Data.Keep)
		return
	}
	bucket, err := openArchive(ctx, d.cfg)
	if err != nil {
		d.fail("archive", "%v.", err)
		return
	}
	if err := probe(ctx, bucket); err != nil {
		d.fail("archive", "%s. Look at archive.endpoint, region, bucket and the key pair, which must be allowed to put, get, list and delete.", timedOut(err))
		return
	}
	d.ok("archive", "an object was put into %s, read, listed and removed again.", d.cfg.Archive.Bucket)
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
			d.ok("cluster", "%s: its logs are brought over %s; --job ID tries it.", c.Name, c.Logs.Source)
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
				d.fail("cluster", "%s: %s may not be read by this account: add it to the group that may.", c.Name, root)
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
				d.ok("slurm", "%s: %s answer.", c.Name, b)
			}
		}
	}
}

// storage tries each configured access to an AIStore cluster, as the pull of its logs does.
func (d *doctor) storage(ctx context.Context) {
	client := ais.NewSource(d.cfg.Storage, d.cfg.StorageAccess, "")
	defer client.Close()
	for i, s := range d.cfg.Storage {
		access, err := client.Named(s.Name)
		if err == nil {
			access.Cluster = "" // whoever reads this can fix what is configured, and is told how
			err = client.Check(ctx, access)
		}
		var refused *ais.Error
		switch {
		case err == nil:
			d.ok("storage", "%s: a proxy answers and passes requests on to the daemons.", s.Name)
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
		d.fail("job", "nothing below %s is named after job %s: logs.patterns says how logs are named there.", strings.Join(found.Searched, ", "), job)
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
			d.ok("job", "and %d more that are readable.", more)
		}
		for _, w := range set.Warnings {
			d.warn("job", "%s", w)
		}
		d.ok("job", "%s with %d bytes, owned by %s.", count(len(set.Sources), "log"), bytes, orNobody(found.Users))
		d.newest(found.Written)
	}
	if err != nil {
		d.fail("job", "none of it can be read: %s.", timedOut(err))
	}
}

func (d *doctor) newest(written time.Time) {
	if !written.IsZero() {
		d.ok("job", "somebody wrote last on %s.", written.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
}

func orNobody(users []string) string {
	if len(users) == 0 {
		return "nobody known"
	}
	return strings.Join(users, ", ")
}
