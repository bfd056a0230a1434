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
	CollectiveHang:       append([]string{"NCCL_DEBUG=WARN"}, recorder...),
	CollectiveMismatch:   append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	LoneWaiter:           append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	RankStalled:          recorder,
	RankBusy:             recorder,
	UnevenData:           append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	WatchdogStuck:        append([]string{"TORCH_CPP_LOG_LEVEL=INFO"}, recorder...),
	GPUHang:              append([]string{"TORCH_NCCL_ENABLE_TIMING=1"}, recorder...),
	PeerLost:             append([]string{"NCCL_DEBUG=WARN", "TORCH_NCCL_PROPAGATE_ERROR=1"}, recorder...),
	InitUnreachable:      append([]string{"TORCH_CPP_LOG_LEVEL=INFO", "TORCH_DISTRIBUTED_DEBUG=INFO", "LOGLEVEL=INFO"}, transport...),
	LinkError:            transport,
	ThroughputRegression: transport,
	CUDAError:            kernels,
	NonFiniteLoss:        {"TORCH_NCCL_NAN_CHECK=1"},
	SilentCorruption:     {"TORCH_NCCL_NAN_CHECK=1"},
	NativeCrash:          native,
	Exception:            {"TORCH_SHOW_CPP_STACKTRACES=1", "TORCHELASTIC_ERROR_FILE=PATH"},
	VersionMismatch:      {"NCCL_DEBUG=VERSION"},
	ConfigError:          {"NCCL_DEBUG=INFO", "TORCH_CPP_LOG_LEVEL=INFO"},
	SchedulerError:       {"SLURM_DEBUG=1"},
	Cancelled:            {"PYTHONUNBUFFERED=1"},
	ExternalSignal:       {"PYTHONUNBUFFERED=1"},
}
