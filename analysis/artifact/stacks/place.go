package stacks

import (
	"slices"
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// Place is a kind of place where a process can stand.
type Place string

// The places. The first four wait for others or for the GPU, which may wait for others; the next five do not.
const (
	Collective Place = "collective"
	Sync       Place = "synchronize"
	Launch     Place = "launch"
	Rendezvous Place = "rendezvous"

	Loader     Place = "loader"
	Checkpoint Place = "checkpoint"
	Storage    Place = "storage"
	Compile    Place = "compile"
	Prepare    Place = "prepare"

	GIL        Place = "gil"
	Lock       Place = "lock"
	Subprocess Place = "subprocess"
	Network    Place = "network"
	Files      Place = "files"
	Driver     Place = "driver"
	Compute    Place = "compute"
	User       Place = "user"
	Nowhere    Place = "" // no frame tells
)

// Waits says that a process there waits for other ranks, or for its own GPU, which may wait for them.
func (p Place) Waits() bool {
	switch p {
	case Collective, Sync, Launch, Rendezvous:
		return true
	}
	return false
}

// Holds says that a process there waits for no rank and no GPU.
func (p Place) Holds() bool {
	switch p {
	case Loader, Checkpoint, Storage, Compile, Prepare:
		return true
	}
	return false
}

// Says is the place in words that follow "it was".
func (p Place) Says() string {
	for _, w := range words {
		if w.place == p {
			return w.says
		}
	}
	return "somewhere that no frame tells"
}

var words = []struct {
	place Place
	says  string
}{
	{Collective, "in a collective"}, {Sync, "waiting for its GPU"}, {Launch, "handing work to its GPU"}, {Rendezvous, "waiting for the other processes in a rendezvous"},
	{Loader, "waiting for its data loader"}, {Checkpoint, "saving or loading a checkpoint"}, {Storage, "in the kernel, waiting for storage"}, {Compile, "compiling"},
	{Prepare, "preparing or downloading data"},
	{GIL, "waiting for Python's global lock"}, {Lock, "waiting for a lock"}, {Subprocess, "waiting for a program it had started"}, {Network, "reading from the network"},
	{Files, "in a call of the file system"}, {Driver, "in the GPU's driver"}, {Compute, "in the model's computation"}, {User, "in the job's own code"},
}

// weight says which of several frames of one stack tells its place: the innermost of the heaviest weight.
type weight int

const (
	strong weight = iota // tells the place whatever is called below it
	weak                 // tells only where nothing further out tells more: a lock is taken on behalf of somebody
	faint                // tells only where nothing else does
)

// row is one line of the table: a frame of one of these functions ("" any; a "*" at the end is any rest) in a file whose path
// holds File.
type row struct {
	funcs  string // names with a blank between them
	file   string
	place  Place
	op     string // the operation in words; "=" is the function's own name
	weight weight
	native bool
	kernel bool
}

// collectives are the calls of torch.distributed that wait for others (distributed_c10d.py, 1.8 … 2.9).
const collectives = "all_reduce all_reduce_multigpu all_reduce_coalesced broadcast broadcast_multigpu broadcast_object_list reduce all_gather all_gather_object all_gather_coalesced " +
	"all_gather_into_tensor _all_gather_base gather gather_object scatter scatter_object_list reduce_scatter reduce_scatter_tensor _reduce_scatter_base all_to_all all_to_all_single " +
	"barrier monitored_barrier send recv isend irecv batch_isend_irecv send_object_list recv_object_list _coalescing_manager"

// table is where frames tell a process stands. Python's rows name a function and a part of the path, as py-spy (which cuts the path
// at site-packages) and faulthandler (which does not) both write it.
var table = []row{
	{funcs: collectives, file: "torch/distributed/distributed_c10d.py", place: Collective, op: "="},
	{funcs: "all_reduce all_gather_tensor reduce_scatter_tensor broadcast all_to_all_single wait_tensor", file: "torch/distributed/_functional_collectives.py", place: Collective, op: "="},
	{funcs: "wait _wait", file: "torch/distributed/_functional_collectives_impl.py", place: Collective, op: "wait"},
	{funcs: "synchronize", file: "horovod/torch/mpi_ops.py", place: Collective, op: "="},
	{funcs: "init_process_group new_group _new_group_with_tag _new_process_group_helper _store_based_barrier", file: "torch/distributed/distributed_c10d.py", place: Rendezvous},
	{funcs: "*", file: "torch/distributed/rendezvous.py", place: Rendezvous},
	{funcs: "*", file: "torch/distributed/elastic/utils/store.py", place: Rendezvous},
	{funcs: "init_distributed", file: "deepspeed/comm/", place: Rendezvous},

	{funcs: "synchronize current_stream_synchronize", file: "torch/cuda/", place: Sync},
	{funcs: "synchronize wait query", file: "torch/cuda/streams.py", place: Sync},
	{funcs: "synchronize", file: "torch/accelerator/", place: Sync},
	{funcs: "cpu _to_cpu", file: "torch/storage.py", place: Sync},
	{funcs: "synchronize", file: "deepspeed/accelerator/", place: Sync},

	{funcs: "_try_get_data _get_data _next_data _next_index _process_data _reset _shutdown_workers __next__ __iter__ __init__ _get_iterator", file: "torch/utils/data/dataloader.py", place: Loader},
	{funcs: "fetch", file: "torch/utils/data/_utils/fetch.py", place: Loader},
	{funcs: "*", file: "torchdata/", place: Loader},
	{funcs: "__iter__ __next__ iterator iterator1d", file: "webdataset/", place: Loader},
	{funcs: "__iter__ __next__ __getitem__ prepare_shard _each_sample_id wait_for_shard_download", file: "streaming/base/", place: Loader},
	{funcs: "__iter__ __next__ __getitem__ __getitems__ _getitem _iter_arrow", file: "datasets/", place: Loader},
	{funcs: "__iter__ __next__ __getitem__ _next_batch load_audio", file: "lhotse/", place: Loader},
	{funcs: "__next__ _get_outputs run share_outputs", file: "nvidia/dali/", place: Loader},
	{funcs: "__getitem__ __next__", file: "megatron/core/datasets/", place: Loader},
	{funcs: "__getitem__ __next__", file: "megatron/data/", place: Loader},

	{funcs: "save _save _legacy_save load _load _legacy_load persistent_load load_tensor write_record", file: "torch/serialization.py", place: Checkpoint},
	{funcs: "*", file: "torch/distributed/checkpoint/", place: Checkpoint},
	{funcs: "save_file load_file", file: "safetensors/", place: Checkpoint},
	{funcs: "*", file: "deepspeed/runtime/checkpoint_engine/", place: Checkpoint},
	{funcs: "*", file: "deepspeed/checkpoint/", place: Checkpoint},
	{funcs: "*", file: "tensorstore/", place: Checkpoint},
	{funcs: "*", file: "megatron/checkpointing.py", place: Checkpoint},
	{funcs: "*", file: "megatron/training/checkpointing.py", place: Checkpoint},
	{funcs: "*", file: "megatron/core/dist_checkpointing/", place: Checkpoint},
	{funcs: "save_checkpoint _save_checkpoint load_checkpoint _load_checkpoint save_pretrained save_state load_state save_model_checkpoint", file: "", place: Checkpoint},

	{funcs: "_compile _compile_inner compile_inner transform compile_to_fn", file: "torch/_dynamo/convert_frame.py", place: Compile},
	{funcs: "compile_fx _compile_fx_inner compile_fx_inner fx_codegen_and_compile codegen_and_compile", file: "torch/_inductor/compile_fx.py", place: Compile},
	{funcs: "compile_to_fn compile_to_module codegen", file: "torch/_inductor/graph.py", place: Compile},
	{funcs: "wait _wait_futures", file: "torch/_inductor/async_compile.py", place: Compile},
	{funcs: "compile make_ir make_llir make_ptx make_cubin", file: "triton/compiler/", place: Compile},
	{funcs: "make_ir make_ttir make_ttgir make_llir make_ptx make_cubin", file: "triton/backends/", place: Compile},
	{funcs: "load _jit_compile _write_ninja_file_and_build_library _run_ninja_build", file: "torch/utils/cpp_extension.py", place: Compile},

	{funcs: "map _map_single filter save_to_disk load_dataset download_and_prepare _download_and_prepare _prepare_split _prepare_split_single", file: "datasets/", place: Prepare},
	{funcs: "snapshot_download hf_hub_download _hf_hub_download_to_cache_dir _download_to_tmp_and_move http_get xet_get", file: "huggingface_hub/", place: Prepare},
	{funcs: "_build_document_sample_shuffle_indices _build_indices build_index_mappings _build_index_mappings _build_shuffle_index _build_document_index", file: "megatron/core/datasets/", place: Prepare},
	{funcs: "_build_index_mappings _build_shuffle_idx _build_doc_idx _build_sample_idx", file: "", place: Prepare},

	{funcs: "wait try_acquire", file: "torch/utils/file_baton.py", place: Lock, op: "of another process's build"},
	{funcs: "acquire", file: "filelock/", place: Lock, op: "on a file"},
	{funcs: "wait acquire __enter__ _wait_for_tstate_lock join", file: "threading.py", place: Lock, weight: weak},
	{funcs: "get put join", file: "queue.py", place: Lock, weight: weak},
	{funcs: "get put recv_bytes _recv_bytes _recv poll _poll wait", file: "multiprocessing/", place: Lock, weight: weak},
	{funcs: "result exception wait", file: "concurrent/futures/", place: Lock, weight: weak},
	{funcs: "wait _wait communicate _communicate", file: "subprocess.py", place: Subprocess, weight: weak},
	{funcs: "read recv readinto recv_into do_handshake", file: "ssl.py", place: Network, weight: weak},
	{funcs: "readinto create_connection", file: "socket.py", place: Network, weight: weak},
	{funcs: "send urlopen request", file: "urllib3/", place: Network, weight: weak},
	{funcs: "send request", file: "requests/", place: Network, weight: weak},
	{funcs: "*", file: "botocore/", place: Network, weight: weak},

	{funcs: "backward _engine_run_backward grad", file: "torch/autograd/", place: Compute, weight: faint},
	{funcs: "backward", file: "torch/_tensor.py", place: Compute, weight: faint},
	{funcs: "*", file: "torch/optim/", place: Compute, weight: faint},
	{funcs: "_call_impl _wrapped_call_impl", file: "torch/nn/modules/module.py", place: Compute, weight: faint},

	{native: true, funcs: "take_gil PyEval_RestoreThread PyGILState_Ensure", place: GIL},
	{native: true, funcs: "cudaStreamSynchronize* cudaDeviceSynchronize* cudaEventSynchronize* cuStreamSynchronize* cuEventSynchronize* cuCtxSynchronize* hipStreamSynchronize* hipDeviceSynchronize* hipEventSynchronize*", place: Sync},
	{native: true, funcs: "cudaMemcpy* cuMemcpy* hipMemcpy*", place: Sync},
	{native: true, funcs: "at::native::_local_scalar_dense_cuda* at::native::item*", place: Sync},
	{native: true, funcs: "cudaLaunchKernel* cuLaunchKernel* hipLaunchKernel* hipModuleLaunchKernel*", place: Launch},
	{native: true, funcs: "ncclCommInitRank* ncclCommInitAll* ncclCommSplit*", place: Collective, op: "set-up of an NCCL communicator"},
	{native: true, funcs: "ncclAllReduce* ncclBroadcast* ncclBcast* ncclReduce* ncclAllGather* ncclReduceScatter* ncclSend* ncclRecv* ncclGroupEnd*", place: Collective, op: "="},
	{native: true, funcs: "c10d::ProcessGroupNCCL::WorkNCCL::wait* c10d::ProcessGroupNCCL::WorkNCCL::synchronize* c10d::ProcessGroupGloo::AsyncWork::wait* c10d::Work::wait*", place: Collective, op: "wait"},
	{native: true, funcs: "c10d::TCPStore::wait* c10d::TCPStore::doWait* c10d::PrefixStore::wait*", place: Rendezvous},

	{native: true, funcs: "__libc_pread* __GI___libc_pread* __pread* pread pread64 preadv* __libc_pwrite* __GI___libc_pwrite* __pwrite* pwrite pwrite64 pwritev* fsync __GI_fsync fdatasync __GI_fdatasync msync " +
		"open64 __libc_open* __GI___libc_open* __open* openat* fstat* __fxstat* lstat* __lxstat* stat64 __xstat* statx getdents* __getdents* flock __GI_flock ftruncate* fallocate* posix_fallocate*", place: Files, weight: weak},
	{kernel: true, funcs: "nfs_* nfs4_* nfs3_* rpc_wait_bit_killable* __rpc_execute* ll_file_* ll_read* ll_write* cl_io_* cl_sync_io_wait* ptlrpc_* osc_* gpfs* cxiWaitEventWait* ceph_* fuse_* request_wait_answer* beegfs* " +
		"wait_on_page_bit* folio_wait_bit* wait_on_page_writeback* io_schedule* balance_dirty_pages* ext4_* xfs_* btrfs_* jbd2_* blkdev_* cifs_* smb2_*", place: Storage},
	{kernel: true, funcs: "uvm_* nv_* nvidia_* os_acquire_* rm_* kfd_* amdgpu_*", place: Driver},
}

// fits says whether a row tells of a frame.
func (r *row) fits(f *Frame) bool {
	if r.native != f.Native || r.kernel != f.Kernel || r.file != "" && !inPath(f.File, r.file) {
		return false
	}
	for name := range strings.FieldsSeq(r.funcs) {
		if rest, any := strings.CutSuffix(name, "*"); any && strings.HasPrefix(f.Func, rest) || name == f.Func {
			return true
		}
	}
	return false
}

// inPath says that a path holds a part, from the beginning of a name on.
func inPath(path, part string) bool {
	for from := 0; ; {
		i := strings.Index(path[from:], part)
		if i < 0 {
			return false
		}
		if i += from; i == 0 || path[i-1] == '/' || path[i-1] == '\\' {
			return strings.HasSuffix(part, "/") || i+len(part) == len(path)
		}
		from = i + 1
	}
}

// placeOf finds where a thread stands, and the frame that tells it.
func placeOf(frames []Frame) (place Place, op string, named int) {
	best := faint + 1
	named = -1
	for i := range frames {
		if waitsAtBarrier(&frames[i]) {
			return Collective, "barrier", i
		}
		for k := range table {
			r := &table[k]
			if r.weight >= best || !r.fits(&frames[i]) {
				continue
			}
			best, place, op, named = r.weight, r.place, r.op, i
			if op == "=" {
				op = operation(frames[i].Func)
			}
			break
		}
		if best > weak && exchanges(&frames[i]) {
			best, place, op, named = weak, Collective, operation(frames[i].Func), i
		}
		if best == strong {
			return place, op, named
		}
	}
	if u := userFrame(frames); named < 0 && u >= 0 {
		return User, "", u
	}
	return place, op, named
}

// exchange is what functions of any framework are called that have ranks exchange data.
var exchange = pattern.New(`^_*(?:\w+_)?(?:all_?gather|all_?reduce|reduce_?scatter|all_?to_?all|broadcast|barrier|reduce_and_partition|reduce_\w*grad)`)

// exchanges says that a frame is such a function of a library: where no call of the communication itself is seen below it, that is where a
// process stands.
func exchanges(f *Frame) bool {
	return !f.Native && !f.Kernel && exchange.Match([]byte(f.Func)) && slices.ContainsFunc(libraries, func(l string) bool { return inPath(f.File, l) })
}

// waitsAtBarrier says that a process stands at a barrier, whatever it is on the way to.
func waitsAtBarrier(f *Frame) bool {
	if f.Native || f.Kernel {
		return false
	}
	return base(f.File) == "barrier.py" || strings.HasPrefix(f.Func, "wait_at_barrier")
}

// operation is a call's name as people know it.
func operation(fn string) string {
	fn, _, _ = strings.Cut(fn, "(")
	return strings.TrimLeft(fn, "_")
}

// libraries are parts of paths that are not the job's own code.
var libraries = []string{"torch/", "deepspeed/", "megatron/core/", "pytorch_lightning/", "lightning/", "transformers/", "accelerate/", "nemo/", "apex/", "transformer_engine/", "triton/",
	"numpy/", "ray/", "hydra/", "wandb/", "fsspec/", "s3fs/", "boto3/", "botocore/", "requests/", "urllib3/", "datasets/", "webdataset/", "lhotse/", "streaming/", "multiprocessing/", "concurrent/", "asyncio/",
	"importlib/", "horovod/", "safetensors/", "torchdata/", "filelock/", "click/", "logging/"}

// userFrame is the innermost frame of the job's own code, −1 if there is none.
func userFrame(frames []Frame) int {
	for i := range frames {
		f := &frames[i]
		if f.Native || f.Kernel || f.File == "" || strings.HasPrefix(f.File, "<") {
			continue
		}
		own := true
		for _, l := range libraries {
			own = own && !inPath(f.File, l)
		}
		if own && !standard[base(f.File)] && !inLib(f.File) {
			return i
		}
	}
	return -1
}

// standard are files of Python's own library, which py-spy prints without a path.
var standard = map[string]bool{"threading.py": true, "queue.py": true, "subprocess.py": true, "socket.py": true, "ssl.py": true, "runpy.py": true, "selectors.py": true, "contextlib.py": true,
	"pickle.py": true, "shutil.py": true, "zipfile.py": true, "tarfile.py": true, "gzip.py": true, "client.py": true, "functools.py": true, "codecs.py": true, "copy.py": true, "abc.py": true, "tempfile.py": true}

// inLib says that a path lies where Python keeps libraries.
func inLib(path string) bool {
	return ascii.Has(path, "/site-packages/", "/dist-packages/", "/lib/python")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
