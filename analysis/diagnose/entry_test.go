package diagnose

import (
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
)

// The root's own line says who acts, what to do first and who may be named.
func TestTheLineSaysWhoActsAndWhatToDo(t *testing.T) {
	const (
		throttled = "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/x"
		fabric    = "RuntimeError: CUDA error: system not yet initialized"
		gaveUp    = "requests.exceptions.ConnectionError: HTTPConnectionPool(host='ais', port=51080): Max retries exceeded with url: /v1/objects/b/o"
	)
	for _, c := range []struct {
		name, text             string
		mechanism, owner       string
		first, command, action string // how they begin
		ranks                  []int
	}{
		{"a throttled store is nobody's in particular", raisedBy(5, throttled), "storage-retries-exhausted", "job-config", "Download once on one rank", "hf auth whoami", "fix it first", nil},
		{"a fabric that is down is the node's", raisedBy(2, fabric), "gpu-nvlink", "cluster", "Check that Fabric Manager", "ssh NODE 'systemctl status nvidia-fabricmanager", "check that Fabric Manager", nil},
		{"what a line captures is filled in", fieldSteps + inLoader(3, "requests.exceptions.ConnectionError", strings.TrimPrefix(gaveUp, "requests.exceptions.ConnectionError: ")),
			"storage-retries-exhausted", "storage", "Test ais from the node", "ssh NODE 'nc -zv ais 51080", "fix it first", []int{3}},
		{"a host that nobody blames is filled in as well", "gpu-12: ssh: connect to host gpu-12 port 22: Connection refused\n", "init-unreachable", "job-config", "Check that gpu-12 is up", "nc -zv gpu-12 22", "fix it first", nil},
		{"a mechanism's advice where the line adds nothing", raisedBy(3, "OSError: [Errno 28] No space left on device"), "storage-full", "job-config", "Find out which file system", "ssh NODE 'df -h;", "fix it first", []int{3}},
		{"the place that the line names", raisedBy(3, "OSError: [Errno 28] No space left on device: '/scratch/a.pt'"), "storage-full", "job-config", "Check whether space, inodes or a quota ran out in /scratch.", "ssh NODE 'df -h /scratch; df -i /scratch; quota -s'", "fix it first", []int{3}},
		{"a place that all nodes share", raisedBy(3, "OSError: [Errno 28] No space left on device: '/lustre/x/a.pt'"), "storage-full", "job-config", "Check whether space", "df -h /lustre/x; df -i /lustre/x; quota -s", "fix it first", []int{3}},
	} {
		r := Run(read(t, []simulate.File{{Name: "o.log", Data: []byte(c.text)}}, nil, 0))
		if r.Verdict.Mechanism != c.mechanism || r.Action.Owner != c.owner || !slices.Equal(r.Verdict.Root.Ranks, c.ranks) {
			t.Errorf("%s: %s, %s acts, ranks %v: %s", c.name, r.Verdict.Mechanism, r.Action.Owner, r.Verdict.Root.Ranks, r.Verdict.Summary)
		}
		first := now(r)
		if !strings.HasPrefix(first.Text, c.first) || !strings.HasPrefix(first.Command, c.command) || !strings.HasPrefix(r.Action.Text, c.action) {
			t.Errorf("%s: %q, %q; %q", c.name, first.Text, first.Command, r.Action.Text)
		}
		if len(c.ranks) == 0 && strings.Contains(strings.ToLower(r.Verdict.Summary), "rank ") {
			t.Errorf("%s: the summary names a rank: %s", c.name, r.Verdict.Summary)
		}
	}
}

// Roots of equal standing that ask for different things leave it to their mechanism; what context made something else of, too.
func TestTheMechanismSaysWhatToDoWhereLinesDiffer(t *testing.T) {
	const hydra, script = "hydra.errors.MissingConfigException: Cannot find primary config 'train'.", "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.idx'"
	files := func(texts ...string) []simulate.File {
		var out []simulate.File
		for i, text := range texts {
			out = append(out, simulate.File{Name: string(rune('a'+i)) + ".log", Data: []byte(text)})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		files []simulate.File
		first string
	}{
		{"alike", files(raisedBy(0, hydra), raisedBy(1, hydra)), "Print the composed configuration"},
		{"they differ", files(raisedBy(0, hydra), raisedBy(1, script)), "Fix what the message points to"},
	} {
		r := Run(read(t, c.files, nil, 0))
		if r.Verdict.Mechanism != "config-error" || r.Action.Owner != "job-config" || !strings.HasPrefix(now(r).Text, c.first) {
			t.Errorf("%s: %s, %s acts, %q", c.name, r.Verdict.Mechanism, r.Action.Owner, now(r).Text)
		}
	}
	saving := "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/a/train.py\", line 3, in main\n[rank2]:     save()\n" +
		"[rank2]:   File \"/v/lib/python3.11/site-packages/torch/serialization.py\", line 943, in save\n[rank2]:     _save(obj)\n[rank2]: OSError: [Errno 5] Input/output error\n"
	if r := Run(read(t, files(fieldSteps+saving), nil, 0)); r.Verdict.Mechanism != "checkpoint-io" || !strings.HasPrefix(now(r).Text, "Compare") {
		t.Errorf("in a save: %s, %q", r.Verdict.Mechanism, now(r).Text)
	}
}

// now is the first thing to do.
func now(r *incident.Report) incident.Recommendation {
	for _, a := range r.Recommendations {
		if a.When == "now" {
			return a
		}
	}
	return incident.Recommendation{}
}

// Each entry's example is a line of a job: where the verdict rests on it, its own action is the first thing to do, and it names nobody
// smaller than the entry's scope.
func TestTheActionOfEachEntryReachesTheReader(t *testing.T) {
	const least = 300 // entries whose example alone, or raised by a rank, is a verdict
	led := 0
	for _, s := range knowledge.Whole().Signatures() {
		if s.Role != knowledge.CauseRole || len(s.Do) == 0 {
			continue
		}
		reached := false
		for _, text := range []string{s.Example + "\n", fieldSteps + raisedBy(3, s.Example)} {
			r := Run(read(t, []simulate.File{{Name: "o.log", Data: []byte(text)}}, nil, 0))
			if r.Verdict.Mechanism != string(s.Mechanism) || len(r.Verdict.Candidates) > 1 {
				continue
			}
			reached = true
			begins, _, _ := strings.Cut(s.Do[0].Text, "{")
			if !strings.HasPrefix(now(r).Text, begins) {
				t.Errorf("%s: first %q, its entry says %q", s.ID, now(r).Text, s.Do[0].Text)
			}
			if s.Owner != "" && r.Action.Owner != string(s.Owner) && !s.Open {
				t.Errorf("%s: %s acts, its entry says %s", s.ID, r.Action.Owner, s.Owner)
			}
			if root := r.Verdict.Root; !s.Scope.NamesRank() && len(root.Ranks) > 0 || !s.Scope.NamesNode() && len(root.Nodes) > 0 {
				t.Errorf("%s: its scope is %s, named are ranks %v and nodes %v", s.ID, s.Scope, root.Ranks, root.Nodes)
			}
		}
		if reached {
			led++
		}
	}
	t.Logf("%d entries' examples lead to their own first action", led)
	if led < least {
		t.Errorf("%d entries' examples lead to a verdict, want %d", led, least)
	}
}
