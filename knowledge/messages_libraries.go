package knowledge

// libraryMessages are those of NCCL, CUDA and PyTorch's tensors.
var libraryMessages = []Message{
	{
		ID: "nccl-argument", Literals: []string{"ncclInvalidArgument"}, Role: CauseRole,
		Meaning: "A call of NCCL got a value that it refuses.",
		Cause:   "A device, count, root or communicator that is not valid, or libraries of different versions that are mixed.",
		Check:   "NCCL's warning above it says which value; the traceback says which call.",
		Collect: []string{"NCCL_DEBUG=WARN", "TORCH_SHOW_CPP_STACKTRACES=1"},
		Source:  "NCCL src/nccl.h.in; PyTorch NCCLUtils", Example: "ncclInvalidArgument: Invalid value for an argument.",
	},
	{
		ID: "cuda-fork", Literals: []string{"Cannot re-initialize CUDA in forked subprocess"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A process that was forked after CUDA was used tried to use CUDA too.",
		Cause:   "A data-loader worker or a helper process that touches the GPU (a tensor on cuda in the dataset, a collate function).",
		Check:   "Keep the GPU out of workers, or start them with multiprocessing_context=\"spawn\".",
		Source:  "PyTorch torch/cuda/__init__.py", Example: "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
	},
	{
		ID: "cuda-deserialise", Literals: []string{"Attempting to deserialize object on a CUDA device"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A file with tensors of a GPU is loaded where that GPU is not visible.",
		Cause:   "A checkpoint that was written from another GPU number, or a process that sees no GPU.",
		Check:   "torch.load(…, map_location=\"cpu\"); and if this process should see a GPU, why does it not?\nsrun -w NODE nvidia-smi -L",
		Source:  "PyTorch torch/serialization.py", Example: "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
	},
	{
		ID: "torch-two-devices", Literals: []string{"Expected all tensors to be on the same device"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got tensors that lie on different devices.",
		Cause:   "A tensor made inside the model without device=, a buffer that was not moved, or weights that an offloading tool left on the CPU.",
		Check:   "The last lines of the traceback name the operation: print .device of its arguments.",
		Collect: []string{"CUDA_LAUNCH_BLOCKING=1"},
		Source:  "PyTorch aten/src/ATen, 1.7 on", Example: "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
	},
	{
		ID: "torch-in-place", Literals: []string{"one of the variables needed for gradient computation has been modified by an inplace operation"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A tensor that the backward pass needs was overwritten after the forward pass.",
		Cause:   "An operation in place, or two forward passes before one backward pass under DDP, which copies the buffers in between.",
		Check:   "torch.autograd.set_detect_anomaly(True) names the operation and is slow; under DDP try broadcast_buffers=False.",
		Source:  "PyTorch torch/csrc/autograd", Example: "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.cuda.FloatTensor [64]] is at version 2; expected version 1 instead.",
	},
}
