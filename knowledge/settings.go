package knowledge

import "strings"

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
func CollectFor(slug Slug) []string { return collects[slug] }

// Settings that belong together.
var (
	recorder  = []string{"TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_DUMP_ON_TIMEOUT=1", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=SHARED/nccl_trace_rank_"}
	transport = []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,ENV,NET", "NCCL_DEBUG_FILE=SHARED/nccl.%h.%p.log"}
	kernels   = []string{"CUDA_LAUNCH_BLOCKING=1", "TORCH_SHOW_CPP_STACKTRACES=1", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"}
	native    = []string{"PYTHONFAULTHANDLER=1", "TORCH_SHOW_CPP_STACKTRACES=1"}
)

var collects = map[Slug][]string{
	"collective-hang":       append([]string{"NCCL_DEBUG=WARN"}, recorder...),
	"collective-mismatch":   append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	"lone-waiter":           append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	"rank-stalled":          recorder,
	"rank-busy":             recorder,
	"uneven-data":           append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	"watchdog-stuck":        append([]string{"TORCH_CPP_LOG_LEVEL=INFO"}, recorder...),
	"gpu-hang":              append([]string{"TORCH_NCCL_ENABLE_TIMING=1"}, recorder...),
	"peer-lost":             append([]string{"NCCL_DEBUG=WARN", "TORCH_NCCL_PROPAGATE_ERROR=1"}, recorder...),
	"init-unreachable":      append([]string{"TORCH_CPP_LOG_LEVEL=INFO", "TORCH_DISTRIBUTED_DEBUG=INFO", "LOGLEVEL=INFO"}, transport...),
	"link-error":            transport,
	"throughput-regression": transport,
	"cuda-error":            kernels,
	"non-finite-loss":       {"TORCH_NCCL_NAN_CHECK=1"},
	"silent-corruption":     {"TORCH_NCCL_NAN_CHECK=1"},
	"native-crash":          native,
	"exception":             {"TORCH_SHOW_CPP_STACKTRACES=1", "TORCHELASTIC_ERROR_FILE=PATH"},
	"version-mismatch":      {"NCCL_DEBUG=VERSION"},
	"config-error":          {"NCCL_DEBUG=INFO", "TORCH_CPP_LOG_LEVEL=INFO"},
	"scheduler-error":       {"SLURM_DEBUG=1"},
	"cancelled":             {"PYTHONUNBUFFERED=1"},
	"external-signal":       {"PYTHONUNBUFFERED=1"},
}
