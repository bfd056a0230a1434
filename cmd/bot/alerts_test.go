package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"

	"faultline/chat/slack"
	"faultline/store/health"
	"faultline/workflow"
)

// known gathers what the program registers: the labels of each metric.
type known map[string][]string

var descShape = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (k known) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		m := descShape.FindStringSubmatch(d.String())
		if m == nil {
			return fmt.Errorf("%s is not understood", d)
		}
		k[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
	return nil
}

func (k known) MustRegister(list ...prometheus.Collector) {
	for _, c := range list {
		if err := k.Register(c); err != nil {
			panic(err)
		}
	}
}

func (known) Unregister(prometheus.Collector) bool { return false }

// metricsOf is every metric of a bot with something open.
func metricsOf(t *testing.T) known {
	t.Helper()
	store := workflow.NewMemory()
	inv := workflow.Investigation{ID: "F-1", State: workflow.Triaging}
	if err := store.Save(t.Context(), workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	k := known{}
	slack.NewMetrics(k)
	hooks(k)
	k.MustRegister(newCollector(store), newHostCollector(health.New(nil, nil)))
	return k
}

type alert struct {
	Alert, Expr string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	raw, err := os.ReadFile("../../docs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	var list []alert
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	if len(list) < 10 {
		t.Fatalf("only %d alerts", len(list))
	}
	return list
}

func runbook(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var (
	metricInText = regexp.MustCompile(`\bfaultline_[a-z_]+\b`)
	selector     = regexp.MustCompile(`\b(faultline_[a-z_]+)\{([^}]*)\}`)
	labelName    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouping     = regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
	histogram    = regexp.MustCompile(`_(?:bucket|sum|count)$`)
)

func TestEveryAlertIsAboutAMetricThatExistsAndHasARunbook(t *testing.T) {
	metrics, book := metricsOf(t), runbook(t)
	names := map[string]bool{}
	for _, a := range alerts(t) {
		if names[a.Alert] {
			t.Errorf("%s is there twice", a.Alert)
		}
		names[a.Alert] = true
		var labels []string
		found := metricInText.FindAllString(a.Expr, -1)
		for _, name := range found {
			have, ok := metrics[name]
			if !ok {
				have, ok = metrics[histogram.ReplaceAllString(name, "")]
				have = append(slices.Clone(have), "le")
			}
			if !ok {
				t.Errorf("%s: there is no metric %s", a.Alert, name)
			}
			labels = append(labels, have...)
		}
		if len(found) == 0 && !strings.Contains(a.Expr, `up{job="faultline"}`) {
			t.Errorf("%s is about nothing of ours: %s", a.Alert, a.Expr)
		}
		for _, m := range selector.FindAllStringSubmatch(a.Expr, -1) {
			for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(metrics[m[1]], l[1]) {
					t.Errorf("%s: %s has no label %s", a.Alert, m[1], l[1])
				}
			}
		}
		for _, m := range grouping.FindAllStringSubmatch(a.Expr, -1) {
			for _, l := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' }) {
				if !slices.Contains(labels, l) {
					t.Errorf("%s: nothing has the label %s", a.Alert, l)
				}
			}
		}
		if strings.Count(a.Expr, "(") != strings.Count(a.Expr, ")") || strings.Count(a.Expr, "{") != strings.Count(a.Expr, "}") {
			t.Errorf("%s: brackets do not match in %s", a.Alert, a.Expr)
		}
		if a.For != "" {
			if _, err := time.ParseDuration(a.For); err != nil {
				t.Errorf("%s: for: %v", a.Alert, err)
			}
		}
		if !slices.Contains([]string{"page", "ticket", "info"}, a.Labels["severity"]) || a.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", a.Alert)
		}
		anchor := "docs/operations.md#" + strings.ToLower(a.Alert)
		if a.Annotations["runbook_url"] != anchor {
			t.Errorf("%s: its runbook is %q, not %q", a.Alert, a.Annotations["runbook_url"], anchor)
		}
		_, text, ok := strings.Cut(book, "\n### "+a.Alert+"\n")
		if text, _, _ = strings.Cut(text, "\n#"); !ok || len(strings.TrimSpace(text)) < 40 {
			t.Errorf("%s has no runbook in docs/operations.md", a.Alert)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Faultline\w+)$`).FindAllStringSubmatch(book, -1) {
		if !names[m[1]] {
			t.Errorf("the runbook tells about %s, which is no alert", m[1])
		}
	}
}

func TestTheRunbookExplainsEveryMetricAndNoOther(t *testing.T) {
	metrics, book := metricsOf(t), runbook(t)
	told := map[string]bool{}
	for _, name := range metricInText.FindAllString(book, -1) {
		told[name] = true
		if _, ok := metrics[name]; !ok {
			t.Errorf("the runbook tells about %s, which does not exist", name)
		}
	}
	for name := range metrics {
		if !told[name] {
			t.Errorf("the runbook does not explain %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`(faultline_[a-z_]+)\\{([^}]*)\\}`").FindAllStringSubmatch(book, -1) {
		if got := strings.Join(metrics[m[1]], ","); got != m[2] {
			t.Errorf("the labels of %s are %s, not %s", m[1], got, m[2])
		}
	}
}

// anchors as GitHub makes them of headings.
func TestLinksWithinTheRunbookLeadSomewhere(t *testing.T) {
	book := runbook(t)
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(book, -1) {
		anchors[strings.ReplaceAll(strings.Trim(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " "), " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(book, -1) {
		if !anchors[m[1]] {
			t.Errorf("there is no heading for #%s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^#)h][^)]*)\)`).FindAllStringSubmatch(book, -1) {
		if _, err := os.Stat("../../docs/" + m[1]); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

func TestTheConfigurationInTheRunbookIsValid(t *testing.T) {
	t.Setenv("SLACK_APP_TOKEN", "xapp-1")
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-1")
	_, text, ok := strings.Cut(runbook(t), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if !ok {
		t.Fatal("there is none")
	}
	if cfg := parsed(t, text); len(cfg.Clusters) != 1 || cfg.Slack.BotToken.Reveal() != "xoxb-1" {
		t.Errorf("%+v", cfg)
	}
}
