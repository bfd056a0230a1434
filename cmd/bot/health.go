package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"faultline/fetch/spool"
	"faultline/store/blob"
	"faultline/store/health"
	"faultline/workflow"
)

// hostChecks are what the bot needs of its own host: to write what it knows, and what it fetched.
func hostChecks(s *stores, logs *brought) []health.Check {
	checks := []health.Check{
		{
			Name: "store", Cannot: storeCannot, Probe: s.db.Probe, Reason: s.db.Reason,
			Mend: func(ctx context.Context) error {
				err := s.db.Rescue(ctx)
				if errors.Is(err, fs.ErrExist) {
					return health.ErrLeft
				}
				return err
			},
		},
		health.Folder("data", s.Dir),
		health.Folder("blobs", filepath.Join(s.Dir, "blobs"), blob.Folders...),
		health.Folder("spool", filepath.Join(s.Dir, scratchDir)),
		health.Folder("uploads", filepath.Join(s.Dir, uploadsDir)),
	}
	if logs.Spool != nil {
		checks = append(checks, health.Folder("taken", takenIn(s.Dir), spool.Folders...))
	}
	if s.Archive != nil {
		checks = append(checks, health.Check{
			Name: "archive", Cannot: "archive closed cases", Aside: true, Probe: s.Archive.Probe,
			Reason: func(error) string { return "the S3 bucket cannot be used" },
		})
	}
	return checks
}

// refused says to people why the store takes nothing.
func (s *stores) refused(err error) error {
	return &workflow.Fault{Cannot: storeCannot, Why: s.db.Reason(err), Err: err}
}

const storeCannot = "write to my store"

// hostCollector tells how the bot's own host is, as it was last seen: it waits for nothing.
type hostCollector struct {
	of                *health.Monitor
	up, bytes, inodes *prometheus.Desc
}

func newHostCollector(of *health.Monitor) *hostCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("faultline_"+name, help, []string{"check"}, nil)
	}
	return &hostCollector{
		of:     of,
		up:     desc("host_up", "Whether a host resource the bot needs worked at the last check."),
		bytes:  desc("host_free_bytes", "Bytes the bot can still write at the checked location."),
		inodes: desc("host_free_inodes", "Files the bot can still create at the checked location."),
	}
}

// Describe implements prometheus.Collector.
func (c *hostCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.up
	to <- c.bytes
	to <- c.inodes
}

// Collect implements prometheus.Collector.
func (c *hostCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, check string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, check)
	}
	for _, s := range c.of.Status() {
		up := 1.0
		if s.Err != nil {
			up = 0
		}
		gauge(c.up, up, s.Name)
		if s.Room != nil {
			gauge(c.bytes, float64(s.Room.Bytes), s.Name)
			if s.Room.Counted {
				gauge(c.inodes, float64(s.Room.Files), s.Name)
			}
		}
	}
}
