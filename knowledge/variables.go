package knowledge

import (
	"slices"
	"strings"
)

// Variable is one environment variable that people set on training jobs, or find in their logs.
type Variable struct {
	Name    string
	Of      string // who reads it: "NCCL", "PyTorch", "nobody", …
	Default string // what holds where it is not set
	Meaning string // one sentence for people
	Trap    string // what goes wrong with it; "" where nothing is known to
	Source  string
	Cost    string // what a run pays for it in time, text or memory; "" where it collects nothing
}

// variables are those of all tables, in the order of their names.
var variables = slices.SortedFunc(slices.Values(slices.Concat(ncclVariables, torchVariables, jobVariables)),
	func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })

// Variables returns the table, by name.
func Variables() []Variable { return slices.Clone(variables) }

// VariableByName finds a variable by its name, in any case.
func VariableByName(name string) (Variable, bool) {
	for _, v := range variables {
		if strings.EqualFold(v.Name, name) {
			return v, true
		}
	}
	return Variable{}, false
}

const (
	ncclGuide  = "NCCL user guide, Environment Variables (up to 2.30)"
	torchNCCL  = "PyTorch ProcessGroupNCCL.hpp and .cpp, 2.2 and later"
	torchDocs  = "PyTorch documentation, environment variables"
	slurmMan   = "SLURM, man srun and sbatch"
	aisSDK     = "AIStore Python SDK and Go client, 5.0"
	oldRenamed = "The old name (up to 2.1) of TORCH_NCCL_…; newer versions still read it, with a warning. It was never an NCCL variable."
)
