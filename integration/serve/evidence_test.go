package serve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/simulate/kernel"
	"faultline/simulate/slack"
)

// hung writes the logs of a job whose hang the logs alone do not explain, and returns what the kernels of its nodes say.
func hung(w *world, fault kernel.Fault) (job string, inc *kernel.Incident) {
	w.t.Helper()
	inc = kernel.Play(kernel.Spec{Seed: 11, Fault: fault, Form: kernel.Ctime, Nodes: 2, PerNode: 4, NCCL: true})
	job = "4242"
	w.logs(job, inc.Logs)
	return job, inc
}

func (w *world) logs(job string, files map[string][]byte) {
	w.t.Helper()
	dir := filepath.Join(w.roots, job)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

// hands gives a file to a question with its button.
func (w *world) hands(user string, question slack.Message, name string, data []byte) {
	w.t.Helper()
	w.click(user, question, "Upload files")
	view := w.window(user, "Upload logs")
	id, err := w.slack.Upload(user, name, data)
	if err != nil {
		w.t.Fatal(err)
	}
	w.submit(user, view, map[string]any{"files": []string{id}})
}

// drops puts a file beside a mention of the bot in the thread of a case.
func (w *world) drops(user string, in slack.Message, text, name string, data []byte) {
	w.t.Helper()
	id, err := w.slack.Upload(user, name, data)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := w.slack.Say(user, slack.Training, in.ThreadTS, "<@"+slack.BotUser+"> "+text, id); err != nil {
		w.t.Fatal(err)
	}
}

// nvidiaSMI is what nvidia-smi says of a GPU that has done some of its repairs: nothing of this hang.
const nvidiaSMI = "index, pci.bus_id, name, temperature.gpu, ecc.errors.corrected.volatile.total, ecc.errors.uncorrected.volatile.total, clocks_event_reasons.hw_thermal_slowdown\n" +
	"0, 00000000:1B:00.0, NVIDIA H100 80GB HBM3, 41, 0, 0, Not Active\n1, 00000000:1C:00.0, NVIDIA H100 80GB HBM3, 88, 0, 0, Active\n"

// The whole way of an artefact: the verdict is a set, what decides is asked for, a file that is nothing is named so, one of another kind
// says what it adds, and the right one, put beside a mention in the thread, makes one cause of the set, with its line.
func TestAnArtefactDecidesBetweenCauses(t *testing.T) {
	t.Parallel()
	w := start(t)
	job, inc := hung(w, kernel.Timeout)
	w.slash(slack.Alice, slack.Training, job)
	question := w.message(slack.Alice, slack.Training, "Can you upload", "Upload files")
	w.message(slack.Alice, slack.Training, "report.json")
	w.hands(slack.Bob, question, "minutes.txt", []byte("What we said on Monday: buy milk.\n"))
	w.message(slack.Alice, slack.Training, "minutes.txt is neither a job log")
	w.quietNow(slack.Training)
	w.hands(slack.Bob, question, "disk.txt", []byte(nvidiaSMI))
	w.message(slack.Alice, slack.Training, "disk.txt as evidence")
	w.quietNow(slack.Training)
	for name, data := range inc.Evidence {
		if strings.HasPrefix(name, inc.Truth.Nodes[0]) {
			w.drops(slack.Bob, question, "status? this is dmesg of the first node", name, data)
		}
	}
	w.message(slack.Alice, slack.Training, "Because")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// stillRuns are SLURM's records of a job that still runs.
const stillRuns = "JobID|JobIDRaw|User|State|ExitCode|NNodes|NodeList|Start|End|JobName\n" +
	"4242|4242|ana|RUNNING|0:0|2|NODES|2025-06-03T14:00:00|Unknown|train\n4242.0|4242.0||RUNNING|0:0|2|NODES|2025-06-03T14:00:00|Unknown|python\n"

func TestAJobThatHangsIsNotToBeCancelled(t *testing.T) {
	t.Parallel()
	w := start(t)
	job, inc := hung(w, kernel.Timeout)
	var nodes []string
	for name := range inc.Logs {
		nodes = append(nodes, strings.TrimSuffix(strings.TrimPrefix(name, "error-4242-"), ".out"))
	}
	slices.Sort(nodes)
	w.logs(job, map[string][]byte{"slurm-accounting.txt": []byte(strings.ReplaceAll(stillRuns, "NODES", strings.Join(nodes, ",")))})
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}
