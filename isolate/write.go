package isolate

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"faultline/analysis/hostlist"
)

// Size is what a command has where the size goes.
const Size = "{size}"

// UsualTest is what is run where nobody says what shows the fault.
const UsualTest = "all_reduce_perf -b 1G -e 1G -n 50 -g 1"

// Line is what starts one test with SLURM.
func (l *Ledger) Line(t Test) string {
	if l.Sizes != nil && l.Sizes.Of != GPUs {
		return l.Run(t)
	}
	words := []string{"srun"}
	for _, f := range l.Flags(t) {
		if name, value, _ := strings.Cut(f, "="); strings.ContainsAny(value, "[],") {
			f = name + "='" + value + "'"
		}
		words = append(words, f)
	}
	return strings.Join(words, " ") + " " + l.Run(t)
}

// Run is the command of a test.
func (l *Ledger) Run(t Test) string {
	command := strings.ReplaceAll(l.Command, Component, t.Part)
	if l.Sizes != nil {
		command = strings.ReplaceAll(command, Size, strconv.Itoa(t.Size))
	}
	return command
}

// Flags are those of srun, or sbatch, for a test.
func (l *Ledger) Flags(t Test) []string {
	var words []string
	add := func(flag, value string) {
		if value != "" && value != "0" {
			words = append(words, flag+"="+value)
		}
	}
	add("--partition", l.Partition)
	add("--time", l.Limit)
	count, perNode := len(t.Nodes), max(1, l.GPUs)
	if l.Sizes != nil {
		count, perNode = (t.Size+perNode-1)/perNode, min(perNode, t.Size)
	}
	add("--nodes", strconv.Itoa(count))
	add("--nodelist", hostlist.Compress(t.Nodes))
	add("--ntasks-per-node", strconv.Itoa(perNode))
	if l.GPUs > 0 {
		add("--gpus-per-node", strconv.Itoa(perNode))
	}
	return words
}

// Hours is what a test may cost at most, in GPU hours; in node hours where the number of GPUs is not known.
func (l *Ledger) Hours(t Test) float64 {
	minutes, err := strconv.Atoi(l.Limit)
	if err != nil {
		return math.Inf(1)
	}
	return float64(len(t.Nodes)*max(1, l.GPUs)*minutes) / 60
}

// Write says which tests to run next, or what was found. name is what the ledger is called.
func (l *Ledger) Write(w io.Writer, name string, tests []Test, f *Finding) error {
	var b strings.Builder
	if f != nil {
		for _, p := range l.Conclude(f) {
			b.WriteString(p.Text + "\n")
			if p.Command != "" {
				b.WriteString("\n  " + p.Command + "\n\n")
			}
		}
	} else {
		l.writeRound(&b, name, tests)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Ledger) writeRound(b *strings.Builder, name string, tests []Test) {
	b.WriteString(l.Round(tests) + "\n\n")
	for _, t := range tests {
		fmt.Fprintf(b, "  %-4s %s\n", t.ID, l.Line(t))
	}
	b.WriteString("\n" + l.Meaning(tests) + "\n")
	if likely, err := l.Likely(3); err == nil && len(likely) > 0 {
		fmt.Fprintf(b, "Most likely so far: %s.\n", strings.Join(likely, ", "))
	}
	var outcomes []string
	for _, t := range tests {
		outcomes = append(outcomes, t.ID+"=pass")
	}
	fmt.Fprintf(b, "Then: bot isolate --ledger %s %s   (or fail; void if it could not run; or a file with nccl-tests output)\n", name, strings.Join(outcomes, " "))
}

// Round says in a sentence which round tests are, and about how many follow.
func (l *Ledger) Round(tests []Test) string {
	text := fmt.Sprintf("Round %d", tests[0].Round)
	if l.Sizes == nil && len(l.Components) == 0 {
		if s, err := l.replay(); err == nil && s.round > 0 {
			text += fmt.Sprintf(", about %d more", s.left())
		}
	}
	switch {
	case len(l.Components) > 0 && len(tests) > 1:
		return text + fmt.Sprintf(": %d tests, one after the other. Side by side they would slow each other down.", len(tests))
	case len(l.Components) > 0:
		return text + "."
	case len(tests) > 1:
		return text + fmt.Sprintf(": %d tests that can run side by side.", len(tests))
	case l.Sizes != nil:
		return text + "."
	}
	return text + ": all nodes. Does the test reproduce the fault?"
}

// Meaning says what each outcome would mean.
func (l *Ledger) Meaning(tests []Test) string {
	switch {
	case len(l.Components) > 0:
		text := "A component that fails alone is where the fault is. If all pass, the fault needs them together."
		if l.Command == ComponentTest {
			text = "Write the program first: bot probe --out probe.py. Its output says which ranks failed: bot probe RESULT. " + text
		}
		return text
	case l.Sizes != nil && tests[0].Size == l.Sizes.Bad:
		return "It should fail. If it passes, this test may not reproduce the fault: run it again."
	case l.Sizes != nil && tests[0].Size == l.Sizes.Good:
		return "It should pass. If it fails, the search starts too high."
	case l.Sizes != nil:
		return fmt.Sprintf("If it passes, it breaks above %d. If it fails, it breaks at %d or below.", tests[0].Size, tests[0].Size)
	case len(tests) == 1:
		return "If it fails, the search continues in halves. If it passes, the fault did not show: run it again, or the test doesn't reproduce it."
	}
	ids := make([]string, len(tests))
	for i, t := range tests {
		ids[i] = t.ID
	}
	text := fmt.Sprintf("If one of %s fails, the culprit is among its nodes.", strings.Join(ids, ", "))
	if l.Kind == Node || l.Kind == Switch {
		text += " If all pass, the fault did not show this time."
	} else {
		text += " If all pass, it is a link between them, or the fault did not show this time."
	}
	return text + " If several fail, it is a shared switch, a second culprit, or chance."
}

// Part is a sentence or two of a conclusion, with what can be pasted.
type Part struct{ Text, Command string }

// Conclude says what was found, first in one sentence.
func (l *Ledger) Conclude(f *Finding) []Part {
	switch {
	case len(l.Components) > 0:
		return l.concludeComponents(f)
	case l.Sizes != nil:
		var b strings.Builder
		l.writeSize(&b, f)
		return []Part{{Text: strings.TrimSuffix(b.String(), "\n")}}
	case f.Absent:
		return []Part{{Text: fmt.Sprintf("The fault did not recur in %s.", rounds(l.Tests))},
			{Text: "This test doesn't reproduce it: use one closer to the job (its message sizes,\nduration, or the job itself), or check when it happens."}}
	case f.Whole:
		return []Part{{Text: fmt.Sprintf("All %d nodes together fail, but no subset does: no single node or link is at fault.", len(l.Nodes))},
			{"Search by size instead:", fmt.Sprintf("bot isolate --ledger sizes.json --sizes gpus --good %d --bad %d --gpus %d --test '%s'",
				max(1, l.GPUs), len(l.Nodes)*max(1, l.GPUs), max(1, l.GPUs), strings.ReplaceAll(l.Command, "'", `'\''`))}}
	case f.Kind == "":
		return []Part{{Text: fmt.Sprintf("Can't tell after %s. Most likely: %s. Don't exclude a node based on this.", rounds(l.Tests), strings.Join(f.Open, ", "))}}
	}
	return l.culprit(f)
}

func (l *Ledger) culprit(f *Finding) []Part {
	parts := []Part{{Text: fmt.Sprintf("Found: %s (%s, %.2f%%).", Culprit(f.Kind, f.Names), rounds(l.Tests), 100*f.Odds)}}
	if f.Kind == Switch {
		return append(parts, Part{Text: fmt.Sprintf("Report %s to the network admins, with this ledger. Exclude its nodes until it is fixed.", Culprit(f.Kind, f.Names))})
	}
	var rest []string
	for _, n := range l.Nodes {
		if n != f.Names[0] {
			rest = append(rest, n)
		}
	}
	if len(rest) < 2 {
		return parts
	}
	if f.Kind == Link {
		parts = append(parts, Part{Text: fmt.Sprintf("Report the link, and don't use these two nodes in the same job: exclude %s.", f.Names[0])})
	}
	return append(parts, Part{"Run the test once more on all other nodes:", l.Line(Test{Nodes: rest})},
		Part{Text: fmt.Sprintf("If that passes: sbatch --exclude=%s …   If it fails, something else is bad too: search again without %s.", f.Names[0], f.Names[0])})
}

func (l *Ledger) writeSize(b *strings.Builder, f *Finding) {
	unit := map[string]string{GPUs: "GPUs", Batch: "a batch of", Layers: "layers"}[l.Sizes.Of]
	size := func(n int) string {
		if l.Sizes.Of == Batch {
			return fmt.Sprintf("%s %d", unit, n)
		}
		return fmt.Sprintf("%d %s", n, unit)
	}
	works, fails := f.Between[0], f.Between[1]
	switch {
	case f.Absent:
		fmt.Fprintf(b, "%s did not fail in %s: this test doesn't reproduce the fault.\n", size(l.Sizes.Bad), rounds(l.Tests))
	case len(f.Open) > 0:
		fmt.Fprintf(b, "Can't tell after %s. Most likely it breaks at %s.\n", rounds(l.Tests), strings.Join(f.Open, ", "))
	case works == 0:
		fmt.Fprintf(b, "%s already fails: start below it.\n", size(fails))
	default:
		fmt.Fprintf(b, "Breaks between %s and %s (%s, %.1f%%).\n", size(works), size(fails), rounds(l.Tests), 100*f.Odds)
		if changes := Changes(l.Sizes.Of, works, fails, l.GPUs); len(changes) > 0 {
			b.WriteString("What changes at that size:\n")
			for _, c := range changes {
				fmt.Fprintf(b, "  • %s\n", c)
			}
		}
	}
}

// rounds counts what was run: "9 tests in 5 rounds".
func rounds(tests []Test) string {
	last := 0
	for _, t := range tests {
		last = max(last, t.Round)
	}
	word := func(n int, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return fmt.Sprintf("%d %s", n, noun)
	}
	return word(len(tests), "test") + " in " + word(last, "round")
}

// Changes are what is different with more of something, for a person who looks for the reason. perNode is how many GPUs a node has,
// 0 = unknown. Source: NCCL's documentation of its algorithms (ring and tree), PyTorch's of DistributedDataParallel and FSDP.
func Changes(of string, works, fails, perNode int) []string {
	switch of {
	case Batch:
		return []string{
			"Memory for activations grows with the batch: compare the peak (torch.cuda.max_memory_allocated) at both sizes.",
			"A larger batch may use a different kernel, and some overflow beyond 2³¹ elements.",
		}
	case Layers:
		return []string{fmt.Sprintf("Layer %d is the first that breaks it: check what is special about it (width, a custom kernel, the loss after it).", fails)}
	}
	var out []string
	if perNode > 0 && works <= perNode && fails > perNode {
		out = append(out, "More than one node: traffic moves from NVLink or PCIe to the network, and NCCL chooses interfaces (NCCL_SOCKET_IFNAME, NCCL_IB_HCA).")
	}
	if perNode > 0 && (works+perNode-1)/perNode < 2 && fails > 2*perNode {
		out = append(out, "More than two nodes: NCCL may choose a tree instead of a ring. Try NCCL_ALGO=Ring for one run to see if that matters.")
	}
	out = append(out,
		fmt.Sprintf("A ring all-reduce takes %d steps instead of %d; one slow link delays every one of them.", 2*(fails-1), 2*(works-1)),
		fmt.Sprintf("With a fixed global batch, each GPU gets %.0f%% of its earlier share; with a fixed per-GPU batch, the global batch grows %.2f-fold, so the learning rate no longer fits.", 100*float64(works)/float64(fails), float64(fails)/float64(works)),
		fmt.Sprintf("Group sizes that divide %d may not divide %d: tensor × pipeline × expert parallel.", works, fails),
		"More processes start together: check open files (ulimit -n), the rendezvous timeout, and the file system they import from.")
	return out
}
