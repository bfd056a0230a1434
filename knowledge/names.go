package knowledge

import "slices"

// Name is what one capture of a signature's Pattern names, and what the line says of it.
type Name struct {
	Capture string
	Kind    NameKind
	Whose   Whose
}

// NameKind is how a name is to be read. Ranks of different kinds are different numbers: reading one as another blames the wrong machine.
// Of several that number one process the first leads to it surest.
type NameKind int

const (
	AsRank         NameKind = iota + 1 // a global rank
	AsGroupRank                        // a rank within a process group
	AsGroup                            // the process group that a group rank of the same line is counted in
	AsGroupSize                        // and how many ranks it has
	AsMPIRank                          // a rank in MPI_COMM_WORLD: of the job, or of its launchers
	AsTask                             // a task of SLURM or Flux
	AsProcessIndex                     // a process of JAX or TensorFlow, as their coordinators count
	AsNodeIndex                        // a node's place in a list, from 0
	AsHost                             // a host, or a list of hosts
	AsAgent                            // torchrun's name of a launcher: host_pid_number
	AsAddress                          // an address or a host, perhaps with a port
	AsPID                              // a process on the writer's node, or on the node named beside it
	AsServer                           // a server of storage
	AsGPU                              // a GPU, by whatever number or bus address
	AsDevice                           // another device: a network card, an accelerator
	AsPath                             // a file
	AsReason                           // words: why it failed
)

// Whose is what the line says of what it names.
type Whose int

const (
	Writer    Whose = iota + 1 // it is who writes the line
	Unheard                    // whoever watches over it heard no more of it
	Lost                       // a connection to it broke, as connections do in a row when one process ends
	Awaited                    // the writer waits for it
	FirstOut                   // a launcher says that it ended before the others
	Unreached                  // several processes say that they did not reach it, or lost it
	Culprit                    // the line says that it failed there, whoever writes it
	Mentioned                  // the line does not say that it failed
)

// Blames says that a line which names something so says that something else than its writer failed, or comes before it.
func (w Whose) Blames() bool {
	return w == Unheard || w == Lost || w == Awaited || w == FirstOut || w == Unreached
}

// Process says that a name of this kind can lead to a process or a node of the job.
func (k NameKind) Process() bool { return k >= AsRank && k <= AsPID }

// Named gives the first of the fields that is a name of one of these kinds.
func (s *Signature) Named(fields map[string]string, whose Whose, kinds ...NameKind) string {
	for _, n := range s.Names {
		if n.Whose != whose || fields[n.Capture] == "" {
			continue
		}
		for _, k := range kinds {
			if n.Kind == k {
				return fields[n.Capture]
			}
		}
	}
	return ""
}

// Keeps says that the words of a line are needed beyond its id: they name something that a reader of facts looks for, or that the line's
// own advice holds.
func (s *Signature) Keeps() bool {
	for _, n := range s.Names {
		if n.Kind.Process() && n.Whose != Mentioned || n.Kind == AsServer || n.Kind == AsReason || n.Whose.Blames() {
			return true
		}
	}
	return slices.ContainsFunc(s.Do, Advice.captures)
}
