package worker

import (
	"bytes"
	"math"
	"strconv"

	"faultline/analysis/line"
	"faultline/pattern"
)

// Progress lines of the frameworks (reference: formats of worker logs, §6.1). A step counts only where it is printed
// exactly: a bar's "global_step=3.2e+4" is not a step.

// number is a printed number, or what is printed instead of one.
const number = `[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)`

// progressForm reads one wording: what most jobs print by hand-written code, the rest by a pattern with the named groups
// step, total, epoch, loss, seconds.
type progressForm struct {
	form     string
	literals []string
	read     func(p *step, text, msg []byte) bool
	pattern  *pattern.Regexp
	// extra fills what the pattern does not say; it may reject the line.
	extra func(p *step, text []byte) bool
}

var barLiterals = []string{"it/s,", "s/it,", "it/s]", "s/it]"}

var progressForms = []progressForm{
	{form: "megatron", literals: []string{elapsedKey}, read: readMegatron},
	{form: "megatron", literals: []string{" loss at iteration "}, extra: evaluating,
		pattern: pattern.New(`(?:validation|valid|test) loss at iteration (?P<step>\d+).*? value: (?P<loss>` + number + `)`)},
	{form: "nemo", literals: []string{"Training epoch "}, extra: nemoStep,
		pattern: pattern.New(`Training epoch (?P<epoch>\d+), iteration (?P<step>\d+)/(?P<total>\d+)(?:.*?reduced_train_loss: (?P<loss>` + number + `))?(?:.*?train_step_timing in s: (?P<seconds>` + number + `))?`)},
	{form: "nemo", literals: []string{"Validation: iteration "}, extra: notGlobal,
		pattern: pattern.New(`Validation: iteration (?P<step>\d+)/(?P<total>\d+)`)},
	{form: "deepspeed", literals: []string{", skipped="}, read: readDeepSpeedStep},
	{form: "deepspeed", literals: []string{"RunningAvgSamplesPerSec="}, read: readDeepSpeedTimer},
	{form: "deepspeed", literals: []string{"iter time (s): "},
		pattern: pattern.New(`steps: (?P<step>\d+) loss: (?P<loss>` + number + `) iter time \(s\): (?P<seconds>` + number + `)`)},
	{form: "hf-dict", literals: []string{"'loss': "}, read: readHFDict},
	{form: "hf-dict", literals: []string{"{'eval_loss': "}, extra: evaluating,
		pattern: pattern.New(`\{'eval_loss': '?(?P<loss>` + number + `)'?,.*?'epoch': '?(?P<epoch>\d+)`)},
	{form: "maxtext", literals: []string{"completed step: "},
		pattern: pattern.New(`completed step: (?P<step>\d+), seconds: (?P<seconds>` + number + `)(?:.*?\bloss: (?P<loss>` + number + `))?`)},
	{form: "areal", literals: []string{"Train step "},
		pattern: pattern.New(`(?:Epoch (?P<epoch>\d+)/\d+ )?(?:Step \d+/\d+ )?Train step (?P<step>\d+)/(?P<total>\d+) done`)},
	// verl's console logger (verl/utils/logger/aggregate_logger.py). The loss of a policy gradient says nothing about how
	// a run goes; that of fine-tuning does. Validation prints its own line under the same number.
	{form: "verl", literals: []string{" - actor/", " - critic/", " - global_seqlen/", " - train/loss:"},
		pattern: pattern.New(`(?:^|\s)step:(?P<step>\d+) - (?:.*?\btrain/loss:(?P<loss>` + number + `))?`)},
	{form: "titan", literals: []string{"grad_norm: ", "  tps: "}, read: readTitan},
	{form: "lightning-bar", literals: barLiterals, read: readLightningBar},
	{form: "hf-dict", literals: barLiterals, read: readBar},
	// OpenMMLab: mmcv's TextLoggerHook and mmengine's LoggerHook. The step counts within the epoch.
	{form: "generic", literals: []string{"Epoch [", "Epoch(train)", "Iter [", "Iter(train)"},
		pattern: pattern.New(`(?:Epoch(?:\(train\))?\s+\[(?P<epoch>\d+)\]\[\s*\d+/\d+\]|Iter(?:\(train\))?\s+\[\s*(?P<step>\d+)/(?P<total>\d+)\])(?:.*?[\s,]time: (?P<seconds>` + number + `))?.*?[\s,]loss: (?P<loss>` + number + `)`)},
	// fairseq and metaseq, log formats "simple" and "json".
	{form: "generic", literals: []string{"num_updates="},
		pattern: pattern.New(`epoch (?P<epoch>\d+):\s+\d+ / \d+ .*?\bloss=(?P<loss>` + number + `).*?num_updates=(?P<step>\d+)`)},
	{form: "generic", literals: []string{`"num_updates": `},
		pattern: pattern.New(`\{"epoch": (?P<epoch>\d+),.*?"loss": "(?P<loss>` + number + `)".*?"num_updates": "(?P<step>\d+)"`)},
	// PyTorch's ImageNet and MNIST examples and what was written after them; timm; OpenCLIP.
	{form: "generic", literals: []string{"Epoch: [", "Train: ", "Train Epoch: "},
		pattern: pattern.New(`(?:Epoch: \[(?P<epoch>\d+)\]\[\s*\d+/\d+\]|Train(?: Epoch)?: \d+ \[\s*\d+/\d+ ).*?\b(?:Loss|loss):? +(?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{"loss: ", "loss=", "Loss: ", "Loss=", "loss ", "Loss ", `loss": `}, read: readGeneric, extra: generic},
}

// progressHandlers gives every form a handler of its own, in the order of the table: from the particular to the general.
func progressHandlers() []handler {
	var list []handler
	for i := range progressForms {
		f := &progressForms[i]
		list = append(list, handler{"progress " + f.form, f.literals, f.take})
	}
	return list
}

// take reads a record that no earlier form has read.
func (f *progressForm) take(r *reader, rec *record) bool {
	if r.stepOff == rec.Off && r.stepLen == rec.Len {
		return true
	}
	const maxProgress = 8 << 10
	text := rec.Text[:min(len(rec.Text), maxProgress)]
	p := &r.scratch
	*p = step{Step: line.Unknown, Total: line.Unknown, Epoch: line.Unknown, Phase: "training"}
	if f.read != nil && !f.read(p, text, rec.Msg[:min(len(rec.Msg), maxProgress)]) ||
		f.pattern != nil && !p.match(f.pattern, text) || f.extra != nil && !f.extra(p, text) {
		return false
	}
	r.stepOff, r.stepLen = rec.Off, rec.Len
	r.step(rec, f.form, p)
	return true
}

// match fills p from the pattern's groups.
func (p *step) match(re *pattern.Regexp, text []byte) bool {
	m := re.FindSubmatch(text)
	if m == nil {
		return false
	}
	for k, name := range re.SubexpNames() {
		if name == "" || len(m[k]) == 0 {
			continue
		}
		switch v := m[k]; name {
		case "step":
			p.Step = exact(string(v))
		case "total":
			p.Total = exact(string(v))
		case "epoch":
			p.Epoch = exact(string(v))
		case "loss":
			p.Loss = v
		case "seconds":
			p.StepSeconds = positive(v)
		}
	}
	return true
}

func exact(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return line.Unknown
	}
	return n
}

func positive(v []byte) float64 {
	f, err := float(v)
	if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func evaluating(p *step, _ []byte) bool {
	p.Phase = "evaluation"
	return true
}

func notGlobal(p *step, _ []byte) bool {
	p.Phase, p.Step, p.Total = "evaluation", line.Unknown, line.Unknown
	return true
}

var globalStep = pattern.New(`\bglobal_step[:=] ?(\d+)(?:[\s|,\]]|$)`)

// nemoStep prefers the global step; the iteration counts within the epoch only where the two differ.
func nemoStep(p *step, text []byte) bool {
	if m := globalStep.FindSubmatch(text); m != nil {
		if n := exact(string(m[1])); n != p.Step {
			p.Step, p.Total = n, line.Unknown
		}
	}
	return true
}

// generic refuses what only looks like progress: errors, settings, and prose about loss.
func generic(p *step, text []byte) bool {
	for _, w := range []string{"rror", "arning", "loss_scale", "loss scale:", "lossless"} {
		if bytes.Contains(text, []byte(w)) {
			return false
		}
	}
	for _, w := range []string{"alidation", "eval", "Eval", "val_loss"} {
		if bytes.Contains(text, []byte(w)) {
			p.Phase = "evaluation"
		}
	}
	return p.Step != line.Unknown
}

func containsAny(text []byte, literals []string) bool {
	for _, l := range literals {
		if bytes.Contains(text, []byte(l)) {
			return true
		}
	}
	return false
}
