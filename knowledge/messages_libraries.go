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
		ID: "torch-shapes-multiplied", Literals: []string{"mat1 and mat2 shapes cannot be multiplied"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program multiplied matrices whose shapes do not fit.",
		Cause:   "A layer whose width is not that of its input: another configuration, another checkpoint, or an axis that was swapped.",
		Check:   "The last lines of the traceback name the layer: print the shape of its input and of its weight.",
		Source:  "PyTorch aten/src/ATen/native/LinearAlgebra.cpp, 1.7 on", Example: "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1024 and 1280x4096)",
	},
	{
		ID: "torch-shapes-broadcast", Literals: []string{"The size of tensor a (", ") must match the size of tensor b ("}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program combined tensors whose shapes do not fit.",
		Cause:   "A batch or a sequence of another length than the model expects, or an axis that is missing.",
		Check:   "The last lines of the traceback name the operation: print the shapes of its arguments.",
		Source:  "PyTorch aten/src/ATen/ExpandUtils.cpp, 1.0 on", Example: "RuntimeError: The size of tensor a (128) must match the size of tensor b (64) at non-singleton dimension 1",
	},
	{
		ID: "torch-second-backward", Literals: []string{"Trying to backward through the graph a second time"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program asked for gradients of a graph that is freed already.",
		Cause:   "A loss that is used in two backward passes, or a hidden state that is not detached between steps.",
		Check:   "The last lines of the traceback name the backward call: detach what the step before it kept.",
		Source:  "PyTorch torch/csrc/autograd, 1.0 on", Example: "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).",
	},
	{
		ID: "torch-no-grad", Literals: []string{"does not require grad and does not have a grad_fn"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program asked for gradients of what nothing trainable was used for.",
		Cause:   "All parameters are frozen, the loss was computed under no_grad, or it was detached.",
		Check:   "Print requires_grad of the loss and of the parameters before the backward call.",
		Source:  "PyTorch torch/csrc/autograd/python_engine.cpp, 1.0 on", Example: "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
	},
	{
		ID: "torch-extension", Literals: []string{"Error building extension '"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An extension of PyTorch could not be compiled.",
		Cause:   "A compiler or a CUDA toolkit that does not fit, or headers that are missing.",
		Check:   "The compiler's own error stands above the traceback.",
		Source:  "PyTorch torch/utils/cpp_extension.py, 1.0 on", Example: "RuntimeError: Error building extension 'fused'",
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
