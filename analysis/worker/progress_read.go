package worker

import (
	"bytes"
	"iter"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
)

// The progress lines that healthy jobs print by the million are read by hand: a pattern costs as much as everything else
// that is done to such a line together.

// printed returns the printed number at the start of b, or what is printed instead of one ("nan", "inf"); nil if there
// is none. It reads what the pattern number describes.
func printed(b []byte) []byte {
	n := 0
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		n++
	}
	if n+3 <= len(b) {
		switch string(b[n : n+3]) {
		case "nan", "NaN", "NAN", "naN", "Nan":
			return b[:n+3]
		case "INF":
			return b[:n+3]
		case "inf", "Inf":
			if n+8 <= len(b) && string(b[n+3:n+8]) == "inity" {
				return b[:n+8]
			}
			return b[:n+3]
		}
	}
	if n == len(b) || !ascii.Digit(b[n]) {
		return nil
	}
	for n < len(b) && (ascii.Digit(b[n]) || b[n] == '.') {
		n++
	}
	if e := n; e < len(b) && (b[e] == 'e' || b[e] == 'E') {
		e++
		if e < len(b) && (b[e] == '-' || b[e] == '+') {
			e++
		}
		if d := digits(b[e:]); d > 0 {
			n = e + d
		}
	}
	return b[:n]
}

// digits is how many decimal digits stand at the start of b.
func digits(b []byte) int {
	n := 0
	for n < len(b) && ascii.Digit(b[n]) {
		n++
	}
	return n
}

// counter reads an unsigned integer at the start of b; rest is nil if there is none. One that does not fit is unknown.
func counter(b []byte) (v int64, rest []byte) {
	n := digits(b)
	if n == 0 {
		return 0, nil
	}
	if n > 18 {
		return line.Unknown, b[n:]
	}
	for _, c := range b[:n] {
		v = v*10 + int64(c-'0')
	}
	return v, b[n:]
}

// after returns what follows the first key in b, nil if it is not there.
func after(b []byte, key string) []byte {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil
	}
	return b[i+len(key):]
}

// numberAfter returns the first printed number that stands right after key, where key begins a word.
func numberAfter(b []byte, key string) []byte {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(key))
		if i < 0 {
			return nil
		}
		i += at
		at = i + len(key)
		if i > 0 && isWord(b[i-1]) {
			continue
		}
		if v := printed(b[at:]); v != nil {
			return v
		}
	}
}

const elapsedKey = "elapsed time per iteration ("

// readMegatron reads " iteration     1580/  500000 | … | elapsed time per iteration (ms): 730.1 | … | lm loss: 2.1E+00 |"
// (Megatron-LM megatron/training/training.py, training_log).
func readMegatron(p *step, text, _ []byte) bool {
	head, tail, ok := bytes.Cut(text, []byte(elapsedKey))
	if !ok {
		return false
	}
	for {
		if head = after(head, "iteration"); head == nil {
			return false
		}
		b := bytes.TrimLeft(head, " \t")
		step, rest := counter(b)
		if len(b) == len(head) || rest == nil || len(rest) == 0 || rest[0] != '/' {
			continue
		}
		total, rest := counter(bytes.TrimLeft(rest[1:], " \t"))
		if rest == nil || !bytes.HasPrefix(rest, []byte(" |")) {
			continue
		}
		p.Step, p.Total = step, total
		break
	}
	scale := 1.0
	if bytes.HasPrefix(tail, []byte("ms")) {
		tail, scale = tail[1:], 1000
	}
	if !bytes.HasPrefix(tail, []byte("s): ")) {
		return false
	}
	tail = tail[len("s): "):]
	v := printed(tail)
	if v == nil {
		return false
	}
	p.StepSeconds = positive(v) / scale
	if p.Loss = numberAfter(tail[len(v):], "loss: "); p.Loss == nil {
		p.Loss = numberAfter(tail[len(v):], "lm_loss: ") // GPT-NeoX
	}
	return true
}

// readDeepSpeedStep reads "[Rank 0] step=100, skipped=0, lr=[1e-05]" (DeepSpeed runtime/engine.py, _report_progress).
func readDeepSpeedStep(p *step, text, _ []byte) bool {
	i := bytes.Index(text, []byte(", skipped="))
	if i < 0 {
		return false
	}
	n := i
	for n > 0 && ascii.Digit(text[n-1]) {
		n--
	}
	tail := text[i+len(", skipped="):]
	d := digits(tail)
	if n == i || !bytes.HasSuffix(text[:n], []byte("step=")) || d == 0 || !bytes.HasPrefix(tail[d:], []byte(", lr=")) {
		return false
	}
	if k := n - len("step="); k > 0 && isWord(text[k-1]) {
		return false
	}
	p.Step, _ = counter(text[n:i])
	return true
}

const maxtextStep = "completed step: "

// readMaxText reads "completed step: 10, seconds: 0.73, TFLOP/s/device: 412.0, total_weights: 8192, loss: 10.8" (MaxText's
// metric_logger.py).
func readMaxText(p *step, text, _ []byte) bool {
	for rest := after(text, maxtextStep); rest != nil; rest = after(rest, maxtextStep) {
		v, more := counter(rest)
		more, ok := bytes.CutPrefix(more, []byte(", seconds: "))
		seconds := printed(more)
		if !ok || seconds == nil {
			continue
		}
		p.Step, p.StepSeconds = v, positive(seconds)
		p.Loss = numberBehind(more[len(seconds):], "loss: ")
		return true
	}
	return false
}

// numberBehind is the first number that stands behind a word which is not the end of another; nil if there is none.
func numberBehind(b []byte, word string) []byte {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(word))
		if i < 0 {
			return nil
		}
		at += i
		whole := at == 0 || !isWord(b[at-1])
		if at += len(word); whole {
			if v := printed(b[at:]); v != nil {
				return v
			}
		}
	}
}

// readVerl reads "step:12 - global_seqlen/min:9 - actor/pg_loss:0.1 - train/loss:2.3" (verl/utils/logger/aggregate_logger.py), a
// line of some thousand bytes.
func readVerl(p *step, text, _ []byte) bool {
	const key, loss = "step:", "train/loss:"
	for rest := text; ; {
		i := bytes.Index(rest, []byte(key))
		if i < 0 {
			return false
		}
		at := len(text) - len(rest) + i
		rest = rest[i+len(key):]
		v, more := counter(rest)
		more, ok := bytes.CutPrefix(more, []byte(" - "))
		if !ok || at > 0 && !space(text[at-1]) {
			continue
		}
		p.Step, p.Loss = v, numberBehind(more, loss)
		return true
	}
}

// readDeepSpeedTimer reads "epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=12.1" (DeepSpeed
// utils/timer.py).
func readDeepSpeedTimer(p *step, text, _ []byte) bool {
	step, rest := counter(after(text, "global_step="))
	if rest == nil || !bytes.HasPrefix(rest, []byte(", RunningAvgSamplesPerSec=")) {
		return false
	}
	p.Step = step
	return true
}

// readHFDict reads "{'loss': 0.4589, 'grad_norm': 1.04, 'learning_rate': 5e-06, 'epoch': 1.22}" (Hugging Face Trainer's
// PrinterCallback), whose numbers are quoted in some versions.
func readHFDict(p *step, text, msg []byte) bool {
	b := bytes.TrimPrefix(after(text, "{'loss': "), []byte("'"))
	v := printed(b)
	if v == nil {
		return false
	}
	b = bytes.TrimPrefix(b[len(v):], []byte("'"))
	epoch, rest := counter(bytes.TrimPrefix(after(b, "'epoch': "), []byte("'")))
	if rest == nil || b[0] != ',' {
		return false
	}
	p.Loss, p.Epoch = v, epoch
	if i := bytes.Index(msg, []byte("{'loss': ")); i > 0 && bytes.IndexByte(msg[:i], '[') >= 0 {
		bar := *p
		if readBar(&bar, nil, msg[:i]) { // tqdm leaves the cursor behind its bar: the dictionary stands on the same line
			p.Step, p.Total, p.StepSeconds = bar.Step, bar.Total, bar.StepSeconds
		}
	}
	return true
}

// readTitan reads "step: 22  loss:  6.2250  grad_norm: …" (TorchTitan torchtitan/components/metrics.py).
func readTitan(p *step, text, _ []byte) bool {
	b := after(text, "step: ")
	step, rest := counter(bytes.TrimLeft(b, " "))
	if rest == nil || !bytes.HasPrefix(rest, []byte(" ")) {
		return false
	}
	loss, ok := bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte("loss: "))
	v := printed(bytes.TrimLeft(loss, " "))
	if !ok || v == nil {
		return false
	}
	p.Step, p.Loss = step, v
	return true
}

// pace reads tqdm's "[6:28:43<94:39:17,  1.37it/s" from its "[" on: the time of one step in seconds, and what follows
// the unit. rest is nil if it is none, or if tqdm does not know yet ("?it/s").
func pace(b []byte) (seconds float64, rest []byte) {
	if len(b) == 0 || b[0] != '[' {
		return 0, nil
	}
	n := 1
	for n < len(b) && (ascii.Digit(b[n]) || b[n] == ':') {
		n++
	}
	if n == 1 || n == len(b) || b[n] != '<' {
		return 0, nil
	}
	c := bytes.IndexByte(b[n:], ',')
	if c < 0 || bytes.IndexByte(b[n:n+c], ']') >= 0 {
		return 0, nil
	}
	b = bytes.TrimLeft(b[n+c+1:], " ")
	d := 0
	for d < len(b) && (ascii.Digit(b[d]) || b[d] == '.') {
		d++
	}
	switch v := positive(b[:d]); {
	case d == 0:
		return 0, nil
	case bytes.HasPrefix(b[d:], []byte("it/s")):
		if v > 0 {
			v = 1 / v
		}
		return v, b[d+len("it/s"):]
	case bytes.HasPrefix(b[d:], []byte("s/it")):
		return v, b[d+len("s/it"):]
	}
	return 0, nil
}

// readLightningBar reads "Epoch 0:   6%|█  | 32040/500150 [6:28:43<94:39:17,  1.37it/s, v_num=9, loss=2.6]". The bar's own
// numbers count batches of one epoch, and its global_step is rounded from 10⁴ on.
func readLightningBar(p *step, text, _ []byte) bool {
	b := after(text, "Epoch ")
	epoch, rest := counter(b)
	if rest == nil || !bytes.HasPrefix(rest, []byte(": ")) {
		return false
	}
	bar := bytes.LastIndexByte(rest[:opening(rest)], '|')
	if bar < 0 {
		return false
	}
	b = bytes.TrimLeft(rest[bar+1:], " ")
	n := digits(b)
	if n == 0 || n == len(b) || b[n] != '/' {
		return false
	}
	m := digits(b[n+1:])
	seconds, tail := pace(bytes.TrimPrefix(b[n+1+m:], []byte(" ")))
	if m == 0 || tail == nil {
		return false
	}
	p.Epoch, p.StepSeconds, p.Loss = epoch, seconds, barLoss(tail)
	if s := after(tail, "global_step="); s != nil {
		if v, end := counter(s); end != nil && (len(end) == 0 || bytes.IndexByte([]byte(" |,]"), end[0]) >= 0) {
			p.Step = v
		}
	}
	if bytes.Contains(text, []byte("DataLoader")) && containsAny(text, []string{"Validation DataLoader", "Sanity DataLoader", "Testing DataLoader"}) {
		p.Phase = Evaluation
	}
	return true
}

// opening is where the first " [" stands in b, 0 if there is none. A bar holds many blanks and few brackets.
func opening(b []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '[')
		if i < 0 {
			return 0
		}
		if i += from; i > 0 && b[i-1] == ' ' {
			return i - 1
		}
		from = i + 1
	}
}

// barLoss is the first number that a key with "loss" in it has in "v_num=95nc, loss=2.6, reduced_train_loss=2.590". What is no number
// does not count of "val_loss=nan, aux_loss=inf, loss_scale=inf".
func barLoss(b []byte) []byte {
	for all := b; ; {
		i := bytes.Index(b, []byte("oss"))
		if i < 0 {
			return nil
		}
		named := i > 0 && b[i-1]|0x20 == 'l'
		if b = b[i+len("oss"):]; !named {
			continue
		}
		n := 0
		for n < len(b) && b[n] != '=' && b[n] != ',' && b[n] != '|' {
			n++
		}
		if n < len(b) && b[n] == '=' {
			if v := printed(b[n+1:]); v != nil && (isNumber(v) || !elsewhere(all[:len(all)-len(b)+n])) {
				return v
			}
		}
	}
}

// elsewhere says that text ends in the name of a number that is not the loss of the training.
func elsewhere(text []byte) bool {
	key := text[bytes.LastIndexAny(text, " ,[")+1:]
	return containsAny(bytes.ToLower(key), []string{"val", "eval", "test", "dev", "aux", "scale"})
}

// readBar reads tqdm's bar without a description, which counts steps: " 41%|███▌   | 366/903 [5:15:39<6:53:09, 46.16s/it]".
// "Loading checkpoint shards: 50%" does not.
func readBar(p *step, _, msg []byte) bool {
	b := bytes.TrimLeft(msg, " ")
	n := digits(b)
	rest, ok := bytes.CutPrefix(b[n:], []byte("%|"))
	if n == 0 || !ok {
		return false
	}
	end := bytes.IndexByte(rest, '|')
	if end < 0 {
		return false
	}
	step, rest := counter(bytes.TrimLeft(rest[end+1:], " "))
	if len(rest) == 0 || rest[0] != '/' {
		return false
	}
	total, rest := counter(rest[1:])
	if rest == nil {
		return false
	}
	b = bytes.TrimPrefix(rest, []byte(" "))
	seconds, tail := pace(b)
	if tail == nil || bytes.HasPrefix(b, []byte("[00:00<")) {
		return false // what takes no second is set-up: cached data, a list of files
	}
	p.Step, p.Total, p.StepSeconds = step, total, seconds
	return true
}

// readLossBar reads tqdm's bar that has a description and shows a loss: "Steps:  10%|█ | 37/1000 [01:00<10:00,  1.1it/s, step_loss=0.03]".
// A bar that is called steps counts them; others mostly count the batches of an epoch.
func readLossBar(p *step, _, msg []byte) bool {
	bar := bytes.LastIndexByte(msg[:opening(msg)], '|')
	if bar < 0 {
		return false
	}
	step, rest := counter(bytes.TrimLeft(msg[bar+1:], " "))
	if len(rest) == 0 || rest[0] != '/' {
		return false
	}
	total, rest := counter(rest[1:])
	if rest == nil {
		return false
	}
	seconds, tail := pace(bytes.TrimPrefix(rest, []byte(" ")))
	if tail == nil {
		return false
	}
	p.StepSeconds, p.Loss = seconds, barLoss(tail)
	if p.Loss == nil {
		return false
	}
	name := bytes.ToLower(msg[:bar])
	if bytes.HasPrefix(bytes.TrimLeft(name, " "), []byte("step")) {
		p.Step, p.Total = step, total
	} else if !isNumber(p.Loss) && !containsAny(name, []string{"train", "epoch"}) {
		return false // of what, is not known: it may be any bar's
	}
	if containsAny(name, []string{"eval", "valid", "test", "val:", "val ", "dev", "sanity", "predict"}) {
		p.Phase = Evaluation
	}
	return true
}

var stepWords = []string{"iterations", "iteration", "iters", "iter", "steps", "step", "it"}

// readGeneric reads what scripts of all kinds print: a word for the step with its number, and later a loss with its.
// "step 120/5000 loss 2.31", "iteration: 2500, train_loss=2.1", "global_step: 7 … Loss: 1.2".
func readGeneric(p *step, text, _ []byte) bool {
	for s := range namedSteps(text) {
		v := lossIn(s.rest)
		if v == nil && s.keyed { // the loss stands in front, in records of keys and values: {"train_loss":2.1,"global_step":37}
			v = lossIn(text[:s.at])
		}
		if v != nil {
			p.Step, p.Total, p.Loss = s.step, s.total, v
			return true
		}
	}
	return readEpoch(p, text)
}

// namedStep is a step that a text names: a word for it with a number behind.
type namedStep struct {
	at          int // where the word begins
	keyed       bool
	step, total int64
	rest        []byte // what stands behind the number
}

func namedSteps(text []byte) iter.Seq[namedStep] {
	return func(yield func(namedStep) bool) {
		for i := range text {
			n := stepWord(text, i)
			if n == 0 {
				continue
			}
			step, total, rest := stepNumber(text[i+n:])
			if rest != nil && !yield(namedStep{i, bytes.IndexByte([]byte(`"':=`), text[i+n]) >= 0, step, total, rest}) {
				return
			}
		}
	}
}

// readTimedStep reads a step without a loss whose time is printed: "iter 120 | 2.31 s/it", "rank=3 step=120 step_time=2.3s".
func readTimedStep(p *step, text, _ []byte) bool {
	if lossIn(text) != nil {
		return false // the form below reads that, too
	}
	for s := range namedSteps(text) {
		if p.StepSeconds = readTimings(text, false).step; p.StepSeconds > 0 {
			p.Step, p.Total = s.step, s.total
			return true
		}
	}
	return false
}

// saidRank is the rank by which a loop calls itself in its step lines: "[rank 2] step 7", "rank=2 step=7", {"rank": 2, "step": 7}.
func saidRank(text []byte) int {
	const word = "rank"
	for i := range text {
		if !hasFold(text[i:], word) || !startsWord(text, i) || i > 0 && text[i-1] == '-' { // "local_rank", "effective-rank"
			continue
		}
		b := text[i+len(word):]
		b = b[:min(len(b), len(` "': 16777216, `))]
		v, rest := counter(bytes.TrimLeft(b, " =:\"'"))
		if rest == nil || v < 0 || v > 1<<24 || len(rest) > 0 && (isWord(rest[0]) || rest[0] == '.') {
			continue
		}
		return int(v)
	}
	return line.Unknown
}

// stepWord is the length of the word for a step that begins at i, 0 if none does.
func stepWord(text []byte, i int) int {
	if c := text[i] | 0x20; c != 's' && c != 'i' || !startsWord(text, i) {
		return 0
	}
	for _, w := range stepWords {
		if n := len(w); hasFold(text[i:], w) && len(text) > i+n && !isWord(text[i+n]) {
			return n
		}
	}
	return 0
}

// stepNumber reads "=120/9000 " behind the word: the step, the total, and what follows; rest is nil if there is none.
func stepNumber(b []byte) (step, total int64, rest []byte) {
	for k := 0; k < 3 && len(b) > 0 && !isWord(b[0]); k++ {
		b = b[1:]
	}
	step, rest = counter(bytes.TrimLeft(b, " "))
	if rest == nil {
		return 0, 0, nil
	}
	total = line.Unknown
	of := bytes.TrimPrefix(rest, []byte(" "))
	b, ok := bytes.CutPrefix(of, []byte("/"))
	if !ok {
		b, ok = bytes.CutPrefix(of, []byte("of "))
	}
	if ok {
		if v, end := counter(bytes.TrimLeft(b, " ")); end != nil {
			total, rest = v, end
		}
	}
	if len(rest) == 0 || rest[0] == '.' {
		return 0, 0, nil
	}
	return step, total, rest
}

// readEpoch reads lines that number only the epoch: "Epoch 3: train_loss=2.6", "epoch 3/10 | train loss 2.1".
func readEpoch(p *step, text []byte) bool {
	for i := range text {
		if text[i]|0x20 != 'e' || i > 0 && isWord(text[i-1]) || !hasFold(text[i:], "epoch") {
			continue
		}
		b := text[i+len("epoch"):]
		if len(b) == 0 || isWord(b[0]) {
			continue
		}
		for k := 0; k < 3 && len(b) > 0 && !isWord(b[0]); k++ {
			b = b[1:]
		}
		epoch, rest := counter(bytes.TrimLeft(b, " "))
		if rest == nil {
			continue
		}
		v := lossIn(rest)
		if v == nil {
			return false
		}
		p.Epoch, p.Loss = epoch, v
		return true
	}
	return false
}

// isNumber says that a printed value is finite.
func isNumber(v []byte) bool { return ascii.Digit(v[len(v)-1]) || v[len(v)-1] == '.' }

// startsWord reports whether a word begins at i; "global_" is no part of it, nor what W&B puts before its own keys ("_step").
func startsWord(text []byte, i int) bool {
	const global = "global_"
	if i == 0 || !isWord(text[i-1]) {
		return true
	}
	if text[i-1] == '_' && i > 1 && text[i-2] == '"' {
		return true
	}
	return i >= len(global) && hasFold(text[i-len(global):], global) && (i == len(global) || !isWord(text[i-len(global)-1]))
}

// lossIn is the first number that follows the word loss, with a quotation mark, blanks, ":" or "=" between.
func lossIn(b []byte) []byte {
	for {
		i := 0
		for i < len(b) && (b[i]|0x20 != 'l' || !hasFold(b[i:], "loss")) {
			i++
		}
		if i == len(b) {
			return nil
		}
		b = b[i+len("loss"):]
		t := b
		if len(t) > 0 && (t[0] == '\'' || t[0] == '"') {
			t = t[1:]
		}
		t = blanks(t)
		if len(t) > 0 && (t[0] == ':' || t[0] == '=') {
			t = blanks(t[1:])
		}
		if v := printed(t); v != nil && (len(v) == len(t) || !isWord(t[len(v)])) {
			return v
		}
	}
}

// blanks removes up to three of them.
func blanks(b []byte) []byte {
	for k := 0; k < 3 && len(b) > 0 && (b[0] == ' ' || b[0] == '\t'); k++ {
		b = b[1:]
	}
	return b
}

// hasFold reports whether b begins with the lower-case word, in any case.
func hasFold(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// NamesStep says that a text names a step with its number.
func NamesStep(text []byte) bool {
	for range namedSteps(text) {
		return true
	}
	return false
}

// StepIn reads a text as the line of a loop of somebody's own that reports a step; false where it is none.
func StepIn(at Pos, text []byte) (Progress, bool) {
	s := step{Step: line.Unknown, Total: line.Unknown, Epoch: line.Unknown, Phase: Training}
	if !readTimedStep(&s, text, nil) && !readGeneric(&s, text, nil) || !generic(&s, text) {
		return Progress{}, false
	}
	if s.StepSeconds == 0 {
		s.StepSeconds = readTimings(text, false).step
	}
	return Progress{At: At{Pos: at}, N: at.Line, Form: "table", Step: s.Step, Total: s.Total, Epoch: s.Epoch, Loss: string(s.Loss), StepSeconds: s.StepSeconds, Phase: s.Phase,
		Loop: saidRank(text) + 1}, true
}
