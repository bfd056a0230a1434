package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/incident"
	"faultline/simulate"
	"faultline/simulate/fabric"
)

// fabricSpecs are every scene over tools and layouts.
func fabricSpecs() []fabric.Spec {
	var out []fabric.Spec
	tools, counting := []string{"ibstat", "ibstatus", "ibv_devinfo", "sysfs"}, []string{"perfquery", "sysfs"}
	layouts := []string{"label", "block", "prompt", "file"}
	for i, scene := range slices.Concat(fabric.Faults(), fabric.Controls()) {
		variants := 2
		if slices.Contains(fabric.Faults(), scene) {
			variants = 4
		}
		for v := range variants {
			s := fabric.Spec{Seed: uint64(100*i + v), Scene: scene, Hosts: 4 + (i+v)%3, Tool: tools[(i+v)%4], Layout: layouts[(i+2*v+v/2)%4]}
			switch scene {
			case fabric.Flaps, fabric.Damaged, fabric.SinceBoot, fabric.TwoLinks, fabric.Foreign, fabric.Normal, fabric.Cleared, fabric.NoOrder, fabric.Elsewhere, fabric.LongAgo, fabric.Saturated, fabric.Discards:
				s.Tool = counting[v%2]
				if s.Layout == "prompt" {
					s.Layout = "block"
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// A link at fault is named with its host, its port and both its ends, where the bytes prove it; nobody is accused where they do not, and a
// verdict that stands without the network stays.
func TestPortsAndCountersNameTheLink(t *testing.T) {
	t.Parallel()
	exact, faults, accused := 0, 0, 0
	for i, spec := range fabricSpecs() {
		if brief() && i%4 != 0 || raced && i%16 != 0 {
			continue
		}
		c, err := fabric.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s by %s, %s, %d hosts", spec.Scene, spec.Tool, spec.Layout, spec.Hosts)
		r, without := judgeFabric(t, c, true), judgeFabric(t, c, false)
		var set []string
		for _, x := range r.Verdict.Candidates {
			set = append(set, x.Mechanism)
		}
		if len(r.Verification.Withdrawn) > 0 {
			t.Errorf("%s: withdrawn %v", what, r.Verification.Withdrawn)
		}
		if !slices.ContainsFunc(r.Artifacts, func(a incident.Artifact) bool { return a.Kind == "fabric" }) {
			t.Errorf("%s: the network is not in the report; %v", what, r.Warnings)
		}
		if c.Truth.Node == "" {
			if len(r.Verdict.Root.Nodes) > len(without.Verdict.Root.Nodes) || slices.Contains(set, "link-error") || !slices.Equal(mechanismsOf(r), mechanismsOf(without)) {
				accused++
				t.Errorf("%s: %v of %v, without the network %v of %v", what, set, r.Verdict.Root.Nodes, mechanismsOf(without), without.Verdict.Root.Nodes)
			}
			continue
		}
		faults++
		component := ""
		if r.Verdict.Root.Component != nil {
			component = *r.Verdict.Root.Component
		}
		if slices.Equal(set, []string{"link-error"}) && slices.Equal(r.Verdict.Root.Nodes, []string{c.Truth.Node}) && component == "nic:"+c.Truth.Device && len(r.Revisions) > 0 {
			exact++
			continue
		}
		t.Errorf("%s: %v of %v, %s, %d revisions; at fault %s of %s; %v", what, set, r.Verdict.Root.Nodes, component, len(r.Revisions), c.Truth.Device, c.Truth.Node, r.Warnings)
	}
	t.Logf("%d of %d exact, %d accused", exact, faults, accused)
}

func mechanismsOf(r *incident.Report) []string {
	var out []string
	for _, x := range r.Verdict.Candidates {
		out = append(out, x.Mechanism)
	}
	return out
}

func judgeFabric(t *testing.T, c *fabric.Case, with bool) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test", WorldSize: c.Job.WorldSize}
	if c.Job.Nodes != "" {
		nodes, err := hostlist.Expand(c.Job.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		in.Nodes = nodes
	}
	write := func(folder string, files []simulate.File) []incident.Source {
		var out []incident.Source
		for _, f := range files {
			p := filepath.Join(dir, folder, strings.ReplaceAll(f.Name, "/", "_"))
			if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			out = append(out, incident.Source{Name: f.Name, Path: p, Bytes: int64(len(f.Data))})
		}
		return out
	}
	in.Sources = write("logs", c.Job.Files)
	if with {
		in.Evidence = write("evidence", c.Evidence)
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
