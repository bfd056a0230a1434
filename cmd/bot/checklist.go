package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"faultline/chat/desk"
	"faultline/config"
	"faultline/preflight"
)

// listing is the checklist that a check goes through; the zero one has no items.
type listing struct {
	name, config string
	plans, ticks []string

	items    []preflight.Item
	commands map[string]string // of a team's own items, by id
	evidence preflight.Evidence
}

func (l *listing) declare(fs *pflag.FlagSet) {
	fs.StringVar(&l.name, "checklist", "", "also go through a checklist, `NAME`: "+strings.Join(preflight.Checklists(), ", ")+", or one of the configuration\ne.g. --checklist pre-training")
	fs.StringVar(&l.config, "config", "", "read your team's checklists and baselines from `FILE`\ne.g. --config /etc/faultline.yaml")
	fs.StringArrayVar(&l.plans, "plan", nil, "what the job will be, `KEY=N,…`; may be repeated: "+strings.Join(preflight.PlanFields(), ", ")+"\ne.g. --plan params=70e9,tp=8,pp=4,dp=16")
	fs.StringArrayVar(&l.ticks, "tick", nil, "tick a checklist item that only you can know, `ID`; may be repeated\ne.g. --tick small-run")
}

// configured is the team's configuration, else the default.
func (l *listing) configured() (config.Config, error) {
	if l.config == "" {
		return config.Default(), nil
	}
	cfg, err := config.Load(l.config)
	if err != nil {
		return cfg, usage("%v", err)
	}
	return cfg, nil
}

// load finds the list and reads the plan.
func (l *listing) load(cfg config.Config) error {
	if l.name == "" {
		if len(l.plans)+len(l.ticks) > 0 {
			return usage("--plan and --tick belong to a checklist: --checklist %s", preflight.PreTraining)
		}
		return nil
	}
	var err error
	if l.evidence.Plan, err = preflight.ParsePlan(l.plans); err != nil {
		return usage("--plan: %v", err)
	}
	if l.items, l.commands, err = desk.ItemsOf(cfg.Checklists, l.name); err != nil {
		return usage("--checklist %s: %v", l.name, err)
	}
	for _, t := range l.ticks {
		if !slices.ContainsFunc(l.items, func(it preflight.Item) bool { return it.ID == t }) {
			return usage("--tick %s: the checklist %s has no such item", t, l.name)
		}
	}
	l.evidence.Ticked, l.evidence.Ran = l.ticks, map[string]error{}
	return nil
}

// ofItem bounds the command of an item.
const ofItem = 30 * time.Second

// run runs the commands of a team's own items.
func (l *listing) run(ctx context.Context) {
	for id, command := range l.commands {
		ctx, cancel := context.WithTimeout(ctx, ofItem)
		out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
		if err != nil {
			if text, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); text != "" {
				err = errors.New(text)
			}
		}
		l.evidence.Ran[id] = err
		cancel()
	}
}

// tick is what the items say of the nodes, as findings.
func (l *listing) tick(all []preflight.Facts, findings []preflight.Finding, wants preflight.Wants) []preflight.Finding {
	if l.name == "" {
		return nil
	}
	l.evidence.Nodes, l.evidence.Findings, l.evidence.Wants = all, findings, wants
	l.items = preflight.Tick(l.items, &l.evidence)
	return preflight.Blocking(l.items)
}

// boxes are how items are ticked in text.
var boxes = map[preflight.State]string{preflight.Passed: "[x]", preflight.Failed: "[!]", preflight.Open: "[ ]"}

func (l *listing) show(w io.Writer) {
	if l.name == "" {
		return
	}
	fmt.Fprintf(w, "%s:\n", l.name)
	for _, it := range l.items {
		critical := ""
		if it.Critical {
			critical = " (critical)"
		}
		fmt.Fprintln(w, printable(fmt.Sprintf("%s %s%s: %s", boxes[it.State], it.Text, critical, it.How()), 400))
	}
}
