package worker

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

// Progress lines of the frameworks (reference: formats of worker logs, §6.1). A step counts only where it is printed
// exactly: a bar's "global_step=3.2e+4" is not a step.

// number is a printed number, or what is printed instead of one.
const number = `[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)`

// progressForm reads one wording: what most jobs print by hand-written code, the rest by a pattern with the named groups
// step, total, epoch, loss, and seconds, ms or rate for the time of a step.
type progressForm struct {
	form     string
	literals []string
	read     func(p *step, text, msg []byte) bool
	pattern  *pattern.Regexp
	// extra fills what the pattern does not say; it may reject the line.
	extra func(p *step, text []byte) bool
	// The step stands on a line of its own, and its numbers on lines below. Where that line is printed when the step begins, the step before
	// is the last that is done.
	head, begins, below bool
	// Many write such lines: the time of a step may be called otherwise.
	anyTime bool
}

// belowHead is how many lines below the step its loss may stand.
const belowHead = 256

// headed is a step whose numbers follow.
type headed struct {
	step, total, line int64
	stamp             line.Stamp
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
	{form: "maxtext", literals: []string{maxtextStep}, read: readMaxText},
	{form: "areal", literals: []string{"Train step "},
		pattern: pattern.New(`(?:Epoch (?P<epoch>\d+)/\d+ )?(?:Step \d+/\d+ )?Train step (?P<step>\d+)/(?P<total>\d+) done`)},
	// verl's console logger (verl/utils/logger/aggregate_logger.py). The loss of a policy gradient says nothing about how
	// a run goes; that of fine-tuning does. Validation prints its own line under the same number.
	{form: "verl", literals: []string{" - actor/", " - critic/", " - global_seqlen/", " - train/loss:"}, read: readVerl},
	// NeMo RL (nemo_rl/algorithms) prints a step's number when it begins it: the one before is done then.
	{form: "nemo-rl", head: true, begins: true, literals: []string{"====== Step "}, pattern: pattern.New(`={20,} Step (?P<step>\d+)/(?P<total>\d+) ={20,}`)},
	{form: "nemo-rl", below: true, literals: []string{"• Loss: "}, pattern: pattern.New(`^\s*• Loss: (?P<loss>` + number + `)\s*$`)},
	{form: "titan", literals: []string{"grad_norm: ", "  tps: "}, read: readTitan},
	{form: "lightning-bar", literals: barLiterals, read: readLightningBar},
	{form: "hf-dict", literals: barLiterals, read: readBar},
	// OpenMMLab: mmcv's TextLoggerHook and mmengine's LoggerHook. The step counts within the epoch.
	{form: "generic", literals: []string{"Epoch [", "Epoch(train)", "Iter [", "Iter(train)"},
		pattern: pattern.New(`(?:Epoch(?:\(train\))?\s+\[(?P<epoch>\d+)\]\[\s*\d+/\d+\]|Iter(?:\(train\))?\s+\[\s*(?P<step>\d+)/(?P<total>\d+)\])(?:.*?[\s,]time: (?P<seconds>` + number + `))?.*?[\s,]loss: (?P<loss>` + number + `)`)},
	// fairseq and metaseq, log formats "simple" and "json".
	{form: "generic", literals: []string{"num_updates="},
		pattern: pattern.New(`epoch (?P<epoch>\d+):\s+\d+ / \d+ .*?\bloss=(?P<loss>` + number + `)(?:.*?\bups=(?P<rate>` + number + `))?.*?num_updates=(?P<step>\d+)`)},
	{form: "generic", literals: []string{`"num_updates": `},
		pattern: pattern.New(`\{"epoch": (?P<epoch>\d+),.*?"loss": "(?P<loss>` + number + `)"(?:.*?"ups": "(?P<rate>` + number + `)")?.*?"num_updates": "(?P<step>\d+)"`)},
	// PyTorch's ImageNet and MNIST examples, PaddleDetection, and what was written after them (DETR's logger, MAE, Swin); timm; OpenCLIP.
	{form: "generic", anyTime: true, literals: []string{"Epoch: [", "Epoch [", "Train: ", "Train Epoch: "},
		pattern: pattern.New(`(?:Epoch:? \[(?P<epoch>\d+)\]\s*\[\s*\d+/\d+\]|Train(?: Epoch)?: \d+ \[\s*\d+/\d+ |Train: \[\d+/\d+\]\[\s*\d+/\d+\])(?:\s+Time:?\s+(?P<seconds>` + number + `) \()?.*?\b(?:Loss|loss):?\s+(?P<loss>` + number + `)(?:.*?\s(?:Time: (?P<seconds2>` + number + `)s,|time: (?P<seconds3>` + number + `)  data: ))?`)},
	// Detectron2 (detectron2/utils/events.py).
	{form: "generic", literals: []string{"  total_loss: "}, pattern: pattern.New(`\biter: (?P<step>\d+)  total_loss: (?P<loss>` + number + `) (?:.*? time: (?P<seconds>` + number + `))?`)},
	// nanoGPT, llm.c, TF-Slim, MindFormers, PaddleNLP.
	{form: "generic", literals: []string{"ms, mfu "}, pattern: pattern.New(`\biter (?P<step>\d+): loss (?P<loss>` + number + `), time (?P<ms>` + number + `)ms, mfu `)},
	{form: "generic", literals: []string{"z)| norm "}, pattern: pattern.New(`\bstep +(?P<step>\d+)/(?P<total>\d+) \| loss (?P<loss>` + number + `) .*?\| (?P<ms>` + number + `) ms \|`)},
	{form: "generic", literals: []string{" sec/step)"}, pattern: pattern.New(`\bglobal step (?P<step>\d+): loss = (?P<loss>` + number + `) \((?P<seconds>` + number + `) sec/step\)`)},
	{form: "generic", literals: []string{"per_step_time: "}, pattern: pattern.New(`\bstep:\[\s*(?P<step>\d+)/\s*(?P<total>\d+)\], loss: (?P<loss>` + number + `), per_step_time: (?P<ms>` + number + `)ms`)},
	{form: "generic", literals: []string{"interval_steps_per_second: "}, pattern: pattern.New(`\bloss: (?P<loss>` + number + `), .*?global_step: (?P<step>\d+), .*?interval_steps_per_second: (?P<rate>` + number + `)`)},
	// DINOv2 (dinov2/logging/helpers.py).
	{form: "generic", literals: []string{"Training  ["},
		pattern: pattern.New(`Training  \[\s*(?P<step>\d+)/(?P<total>\d+)\]  eta: .*?\btotal_loss: (?P<loss>` + number + `)`)},
	// OLMo and OLMo-core print a head with the step, Composer one with the batch; the numbers follow on lines of their own.
	{form: "generic", head: true, literals: []string{"[step="}, pattern: pattern.New(`\[step=(?P<step>\d+)/(?P<total>\d+)[,\]]`)},
	{form: "generic", head: true, literals: []string{"[batch="}, pattern: pattern.New(`(?:^\s*|[\]\s])\[batch=(?P<step>\d+)/(?P<total>\d+)\]:`)},
	{form: "generic", below: true, literals: []string{"train/CrossEntropyLoss=", "train/CE loss=", "Train loss/train/total: "},
		pattern: pattern.New(`^\s*(?:train/(?:CrossEntropyLoss|CE loss)=|Train loss/train/total: )(?P<loss>` + number + `)\s*$`)},
	{form: "rates", below: true, literals: []string{"hroughput/batches_per_sec: ", "throughput/device/batches_per_second=", "throughput/device/BPS="},
		pattern: pattern.New(`^\s*(?:Train )?throughput/(?:device/)?(?:batches_per_sec(?:ond)?|BPS)[:=] ?(?P<rate>` + number + `)\s*$`)},
	{form: "rates", below: true, literals: []string{"throughput/device/TPS="}, pattern: pattern.New(`^\s*throughput/device/TPS=[\d.,]+\s*$`)},
	// LitGPT and torchtune.
	{form: "generic", literals: []string{"| loss train: "}, pattern: pattern.New(`\bstep (?P<step>\d+) +\| loss train: (?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{"|Loss: "}, pattern: pattern.New(`(?:^|\s)\d+\|(?P<step>\d+)\|Loss: (?P<loss>` + number + `)(?:.*?<[\d:?]+, +(?:(?P<seconds>[\d.]+)s/it|(?P<rate>[\d.]+)it/s))?`)},
	// icefall, WeNet, ESPnet and SpeechBrain. Their numbers count within the epoch, or name a stretch of it.
	{form: "generic", literals: []string{"tot_loss[loss="}, pattern: pattern.New(`Epoch (?P<epoch>\d+), batch \d+, .*?tot_loss\[loss=(?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{"TRAIN Batch ", "TRAIN | "}, pattern: pattern.New(`TRAIN (?:\| )?(?:Batch |steps? )(?P<epoch>\d+)/\d+ .*?\bloss (?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{"epoch:train:"}, pattern: pattern.New(`(?P<epoch>\d+)epoch:train:\d+-\d+batch: .*?\bloss=(?P<loss>` + number + `)(?:.*?\btrain_time=(?P<seconds>` + number + `))?`)},
	{form: "generic", literals: []string{" - valid loss: "}, pattern: pattern.New(`epoch: (?P<epoch>\d+), .*?train loss: (?P<loss>` + number + `)`)},
	// Keras, in both of its generations.
	{form: "generic", literals: []string{"/step - ", " - ETA: "},
		pattern: pattern.New(`(?:^|\s)\d+/\d+ .*?(?:(?P<ms>\d+)ms/step|\du?s/step|ETA: \S+) - (?:.*? - )?loss: (?P<loss>` + number + `)`)},
	// Flax' and CLU's writers, TensorFlow's Estimator, Levanter, nnU-Net.
	{form: "generic", literals: []string{"_writer.py:"}, pattern: pattern.New(`_writer\.py:\d+\] \[(?P<step>\d+)\] .*?loss=(?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{", step = "}, pattern: pattern.New(`\bloss = (?P<loss>` + number + `), step = (?P<step>\d+)`)},
	{form: "generic", literals: []string{"Progress on:train "}, pattern: pattern.New(`Progress on:train (?P<step>\d+)it/(?P<total>\d+)it .*?postfix:loss=(?P<loss>` + number + `)`)},
	{form: "generic", literals: []string{": train_loss "}, pattern: pattern.New(`: train_loss (?P<loss>` + number + `)\s*$`)},
	// Reinforcement learning: RSL-RL and Stable-Baselines3. Their losses say nothing of how a run goes.
	{form: "generic", literals: []string{"Learning iteration "}, pattern: pattern.New(`Learning iteration (?P<step>\d+)/(?P<total>\d+)`)},
	{form: "generic", literals: []string{" total_timesteps "}, pattern: pattern.New(`\| +total_timesteps +\| +(?P<step>\d+) +\|`)},
	// Ultralytics: the bar of an epoch, with the GPU's memory and the losses in front of it.
	{form: "generic", literals: barLiterals, pattern: pattern.New(`^\s*(?P<epoch>\d+)/\d+ +[\d.]+G +(?P<loss>` + number + `) .*\d+%\|`)},
	{form: "generic", literals: barLiterals, read: readLossBar},
	{form: "generic", literals: []string{" s/it", "s/step", "sec/step", "time/step", "step_time", "iter_time", "step time", "time per step", "time_per_step", "steps/s", "steps_per_sec", " it/s"}, read: readTimedStep, extra: generic},
	{form: "generic", literals: []string{"loss:", "loss=", "Loss:", "Loss=", "loss ", "Loss ", `loss":`, "loss': "}, read: readGeneric, extra: generic},
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
	*p = step{Step: line.Unknown, Total: line.Unknown, Epoch: line.Unknown, Phase: Training, Bar: f.literals[0] == barLiterals[0]}
	if f.read != nil && !f.read(p, text, rec.Msg[:min(len(rec.Msg), maxProgress)]) ||
		f.pattern != nil && !p.match(f.pattern, text) || f.extra != nil && !f.extra(p, text) {
		return false
	}
	switch {
	case f.head:
		r.does |= other
		r.headed = headed{p.Step, p.Total, r.lineNo, rec.Stamp}
		if f.begins {
			if p.Step--; p.Step <= 0 {
				return true
			}
		}
	case f.below && (r.headed.line == 0 || r.lineNo-r.headed.line > belowHead):
		return false
	case f.below:
		p.Step, p.Total = r.headed.step, r.headed.total
		if own := rec.Stamp; own.Kind == line.NoStamp && r.headed.stamp.Kind != line.NoStamp {
			rec.Stamp = r.headed.stamp // head and numbers are printed at once
			defer func() { rec.Stamp = own }()
		}
	}
	training := p.Phase == Training && !p.Bar
	if f.form == "generic" {
		p.Loop = saidRank(text) + 1
	}
	if p.StepSeconds == 0 && training && (f.anyTime || !f.timed()) {
		p.untimed = text
	}
	r.stepOff, r.stepLen = rec.Off, rec.Len
	kept := len(r.obs.Progress)
	r.step(rec, f.form, p)
	if training && f.form != "megatron" && len(r.obs.Progress) > kept { // of a long course the lines that are kept will do
		r.meters(rec, text, p)
	}
	return true
}

// timed says that the form knows where the time of a step stands: other times in its lines are not that.
func (f *progressForm) timed() bool {
	return f.pattern != nil && slices.ContainsFunc(f.pattern.SubexpNames(), func(n string) bool { return n == "ms" || n == "rate" || strings.HasPrefix(n, "seconds") })
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
		case "seconds", "seconds2", "seconds3":
			p.StepSeconds = positive(v)
		case "ms":
			p.StepSeconds = positive(v) / 1000
		case "rate": // steps a second
			if f := positive(v); f > 0 {
				p.StepSeconds = 1 / f
			}
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
	p.Phase = Evaluation
	return true
}

func notGlobal(p *step, _ []byte) bool {
	p.Phase, p.Step, p.Total = Evaluation, line.Unknown, line.Unknown
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
	if containsAny(text, []string{"Warning", "warning"}) || complains(text) { // not "learning"
		return false
	}
	if containsAny(text, evaluationWords) && !containsAny(text, trainingLoss) {
		p.Phase = Evaluation
	}
	if p.Phase != Evaluation && len(p.Loss) > 0 && !isNumber(p.Loss) { // one loss of several, perhaps
		if v := lossTrained(text); v != nil {
			p.Loss = v
		} else if p.Step == line.Unknown {
			return false
		}
	}
	return p.Step != line.Unknown || p.Epoch != line.Unknown
}

// trainingLoss names the loss on what is trained on.
var trainingLoss = []string{"train_loss", "train loss", "Train loss", "Train Loss"}

// lossTrained is the loss that a line calls by that name, where it stands behind another: "val_loss: nan, train_loss: 0.51".
func lossTrained(text []byte) []byte {
	for _, name := range trainingLoss {
		if i := bytes.Index(text, []byte(name)); i >= 0 {
			return lossIn(text[i:])
		}
	}
	return nil
}

// evaluationWords stand in lines about other data than what is trained on.
var evaluationWords = []string{"alidation", "eval", "Eval", "val_loss", "valid loss", "est loss", "est Loss", "est_loss", "Test:", "Test ", "Dev:", "Dev ", "dev_loss", "dev loss", "Sanity", "Predict"}

// complains says that a line names an error, and not only the error as one of its numbers: "top5_error 12.3", "error rate 0.12",
// "num_error_samples=0".
func complains(text []byte) bool {
	for {
		i := bytes.Index(text, []byte("rror"))
		if i < 0 {
			return false
		}
		from, to := i, i+len("rror")
		for from > 0 && (isWord(text[from-1]) || text[from-1] == '/') {
			from--
		}
		for to < len(text) && isWord(text[to]) {
			to++
		}
		value := bytes.TrimLeft(bytes.TrimPrefix(text[to:], []byte(" rate")), " :=")
		v := printed(value)
		if name := text[from:to]; v == nil || bytes.IndexByte(v, '.') < 0 && (bytes.IndexByte(name, '_') < 0 && bytes.IndexByte(name, '/') < 0 || !endsValue(value[len(v):])) {
			return true // of a number alone it may be the code of an error
		}
		text = text[to:]
	}
}

// endsValue says that a number is the whole of a value, and that no prose follows it: "rdma_error: 12 (retry counter exceeded)".
func endsValue(rest []byte) bool {
	if len(bytes.TrimSpace(rest)) == 0 || bytes.IndexByte([]byte(",;|}]"), rest[0]) >= 0 {
		return true
	}
	next := bytes.TrimLeft(rest, " ")
	n := 0
	for n < len(next) && (isWord(next[n]) || next[n] == '/') {
		n++
	}
	return n > 0 && n < len(next) && (next[n] == '=' || next[n] == ':')
}

func containsAny(text []byte, literals []string) bool {
	return slices.ContainsFunc(literals, func(l string) bool { return bytes.Contains(text, []byte(l)) })
}
