package knowledge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// programs are the names of programs that reports begin sentences with, as people write them.
var programs = []string{"accelerate", "ais", "aisnode", "aws", "bash", "cgroup", "containerd", "deepspeed", "dmesg", "docker", "dockerd", "enroot", "gdb", "gsutil",
	"iblinkinfo", "ibstat", "journald", "kubectl", "kubelet", "mpiexec", "mpirun", "ncu", "nsys", "orted", "pdsh", "prted", "prterun", "pyxis",
	"runc", "sacct", "sbatch", "scontrol", "sh", "sinfo", "slurmctld", "slurmd", "slurmdbd", "slurmstepd", "squeue", "srun", "ssh", "sshd", "systemd", "torchrun", "wandb"}

// Capital begins a sentence with a capital letter, unless its first word is a name: of a program or a framework, or one that holds more than
// small letters, as nodes and options do.
func Capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	word = strings.TrimRight(word, ",:;")
	word, _, _ = strings.Cut(word, "'") // can't, rank's
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) || isProgram(word) {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 || !unicode.IsLower(first) {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

func isProgram(word string) bool {
	return slices.Contains(programs, word) || slices.ContainsFunc(frameworks, func(f Framework) bool { return f.Name == word })
}
