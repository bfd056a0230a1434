package resolve

import (
	"path"

	"faultline/analysis/worker"
	"faultline/knowledge"
)

// slurmFacts are statements that a job makes only where SLURM started it.
var slurmFacts = map[string]bool{"job_id": true, "node_list": true, "node_name": true, "cluster": true}

// systemOf is the batch system that started the job, where its own lines tell that it was another than SLURM; "" where one of SLURM's lines is
// among them, which runs on machines of others and starts what builds on it, or where nothing tells.
func systemOf(known *knowledge.Catalogue, obs *worker.Observations, records *Accounting) string {
	if records != nil || len(obs.TaskExits) > 0 {
		return ""
	}
	seen := map[string]bool{}
	for i := range obs.Ends {
		switch e := &obs.Ends[i]; e.System {
		case "", "SLURM", "submitit":
			return ""
		default:
			seen[knowledge.SystemOf(e.System)] = true
		}
	}
	for i := range obs.Facts {
		switch x := &obs.Facts[i]; {
		case slurmFacts[x.Key]:
			return ""
		case x.Key == "system":
			seen[x.Value] = true
		}
	}
	for i := range obs.Signs {
		switch system := known.Entry(obs.Signs[i].ID).System; system {
		case "":
		case "SLURM":
			return ""
		default:
			seen[system] = true
		}
	}
	for i := range obs.Tails {
		if slurmNamed(obs.Tails[i].File) {
			return ""
		}
	}
	return knowledge.TheSystem(seen)
}

// slurmNamed says that a file has the name that SLURM gives where a script asks for no other: "slurm-%j.out".
func slurmNamed(file string) bool {
	ok, err := path.Match("slurm-*", path.Base(file))
	return ok && err == nil
}
