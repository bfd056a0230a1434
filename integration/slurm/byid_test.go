//go:build realslurm

package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ways are how the bot may ask the cluster about a job.
func (c *cluster) ways(t *testing.T) map[string]string {
	t.Helper()
	token := c.path("etc/bot.jwt")
	write(t, token, "SLURM_JWT="+c.token+"\n", 0o600)
	configs := map[string]string{}
	for way, slurm := range map[string]string{
		"commands":   "{commands: local, settle: 1s}",
		"slurmrestd": fmt.Sprintf("{rest: {url: 'http://%s', token_file: %s}, settle: 1s}", c.rest, token),
	} {
		file := c.path("etc/bot-" + strings.ReplaceAll(way, " ", "-") + ".yaml")
		templates := "[]"
		if way == "slurmrestd" { // which tells no script
			templates = "['{workdir}/error-%j-%n.out', '{workdir}/slurm-%j-%n.out', '{workdir}/error-%A_%a-%n.out', '{workdir}/slurm-%A_%a-%n.out']"
		}
		write(t, file, fmt.Sprintf("clusters:\n  - name: ci\n    slurm: %s\n    logs: {roots: ['%s'], templates: %s}\n", slurm, c.work, templates), 0o600)
		configs[way] = file
	}
	t.Setenv("SLURM_CONF", c.path("etc/slurm.conf"))
	return configs
}

// untold are scenarios that only exit codes, or the name of who cancelled a step, tell: slurmrestd of 22.05 knows neither.
var untold = []string{"usr1", "scancel-step"}

// byID lets the bot find a job from nothing but its id, and holds the verdict to the scenario's.
func (c *cluster) byID(t *testing.T, bot string, sc scenario, j job, id string, configs map[string]string) {
	t.Helper()
	for _, way := range []string{"commands", "slurmrestd"} {
		t.Run(way, func(t *testing.T) {
			r := diagnose(t, bot, "--config", configs[way], "--job", id)
			one := sc
			if way == "slurmrestd" && slices.Contains(untold, sc.name) {
				one.mechanisms, one.candidates, one.rooted, one.noFailure = nil, nil, false, r.Verdict.Status == "no-failure"
			}
			judge(t, one, r, j.dir)
			var missing []string
			for _, w := range r.Warnings {
				if strings.Contains(w, "missing node") || strings.Contains(w, "I call no") || strings.Contains(w, "cannot be") {
					missing = append(missing, w)
				}
			}
			if len(missing) > 0 {
				t.Errorf("%q", missing)
			}
			if t.Failed() {
				t.Logf("warnings: %q", r.Warnings)
			}
		})
	}
}

// logsOf are the files that a job left behind, without what the test itself put there.
func logsOf(t *testing.T, j job) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(j.dir, "*.out"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// A node's file that is taken away is the one that is called missing.
func (c *cluster) missesOne(t *testing.T, bot string, j job, config string) {
	t.Helper()
	files := logsOf(t, j)
	gone := filepath.Join(j.dir, "error-"+j.id+"-2.out")
	if !slices.Contains(files, gone) {
		t.Fatalf("%s is not among %q", gone, files)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(gone, aside); err != nil {
		t.Fatal(err)
	}
	r := diagnose(t, bot, "--config", config, "--job", j.id)
	if text := strings.Join(r.Warnings, " "); !strings.Contains(text, "3 of 4 nodes, missing node03 (index 2)") {
		t.Errorf("%q", r.Warnings)
	}
	if err := os.Rename(aside, gone); err != nil {
		t.Fatal(err)
	}
}
