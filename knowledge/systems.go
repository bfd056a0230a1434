package knowledge

import (
	"regexp"
	"slices"
	"strings"
)

// system is a batch system other than SLURM: how it is called, and what it has in place of SLURM's commands. What it has no plain command
// for is left out of the advice.
type system struct {
	name    string
	speaks  []string // those of its parts that print in their own name, and what builds on it
	records string   // how the job ended, by its own records
	queue   string   // whether it waits or runs
	node    string   // what it thinks of a node
	without string   // starts it again without a node
	drain   string   // takes a node out of use
	run     string   // runs a command on a node of the job, in front of it
}

// AnotherSystem stands for a batch system of which no more is known than that it is not SLURM.
const AnotherSystem = "the scheduler"

// systems: each command stands in the manual of its system (kubectl; LSF 10.1; PBS Professional and OpenPBS; Flux; HTCondor; Grid Engine;
// the AWS, Ray, SkyPilot and dstack command lines).
var systems = []system{
	{name: "Kubernetes", speaks: []string{"the kubelet", "the taint manager", "Kueue", "Volcano"},
		records: "kubectl get events --sort-by=.lastTimestamp | tail -40; kubectl describe pod POD", queue: "kubectl get pods -o wide",
		node: "kubectl describe node {node}", drain: "kubectl cordon {node}", run: "kubectl exec POD -- "},
	{name: "LSF", records: "bhist -l {job}", queue: "bjobs -l {job}", node: "bhosts -l {node}",
		without: "bsub -R \"select[hname!='{node}']\" …", drain: "badmin hclose -C \"GPU error, job {job}\" {node}", run: "ssh {node} "},
	{name: "PBS", speaks: []string{"Moab"}, records: "qstat -xf {job}; tracejob {job}", queue: "qstat -f {job}", node: "pbsnodes {node}", drain: "pbsnodes -o {node}", run: "ssh {node} "},
	{name: "Flux", records: "flux job eventlog {job}", queue: "flux jobs -a", node: "flux resource status",
		without: "flux submit --requires='-host:{node}' …", drain: "flux resource drain {node} 'GPU error'", run: "ssh {node} "},
	{name: "HTCondor", records: "condor_history -l {job}", queue: "condor_q -analyze {job}", node: "condor_status -l {node}", drain: "condor_drain {node}", run: "ssh {node} "},
	{name: "Grid Engine", records: "qacct -j {job}", queue: "qstat -j {job}", node: "qhost -q -h {node}", drain: "qmod -d '*@{node}'", run: "ssh {node} "},
	{name: "AWS Batch", records: "aws batch describe-jobs --jobs {job}", queue: "aws batch describe-jobs --jobs {job}"},
	{name: "SageMaker", records: "aws sagemaker describe-training-job --training-job-name {job}", queue: "aws sagemaker describe-training-job --training-job-name {job}"},
	{name: "SkyPilot", records: "sky jobs queue", queue: "sky jobs queue", run: "ssh {node} "},
	{name: "dstack", records: "dstack ps -a", queue: "dstack ps -a"},
	{name: "Ray", records: "ray status; ray list nodes; ray list workers --detail", queue: "ray status", node: "ray list nodes", run: "ssh {node} "},
	{name: AnotherSystem, run: "ssh {node} "},
}

// upper are systems that others start: where both are seen it is the lower one that holds the machines.
var upper = []string{"Ray", "SkyPilot", "dstack"}

// SystemOf is the batch system that speaks under a name; "" for SLURM, and for those that rule machines and start no jobs.
func SystemOf(name string) string {
	for i := range systems {
		if s := &systems[i]; s.name == name || slices.Contains(s.speaks, name) {
			return s.name
		}
	}
	return ""
}

// TheSystem is the one of those that were seen which holds the machines of the job.
func TheSystem(seen map[string]bool) string {
	var all, lower []string
	for name := range seen {
		if name != "" {
			all = append(all, name)
			if !slices.Contains(upper, name) {
				lower = append(lower, name)
			}
		}
	}
	if len(lower) > 0 {
		all = lower
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return AnotherSystem
}

// slurmPart is a SLURM command and what takes its place.
type slurmPart struct {
	starts *regexp.Regexp
	other  func(*system) string
}

var (
	hostsOf    = regexp.MustCompile(`\$\(scontrol show hostnames '([^']+)'\)`)
	runsOn     = regexp.MustCompile(`^srun(?: -{1,2}[a-z-]+(?:=\S+)?(?: \{(?:nodes?|root)\})?)* `)
	slurmParts = []slurmPart{
		{regexp.MustCompile(`^sacct .*-N `), func(*system) string { return "" }}, // of all jobs on some nodes
		{regexp.MustCompile(`^sacct `), func(s *system) string { return s.records }},
		{regexp.MustCompile(`^(?:squeue |scontrol show job )`), func(s *system) string { return s.queue }},
		{regexp.MustCompile(`^(?:sinfo|scontrol show node )`), func(s *system) string { return s.node }},
		{regexp.MustCompile(`^scontrol update NodeName=`), func(s *system) string { return s.drain }},
		{regexp.MustCompile(`^(?:scontrol update JobId=|sbatch --exclude=)`), func(s *system) string { return s.without }},
		{regexp.MustCompile(`^(?:sbatch|scontrol|scancel|salloc) `), func(*system) string { return "" }},
	}
)

// In is the advice as it is to be given where the job was not SLURM's but another system's, which has other commands.
func (a Advice) In(name string) Advice {
	i := slices.IndexFunc(systems, func(s system) bool { return s.name == name })
	if i < 0 {
		return a
	}
	s := &systems[i]
	var parts []string
	for _, part := range commands(a.Command) {
		if part = s.instead(part); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	words := strings.NewReplacer("SLURM's controller", "the controller", "srun's", "the launcher's", "what srun requests with what sbatch was given", "the request with what the cluster has",
		"SLURM", s.name)
	return Advice{Text: words.Replace(a.Text), Command: strings.Join(parts, "; ")}
}

// instead is one command in the words of a system.
func (s *system) instead(command string) string {
	for i := range slurmParts {
		if p := &slurmParts[i]; p.starts.MatchString(command) {
			return p.other(s)
		}
	}
	if on := runsOn.FindString(command); on != "" {
		switch rest := command[len(on):]; {
		case s.run == "" || !strings.Contains(on, " -w {node} "):
			return "" // over several nodes each site has a way of its own
		case strings.HasPrefix(s.run, "ssh ") && strings.Contains(rest, "'"):
			return s.run + `"` + rest + `"`
		default:
			return s.run + rest
		}
	}
	return hostsOf.ReplaceAllString(command, "$(echo '$1' | tr , ' ')")
}

// commands are the parts of a line of the shell that "; " separates, outside of quotes and loops.
func commands(line string) []string {
	if strings.HasPrefix(line, "for ") || line == "" {
		return []string{line}
	}
	var out []string
	quote, start := byte(0), 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && strings.HasPrefix(line[i:], "; ") && !strings.HasPrefix(line[i:], "; for ") && !strings.HasPrefix(line[i:], "; do ") && !strings.HasPrefix(line[i:], "; done"):
			out, start = append(out, line[start:i]), i+2
		}
	}
	return append(out, line[start:])
}
