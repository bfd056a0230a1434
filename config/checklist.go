package config

import (
	"fmt"
	"slices"
	"strings"
)

// Checklist is a list of a team's own that bot check --checklist goes through.
type Checklist struct {
	Name string `yaml:"name"`
	// Includes are built-in lists that come first.
	Includes []string        `yaml:"includes"`
	Items    []ChecklistItem `yaml:"items"`
}

// ChecklistItem is one line of it.
type ChecklistItem struct {
	ID       string `yaml:"id"`
	Text     string `yaml:"text"`
	Critical bool   `yaml:"critical"`
	// Run is a command that succeeds where the item is so; "" = a person ticks it.
	Run string `yaml:"run"`
}

// Baselines are rates in GB/s; 0 = not stated.
type Baselines struct {
	TCP  float64 `yaml:"tcp"`
	Bus  float64 `yaml:"bus"`
	RDMA float64 `yaml:"rdma"`
}

func (c *Config) validateBaselines(bad func(path, format string, args ...any)) {
	for name, rate := range map[string]float64{"tcp": c.Baselines.TCP, "bus": c.Baselines.Bus, "rdma": c.Baselines.RDMA} {
		if !(rate >= 0 && rate < 1e6) {
			bad("baselines."+name, "%g is not a number of GB/s", rate)
		}
	}
}

func (c *Config) validateChecklists(bad func(path, format string, args ...any)) {
	typed := func(id string) bool {
		return id != "" && len(id) <= 40 && id[0] != '-' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	}
	for i, l := range c.Checklists {
		at := fmt.Sprintf("checklists[%d]", i)
		if !typed(l.Name) {
			bad(at+".name", "%q must be lower-case letters, digits and hyphens", l.Name)
		}
		if slices.ContainsFunc(c.Checklists[:i], func(o Checklist) bool { return o.Name == l.Name }) {
			bad(at+".name", "%q is listed twice", l.Name)
		}
		for j, it := range l.Items {
			here := fmt.Sprintf("%s.items[%d]", at, j)
			if !typed(it.ID) {
				bad(here+".id", "%q must be lower-case letters, digits and hyphens", it.ID)
			}
			if slices.ContainsFunc(l.Items[:j], func(o ChecklistItem) bool { return o.ID == it.ID }) {
				bad(here+".id", "%q is listed twice", it.ID)
			}
			if it.Text == "" {
				bad(here+".text", "must say what is to be checked")
			}
		}
	}
}
