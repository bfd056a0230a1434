package knowledge

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// taxonomy lists every slug of the contract with its origin.
const taxonomy = `
storage ais-batch-object-loss
storage ais-stream-broken
storage ais-resource-pressure
storage ais-daemon-restart
storage ais-rebalance
storage ais-silent-stall
storage ais-disk-fault
storage ais-throttled
storage ais-auth
storage ais-network
storage storage-retries-exhausted
storage storage-full
storage storage-unresponsive
storage checkpoint-io
data-loading-stall dataloader-stall
unknown rank-stalled
data-loading-stall dataloader-worker-killed
data bad-sample
data uneven-data
network link-error
network peer-lost
network init-unreachable
unknown collective-hang
gpu gpu-hang
gpu gpu-off-bus
gpu gpu-ecc
gpu gpu-nvlink
gpu gpu-firmware
gpu cuda-error
gpu gpu-oom
gpu silent-corruption
software non-finite-loss
software rank-busy
software resource-limit
infrastructure external-signal
software collective-mismatch
software lone-waiter
software exception
software version-mismatch
software config-error
software native-crash
software watchdog-stuck
software host-oom
infrastructure node-failure
infrastructure preempted
infrastructure time-limit
infrastructure cancelled
infrastructure thermal-power
infrastructure scheduler-error
performance slow-rank
performance throughput-regression
performance loss-plateau
none completed
unknown unknown
`

// beyond are mechanisms that experience added to the contract.
const beyond = `
storage ais-administration
storage ais-backend
storage ais-backend
performance slow-communication
performance slow-compute
performance slow-host
performance slow-checkpoint
`

func TestEveryMechanismOfTheTaxonomyIsKnown(t *testing.T) {
	want := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(taxonomy)+beyond, "\n") {
		if line == "" {
			continue
		}
		origin, slug, _ := strings.Cut(line, " ")
		want[slug] = origin
		m, ok := MechanismBySlug(Slug(slug))
		if !ok {
			t.Errorf("%s is missing", slug)
		} else if m.Origin != origin {
			t.Errorf("%s: origin %s, the taxonomy says %s", slug, m.Origin, origin)
		}
	}
	seen := map[Slug]bool{}
	for _, m := range Mechanisms() {
		if seen[m.Slug] {
			t.Errorf("%s stands twice", m.Slug)
		}
		seen[m.Slug] = true
		if _, ok := want[string(m.Slug)]; !ok {
			t.Errorf("%s is not in the taxonomy", m.Slug)
		}
	}
}

// The reference itself, where it is at hand: a slug added there must be added here.
func TestTaxonomyListIsTheReference(t *testing.T) {
	data, err := os.ReadFile("../../shared/reference/taxonomy.md")
	if err != nil {
		t.Skip("the reference is not beside the repository")
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z-]+) \| ([a-z-]+) \|`).FindAllStringSubmatch(string(data), -1) {
		if m[1] != "origin" && !strings.Contains(beyond, m[1]+" "+m[2]) {
			got = append(got, m[1]+" "+m[2])
		}
	}
	if want := strings.Split(strings.TrimSpace(taxonomy), "\n"); !slices.Equal(got, want) {
		t.Errorf("the reference lists\n%v\nthis test\n%v", got, want)
	}
}

func TestMechanismsAreComplete(t *testing.T) {
	resubmit := []string{"yes", "no", "after-fix", "unknown"}
	for _, m := range Mechanisms() {
		if n := len(strings.Fields(m.Title)); n == 0 || n > 6 {
			t.Errorf("%s: title %q has %d words", m.Slug, m.Title, n)
		}
		if n := sentences(m.Meaning); n != 2 {
			t.Errorf("%s: the meaning has %d sentences", m.Slug, n)
		}
		if !slices.Contains(Owners, m.Owner) || !slices.Contains(resubmit, m.Resubmit) {
			t.Errorf("%s: owner %q, resubmit %q", m.Slug, m.Owner, m.Resubmit)
		}
		if len(m.Now) == 0 {
			t.Errorf("%s: nothing to do now", m.Slug)
		}
	}
}

func eachAdvice(f func(m Mechanism, a Advice)) {
	for _, m := range Mechanisms() {
		for _, a := range slices.Concat(m.Now, m.Structural, m.NextTime) {
			f(m, a)
		}
	}
}

func TestAdviceKeepsTheRules(t *testing.T) {
	hardware := []Slug{"gpu-ecc", "gpu-off-bus", "gpu-nvlink"}
	eachAdvice(func(m Mechanism, a Advice) {
		all := a.Text + " " + a.Command
		for _, p := range placeholder.FindAllStringSubmatch(all, -1) {
			if !slices.Contains(Placeholders, p[1]) {
				t.Errorf("%s: unknown placeholder %s", m.Slug, p[0])
			}
		}
		if a.Text == "" {
			t.Errorf("%s: a command without a reason: %s", m.Slug, a.Command)
		}
		if strings.Contains(all, "NCCL_TIMEOUT") {
			t.Errorf("%s: NCCL_TIMEOUT is not a variable", m.Slug)
		}
		if regexp.MustCompile(`(?i)\bdrain\b|replace the node`).MatchString(all) && !slices.Contains(hardware, m.Slug) {
			t.Errorf("%s: draining needs a hardware sign: %s", m.Slug, all)
		}
		if strings.Contains(a.Command, "\n") || strings.Count(a.Command, "'")%2 != 0 || strings.Count(a.Command, `"`)%2 != 0 {
			t.Errorf("%s: cannot be pasted: %s", m.Slug, a.Command)
		}
	})
	for _, slug := range []Slug{"gpu-oom", "cuda-error"} {
		if m, _ := MechanismBySlug(slug); m.Owner != "job-config" && m.Owner != "job-code" {
			t.Errorf("%s belongs by default to the job's owner, not %s", slug, m.Owner)
		}
	}
}

func TestFillPutsOnlySafeValuesIntoCommands(t *testing.T) {
	a := Advice{Text: "rank {rank} on {node}", Command: "ssh {node} 'kill {pid}' # {http_code}"}
	for _, tc := range []struct {
		node, want string
	}{
		{"node09", "ssh node09 'kill PID' # {http_code}"},
		{"node[01-04,7],gpu-3.cluster", "ssh node[01-04,7],gpu-3.cluster 'kill PID' # {http_code}"},
		{"", "ssh NODE 'kill PID' # {http_code}"},
		{"x;rm -rf /", "ssh NODE 'kill PID' # {http_code}"},
		{"$(id)", "ssh NODE 'kill PID' # {http_code}"},
		{"-oProxyCommand=id", "ssh NODE 'kill PID' # {http_code}"},
		{"a\nb", "ssh NODE 'kill PID' # {http_code}"},
		{"a'b", "ssh NODE 'kill PID' # {http_code}"},
	} {
		if got := a.Fill(map[string]string{"node": tc.node, "rank": "7"}); got.Command != tc.want || !strings.HasPrefix(got.Text, "rank 7 on ") {
			t.Errorf("%q: %q, want %q", tc.node, got.Command, tc.want)
		}
	}
}

func TestASentenceWithoutAValueStillReads(t *testing.T) {
	a := Advice{Text: "Compare rank {rank} of {job} with the others, then read the log of {node}.", Command: "ssh {node}"}
	got := a.Fill(nil)
	if want := "Compare the affected rank of the job with the others, then read the log of the node."; got.Text != want || got.Command != "ssh NODE" {
		t.Errorf("got %+v", got)
	}
	if got := a.Fill(map[string]string{"rank": "7"}).Text; !strings.HasPrefix(got, "Compare rank 7 of the job") {
		t.Errorf("got %q", got)
	}
}

func sentences(s string) int {
	s = strings.ReplaceAll(s, "4242.0", "4242")
	return len(regexp.MustCompile(`[.!?](\s|$)`).FindAllString(s, -1))
}

func TestGlossaryIsSortedAndShort(t *testing.T) {
	terms := Glossary()
	for i, term := range terms {
		if i > 0 && strings.ToLower(terms[i-1].Name) >= strings.ToLower(term.Name) {
			t.Errorf("%q stands after %q", term.Name, terms[i-1].Name)
		}
		if n := sentences(term.Text); n < 1 || n > 2 {
			t.Errorf("%s: %d sentences", term.Name, n)
		}
		if got, ok := TermByName(strings.ToUpper(term.Name)); !ok || got != term {
			t.Errorf("%s cannot be found", term.Name)
		}
	}
	for alias, name := range aliases {
		if got, ok := TermByName(alias); !ok || got.Name != name {
			t.Errorf("%s leads to %q, not %q", alias, got.Name, name)
		}
	}
	for _, name := range []string{"global rank", "group rank", "local rank", "process group", "collective", "watchdog",
		"straggler", "waiter", "NCCL", "flight recorder", "enqueued", "completed", "sequence number", "tensor parallel",
		"pipeline parallel", "data parallel", "expert parallel", "rendezvous", "torchrun agent", "SLURM step", "task", "requeue",
		"preemption", "checkpoint", "SIGTERM", "SIGKILL", "SIGABRT", "exit codes", "ECC", "Xid", "cgroup OOM", "DataLoader worker",
		"Gloo", "TCPStore", "py-spy", "all-reduce"} {
		if _, ok := TermByName(name); !ok {
			t.Errorf("%q is not explained", name)
		}
	}
	if _, ok := TermByName("no such thing"); ok {
		t.Error("found a term that does not exist")
	}
}

// A newcomer reads the meanings: what is jargon in them must be in the glossary. Jargon is every word with two capitals
// in it, and the field's own words listed here.
func TestMeaningsUseOnlyExplainedTerms(t *testing.T) {
	plain := []string{"PyTorch", "CANCELLED"} // a name, and a word of SLURM's own line
	acronym := regexp.MustCompile(`\b[A-Za-z]*[A-Z][a-z]*[A-Z][A-Za-z]*\b`)
	words := []string{"collective", "process group", "watchdog", "rank", "timeout", "checkpoint", "rendezvous", "sequence number",
		"traceback", "torchrun", "signal", "loss scale", "preemption", "straggler", "kernel", "Xid", "step", "barrier",
		"micro-batch", "node", "enqueued", "world size", "cgroup OOM", "scheduler"}
	for _, m := range Mechanisms() {
		for _, w := range acronym.FindAllString(m.Meaning, -1) {
			if _, ok := TermByName(w); !ok && !slices.Contains(plain, w) {
				t.Errorf("%s: %q is not in the glossary", m.Slug, w)
			}
		}
		for _, w := range words {
			if _, ok := TermByName(w); !ok && strings.Contains(m.Meaning, w) {
				t.Errorf("%s: %q is not in the glossary", m.Slug, w)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		got  Exit
		want string // its name
	}{
		{ExitCode(137), "SIGKILL"},
		{ExitCode(-9), "SIGKILL"},
		{ExitCode(-11), "SIGSEGV"},
		{ExitCode(143), "SIGTERM"},
		{ExitCode(134), "SIGABRT"},
		{ExitSignal(7), "SIGBUS"},
		{SlurmExit(0, 9), "SIGKILL"},
		{SlurmExit(0, 53), "0:53"},
		{SlurmExit(0, 125), "0:125"},
		{SlurmExit(143, 0), "SIGTERM"},
		{ExitCode(1), ""},
		{ExitCode(42), ""},
		{ExitCode(128 + 40), "signal 40"},
		{ExitSignal(0), "signal 0"},
	} {
		if tc.got.Name != tc.want || tc.got.Meaning == "" {
			t.Errorf("got %+v, want %s", tc.got, tc.want)
		}
	}
	for i, e := range ExitCodes() {
		if e.Signal > 0 && e.Code != 128+e.Signal {
			t.Errorf("%s: code %d for signal %d", e.Name, e.Code, e.Signal)
		}
		if i > 0 && exits[i-1].Code >= e.Code {
			t.Errorf("code %d stands after %d", e.Code, exits[i-1].Code)
		}
	}
}

func TestWhoActsDependsOnWhatIsFull(t *testing.T) {
	m, _ := MechanismBySlug("storage-full")
	if a := m.For("ais:t-1"); a.Owner != "storage" || a.Now[0].Text == m.Now[0].Text {
		t.Errorf("of AIStore %s acts: %s", a.Owner, a.Now[0].Text)
	}
	for _, c := range []string{"", "mount:/scratch", "host:n1"} {
		if a := m.For(c); a.Owner != "job-config" {
			t.Errorf("of %q %s acts", c, a.Owner)
		}
	}
}
