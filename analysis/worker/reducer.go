package worker

import (
	"bytes"
	"strings"

	"faultline/analysis/line"
)

// What PyTorch's DistributedDataParallel says of its parameters, its settings and its pace. Ranks in these lines are ranks
// inside the module's process group, which need not be the whole job.

func reducerHandlers() []handler {
	return []handler{
		{"DDP parameters", []string{noGradNames, noGradIndices, readyTwice, unusedFirst}, readReduction},
		{"DDP settings", []string{"DDP Initialized with:"}, readDDPSetup},
		{"DDP pace", []string{" unused_parameter_size="}, readDDPPace},
	}
}

const (
	noGradNames   = "Parameters which did not receive grad for rank "
	noGradIndices = "Parameter indices which did not receive grad for rank "
	readyTwice    = " has been marked as ready twice"
	unusedFirst   = " is(are) unused during first iteration"

	// maxNames bounds the parameters that are kept of one line, maxName the bytes of a name.
	maxNames = 4096
	maxName  = 256
)

// readReduction reads what DDP's reducer says of parameters (torch/csrc/distributed/c10d/reducer.cpp, 1.9 … recent; names only
// under TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL). The first three stand in an exception's message, the last is a line of level
// INFO:
//
//	Parameters which did not receive grad for rank 2: aux.bias, aux.weight
//	Parameter indices which did not receive grad for rank 2: 4 5
//	Parameter at index 2 with name body.weight has been marked as ready twice. This means …
//	[Rank 3]: Parameter(s) (in the format of {param_name, index}): {.bias,0}{net1.weight,1} is(are) unused during first iteration. …
func readReduction(r *reader, rec *record) bool {
	b := rec.Text
	x := Reduction{At: rec.At, Rank: line.Unknown}
	switch {
	case bytes.Contains(b, []byte(noGradNames)):
		x.Kind = NoGrad
		rank, rest := intAfterRest(b, noGradNames)
		if rest == nil {
			return false
		}
		x.Rank = rankIn(rank)
		x.Names, x.More = nameList(bytes.TrimPrefix(rest, []byte(":")), rec.Cut)
	case bytes.Contains(b, []byte(noGradIndices)):
		x.Kind = NoGrad
		rank, rest := intAfterRest(b, noGradIndices)
		if rest == nil {
			return false
		}
		x.Rank = rankIn(rank)
		x.Indices, x.More = indexList(bytes.TrimPrefix(rest, []byte(":")), rec.Cut)
	case bytes.Contains(b, []byte(readyTwice)):
		x.Kind = ReadyTwice
		i := bytes.Index(b, []byte(readyTwice))
		at := bytes.LastIndex(b[:i], []byte("Parameter at index "))
		if at < 0 {
			return false
		}
		index, rest := intAfterRest(b[at:i], "Parameter at index ")
		if rest == nil {
			return false
		}
		x.Indices = []int{rankIn(index)}
		if name, ok := bytes.CutPrefix(rest, []byte(" with name ")); ok {
			x.Names, _ = nameList(name, false)
		}
	default:
		x.Kind = UnusedFirst
		i := bytes.Index(b, []byte(unusedFirst))
		at := bytes.LastIndex(b[:max(i, 0)], []byte("{param_name, index}): "))
		if at < 0 {
			return false
		}
		if j := bytes.LastIndex(b[:at], []byte("[Rank ")); j >= 0 {
			v, _ := intAfter(b[j:at], "[Rank ")
			x.Rank = rankIn(v)
		}
		x.Names, x.Indices, x.More = pairList(b[at+len("{param_name, index}): ") : i])
	}
	if len(x.Names) == 0 && len(x.Indices) == 0 {
		return false
	}
	emit(r, &r.obs.Reductions, x)
	return true
}

// rankIn is v where it can be a rank or the number of a parameter.
func rankIn(v int64) int {
	if v < 0 || v > 1<<31-1 {
		return line.Unknown
	}
	return int(v)
}

// nameList reads "aux.bias, aux.weight"; more says that names are missing at its end. The last name of a line that is cut may be half
// a name.
func nameList(b []byte, cut bool) (names []string, more bool) {
	b = bytes.TrimLeft(b, " ")
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] > ' ' && b[n] != ',' && b[n] != '\\' && b[n] != '"' && b[n] != '\'' {
			n++
		}
		if n == 0 || n > maxName {
			return names, n > maxName
		}
		rest, follows := bytes.CutPrefix(b[n:], []byte(","))
		if cut && len(rest) == 0 {
			return names, true
		}
		if len(names) == maxNames {
			return names, true
		}
		names = append(names, strings.ToValidUTF8(string(b[:n]), "?"))
		if !follows {
			return names, false
		}
		b = bytes.TrimLeft(rest, " ")
	}
	return names, false
}

// indexList reads "4 5", "[4, 5]" or "4, 5".
func indexList(b []byte, cut bool) (indices []int, more bool) {
	for {
		b = bytes.TrimLeft(b, " ,[")
		v, n := intAt(b)
		if n == 0 || v < 0 || v > 1<<31-1 {
			return indices, false
		}
		if cut && n == len(b) || len(indices) == maxNames {
			return indices, true
		}
		indices, b = append(indices, int(v)), b[n:]
	}
}

// pairList reads "{.bias,0}{net1.weight,1}".
func pairList(b []byte) (names []string, indices []int, more bool) {
	for {
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(b, " "), []byte("{"))
		if !ok {
			return names, indices, false
		}
		pair, after, ok := bytes.Cut(rest, []byte("}"))
		i := bytes.LastIndexByte(pair, ',')
		if !ok || i <= 0 || i > maxName || len(names) == maxNames {
			return names, indices, true
		}
		v, n := intAt(bytes.TrimLeft(pair[i+1:], " "))
		if n == 0 {
			return names, indices, true
		}
		names = append(names, strings.ToValidUTF8(string(pair[:i]), "?"))
		indices = append(indices, rankIn(v))
		b = after
	}
}

// maxSettings bounds the settings that are kept of one module: versions differ in them, none prints more than forty.
const maxSettings = 64

// readDDPSetup reads what DDP logs when it wraps a module (c10d/logger.cpp, 1.9 … recent; level INFO, so only with
// TORCH_CPP_LOG_LEVEL=INFO, and TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL): a header, and below it one "name: value" a line, without any prefix.
//
//	[rank0]:[I1122 17:37:25.974852197 logger.cpp:226] [Rank 0]: DDP Initialized with:
//	broadcast_buffers: 1
//	find_unused_parameters: 0
func readDDPSetup(r *reader, rec *record) bool {
	const key = "]: DDP Initialized with:"
	i := bytes.Index(rec.Text, []byte(key))
	if i < 0 {
		return false
	}
	x := DDPSetup{At: rec.At, Rank: line.Unknown}
	if j := bytes.LastIndex(rec.Text[:i], []byte("[Rank ")); j >= 0 {
		v, _ := intAfter(rec.Text[j:i], "[Rank ")
		x.Rank = rankIn(v)
	}
	next := rec.Line + 1
	r.follow(rec, maxSettings+1, func(r *reader, rec *record) verdict {
		// One write makes all of it, so that its lines stand side by side.
		if rec != nil && rec.Line == next && len(x.Settings) < maxSettings {
			if name, value, ok := setting(rec.Msg); ok {
				x.Settings = append(x.Settings, Setting{At: rec.At, Name: name, Value: value})
				next++
				return taken
			}
		}
		if len(x.Settings) > 0 {
			emit(r, &r.obs.DDPSetups, x)
		}
		return ended
	})
	return true
}

// setting reads "bucket_cap_bytes: 26214400"; a value may be missing.
func setting(b []byte) (name, value string, ok bool) {
	k, v, ok := bytes.Cut(bytes.TrimRight(b, " \r"), []byte(":"))
	if !ok || len(k) == 0 || len(k) > 64 || len(v) > 0 && v[0] != ' ' {
		return "", "", false
	}
	for _, c := range k {
		if (c < 'a' || c > 'z') && c != '_' && (c < '0' || c > '9') {
			return "", "", false
		}
	}
	return string(k), strings.ToValidUTF8(clip(bytes.TrimSpace(v)), "?"), true
}

// readDDPPace reads DDP's averages (c10d/logger.cpp; level INFO, TORCH_DISTRIBUTED_DEBUG=DETAIL; before iterations 1 … 10, 20, 50, 100 and so
// on). Times are nanoseconds over all iterations that were sampled so far; 1.9 prints no iteration.
//
//	[rank2]:[I1122 17:37:27.753267707 logger.cpp:392] [Rank 2 / 4] [before iteration 1] Training Net unused_parameter_size=0
//	 Avg forward compute time: 8234773
//	 Avg backward compute time: 75402584
//	Avg backward comm. time: 81462339
//	 Avg backward comm/comp overlap time: 72529130
func readDDPPace(r *reader, rec *record) bool {
	b := rec.Text
	i := bytes.Index(b, []byte(" unused_parameter_size="))
	j := bytes.LastIndex(b[:max(i, 0)], []byte("[Rank "))
	if i < 0 || j < 0 {
		return false
	}
	x := DDPPace{At: rec.At, Rank: line.Unknown, World: line.Unknown, Iteration: line.Unknown}
	rank, rest := intAfterRest(b[j:i], "[Rank ")
	world, rest2 := intAfterRest(rest, " / ")
	if rest == nil || rest2 == nil {
		return false
	}
	x.Rank, x.World = rankIn(rank), rankIn(world)
	if v, ok := intAfter(rest2, "[before iteration "); ok {
		x.Iteration = v
	}
	if _, module, ok := bytes.Cut(rest2, []byte("Training ")); ok {
		x.Module = strings.ToValidUTF8(string(module[:min(len(module), maxName)]), "?")
	}
	labels := []string{"Avg forward compute time: ", "Avg backward compute time: ", "Avg backward comm. time: ", "Avg backward comm/comp overlap time: "}
	next := rec.Line + 1
	var times []Setting
	r.follow(rec, len(labels)+1, func(r *reader, rec *record) verdict {
		if rec == nil || rec.Line != next || len(times) == len(labels) {
			return ended
		}
		label := labels[len(times)]
		value, ok := bytes.CutPrefix(bytes.TrimSpace(rec.Msg), []byte(label))
		v, n := intAt(value)
		if !ok || n == 0 || n != len(value) || v < 0 {
			return ended
		}
		times = append(times, Setting{At: rec.At, Name: strings.TrimSuffix(label, ": "), Value: string(value)})
		next++
		if len(times) < len(labels) {
			return taken
		}
		x.Times = [4]Setting(times)
		emit(r, &r.obs.DDPPaces, x)
		return final
	})
	return true
}
