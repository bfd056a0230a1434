package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"faultline/chat/desk"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/jobs"
	"faultline/fetch/slurm"
	"faultline/fetch/source"
	"faultline/fetch/source/bucket"
	"faultline/fetch/source/login"
	"faultline/fetch/source/mounted"
	"faultline/fetch/spool"
	"faultline/workflow"
)

// brought is where logs come from, as configured.
type brought struct {
	*jobs.Fetcher
	shared *fetch.Shared
	closes []func() error
}

// Close ends what is open.
func (b *brought) Close() error {
	var errs []error
	for _, c := range b.closes {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// takenDir is the folder, beside the spool of archives, for what was taken from other machines.
const takenDir = "taken"

// sources makes the fetcher: dir is an existing directory for what archives hold and clusters say, taken one for files of other
// machines, which is made where a cluster has such.
func sources(ctx context.Context, cfg config.Config, dir, taken string, o spool.Options) (_ *brought, err error) {
	b := &brought{shared: shared(cfg.Clusters, dir)}
	b.shared.Unpack = unpack(cfg.Limits)
	b.Fetcher = &jobs.Fetcher{Shared: b.shared, Now: time.Now, JobFiles: cfg.Limits.JobFiles, JobBytes: int64(cfg.Limits.JobMB) << 20}
	o.Max = int64(cfg.Limits.SpoolMB) << 20
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	room := func() (err error) {
		if b.Spool == nil {
			if b.Spool, err = spool.Open(taken, o); err == nil {
				b.closes = append(b.closes, b.Spool.Close)
			}
		}
		return err
	}
	if pushable(cfg) {
		data, err := dataDir(cfg)
		if err != nil {
			return nil, err
		}
		if taken == takenIn(data) { // else a bot that runs has it
			err = room()
		}
		if err != nil {
			return nil, err
		}
		b.Pushed = shelf(data)
	}
	for i, c := range cfg.Clusters {
		cl := jobs.Cluster{Name: c.Name, Patterns: c.Logs.Patterns, Templates: c.Logs.Templates, Evidence: c.Logs.Evidence}
		if c.Submit.Enabled {
			cl.SubmitDir = c.Submit.Dir
		}
		var node *login.Node
		if c.Slurm.Commands == config.OverSSH || c.Logs.Source == config.OverSSH {
			if node, err = loginNode(c.SSH); err != nil {
				return nil, fmt.Errorf("clusters[%d].ssh: %w", i, err)
			}
			b.closes = append(b.closes, node.Close)
		}
		place, err := logPlace(ctx, c, node)
		if err != nil {
			return nil, fmt.Errorf("clusters[%d].logs: %w", i, err)
		}
		cl.Places = []jobs.Place{place}
		if !place.Mounted {
			if err := room(); err != nil {
				return nil, err
			}
		}
		if cl.Ask, err = backends(c, node); err != nil {
			return nil, fmt.Errorf("clusters[%d].slurm: %w", i, err)
		}
		b.Clusters = append(b.Clusters, cl)
	}
	return b, nil
}

// loginNode prepares the way to a login node; nobody is connected to yet.
func loginNode(s config.SSH) (*login.Node, error) {
	o := login.Options{KnownHosts: s.KnownHosts}
	for _, h := range s.Jump {
		o.Hops = append(o.Hops, login.Hop{Address: h.Address, User: h.User, KeyFile: h.KeyFile, Agent: h.Agent})
	}
	o.Hops = append(o.Hops, login.Hop{Address: s.Address, User: s.User, KeyFile: s.KeyFile, Agent: s.Agent})
	return login.New(o)
}

// logPlace is where the logs of a cluster lie.
func logPlace(ctx context.Context, c config.Cluster, node *login.Node) (jobs.Place, error) {
	p := jobs.Place{Roots: c.Logs.Roots}
	var err error
	switch {
	case c.Logs.IsMounted():
		p.Mounted = true
		p.ID, p.Origin = "file://", "shared"
		p.Source, err = mounted.New(c.Logs.Roots...)
	case c.Logs.Source == config.OverSSH:
		p.ID, p.Origin = "sftp://"+node.Name(), "sftp"
		p.Source, err = node.Files(c.Logs.Roots...)
	default:
		s := c.Logs.S3
		p.ID, p.Origin, p.Keys = "s3://"+s.Name, "s3", true
		p.Source, err = bucket.New(ctx, bucket.Options{
			Bucket: s.Name, Prefixes: c.Logs.Roots, Region: s.Region, Endpoint: s.Endpoint, AccessKey: s.AccessKey.Reveal(), SecretKey: s.SecretKey.Reveal(),
		})
		if len(p.Roots) == 0 {
			p.Roots = []string{""}
		}
	}
	if err != nil {
		return p, err
	}
	p.Source = &source.Timeout{Of: p.Source, Place: strings.TrimPrefix(p.ID, "file://"), Request: requestTime, Idle: requestTime}
	if !p.Mounted {
		p.Source = &source.Rate{Of: &source.Retry{Of: p.Source}, BytesPerSecond: int64(c.Logs.RateMB) << 20, Requests: c.Logs.Requests}
	}
	return p, nil
}

// requestTime is how long a file system, a login node or a bucket may take to answer, or to go on.
const requestTime = time.Minute

// backends are whom to ask about the jobs of a cluster; nil where nobody is configured.
func backends(c config.Cluster, node *login.Node) (*slurm.Cluster, error) {
	if !c.Slurm.Asked() {
		return nil, nil
	}
	ask := &slurm.Cluster{Name: c.Name, Settle: c.Slurm.Settle.Std(), Now: time.Now, Sleep: sleep}
	if where := c.Slurm.Commands; where != "" {
		var run source.Command = slurm.Local{}
		name := ""
		if where == config.OverSSH {
			run, name = node, node.Name()
		}
		ask.Backends = append(ask.Backends, &slurm.Commands{Command: run, Where: name})
	}
	if r := c.Slurm.Rest; r.URL != "" {
		client, err := slurm.NewClient(r.CAFile)
		if err != nil {
			return nil, err
		}
		ask.Backends = append(ask.Backends, &slurm.REST{URL: r.URL, TokenFile: r.TokenFile, User: r.User, Client: client, Now: time.Now})
	}
	return ask, nil
}

// sleep waits, and no longer than ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// prover tries where teams say that their logs are; nil where no cluster can be asked about its jobs.
func prover(logs *brought) workflow.Prover {
	for _, c := range logs.Clusters {
		if c.Ask != nil {
			return logs
		}
	}
	return nil
}

// team is where logs come from for an investigation: with what the people of its channel have said.
func (s *service) team(ctx context.Context, inv workflow.Investigation) (workflow.Fetcher, error) {
	templates, err := desk.Templates(ctx, s.store, inv)
	if err != nil {
		return nil, err
	}
	return s.logs.With(templates), nil
}

// takenIn is the folder below a directory for files of other machines.
func takenIn(dir string) string { return filepath.Join(dir, takenDir) }
