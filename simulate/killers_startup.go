package simulate

import "fmt"

// initFrames end in init_process_group, before the first step.
func initFrames(tail ...pyFrame) []pyFrame {
	return append([]pyFrame{
		{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
		{File: pyTrain, Line: 301, Func: "main", Code: "setup_distributed(args)"},
		{File: "/opt/train/engine/launch.py", Line: 58, Func: "setup_distributed", Code: "dist.init_process_group(\"nccl\", timeout=timeout)"},
		{File: pySite + "torch/distributed/distributed_c10d.py", Line: 1361, Func: "init_process_group", Code: "store, rank, world_size = next(rendezvous_iterator)"},
	}, tail...)
}

// storeFrames end where a rank's TCPStore client connects.
func storeFrames() []pyFrame {
	return initFrames(
		pyFrame{File: pySite + "torch/distributed/rendezvous.py", Line: 258, Func: "_env_rendezvous_handler", Code: "store = _create_c10d_store(master_addr, master_port, rank, world_size, timeout, use_libuv)"},
		pyFrame{File: pySite + "torch/distributed/rendezvous.py", Line: 185, Func: "_create_c10d_store", Code: "return TCPStore("})
}

// firstFrames end in the first collective, where NCCL sets itself up.
func firstFrames() []pyFrame {
	return []pyFrame{
		{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
		{File: pyTrain, Line: 301, Func: "main", Code: "setup_distributed(args)"},
		{File: "/opt/train/engine/launch.py", Line: 71, Func: "setup_distributed", Code: "dist.barrier()"},
		{File: pySite + "torch/distributed/distributed_c10d.py", Line: 3685, Func: "barrier", Code: "work = default_pg.barrier(opts=opts)"},
	}
}

// importFrames end in an import at the top of the training script.
func importFrames(file, code string) []pyFrame {
	return []pyFrame{
		{File: pyTrain, Line: 21, Func: "<module>", Code: "from model.transformer import build_model"},
		{File: pyModel, Line: 9, Func: "<module>", Code: "from layers.attention import FlashBlock"},
		{File: file, Line: 4, Func: "<module>", Code: code},
	}
}

// configFrames end in the reading of the configuration.
func configFrames(line int, fn, code string) []pyFrame {
	return []pyFrame{
		{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
		{File: pyTrain, Line: 288, Func: "main", Code: "cfg = load_config(args)"},
		{File: "/opt/train/engine/config.py", Line: line, Func: fn, Code: code},
	}
}

// clientTimeout is a TCPStore client that never reached its server (torch/csrc/distributed/c10d/socket.cpp).
func clientTimeout(torch, host string, seconds int) string {
	class := "torch.distributed.DistNetworkError"
	switch {
	case before(torch, "2.1"):
		class = "TimeoutError"
	}
	return fmt.Sprintf("%s: The client socket has timed out after %ds while trying to connect to (%s, 29500).", class, seconds, host)
}

// clientsMissing is the TCPStore server that waited for its clients in vain (TCPStore.cpp waitForWorkers, 2.4 and later).
func clientsMissing(seconds, joined, world int) string {
	return fmt.Sprintf("torch.distributed.DistStoreError: Timed out after %d seconds waiting for clients. %d/%d clients joined.", seconds+1, joined, world)
}

// storeBarrier is the store-based barrier at the end of init_process_group with ranks absent (distributed_c10d.py).
func storeBarrier(torch string, rank, world, joined int) string {
	switch {
	case before(torch, "2.0"):
		return fmt.Sprintf("RuntimeError: Timed out initializing process group in store based barrier on rank: %d, for key: store_based_barrier_key:1 (world_size=%d, worker_count=%d, timeout=0:30:00)", rank, world, joined)
	case before(torch, "2.1"):
		return fmt.Sprintf("RuntimeError: Timed out initializing process group in store based barrier on rank: %d, for key: store_based_barrier_key:1 (world_size=%d, num_workers_joined=%d, timeout=0:30:00)", rank, world, joined)
	}
	return fmt.Sprintf("torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank %d, for key: store_based_barrier_key:1 (world_size=%d, num_workers_joined=%d, timeout=0:30:00 error=Socket Timeout)", rank, world, joined)
}

// refused is a client's warning for each attempt to connect (socket.cpp; the marker [c10d] is always there).
func refused(host, ip string) string {
	return fmt.Sprintf("[c10d] The client socket has failed to connect to [%s]:29500 (errno: 111 - Connection refused).", pickHost(host, ip))
}

func pickHost(host, ip string) string {
	if host != "" {
		return host
	}
	return ip
}

// unresolved is a client's warning when the name of the rendezvous host does not resolve.
func unresolved(family, host string) string {
	return fmt.Sprintf("[c10d] The %s network addresses of (%s, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", family, host)
}

// startupFault is a failure before the first step that all ranks meet alike.
type startupFault struct {
	name   string
	frames []pyFrame
	exc    string
	usage  []string // printed instead of a traceback
	code   int      // exit code
}

// configFaults are argument, divisibility, key and path errors at start.
func configFaults(world int) []startupFault {
	usage := []string{"usage: pretrain.py [-h] [--config CONFIG] [--tensor-parallel-size N]", "                   [--global-batch-size N] [--save DIR] [--load DIR]"}
	odd := 3
	for world%odd == 0 {
		odd += 2
	}
	return []startupFault{
		{name: "argument", usage: append(usage[:2:2], "pretrain.py: error: unrecognized arguments: --tensor-model-parallel 4"), code: 2},
		{name: "choice", usage: append(usage[:2:2], "pretrain.py: error: argument --global-batch-size: invalid int value: '1k'"), code: 2},
		{name: "divisibility", frames: []pyFrame{
			{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
			{File: pyTrain, Line: 304, Func: "main", Code: "mpu.initialize_model_parallel(args.tp, args.pp)"},
			{File: pySite + "megatron/core/parallel_state.py", Line: 531, Func: "initialize_model_parallel", Code: "raise RuntimeError(f\"world_size ({world_size}) is not divisible by {total_model_size}\")"},
		}, exc: fmt.Sprintf("RuntimeError: world_size (%d) is not divisible by %d", world, odd), code: 1},
		{name: "batch", frames: configFrames(77, "check", "assert cfg.global_batch_size % (cfg.micro_batch_size * dp) == 0, ("),
			exc: fmt.Sprintf("AssertionError: global batch size (%d) is not divisible by micro batch size (4) times data parallel size (%d)", 1000, odd*4), code: 1},
		{name: "key", frames: configFrames(41, "load_config", "return OmegaConf.merge(base, override)"),
			exc: "omegaconf.errors.ConfigKeyError: Key 'optimiser' is not in struct\n    full_key: optimiser\n    object_type=dict", code: 1},
		{name: "mandatory", frames: configFrames(52, "load_config", "n = cfg.trainer.num_nodes"),
			exc: "omegaconf.errors.MissingMandatoryValue: Missing mandatory value: trainer.num_nodes\n    full_key: trainer.num_nodes\n    object_type=dict", code: 1},
		{name: "path", frames: configFrames(33, "load_config", "with open(path) as f:"),
			exc: "FileNotFoundError: [Errno 2] No such file or directory: '/opt/train/configs/pretrain_7b.yaml'", code: 1},
		{name: "missing key", frames: configFrames(60, "load_config", "return cfg[\"model\"][\"hidden_size\"]"),
			exc: "KeyError: 'hidden_size'", code: 1},
	}
}

// versionFaults are binaries and packages that do not fit each other.
func versionFaults() []startupFault {
	flash := pySite + "flash_attn/flash_attn_interface.py"
	return []startupFault{
		{name: "symbol", frames: importFrames(flash, "import flash_attn_2_cuda as flash_attn_cuda"),
			exc: "ImportError: " + pySite + "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", code: 1},
		{name: "glibc", frames: importFrames(pySite+"transformer_engine/__init__.py", "_load_library()"),
			exc: "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by " + pySite + "transformer_engine/libtransformer_engine.so)", code: 1},
		{name: "name", frames: importFrames("/opt/train/layers/attention.py", "from transformers.utils import is_flash_attn_greater_or_equal"),
			exc: "ImportError: cannot import name 'is_flash_attn_greater_or_equal' from 'transformers.utils' (" + pySite + "transformers/utils/__init__.py)", code: 1},
		{name: "library", frames: importFrames(pySite+"apex/multi_tensor_apply/__init__.py", "import amp_C"),
			exc: "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory", code: 1},
		{name: "oserror", frames: importFrames(pySite+"torch/__init__.py", "_load_global_deps()"),
			exc: "ImportError: " + pySite + "torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister", code: 1},
	}
}
