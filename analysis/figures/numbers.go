package figures

import (
	"strconv"
	"strings"

	"faultline/analysis/worker"
	"faultline/pattern"
)

// Text is what a step line says.
type Text struct {
	At   *worker.At
	Line string
}

// Reading is a number that a step line prints, or what follows from it.
type Reading struct {
	Value float64
	At    *worker.At
}

// rate is a way in which step lines print a throughput: the first of the table that a job prints is taken.
type rate struct {
	unit    string
	pattern *pattern.Regexp // group 1 is the number
}

const figure = `([\d][\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)`

// noKey follows a unit behind its number: what "=" or a colon follow is the name of the next number.
const noKey = `(?:$|\s*[^:=\s])`

// rates are, from what says most on: Megatron-LM, MaxText and NeMo; torchtitan; nanoGPT, llm.c, LitGPT; DeepSpeed, timm; verl; what
// scripts of all kinds print.
var rates = []rate{
	{"samples/s", pattern.New(`\bCurrSamplesPerSec=` + figure)}, // DeepSpeed prints a mean over all steps in front of it
	{"tokens/s", pattern.New(`(?i)(?:\btps|tokens?[ _/]?(?:per|/)[ _]?sec(?:ond)?(?:[ _/]?(?:per|/)[ _]?(?:gpu|device))?|tokens?/s(?:/(?:gpu|device))?|tok/s(?:/(?:gpu|device))?|tgs)['"]?(?: ?\([^)]{1,24}\))?['"]?\s*[:=]\s*'?` + figure)},
	{"tokens/s", pattern.New(`(?i)` + figure + ` ?(?:tok(?:en)?s?/s(?:ec)?|tokens? per second)\b` + noKey)},
	{"TFLOP/s per GPU", pattern.New(`(?i)(?:throughput per GPU|tflops?(?:/s)?(?:/(?:gpu|device))?|model_tflops)['"]?(?: ?\([^)]{1,24}\))?\s*[:=]\s*'?` + figure)},
	{"TFLOP/s per GPU", pattern.New(`(?i)` + figure + ` ?tflops?(?:/s)?(?:/(?:gpu|device))?\b` + noKey)},
	{"TFLOP/s per GPU", pattern.New(`(?i)\btflops?(?:/s)?(?:/(?:gpu|device))? +` + figure)},
	{"tokens/s", pattern.New(`(?i)(?:\btps|tok(?:en)?s?/s(?:ec)?(?:/(?:gpu|device))?|tokens_per_sec(?:ond)?) +` + figure)},
	{"% MFU", pattern.New(`(?i)\bmfu['"]?(?: ?\([^)]{1,12}\))?\s*[:= ]\s*'?` + figure + ` ?%`)},
	{"samples/s", pattern.New(`(?i)(?:samples?(?:_per_|PerSec|/s(?:ec)?|[ _]per[ _]sec(?:ond)?)\w*)['"]?\s*[:=]\s*'?` + figure)},
	{"samples/s", pattern.New(`(?i)` + figure + ` ?(?:samples?|images?|img|imgs|seqs?)/s(?:ec)?\b` + noKey)},
	{"throughput", pattern.New(`(?i)\bthroughput['"]?\s*[:=]\s*'?` + figure)},
}

// Throughput is how much the lines say that the job gets done, in the first way of the table that any of them prints.
func Throughput(lines []Text) (r []Reading, unit string) { return first(rates, lines) }

// Share is the share of a GPU's memory in use, in per cent, that lines print.
func Share(lines []Text) []Reading {
	r, _ := first(shares, lines)
	return r
}

// Memory is the memory in use that lines print, as a share of the GPU's or in their own unit.
func Memory(lines []Text) (r []Reading, unit string) {
	if r, unit = first(shares, lines); len(r) > 0 {
		return r, unit
	}
	return first(amounts, lines)
}

// first are the readings of the first way in which lines print what varies, as what is measured does; a number that stands next to a word by
// chance may be a constant.
func first(ways []rate, lines []Text) (r []Reading, unit string) {
	for i := range ways {
		x := readings(ways[i].pattern, lines)
		if len(x) > 0 && measured(x) {
			return x, ways[i].unit
		}
		if len(r) == 0 {
			r, unit = x, ways[i].unit
		}
	}
	return r, unit
}

// readings are what lines print in one way.
func readings(re *pattern.Regexp, lines []Text) []Reading {
	var out []Reading
	for _, l := range lines {
		m := re.FindStringSubmatch(l.Line)
		if m == nil {
			continue
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64); err == nil && v >= 0 {
			out = append(out, Reading{v, l.At})
		}
	}
	return out
}

// shares are the ways in which step lines print the share of a GPU's memory in use: torchtitan; scripts of all kinds.
var shares = []rate{
	{"%", pattern.New(`(?i)\bmem(?:ory)?\w*['"]?\s*[:=]\s*[^|,;]{0,24}?` + figure + ` ?%`)},
	{"%", pattern.New(`(?i)` + figure + ` ?% (?:of )?(?:GPU |HBM |CUDA )?mem(?:ory)?\b` + noKey)},
}

// amounts are the ways in which step lines print the memory in use: scripts of all kinds, detectron2 and the projects of OpenMMLab (MB), DeepSpeed's examples.
var amounts = []rate{
	{"GiB", pattern.New(`(?i)\b(?:max_?)?(?:mem(?:ory)?|vram|mem_?alloc\w*)\w*['"]?\s*[:=]\s*` + figure + ` ?G(?:i?B)?\b`)},
	{"MiB", pattern.New(`(?i)\b(?:max_?)?(?:mem(?:ory)?|vram|mem_?alloc\w*)\w*['"]?\s*[:=]\s*` + figure + ` ?M(?:i?B)?\b`)},
	{"as printed", pattern.New(`(?i)\b(?:max_?mem|memory|mem_?allocated|max_mem_allocated)['"]?\s*[:=]\s*` + figure + `\b`)},
}
