package worker

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Saving and loading of checkpoints. Only wording that states the end of a save is a save done: "resume from" rests on it.

type checkpointRule struct {
	literal string
	kind    CheckpointKind
	pattern *pattern.Regexp // groups step and path, both optional
	not     string
}

var checkpointRules = []checkpointRule{
	// Megatron-LM and descendants, megatron/training/checkpointing.py.
	{"saving checkpoint at iteration", SaveStart, pattern.New(`saving checkpoint at iteration +(?P<step>\d+) to (?P<path>\S+)`), "uccessfully"},
	{"successfully saved checkpoint", SaveDone, pattern.New(`successfully saved checkpoint (?:from|at) iteration +(?P<step>\d+) to (?P<path>\S+)`), ""},
	{"loading checkpoint from ", LoadStart, pattern.New(`loading (?:\w+ )?checkpoint from (?P<path>\S+)(?: at iteration +(?P<step>\d+))?`), "could not"},
	{"successfully loaded checkpoint from", LoadDone, pattern.New(`successfully loaded checkpoint from (?P<path>\S+).*? at iteration +(?P<step>\d+)`), ""},
	// NeMo and Lightning.
	{"Global Checkpoint Save :", SaveDone, pattern.New(`Global Checkpoint Save : .*?Iteration: (?P<step>\d+) :.*Save duration: `), ""},
	{"Scheduled async checkpoint save for ", Scheduled, pattern.New(`save for (?P<path>\S+)`), ""},
	{"Async checkpoint save for step ", SaveDone, pattern.New(`save for step (?P<step>\d+) \((?P<path>[^)]*)\) finalized successfully`), ""},
	{"Restoring states from the checkpoint path at ", LoadStart, pattern.New(`path at (?P<path>\S+)`), ""},
	{"Restored all states from the checkpoint", LoadDone, pattern.New(`Restored all states from the checkpoint(?: file)? at (?P<path>\S+)`), ""},
	{", saving model to ", SaveStart, pattern.New(`global step (?P<step>\d+): .*, saving model to '(?P<path>[^']+)'`), ""},
	// DeepSpeed: [Torch] lines are per file, "is ready" is per checkpoint.
	{"[Torch] Saving ", SaveStart, pattern.New(`\[Torch\] Saving (?P<path>\S+?)\.\.\.`), ""},
	{"[Torch] Checkpoint ", SaveDone, pattern.New(`Checkpoint (?:global_step)?(?P<step>\d+)? ?\S* ?is ready now`), ""},
	{"[Torch] Loaded checkpoint from ", LoadDone, pattern.New(`Loaded checkpoint from (?P<path>\S+?)\.?$`), ""},
	{"[Torch] Loading checkpoint from ", LoadStart, pattern.New(`Loading checkpoint from (?P<path>\S+?)(?:\.\.\.)?$`), ""},
	// Hugging Face Trainer, Accelerate; DeepSpeed's engine uses the same words with a colon.
	{"Saving model checkpoint to ", SaveStart, pattern.New(`checkpoint to (?P<path>\S+)`), ""},
	{"Saving model checkpoint: ", SaveStart, pattern.New(`checkpoint: (?P<path>\S+)`), ""},
	{"Continuing training from global step ", LoadDone, pattern.New(`global step (?P<step>\d+)`), ""},
	{"Saving current state to ", SaveStart, pattern.New(`state to (?P<path>\S+)`), ""},
	{"Loading states from ", LoadStart, pattern.New(`states from (?P<path>\S+)`), ""},
	// TorchTitan. With "or staging" in it the end of the call is not the end of the save.
	{"Saving the checkpoint", SaveStart, nil, "Finished"},
	{"Finished saving the checkpoint", SaveDone, nil, "staging"},
	{"Finished saving the checkpoint (or staging", Scheduled, nil, ""},
	{"Loading the checkpoint ", LoadStart, pattern.New(`Loading the checkpoint (?:from (?P<path>\S+?)\.?$|at step (?P<step>\d+))`), ""},
	{"Finished loading the checkpoint", LoadDone, nil, ""},
	// Orbax (MaxText and other JAX programs).
	// OpenMMLab (CheckpointHook) and fvcore (Detectron2).
	{"Saving checkpoint at ", SaveStart, pattern.New(`checkpoint at \d+ (?:epochs|iterations)`), ""},
	{"aving checkpoint to ", SaveStart, pattern.New(`(?:^|[\]:|>-] *)[Ss]aving checkpoint to (?P<path>\S+)`), ""},
	{"Saving checkpoint at step ", SaveStart, pattern.New(`at step (?P<step>\d+)`), ""},
	{"Finished asynchronous save", SaveDone, pattern.New(`Finished asynchronous save(?:.*? to (?P<path>\S+?)\.?$)?`), ""},
	{"Restoring checkpoint from ", LoadStart, pattern.New(`checkpoint from (?P<path>\S+?)\.?$`), ""},
	// Scripts of all kinds.
	{"aved checkpoint", SaveDone, pattern.New(`[Ss]aved checkpoint:? (?:to |at |as )?(?P<path>/?[\w.-]*/\S+)`), "successfully saved checkpoint"},
	{"heckpoint saved", SaveDone, pattern.New(`[Cc]heckpoint saved (?:to|at|in) (?P<path>\S+)`), ""},
}

// What scripts of all kinds say: "Saving latest checkpoint", "Saving models and training states.", "model saved". That a save is over is
// no word on what of it can be resumed from. "Saving checkpoints to /ckpt" is said when a program begins.
const saveNouns = `(?:[\w-]+ ){0,4}?(?:checkpoint|ckpt|models?|weights|state_?dict|training states?|snapshot)\b`

var anySave = []checkpointRule{
	{"aving ", SaveStart, pattern.New(`(?:^|[\]):|>*=-] *)(?:Start(?:ed)? |Begin |Now )?[Ss]aving ` + saveNouns +
		`(?:(?: at| for)? (?:global )?(?:step|iteration|iter)[ =:]*(?P<step>\d+))?(?:.*?(?: to| in| at| as|:) (?P<path>[\w.-]*/\S+))?`), " every "},
	{"aved", SaveOver, pattern.New(`[Ss]aved (?:[\w-]+ ){0,4}?checkpoints\b|[Ss]aved ` + saveNouns + `|(?:^|[\]):|>*=-] *|[Tt]he )(?:(?i:best|latest|last|final|model|full) ){0,2}(?i:checkpoints?|ckpt|models?|weights|states?|snapshot) (?:(?:has|have) been |was |were )?(?:successfully )?saved\b|saved to \S*/`), "will be"},
	{"aving", SaveOver, pattern.New(`(?:[Ff]inished|[Dd]one) saving\b`), ""},
}

// unsaved are words with which a line tells something else: that it did not work, or what a save that there is does not fit.
var unsaved = []string{" not ", "never ", "nothing ", " no ", "cannot ", "n't ", "unable ", "fail", "exception", "warning", "critical", "fatal", "missing", "corrupt", "incompatible"}

// anySaveLiterals find those lines.
var anySaveLiterals = []string{"Saving ", "saving ", "Saved ", "saved to ", "odel saved", "heckpoint saved", "eights saved", "uccessfully saved", "napshot saved"}

// stepNames are what stands in front of the step in a checkpoint's path, as the frameworks name their directories.
var stepNames = []string{"step", "step-", "step_", "step=", "checkpoint-", "checkpoint_", "iter_", "iteration", "iteration-", "iteration_", "iteration="}

// stepOfPath is the last step that a path names; unknown where it names none.
func stepOfPath(path string) int64 {
	for to := len(path); to > 0; {
		from := to
		for from > 0 && ascii.Digit(path[from-1]) {
			from--
		}
		if from < to && slices.ContainsFunc(stepNames, func(name string) bool { return strings.HasSuffix(path[:from], name) }) {
			return exact(path[from:to])
		}
		to = min(from, to-1)
	}
	return line.Unknown
}

func checkpointHandlers() []handler {
	var literals []string
	for _, c := range checkpointRules {
		literals = append(literals, c.literal)
	}
	return []handler{{"checkpoint", append(literals, anySaveLiterals...), readCheckpoint}}
}

func readCheckpoint(r *reader, rec *record) bool {
	understood := false
	text := rec.Text[:min(len(rec.Text), 4<<10)]
	text = bytes.TrimRight(text, " \t\r")
	for due := dueRules(r.table.saves, rec.ids); due != 0; due &= due - 1 {
		if checkpointRules[bits.TrailingZeros64(due)].read(r, rec, text, false) {
			understood = true
		}
	}
	if understood {
		return true
	}
	msg := rec.Msg[:min(len(rec.Msg), 1<<10)]
	for i := range anySave {
		if anySave[i].read(r, rec, msg, true) {
			return true
		}
	}
	return false
}

// read emits what the rule's pattern finds; without a pattern the literal says it. Free words may tell the contrary, too.
func (rule *checkpointRule) read(r *reader, rec *record, text []byte, free bool) bool {
	if !bytes.Contains(text, []byte(rule.literal)) || rule.not != "" && bytes.Contains(text, []byte(rule.not)) {
		return false
	}
	c := Checkpoint{At: rec.At, Kind: rule.kind, Step: line.Unknown}
	if rule.pattern != nil {
		m := rule.pattern.FindSubmatch(text)
		if m == nil || free && (complains(text) || bytes.Contains(text, []byte("ERROR")) || containsAny(bytes.ToLower(text), unsaved)) {
			return false
		}
		if k := rule.pattern.SubexpIndex("path"); k >= 0 {
			c.Path = clip(m[k])
		}
		if k := rule.pattern.SubexpIndex("step"); k >= 0 && len(m[k]) > 0 {
			c.Step = exact(string(m[k]))
		}
	}
	if c.Step == line.Unknown && c.Path != "" {
		c.Step = stepOfPath(c.Path)
	}
	emit(r, &r.obs.Checkpoints, c)
	return true
}
