package knowledge

// libraryMessages are those of NCCL, CUDA and PyTorch's tensors.
var libraryMessages = []Message{
	{
		ID: "nccl-argument", Literals: []string{"ncclInvalidArgument"}, Role: CauseRole,
		Meaning: "NCCL rejected an argument of a call.",
		Cause:   "The device, count, root or communicator is invalid, or library versions are mixed.",
		Check:   "NCCL's warning above it names the value; the traceback shows the call.",
		Collect: []string{"NCCL_DEBUG=WARN", "TORCH_SHOW_CPP_STACKTRACES=1"},
		Source:  "NCCL src/nccl.h.in; PyTorch NCCLUtils", Example: "ncclInvalidArgument: Invalid value for an argument.",
	},
	{
		ID: "cuda-fork", Literals: []string{"Cannot re-initialize CUDA in forked subprocess"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A process forked after CUDA was initialized tried to use CUDA itself.",
		Cause:   "A data-loader worker or helper process touches the GPU (a CUDA tensor in the dataset or the collate function).",
		Check:   "Keep the GPU out of workers, or start them with multiprocessing_context=\"spawn\".",
		Source:  "PyTorch torch/cuda/__init__.py", Example: "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
	},
	{
		ID: "cuda-deserialise", Literals: []string{"Attempting to deserialize object on a CUDA device"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A file with GPU tensors is being loaded where that GPU isn't visible.",
		Cause:   "The checkpoint was written on a GPU with another index, or the process sees no GPU.",
		Check:   "Use torch.load(…, map_location=\"cpu\"). If the process should see a GPU, find out why it doesn't.\nsrun -w NODE nvidia-smi -L",
		Source:  "PyTorch torch/serialization.py", Example: "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
	},
	{
		ID: "torch-shapes-multiplied", Literals: []string{"mat1 and mat2 shapes cannot be multiplied"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program multiplied matrices whose shapes don't match.",
		Cause:   "A layer's width doesn't match its input: wrong configuration, wrong checkpoint, or swapped axes.",
		Check:   "Find the layer in the last lines of the traceback, then print the shapes of its input and its weight.",
		Source:  "PyTorch aten/src/ATen/native/LinearAlgebra.cpp, 1.7 and later", Example: "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1024 and 1280x4096)",
	},
	{
		ID: "torch-shapes-broadcast", Literals: []string{"The size of tensor a (", ") must match the size of tensor b ("}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program combined tensors whose shapes don't match.",
		Cause:   "A batch or sequence is longer or shorter than the model expects, or an axis is missing.",
		Check:   "Find the operation in the last lines of the traceback, then print the shapes of its arguments.",
		Source:  "PyTorch aten/src/ATen/ExpandUtils.cpp, 1.0 and later", Example: "RuntimeError: The size of tensor a (128) must match the size of tensor b (64) at non-singleton dimension 1",
	},
	{
		ID: "torch-second-backward", Literals: []string{"Trying to backward through the graph a second time"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program called backward through a graph that has already been freed.",
		Cause:   "A loss is used in two backward passes, or a hidden state isn't detached between steps.",
		Check:   "Find the backward call in the last lines of the traceback, then detach whatever the previous step kept.",
		Source:  "PyTorch torch/csrc/autograd, 1.0 and later", Example: "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).",
	},
	{
		ID: "torch-no-grad", Literals: []string{"does not require grad and does not have a grad_fn"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The program called backward on a tensor that depends on nothing trainable.",
		Cause:   "All parameters are frozen, the loss was computed under no_grad, or it was detached.",
		Check:   "Print requires_grad for the loss and the parameters before the backward call.",
		Source:  "PyTorch torch/csrc/autograd/python_engine.cpp, 1.0 and later", Example: "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
	},
	{
		ID: "torch-extension", Literals: []string{"Error building extension '"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A PyTorch extension failed to compile.",
		Cause:   "The compiler or CUDA toolkit doesn't match, or headers are missing.",
		Check:   "Look for the compiler's own error above the traceback.",
		Source:  "PyTorch torch/utils/cpp_extension.py, 1.0 and later", Example: "RuntimeError: Error building extension 'fused'",
	},
	{
		ID: "torch-two-devices", Literals: []string{"Expected all tensors to be on the same device"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got tensors on different devices.",
		Cause:   "The model creates a tensor without device=, a buffer was never moved, or an offloading tool left weights on the CPU.",
		Check:   "Find the operation in the last lines of the traceback, then print the .device of each argument.",
		Collect: []string{"CUDA_LAUNCH_BLOCKING=1"},
		Source:  "PyTorch aten/src/ATen, 1.7 and later", Example: "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
	},
	{
		ID: "torch-in-place", Literals: []string{"one of the variables needed for gradient computation has been modified by an inplace operation"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A tensor needed by the backward pass was overwritten after the forward pass.",
		Cause:   "An in-place operation, or two forward passes before one backward pass under DDP, which copies the buffers in between.",
		Check:   "Run with torch.autograd.set_detect_anomaly(True), which is slow but names the operation. Under DDP, try broadcast_buffers=False.",
		Source:  "PyTorch torch/csrc/autograd", Example: "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.cuda.FloatTensor [64]] is at version 2; expected version 1 instead.",
	},
}
