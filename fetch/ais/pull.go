package ais

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Pulled is what a pull brought.
type Pulled struct {
	// Files are gzipped tars, one for each daemon: aistarget-<id>.tar.gz and aisproxy-<id>.tar.gz.
	Files []string
	// Status are what the daemons say of themselves at the time of the pull: their state, version, counters and disks, one JSON for
	// each that says it.
	Status []string
	// Nodes is how many daemons gave logs, all of them or a part.
	Nodes int
	// Missing are sentences about what did not come.
	Missing []string
}

// pull is one pull at work.
type pull struct {
	*session
	lim  limits
	room atomic.Int64
	// hopeless is why no further daemon is asked.
	hopeless atomic.Pointer[Error]
}

// result is what became of one daemon.
type result struct {
	daemon
	file   string // "" = nothing was kept
	status string // likewise
	fail   *Error // nil = all is there
}

// Pull brings the logs of all daemons into an existing directory. What does not come is told in Missing; the error, an
// *Error, is for a pull that brought nothing at all. A cancelled context is returned as its own error, and what came until
// then stays in the directory.
func (c *Client) Pull(ctx context.Context, a Access, dir string) (Pulled, error) {
	s, fail := c.open(a)
	if fail != nil {
		return Pulled{}, a.owned(fail)
	}
	defer s.http.CloseIdleConnections()
	m, fail := func() (clusterMap, *Error) {
		short, cancel := context.WithTimeout(ctx, c.lim.ask)
		defer cancel()
		return s.clusterMap(short)
	}()
	if ctx.Err() != nil {
		return Pulled{}, ctx.Err()
	}
	if fail != nil {
		return Pulled{}, a.owned(fail)
	}
	list, missing := m.daemons(c.lim.daemons)
	p := &pull{session: s, lim: c.lim}
	p.room.Store(c.lim.all)
	results := c.all(ctx, p, list, cmp.Or(m.UUID, s.at.host), dir)
	if ctx.Err() != nil {
		return Pulled{}, ctx.Err()
	}
	var got Pulled
	for _, r := range results {
		if r.file != "" {
			got.Files = append(got.Files, r.file)
			got.Nodes++
		}
		if r.status != "" {
			got.Status = append(got.Status, r.status)
		}
	}
	slices.Sort(got.Files)
	slices.Sort(got.Status)
	got.Missing = append(sentences(results), missing...)
	if got.Nodes == 0 {
		return Pulled{}, nothing(results, got.Missing)
	}
	return got, nil
}

// daemons are those of the map, targets first: they hold most of what is asked for. An id becomes a file name and a
// header, so one that is none is left out.
func (m clusterMap) daemons(limit int) (list []daemon, missing []string) {
	odd := 0
	for _, part := range []struct {
		role string
		ids  map[string]struct{}
	}{{"target", m.Targets}, {"proxy", m.Proxies}} {
		for _, id := range slices.Sorted(maps.Keys(part.ids)) {
			if !goodID(id) {
				odd++
				continue
			}
			list = append(list, daemon{part.role, id})
		}
	}
	if len(m.Targets) == 0 {
		missing = append(missing, "The cluster map lists no targets: none of the cluster's disks are in service, or the map is incomplete.")
	}
	if odd > 0 {
		missing = append(missing, fmt.Sprintf("%d daemons in the cluster map have invalid IDs, so I skipped them.", odd))
	}
	if len(list) > limit {
		missing = append(missing, fmt.Sprintf("The cluster has %d daemons; I asked the first %d.", len(list), limit))
		list = list[:limit]
	}
	return list, missing
}

func goodID(id string) bool {
	return id != "" && len(id) <= 100 && id[0] != '.' && wordEnd(strings.ReplaceAll(id, ".", "")) == len(strings.ReplaceAll(id, ".", ""))
}

// all asks some daemons at a time.
func (c *Client) all(ctx context.Context, p *pull, list []daemon, cluster, dir string) []result {
	ctx, cancel := context.WithTimeout(ctx, c.lim.pull)
	defer cancel()
	results := make([]result, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(c.lim.parallel, len(list)) {
		workers.Go(func() {
			for i := range next {
				results[i] = c.one(ctx, p, list[i], cluster, dir)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

func (c *Client) one(ctx context.Context, p *pull, d daemon, cluster, dir string) result {
	r := result{daemon: d}
	done, err := c.turns.take(ctx, cluster+"/"+d.id)
	if err != nil {
		r.fail = p.cause(ctx, 0)
		return r
	}
	defer done()
	if r.fail = p.hopeless.Load(); r.fail != nil {
		return r
	}
	if ctx.Err() != nil {
		r.fail = p.cause(ctx, 0)
		return r
	}
	file := filepath.Join(dir, "ais"+d.role+"-"+d.id+".tar.gz")
	kept, fail := p.archive(ctx, d, file)
	if kept {
		r.file = file
	}
	if fail == nil || !fail.useless() {
		r.status = p.ownStatus(ctx, d, dir)
	}
	if r.fail = fail; fail != nil && (fail.useless() || fail.Kind == SpoolError) {
		p.hopeless.Store(fail)
	}
	return r
}

// ownStatus keeps what a daemon says of itself, and returns the file; "" where it says nothing, which is no loss worth a word:
// releases before 3.23 do not, and its logs tell most of it.
func (p *pull) ownStatus(ctx context.Context, d daemon, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, p.lim.ask)
	defer cancel()
	resp, fail := p.get(ctx, pathStatus, d.id, p.token)
	if fail != nil {
		return ""
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus+1))
	if err != nil || len(raw) > maxStatus || !json.Valid(raw) {
		return ""
	}
	file := filepath.Join(dir, "ais"+d.role+"-"+d.id+".status.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return ""
	}
	return file
}

// maxNames bounds the daemons that one sentence names.
const maxNames = 8

// sentences tell what is missing, one for each reason.
func sentences(results []result) []string {
	type reason struct {
		kept bool
		text string
	}
	var order []reason
	who := map[reason][]string{}
	for _, r := range results {
		if r.fail == nil {
			continue
		}
		why := reason{r.file != "", r.fail.Text}
		if who[why] == nil {
			order = append(order, why)
		}
		who[why] = append(who[why], r.String())
	}
	var out []string
	for _, why := range order {
		names := who[why]
		more := ""
		if len(names) > maxNames {
			more = fmt.Sprintf(" and %d more", len(names)-maxNames)
			names = names[:maxNames]
		}
		lead := "No logs from "
		if why.kept {
			lead = "Only part of the logs from "
		}
		out = append(out, lead+strings.Join(names, ", ")+more+": "+why.text+".")
	}
	return out
}

// nothing is the error of a pull that brought nothing: the reason of all, or the reasons.
func nothing(results []result, missing []string) *Error {
	var first *Error
	for _, r := range results {
		if r.fail != nil && (first == nil || r.fail.useless()) {
			first = r.fail
		}
	}
	if first != nil && (first.useless() || first.Kind == SpoolError) {
		return first
	}
	if len(missing) > 3 {
		missing = append(slices.Clone(missing[:3]), "…")
	}
	text := "the cluster responds, but none of its daemons returned its logs. " + strings.Join(missing, " ")
	return fault(Nothing, strings.TrimRight(text, ". "))
}
