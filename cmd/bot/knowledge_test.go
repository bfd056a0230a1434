package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
)

// typedCommand runs the program and returns what it prints and its exit code.
func typedCommand(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out, errs strings.Builder
	code := run(context.Background(), args, env{strings.NewReader(""), &out, &errs})
	return out.String() + errs.String(), code
}

func fileWith(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// recipes are the YAML blocks of the page, by the heading above each.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/site-knowledge.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, rest, _ := strings.Cut(section, "\n")
		if _, block, ok := strings.Cut(rest, "```yaml\n"); ok {
			blocks[heading], _, _ = strings.Cut(block, "```")
		}
	}
	if len(blocks) < 6 {
		t.Fatalf("the page has %d recipes", len(blocks))
	}
	return blocks
}

// diagnosedWith diagnoses a log with a site's file, and returns the report.
func diagnosedWith(t *testing.T, siteFile, log string, flags ...string) incident.Report {
	t.Helper()
	args := slices.Concat([]string{"diagnose", "--format", "json", "--knowledge", fileWith(t, "site.yaml", siteFile)}, flags, []string{fileWith(t, "a.log", log)})
	out, code := typedCommand(t, args...)
	var r incident.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d: %v: %s", code, err, out)
	}
	return r
}

func TestEachRecipeOfThePageWorks(t *testing.T) {
	for heading, text := range recipes(t) {
		out, code := typedCommand(t, "knowledge", "check", fileWith(t, "site.yaml", text))
		if code != exitOK || strings.Contains(out, "FAIL") {
			t.Errorf("%s: exit %d:\n%s", heading, code, out)
		}
	}
}

func TestAnExampleThatComesToSomethingElseIsFound(t *testing.T) {
	text := strings.Replace(recipes(t)["An exception of your own"], "rank: 2", "rank: 2\n        expect: gpu-oom", 1)
	if out, code := typedCommand(t, "knowledge", "check", fileWith(t, "site.yaml", text)); code != exitUnreadable || !strings.Contains(out, "FAIL") || !strings.Contains(out, "expected gpu-oom") {
		t.Errorf("exit %d: %s", code, out)
	}
}

const (
	trained  = "step 1 loss 2.15\nstep 2 loss 2.14\nstep 3 loss 2.13\n"
	beat     = "[rank3]: xfab: heartbeat lost on port 3\n"
	licence  = "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/a/train.py\", line 3, in main\n[rank2]:     f()\n[rank2]: LicenseError: no seat left on lic01\n"
	eccError = "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/a/train.py\", line 3, in main\n[rank5]:     f()\n[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
	fullDisk = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/a/train.py\", line 3, in main\n[rank1]:     f()\n[rank1]: OSError: [Errno 28] No space left on device: '/scratch/a.pt'\n"
)

func TestTheSitesEntriesDecideWhereNothingElseIsProven(t *testing.T) {
	for _, c := range []struct {
		name, recipe, log string
		mechanism, owner  string
		first             string
		part              string
	}{
		{"its own failure", "A failure of your own software", trained + beat, "link-error", "cluster", "Restart the fabric driver on the node, then test port 3. (site knowledge: site.yaml:2)", incident.SiteDecides},
		{"its own exception", "An exception of your own", trained + licence, "resource-limit", "job-config", "Ask for a seat on lic01, then resubmit. (site knowledge: site.yaml:2)", incident.SiteDecides},
		{"a proven cause stands", "A failure of your own software", trained + beat + eccError, "gpu-ecc", "cluster", "", incident.SiteOutranked},
		{"an exception that nobody knows gives way", "A failure of your own software", trained + beat + strings.NewReplacer("CUDA error: uncorrectable ECC error encountered", "lost", "rank5", "rank3").Replace(eccError), "link-error", "cluster", "Restart", incident.SiteDecides},
		{"who acts on a mechanism", "Who acts, and what to do first", trained + fullDisk, "storage-full", "storage", "Open a ticket with the storage team", ""},
		{"who acts on an entry", "Who acts, and what to do first", trained + eccError, "gpu-ecc", "cluster", "Hand the node to the GPU desk. (site knowledge: site.yaml:7)", ""},
	} {
		r := diagnosedWith(t, recipes(t)[c.recipe], c.log)
		if r.Verdict.Mechanism != c.mechanism || r.Action.Owner != c.owner {
			t.Errorf("%s: %s, %s acts: %s", c.name, r.Verdict.Mechanism, r.Action.Owner, r.Verdict.Summary)
		}
		if len(r.Recommendations) == 0 || !strings.HasPrefix(r.Recommendations[0].Text, c.first) {
			t.Errorf("%s: first %+v", c.name, r.Recommendations[:min(1, len(r.Recommendations))])
		}
		var parts []string
		for _, n := range r.Site {
			parts = append(parts, n.Part)
			if len(n.Evidence) == 0 || n.Evidence[0].Text == "" {
				t.Errorf("%s: %s quotes nothing", c.name, n.ID)
			}
		}
		if strings.Join(parts, " ") != c.part {
			t.Errorf("%s: the site's entries: %q, want %q", c.name, parts, c.part)
		}
		if told := strings.Contains(r.Verdict.Why, "site knowledge (site.yaml:2)"); told != (c.part == incident.SiteDecides) {
			t.Errorf("%s: why: %s", c.name, r.Verdict.Why)
		}
		if r.Engine.Site == "" {
			t.Errorf("%s: the report does not name the site's file", c.name)
		}
	}
}

// What is proven without the site's entries keeps whom it accuses, and the site's word on who acts; what the site suppresses stays told.
func TestWhatIsProvenKeepsWhomItAccuses(t *testing.T) {
	const (
		same   = "failures:\n- id: memory-of-ours\n  line: 'xfab: heartbeat lost on port {port}'\n  mechanism: gpu-ecc\n  proves: alone\n  meaning: The memory is bad.\n  examples: [{text: 'xfab: heartbeat lost on port 3'}]\n"
		whom   = "actions:\n- mechanism: gpu-ecc\n  owner: storage\n  do: [{text: Ring the GPU desk.}]\n"
		hushed = "suppress:\n- id: hush\n  line: 'scratch probe failed'\n  why: It is noise here.\n  examples: [{text: scratch probe failed}]\n"
	)
	for _, c := range []struct{ name, log string }{
		{"another rank, above", trained + beat + eccError},
		{"another rank, below", trained + eccError + beat},
	} {
		r := diagnosedWith(t, same+whom+hushed, c.log+"ERROR scratch probe failed: /x\n")
		if r.Verdict.Mechanism != "gpu-ecc" || !slices.Equal(r.Verdict.Root.Ranks, []int{5}) {
			t.Errorf("%s: %s, ranks %v: %s", c.name, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verdict.Summary)
		}
		if r.Action.Owner != "storage" || len(r.Recommendations) == 0 || !strings.HasPrefix(r.Recommendations[0].Text, "Ring the GPU desk. (site knowledge: site.yaml:") {
			t.Errorf("%s: %s acts: %+v", c.name, r.Action.Owner, r.Recommendations[:min(1, len(r.Recommendations))])
		}
		told := 0
		for _, w := range r.Warnings {
			if strings.Contains(w, "scratch") || strings.Contains(w, "It is noise here") {
				told++
			}
			if strings.Contains(w, ".;") {
				t.Errorf("%s: %s", c.name, w)
			}
		}
		if told != 1 {
			t.Errorf("%s: the suppression is told of %d times: %q", c.name, told, r.Warnings)
		}
		ids := map[string]int{}
		for _, n := range r.Site {
			ids[n.ID]++
		}
		if ids["hush"] != 1 {
			t.Errorf("%s: the site's entries: %+v", c.name, r.Site)
		}
	}
}

// A device, a server or a file that a line names is called what it is; it is no process, and has no log.
func TestThingsThatALineNamesAreCalledWhatTheyAre(t *testing.T) {
	const file = "failures:\n- id: lost-of-ours\n  line: 'xfab: unit {unit} is lost'\n  role: symptom\n  names: [{capture: unit, is: KIND, whose: lost}]\n  meaning: It is gone.\n  examples: [{text: 'xfab: unit 3 is lost'}]\n"
	for _, c := range []struct{ kind, unit, want string }{
		{"gpu", "3", "GPU 3"}, {"gpu", "0000:17:00.0", "GPU 0000:17:00.0"}, {"device", "mlx5_0", "device mlx5_0"}, {"device", "3", "device 3"}, {"server", "7", "server 7"}, {"path", "12", "file 12"},
		{"reason", "3", ""}, {"task", "3", "task 3"},
	} {
		r := diagnosedWith(t, strings.Replace(file, "KIND", c.kind, 1), trained+"xfab: unit "+c.unit+" is lost\n")
		if r.Verdict.Root.Named != c.want {
			t.Errorf("%s %s: named %q: %s", c.kind, c.unit, r.Verdict.Root.Named, r.Verdict.Summary)
		}
		if thing := c.want != "" && c.kind != "task"; thing && strings.Contains(fmt.Sprint(r.Verdict), "the log of "+c.want) {
			t.Errorf("%s %s: somebody is to get its log: %+v", c.kind, c.unit, r.Verdict.Needs)
		}
	}
}

// A site's action is for the node it speaks of: where that is not known it is not carried to all nodes of the job, even if it only looks.
func TestASitesActionIsNotCarriedToAllNodes(t *testing.T) {
	for _, command := range []string{"ssh {node} 'sudo xfabctl reset'", "ssh {node} uptime"} {
		site := "actions:\n- mechanism: gpu-ecc\n  do: [{text: 'Look at {node}.', command: \"" + command + "\"}]\n"
		r := diagnosedWith(t, site, trained+eccError, "--nodes", "n[1-2]")
		if want := strings.Replace(command, "{node}", "NODE", 1); len(r.Recommendations) == 0 || r.Recommendations[0].Command != want {
			t.Errorf("%s: first %+v", command, r.Recommendations[:min(1, len(r.Recommendations))])
		}
	}
}

// What a suppression takes away is told; what proves a cause stays, unless it is named.
func TestSuppressionsHideNothingSilently(t *testing.T) {
	const noise = "suppress:\n- id: noise\n  line: '%s'\n  why: It is noise here.\n%s  examples: [{text: '%[1]s'}]\n"
	file := func(line, causes string) string {
		return strings.Replace(strings.ReplaceAll(strings.ReplaceAll(noise, "%[1]s", line), "%s  ex", causes+"  ex"), "%s", line, 1)
	}
	for _, c := range []struct {
		name, file, log, mechanism string
		told, gap                  string
	}{
		{"noise", file("scratch probe failed", ""), trained + "ERROR scratch probe failed: /x\n", "completed", "1 line suppressed as noise by site knowledge (site.yaml:2): It is noise here", ""},
		{"a proven cause", file("uncorrectable ECC error", ""), trained + eccError, "gpu-ecc", "these prove a cause and still count: gpu-ecc-cuda (1)", ""},
		{"a proven cause that is named", file("uncorrectable ECC error", "  causes: [gpu-ecc-cuda]\n"), trained + eccError, "completed", "normally they prove a cause: gpu-ecc-cuda (1)", "1 line of failures, suppressed by site knowledge (site.yaml:2)"},
		{"an exception", file("LicenseError: no seat left", ""), trained + licence, "completed", "1 line suppressed", "1 line of failures, suppressed by site knowledge (site.yaml:2)"},
	} {
		r := diagnosedWith(t, c.file, c.log)
		if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, c.told) }) {
			t.Errorf("%s: the report does not say %q: %q", c.name, c.told, r.Warnings)
		}
		if got := strings.Join(r.Coverage.Gaps, "; "); got != c.gap {
			t.Errorf("%s: gaps %q, want %q", c.name, got, c.gap)
		}
		if r.Verdict.Mechanism != c.mechanism {
			t.Errorf("%s: %s: %s", c.name, r.Verdict.Mechanism, r.Verdict.Summary)
		}
	}
}

// A bad file leaves what was known before, as SIGHUP needs it.
func TestABadFileLeavesTheOldKnowledge(t *testing.T) {
	var k siteKnowledge
	good := fileWith(t, "site.yaml", recipes(t)["A failure of your own software"])
	if err := k.load([]string{good}); err != nil {
		t.Fatal(err)
	}
	was := k.catalogue()
	err := k.load([]string{fileWith(t, "site.yaml", "failures:\n- id: x\n  lines: abc\n")})
	if err == nil || !strings.Contains(err.Error(), `site.yaml:3: unknown key "lines"; did you mean "line"?`) || k.catalogue() != was {
		t.Errorf("%v", err)
	}
	if _, ok := was.Lookup("xfab-heartbeat"); !ok {
		t.Error("the site's entry is not known")
	}
	if err := k.load(nil); err != nil || k.catalogue() != knowledge.Whole() {
		t.Errorf("without files: %v, %v", k.catalogue(), err)
	}
}

func TestExplainKnowsTheSite(t *testing.T) {
	file := fileWith(t, "site.yaml", recipes(t)["Who acts, and what to do first"]+recipes(t)["A failure of your own software"])
	for _, c := range []struct{ text, want string }{
		{"xfab: heartbeat lost on port 3", "site knowledge: site.yaml:"},
		{"xfab-heartbeat", "lost the heartbeat"},
		{"storage-full", "Open a ticket with the storage team"},
	} {
		if out, code := typedCommand(t, "explain", "--knowledge", file, c.text); code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d: %s", c.text, code, out)
		}
	}
	if out, _ := typedCommand(t, "explain", "--list", "--knowledge", file); !strings.Contains(out, "xfab-heartbeat") {
		t.Error("the list leaves the site's entry out")
	}
}
