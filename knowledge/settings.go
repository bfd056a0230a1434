package knowledge

import (
	"slices"
	"strings"
)

// Setting is a variable with the value that makes the next run say more.
type Setting struct {
	Name, Value string
	Meaning     string
	Cost        string
}

// Settings explains settings in the form "NAME=VALUE" from the table of variables; what that table lacks is left out, which
// a test forbids.
func Settings(collect []string) []Setting {
	var out []Setting
	for _, c := range collect {
		name, value, _ := strings.Cut(c, "=")
		if v, ok := VariableByName(name); ok {
			out = append(out, Setting{v.Name, value, v.Meaning, v.Cost})
		}
	}
	return out
}

// CollectFor are the settings that collect more about a mechanism, best first; none where logs of this kind would not say more.
func CollectFor(slug Slug) []string {
	if m := mechanismIndex()[slug]; m != nil {
		return m.Collect
	}
	return nil
}

// DebugRun are the settings of a run that is to say more than usual and is not slowed by it, with files in a folder.
func DebugRun(folder string) []string {
	var out []string
	for _, s := range slices.Concat(transport, recorder, native) {
		out = append(out, strings.Replace(s, "SHARED", folder, 1))
	}
	return out
}

// Settings that belong together.
var (
	recorder  = []string{"TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_DUMP_ON_TIMEOUT=1", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=SHARED/nccl_trace_rank_"}
	transport = []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,ENV,NET", "NCCL_DEBUG_FILE=SHARED/nccl.%h.%p.log"}
	kernels   = []string{"CUDA_LAUNCH_BLOCKING=1", "TORCH_SHOW_CPP_STACKTRACES=1", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"}
	native    = []string{"PYTHONFAULTHANDLER=1", "TORCH_SHOW_CPP_STACKTRACES=1"}
)
