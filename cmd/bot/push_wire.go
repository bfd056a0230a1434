package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"faultline/config"
	"faultline/fetch/push"
	"faultline/fetch/spool"
)

// client is the way to the bot; in a dry run nothing is needed of it.
func (p *pusher) client(_ env) (*push.Client, error) {
	if p.dry {
		return &push.Client{}, nil
	}
	u, err := url.Parse(p.to)
	switch {
	case p.to == "":
		return nil, usage("where is the bot? Set --to https://bot.example.org or FAULTLINE_PUSH_TO; ask the bot's administrator")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "":
		return nil, usage("--to %s: write it as https://bot.example.org", p.to)
	case p.cluster == "":
		return nil, usage("what does the bot call this cluster? Set --cluster west or FAULTLINE_CLUSTER; ask the bot's administrator")
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 2 * time.Minute
	if p.caFile != "" {
		pem, err := os.ReadFile(p.caFile)
		pool := x509.NewCertPool()
		if err != nil || !pool.AppendCertsFromPEM(pem) {
			return nil, usage("--ca-file %s contains no certificate", p.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &push.Client{
		Base: p.to, Cluster: p.cluster, Token: token, Now: time.Now, Sleep: sleep,
		HTTP: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it leads elsewhere (a redirect), and nothing is sent there: give the address that it leads to")
		}},
	}, nil
}

// pushable says whether anybody may push for a cluster.
func pushable(cfg config.Config) bool {
	for _, c := range cfg.Clusters {
		if len(c.Push.Secrets) > 0 {
			return true
		}
	}
	return false
}

// shelf is what was pushed to the bot whose data is in dir. Beside a bot that runs, its contents may go at any moment.
func shelf(dir string) *push.Shelf {
	return &push.Shelf{Dir: filepath.Join(dir, "pushed"), Content: func(sum string) (string, error) { return spool.Path(takenIn(dir), sum) }}
}

// pushes takes what is pushed.
func (s *service) pushes() *push.Handler {
	h := &push.Handler{
		Secrets: map[string][]config.Secret{}, Spool: s.logs.Spool, Shelf: s.logs.Pushed, Files: s.cfg.Limits.JobFiles, Bytes: int64(s.cfg.Limits.JobMB) << 20,
		Keep: s.keepPushed, Arrived: s.arrived, Now: time.Now, Log: s.log,
	}
	for _, c := range s.cfg.Clusters {
		h.Secrets[c.Name] = c.Push.Secrets
	}
	return h
}

// arrived lets investigations go on that wait for the logs of a job. Of an array's element people may have asked for the array.
func (s *service) arrived(ctx context.Context, cluster, job string) error {
	err := s.desk.Arrived(ctx, cluster, job)
	if array, _, ok := strings.Cut(job, "_"); ok {
		err = errors.Join(err, s.desk.Arrived(ctx, cluster, array))
	}
	return err
}

// keepPushed is for how long what is pushed for a cluster is kept.
func (s *service) keepPushed(cluster string) time.Duration {
	for _, c := range s.cfg.Clusters {
		if c.Name == cluster {
			return c.Push.Keep.Std()
		}
	}
	return 0
}
