package simulate

import "fmt"

// before tells whether PyTorch version a is older than b ("1.13" < "2.0" < … < "2.10" < "recent").
func before(a, b string) bool { return torchOrder(a) < torchOrder(b) }

// torchOrder maps a version to a number that sorts as the versions do; whatever it does not know is recent.
func torchOrder(v string) int {
	var major, minor int
	if n, _ := fmt.Sscanf(v, "%d.%d", &major, &minor); n != 2 {
		return 1 << 20
	}
	return major*1000 + minor
}

// cudaAsyncNote are the lines that follow every CUDA error (c10/cuda/CUDAException.cpp, CUDAMiscFunctions.cpp).
func cudaAsyncNote(torch string) string {
	s := "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
	switch {
	case before(torch, "2.0"):
		return s[:len(s)-1] + "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1."
	case before(torch, "2.1"):
		return s + "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
	}
	return s + "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
}

// oomText is the allocator's message in the wording of each generation (c10/cuda/CUDACachingAllocator.cpp of 1.13, 2.0, 2.1,
// 2.4, 2.6 and later: "capacty" is literal in 2.1 and 2.2).
func oomText(torch string, gpu int, triedMiB, procPID int) string {
	tried := fmt.Sprintf("%d.00 MiB", triedMiB)
	if triedMiB >= 1024 {
		tried = fmt.Sprintf("%.2f GiB", float64(triedMiB)/1024)
	}
	switch {
	case before(torch, "2.1"):
		return fmt.Sprintf("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %s (GPU %d; 79.15 GiB total capacity; 74.91 GiB already allocated; 341.25 MiB free; 77.08 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF", tried, gpu)
	case before(torch, "2.3"):
		return fmt.Sprintf("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU %d has a total capacty of 79.15 GiB of which 341.25 MiB is free. Process %d has 78.80 GiB memory in use. Of the allocated memory 74.91 GiB is allocated by PyTorch, and 2.17 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF", tried, gpu, procPID)
	}
	class, env := "torch.OutOfMemoryError", "PYTORCH_CUDA_ALLOC_CONF"
	if before(torch, "2.5") {
		class = "torch.cuda.OutOfMemoryError"
	}
	if !before(torch, "2.9") {
		env = "PYTORCH_ALLOC_CONF"
	}
	return fmt.Sprintf("%s: CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of 79.15 GiB of which 341.25 MiB is free. Including non-PyTorch memory, this process has 78.80 GiB memory in use. Of the allocated memory 74.91 GiB is allocated by PyTorch, and 2.17 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting %s=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)", class, tried, gpu, env)
}

// cublasAlloc is cuBLAS failing to get its workspace (aten/src/ATen/cuda/CublasHandlePool.cpp).
const cublasAlloc = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"

// cudaErrorText is the Python exception of a CUDA error; from 2.8 on PyTorch raises AcceleratorError.
func cudaErrorText(torch, text string) string {
	class := "RuntimeError"
	if !before(torch, "2.8") {
		class = "torch.AcceleratorError"
	}
	return class + ": CUDA error: " + text + "\n" + cudaAsyncNote(torch)
}

// deviceAssert is what the device prints before "device-side assert triggered" (aten/src/ATen/native/cuda/Indexing.cu).
func deviceAssert(block, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [%d,0,0], thread: [%d,0,0] Assertion `srcIndex < srcSelectDimSize` failed.", block, 32+i))
	}
	return out
}

// cudaFaults are the error strings of the CUDA runtime that mean a broken kernel or context, whatever broke it.
var cudaFaults = []string{
	"an illegal memory access was encountered",
	"device-side assert triggered",
	"unspecified launch failure",
	"misaligned address",
	"an illegal instruction was encountered",
	"unknown error",
}

// cudaFrames end in the call where an asynchronous CUDA error happens to surface.
func cudaFrames(i int) []pyFrame {
	places := [][]pyFrame{
		{{File: pyLoop, Line: 184, Func: "training_step", Code: "self.log(\"loss\", loss.item())"}},
		{{File: pyLoop, Line: 180, Func: "training_step", Code: "loss.backward()"},
			{File: pySite + "torch/_tensor.py", Line: 492, Func: "backward", Code: "torch.autograd.backward("}},
		{{File: pyModel, Line: 141, Func: "forward", Code: "return self.mlp(self.norm(x))"}},
		{{File: pyLoop, Line: 190, Func: "training_step", Code: "torch.cuda.synchronize()"},
			{File: pySite + "torch/cuda/__init__.py", Line: 783, Func: "synchronize", Code: "return torch._C._cuda_synchronize()"}},
	}
	return loopFrames(places[i%len(places)]...)
}
