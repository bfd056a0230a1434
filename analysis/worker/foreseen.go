package worker

import (
	"slices"
	"strings"

	"faultline/knowledge/stated"
)

// foreseen are the readers of failures and ends whose wordings are written in code, each of which a catalogue can leave out. Not among them:
// what goes by the shape of a text and not its words (tracebacks, NCCL's warnings), what tells of no failure (steps, saves, ranks, settings),
// and numbers that speak for themselves (losses, norms, times).
var foreseen = []string{
	"timeout", "state", "dump", "signal", "desync", "mismatch", "barrier", "clients", "DDP parameters",
	"child failed", "child exit", "own end", "shell", "restart", "mpirun", "mpiexec", "rank ended", "rank monitor",
	"srun error", "srun end", "slurmstepd end", "slurm oom", "slurm failed node", "slurm kill task", "slurm prolog", "slurmstepd output", "slurm talk", "batch end",
	"RAS missing", "RAS dead", "Horovod stall", "JAX barrier", "storage", "connection reset", "overflow", "NVIDIA straggler detection",
}

// Foreseen names the readers with wordings of their own that would read a line.
func Foreseen(line string) []string {
	var names []string
	for _, h := range whole().handlers {
		if slices.Contains(foreseen, h.name) && slices.ContainsFunc(h.literals, func(l string) bool { return strings.Contains(line, l) }) {
			names = append(names, h.name)
		}
	}
	if stated.HoldsCode(line) {
		names = append(names, stated.Codes)
	}
	return names
}
