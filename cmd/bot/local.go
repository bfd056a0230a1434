package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"faultline/analysis"
	"faultline/analysis/verify"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/gate"
	"faultline/incident"
	"faultline/workflow"
)

// shared is the source of logs on file systems that are mounted here, as configured.
func shared(clusters []config.Cluster, spool string) *fetch.Shared {
	s := &fetch.Shared{Spool: spool, Now: time.Now, Beside: analysis.Beside, Records: analysis.Records}
	for _, c := range clusters {
		cl := fetch.Cluster{Name: c.Name, Patterns: c.Logs.Patterns}
		if c.Logs.IsMounted() {
			cl.Roots = c.Logs.Roots
		}
		s.Clusters = append(s.Clusters, cl)
	}
	return s
}

// unpack is what archives may unpack to, as configured.
func unpack(l config.Limits) fetch.Bounds {
	return fetch.Bounds{Files: l.UnpackFiles, Bytes: int64(l.UnpackMB) << 20}
}

// localOptions take what the engine knows, logs and evidence beside them, within the configured limits.
func localOptions(cfg config.Config, spool string) fetch.LocalOptions {
	return fetch.LocalOptions{SpoolDir: spool, Beside: analysis.Beside, Records: analysis.Records, Unpack: unpack(cfg.Limits)}
}

// typed are paths as the system opens them: "-" is what comes in on standard input.
func typed(paths []string) []string {
	paths = slices.Clone(paths)
	for i, p := range paths {
		if p == "-" {
			paths[i] = "/dev/stdin"
		}
	}
	return paths
}

// hints tells questions where logs usually are.
func hints(clusters []config.Cluster) func(string) workflow.CopyHint {
	return func(cluster string) workflow.CopyHint {
		var hint workflow.CopyHint
		for _, c := range clusters {
			if cluster != "" && c.Name != cluster {
				continue
			}
			hint.Push = hint.Push || len(c.Push.Secrets) > 0
			if hint.Host == "" {
				hint.Host = c.LoginHost
			}
			for _, root := range c.Logs.Roots {
				for _, pattern := range c.Logs.Patterns {
					hint.Paths = append(hint.Paths, filepath.Join(root, pattern))
				}
			}
		}
		return hint
	}
}

// zones are those of the clusters' machines, as the configuration states them; nil where it does not.
func zones(clusters []config.Cluster) func(cluster string) *time.Location {
	return func(cluster string) *time.Location {
		for _, c := range clusters {
			if c.Zone != "" && (c.Name == cluster || len(clusters) == 1) {
				zone, _ := config.ParseZone(c.Zone) // it was read when the configuration was
				return zone
			}
		}
		return nil
	}
}

// engine is analysis and verification as the workflow wants them, which read through a gate.
func engine(from *gate.Gate, known *siteKnowledge) workflow.Engine {
	return workflow.Engine{
		Diagnose: func(ctx context.Context, in analysis.Input) (*incident.Report, error) {
			in.Opener = from.Open
			known.give(&in)
			return analysis.Diagnose(ctx, in)
		},
		Look: func(ctx context.Context, s incident.Source) (string, bool, error) {
			return analysis.Look(ctx, from.Open, s)
		},
		Verify: func(ctx context.Context, sources []incident.Source, r *incident.Report) ([]string, error) {
			_, failures, err := verify.Verifier{Open: from.Open}.ReportAndHash(ctx, filesOf(sources), r, nil)
			var texts []string
			for _, f := range failures {
				texts = append(texts, f.Path+": "+f.Reason)
			}
			return texts, err
		},
		Known: analysis.KnownEvidence(),
		Open:  from.Open,
	}
}

// served is the gate of a bot that answers others: to the roots of each cluster, and to what the bot itself keeps below its directory.
func served(clusters []config.Cluster, dir string) (*gate.Gate, error) {
	areas := []gate.Area{{Own: true, Roots: []string{filepath.Join(dir, scratchDir), filepath.Join(dir, uploadsDir), takenIn(dir)}}}
	for _, c := range clusters {
		if c.Logs.IsMounted() {
			areas = append(areas, gate.Area{Roots: c.Logs.Roots})
		}
	}
	return gate.New(areas...)
}

// The folders, beside that of takenIn, in which a bot keeps files: what archives hold and clusters say, and what people uploaded.
const (
	scratchDir = "spool"
	uploadsDir = "uploads"
)

func filesOf(sources []incident.Source) verify.Files {
	files := verify.Files{}
	for _, s := range sources {
		files[s.Name] = s.Path
	}
	return files
}

// scratch makes a private directory for what archives hold; the second result removes it.
func scratch() (string, func(), error) {
	dir, err := os.MkdirTemp("", "faultline-")
	if err != nil {
		return "", nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
