package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"faultline/chat/desk"
	"faultline/workflow"
)

// hooks counts what the desk does.
func hooks(reg prometheus.Registerer) desk.Hooks {
	handled := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "faultline_act_seconds", Help: "Time from receiving a user action until its response is stored.",
		Buckets: []float64{.01, .05, .1, .5, 1, 5, 30},
	}, []string{"kind", "verb"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "faultline_refusals_total", Help: "User actions denied, by reason."}, []string{"reason"})
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "faultline_outcomes_total", Help: "User ratings of verdicts on closing a case, by mechanism.",
	}, []string{"mechanism", "verdict"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "faultline_job_failures_total", Help: "Failed job attempts that are retried."}, []string{"kind"})
	buried := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "faultline_jobs_buried_total", Help: "Jobs given up after too many failures."}, []string{"kind"})
	reg.MustRegister(handled, refused, outcomes, failures, buried)
	return desk.Hooks{
		Handled: func(kind, verb string, took time.Duration) {
			handled.WithLabelValues(kind, verb).Observe(took.Seconds())
		},
		Refused: func(reason string) { refused.WithLabelValues(reason).Inc() },
		Outcome: func(mechanism, verdict string) { outcomes.WithLabelValues(mechanism, verdict).Inc() },
		Failed:  func(kind string) { failures.WithLabelValues(kind).Inc() },
		Buried:  func(kind string) { buried.WithLabelValues(kind).Inc() },
	}
}

// collectWait bounds one reading of the store for metrics.
const collectWait = 5 * time.Second

// collector reads from the store what is waiting there.
type collector struct {
	busy                               chan struct{} // held by a reading; the disk under the store may hang
	store                              workflow.Durable
	backlog, oldest, waiting, open, up *prometheus.Desc
}

func newCollector(store workflow.Durable) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("faultline_"+name, help, labels, nil)
	}
	return &collector{
		busy:    make(chan struct{}, 1),
		store:   store,
		backlog: desc("outbox_posts", "Posts not yet sent."),
		oldest:  desc("outbox_oldest_seconds", "Age of the oldest unsent post."),
		waiting: desc("jobs_waiting", "Jobs not yet done.", "kind"),
		open:    desc("investigations_open", "Open investigations, by state.", "state"),
		up:      desc("store_up", "Whether the store is responding."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector. A store that does not answer is down; at most one reading waits for it.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectWait)
	defer cancel()
	read := make(chan []prometheus.Metric, 1)
	select {
	case c.busy <- struct{}{}:
		go func() {
			defer func() { <-c.busy }()
			read <- c.read(ctx)
		}()
	case <-ctx.Done():
	}
	select {
	case list := <-read:
		for _, m := range list {
			to <- m
		}
	case <-ctx.Done():
		to <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 0)
	}
}

// read asks the store.
func (c *collector) read(ctx context.Context) (list []prometheus.Metric) {
	up := 1.0
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	if n, oldest, err := c.store.Backlog(ctx); err == nil {
		age := 0.0
		if n > 0 {
			age = time.Since(oldest).Seconds()
		}
		gauge(c.backlog, float64(n))
		gauge(c.oldest, age)
	} else {
		up = 0
	}
	for _, kind := range []string{workflow.JobInbound, workflow.JobRun, workflow.JobTimers, workflow.JobWatch, workflow.JobLook, workflow.JobNext, workflow.JobDue, workflow.JobSubmit, workflow.JobMonth, workflow.JobArchive} {
		if jobs, err := c.store.Waiting(ctx, kind); err == nil {
			gauge(c.waiting, float64(len(jobs)), kind)
		} else {
			up = 0
		}
	}
	const most = 10_000
	if list, err := c.store.Find(ctx, workflow.Query{Open: true, Limit: most}); err == nil {
		states := map[workflow.State]int{}
		for _, s := range list {
			states[s.State]++
		}
		for state, n := range states {
			gauge(c.open, float64(n), string(state))
		}
	} else {
		up = 0
	}
	gauge(c.up, up)
	return list
}
