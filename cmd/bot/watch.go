package main

import (
	"context"
	"fmt"
	"time"

	"faultline/chat/desk"
	"faultline/chat/epilog"
	"faultline/config"
	"faultline/fetch/jobs"
	"faultline/fetch/slurm"
	"faultline/workflow"
)

// endings asks the clusters, by name, which jobs have ended: the Endings of a desk.Watcher.
type endings map[string]*slurm.Cluster

// ask collects those that can be asked.
func ask(clusters []jobs.Cluster) endings {
	e := endings{}
	for _, c := range clusters {
		if c.Ask != nil {
			e[c.Name] = c.Ask
		}
	}
	return e
}

// Ended implements workflow.Endings.
func (e endings) Ended(ctx context.Context, cluster string, from, to time.Time) ([]workflow.Ended, error) {
	c, err := e.of(cluster)
	if err != nil {
		return nil, err
	}
	return c.Ended(ctx, from, to)
}

// Runs implements workflow.Endings.
func (e endings) Runs(ctx context.Context, cluster, user, name string, from, to time.Time) ([]workflow.Ended, error) {
	c, err := e.of(cluster)
	if err != nil {
		return nil, err
	}
	return c.Runs(ctx, user, name, from, to)
}

func (e endings) of(cluster string) (*slurm.Cluster, error) {
	if c := e[cluster]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no way to query cluster %s is configured; it can be watched once there is one", cluster)
}

// hooks hears the clusters that have a secret.
func (s *service) hooks() *epilog.Handler {
	h := &epilog.Handler{Secrets: map[string]config.Secret{}, Enqueue: s.store.Enqueue, Nudge: desk.Nudge, Now: time.Now, Log: s.log}
	for _, c := range s.cfg.Clusters {
		h.Secrets[c.Name] = c.HookSecret
	}
	return h
}

// self is the workspace and the bot's own user; "" until Slack has told.
func (s *service) self() (team, user string) {
	id := s.client.Self()
	return id.Team, id.User
}
