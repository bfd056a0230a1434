package worker

import (
	"bytes"
	"math/bits"
	"slices"
	"strconv"

	"faultline/pattern"
)

// What a process says it is about. Only the last such line before a stall matters, and only on the rank that stalls; so
// wordings may be common, but must not be those of every step.

// Doing is a line in which a process says what it is about: the last one before a stall is a reason for it.
type Doing struct {
	At
	Kind string // see the Doing constants
	What string // the words it was read from, bounded
	// Ran is for how many seconds its bar said that it had run, Done that the bar was full. A line without a bar says neither.
	Ran  int64
	Done bool
}

// Doing kinds.
const (
	DoingLoad = "load" // reads a batch, a shard or a sample
	DoingWork = "work" // legitimate long work: index build, download, compilation, preprocessing, consolidation
	DoingOver = "over" // long work that no bar shows is at its end
	DoingEnd  = "end"  // its data or its epoch are at their end
	DoingEval = "eval" // evaluates: all ranks may, or one for all
)

// evaluations mark what is printed of every batch of an evaluation.
var evaluations = []string{"valuating", "valuation", "alidating", "alidation", "eval batch", "eval step", "eval iter", "Eval batch", "Eval step", "val batch"}

type doingRule struct {
	kind     string
	literals []string
	pattern  *pattern.Regexp // nil: the literal is enough
}

// Sources: Megatron-LM megatron/data and core/datasets; datasets arrow_dataset.py, builder.py; transformers examples;
// transformers modeling_utils.py and trainer.py; diffusers pipeline_utils.py; huggingface_hub _snapshot_download.py; vLLM
// weight_utils.py; TRL sft_trainer.py; torch/utils/cpp_extension.py; torch/_inductor/select_algorithm.py; DeepSpeed
// utils/zero_to_fp32.py; Lhotse dataset sampling; the rest are wordings that training scripts share.
var doingRules = []doingRule{
	{DoingWork, []string{"uilding indices", "uilding the indices", "uilding index", "uilding shuffle index", "uilding the shuffle index", "uilding sample idx", "uilding dataset index", "uilding doc-idx"}, nil},
	{DoingOver, []string{"time to build and save shuffle-idx mapping", "time to build and save the shuffle-idx mapping"}, nil},
	{DoingWork, []string{"Build and save the "}, pattern.New(`Build and save the .{1,80} ind(?:ices|ex)`)},
	{DoingWork, []string{"Running tokenizer on ", "Tokenizing ", "Grouping texts ", "Generating ", "Downloading data", "Downloading shards", "Downloading builder", "Map: ", "Map (num_proc=", "Filter: ", "Saving the dataset ("},
		pattern.New(`(?:Running tokenizer on|Tokenizing|Grouping texts|Generating \w+ split|Downloading (?:data|shards|builder)|\bMap(?: \(num_proc=\d+\))?|\bFilter|Saving the dataset \()[^|]{0,60}:?.{0,40}?(?:\d+%\||\d+ examples|\d+it |\.\.\.$)`)},
	{DoingWork, []string{"Loading checkpoint shards", "Loading pipeline components", " checkpoint shards: ", "Loading weights: ", "Loading dataset shards", "Fetching ", "Skipping the first ",
		"Applying ", "Adding EOS to ", "Packing ", "Truncating ", "Converting ", "Extracting prompt ", "Resolving data files", "Casting the dataset", "Flattening the indices",
		"Caching latents", "Capturing "},
		pattern.New(`(?:Loading (?:(?:safetensors |pt )?checkpoint shards|pipeline components\.\.\.|weights|dataset shards)|Fetching \d+ files|Skipping the first (?:\d+ )?batches|` +
			`(?:Applying (?:chat template|formatting function) to|Adding EOS to|Packing|Truncating|Converting|Extracting prompt (?:in|from)) [^|%:]{0,40}dataset[^|%:]{0,40}|` +
			`Resolving data files|Casting the dataset|Flattening the indices|Caching latents|Capturing (?:cudagraphs|batches|CUDA graphs?)[^|%:]{0,60}) ?(?:\(num_proc=\d+\))?: +\d+%`)},
	// Bars without a name whose unit is what preparing goes over.
	{DoingWork, []string{"kB/s]", "MB/s]", "GB/s]", "iB/s]", " examples/s]", "files/s]", "lines/s]", "rows/s]", "docs/s]"}, pattern.New(`^ *\d{1,3}%\|.{0,200}\[[\d:]{4,10}<[\d:?]{1,10}, *[\d.]+ ?(?:[kMG]?i?B|examples|files|lines|rows|docs)/s\]`)},
	{DoingWork, []string{"Emitting ninja build file", "Building extension module ", "AUTOTUNE ", "Compiling "}, pattern.New(`Emitting ninja build file|Building extension module |AUTOTUNE |\bCompiling (?:CUDA|the|model|kernel|graph|with)`)},
	{DoingWork, []string{"reprocessing ", "onsolidating ", "econstructing ", "erging "}, pattern.New(`(?i)\b(?:preprocessing|consolidating|reconstructing|merging) (?:the )?(?:data|dataset|corpus|manifest|checkpoint|shards?|weights|state|fp32|zero)`)},
	{DoingWork, []string{"stimating "}, pattern.New(`(?i)\bestimating (?:the )?(?:duration|token|bucket)`)},
	{DoingLoad, []string{"aiting for ", "aiting on "}, pattern.New(`(?i)\bwaiting (?:for|on) (?:the |a |its )?(?:next )?(?:batch|data\b|samples?\b|shards?\b|dataloader|data loader|prefetch)`)},
	{DoingLoad, []string{"etching ", "pening ", "eading ", "oading "}, pattern.New(`(?i)\b(?:fetching|reading|opening|loading|downloading) (?:the )?(?:next )?(?:batch|shards?|samples?|objects?|tar|manifests?)\b`)},
	{DoingEval, evaluations,
		pattern.New(`(?i)\b(?:evaluat(?:ing|ion)|validat(?:ing|ion)|eval|val)\b[^|]{0,60}?(?:\d{1,3}%(?: Completed )?\||\b\d+ ?(?:/|of) ?\d+\b)`)},
	{DoingEnd, []string{"inished epoch", "ompleted epoch", "nd of epoch", "one with epoch", "inished training epoch", " finished", " completed", " done", " ended"}, pattern.New(`(?i)\b(?:(?:finished|completed|end of|done with) (?:training )?epoch\b|epoch \[?\d+\]?(?:/\d+)? (?:is )?(?:finished|done|complete[d]?|ended)\b)`)},
	{DoingEnd, []string{"xhausted", "no more batches", "No more batches", "out of data", "ran out of batches"},
		pattern.New(`(?i)\b(?:(?:data|dataset|data ?loader|data ?iterator|iterator|sampler|shards?|inputs?)\b.{0,24}\bexhausted\b|no more batches|(?:ran )?out of (?:data|batches)\b)`)},
}

var (
	barShare = pattern.New(`(\d{1,3})%(?: Completed )?\|`) // the words are vLLM's
	barTime  = pattern.New(`\[(?:(\d{1,4}):)?(\d{1,3}):(\d\d)[<,]`)
)

// bar reads how far and how long tqdm's bar has come.
func (d *Doing) bar(text []byte) {
	if bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text, '[') < 0 {
		return
	}
	if m := barShare.FindSubmatch(text); m != nil {
		d.Done = string(m[1]) == "100"
	}
	if m := barTime.FindSubmatch(text); m != nil {
		for _, n := range m[1:] {
			v, _ := strconv.ParseInt(string(n), 10, 64) // "" counts as 0
			d.Ran = d.Ran*60 + v
		}
	}
}

func (d *Doing) underWay() bool { return d.Ran > 0 && !d.Done }

func doingLiterals() []string {
	var out []string
	for _, d := range doingRules {
		out = append(out, d.literals...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxDoingText bounds what is looked at: such lines are short.
const maxDoingText = 1 << 10

func readDoing(r *reader, rec *record) bool {
	text := rec.Text[:min(len(rec.Text), maxDoingText)]
	if len(rec.Text) > maxDoingText || rec.Taken || bytes.HasPrefix(bytes.TrimLeft(rec.Msg, " "), []byte("File ")) || isForeign(text) {
		return false
	}
	for due := dueRules(r.table.doings, rec.ids); due != 0; due &= due - 1 {
		d := &doingRules[bits.TrailingZeros64(due)]
		what := bytes.TrimSpace(rec.Msg[:min(len(rec.Msg), maxLastText)])
		if d.pattern != nil && !d.pattern.Match(text) {
			continue
		}
		v := Doing{At: rec.At, Kind: d.kind, What: string(what)}
		v.bar(text)
		if v.Ran > 0 { // each picture of a bar is compared with the one before
			r.does |= other
		}
		// A bar is redrawn many times: what counts is the last, unless another process began the like while it went on.
		if n := len(r.obs.Doings); n > 0 && r.obs.Doings[n-1].Kind == d.kind && *r.obs.Doings[n-1].Who() == rec.Who {
			if last := &r.obs.Doings[n-1]; !last.underWay() || !barShare.Match(text) || v.Ran >= last.Ran/2 {
				*last = v
			}
			r.does |= did
			return false
		}
		if d.kind == DoingEval { // every rank may tell of every batch: of those without a bar only the last is kept, of a bar each writer's last
			r.obs.Doings = withoutLast(r.obs.Doings, &v)
		}
		before := r.does
		emit(r, &r.obs.Doings, v)
		r.does = before | did
		return false
	}
	return false
}

// withoutLast takes out what was said of the same before, where it stands among the newest.
func withoutLast(list []Doing, v *Doing) []Doing {
	const newest = 256
	bar := v.Ran > 0
	for i := len(list) - 1; i >= 0 && i >= len(list)-newest; i-- {
		if x := &list[i]; x.Kind == v.Kind && x.Ran > 0 == bar && (!bar || *x.Who() == *v.Who()) {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}
