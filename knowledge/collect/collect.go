// Package collect writes the command that gathers, on the nodes of a job that hangs, what would say why.
package collect

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

// script is what each node runs. It holds no single quote: it stands between two of them.
//
//go:embed collect.sh
var script string

// job is an id as SLURM writes it: of a job, of an element of an array, of a component.
var job = regexp.MustCompile(`^[0-9]{1,10}(?:[_+][0-9]{1,7})?$`)

// Limits of time, in seconds: of the stacks of one node, and of the whole.
const (
	stacksLimit = 60 // of one sample
	between     = 90 // from the beginning of the first sample to that of the second, at least
	wholeLimit  = 420
)

// Short is how the program is asked to print the command; the job's id stands behind it.
const Short = "bot collect "

// folder is where the command gathers what the nodes give, and Leaves what it leaves.
func folder(id string) string {
	return "faultline-" + strings.NewReplacer("_", "-", "+", "-").Replace(id)
}

// Leaves is the file that the command leaves where none of an earlier one is there; else its name ends in a number.
func Leaves(id string) string { return folder(id) + ".tar.gz" }

// Command is one command to paste where SLURM's commands are, in a folder that the nodes see, too. It leaves faultline-JOB.tar.gz there, or faultline-JOB-2.tar.gz where that is there already.
func Command(id string) (string, error) {
	if !job.MatchString(id) {
		return "", fmt.Errorf("%q isn't a job ID: use the one squeue shows, such as 4242 or 4242_7", id)
	}
	// A step belongs to a job by the number that SLURM counts by, which of an element of an array only SLURM knows.
	var b strings.Builder
	name := folder(id)
	// An earlier bundle stays: what it shows may be gone by now.
	fmt.Fprintf(&b, "d=%s i=1; while [ -e \"$d\" ] || [ -e \"$d.tar.gz\" ]; do i=$((i+1)); d=%s-$i; done\n", name, name)
	// From outside of the job srun would take one of its nodes.
	fmt.Fprintf(&b, "mkdir -p \"$d\" && { echo \"faultline nodes 1 job=%s\"; scontrol show hostnames \"$(squeue -h -j %s -o %%N | head -n 1)\" 2> /dev/null; } > \"$d/nodes.txt\"; n=$(squeue -h -j %s -o %%D | head -n 1) && timeout -k 10 %d srun --overlap --jobid=%s --nodes=\"$n\" --ntasks=\"$n\" --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --input=none --mem=0 timeout -k 5 %d bash -c 'out=$1 most=%d between=%d job=$SLURM_JOB_ID\n", id, id, id, wholeLimit+60, id, wholeLimit, stacksLimit, between)
	b.WriteString(strip(script))
	b.WriteString("' collect \"$PWD/$d\"; tar -czf \"$d.tar.gz\" \"$d\" && echo \"upload $PWD/$d.tar.gz\"\n")
	return b.String(), nil
}

// strip takes away the lines that only explain: less to paste.
func strip(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		if !strings.HasPrefix(strings.TrimSpace(l), "#") {
			b.WriteString(l)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
