package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// pyFrame is one entry of a Python traceback. Marks is the caret line that Python 3.11 and later print under the code.
type pyFrame struct {
	File  string
	Line  int
	Func  string
	Code  string
	Marks bool
}

// pyTraceback prints a traceback as CPython's traceback.print_exception does; the lines of a message follow verbatim.
func pyTraceback(frames []pyFrame, exc string) []string {
	out := []string{"Traceback (most recent call last):"}
	for _, f := range frames {
		out = append(out, fmt.Sprintf("  File %q, line %d, in %s", f.File, f.Line, f.Func))
		if f.Code != "" {
			out = append(out, "    "+f.Code)
			if f.Marks {
				out = append(out, "    "+strings.Repeat("^", len(f.Code)))
			}
		}
	}
	return append(out, strings.Split(exc, "\n")...)
}

// Joints between the tracebacks of a chained exception (CPython, Lib/traceback.py).
const (
	pyDirectCause   = "The above exception was the direct cause of the following exception:"
	pyDuringAnother = "During handling of the above exception, another exception occurred:"
)

// pyChain joins tracebacks, oldest first.
func pyChain(joint string, blocks ...[]string) []string {
	var out []string
	for i, b := range blocks {
		if i > 0 {
			out = append(out, "", joint, "")
		}
		out = append(out, b...)
	}
	return out
}

const (
	pyTrain   = "/opt/train/pretrain.py"
	pyLoop    = "/opt/train/engine/loop.py"
	pyModel   = "/opt/train/model/transformer.py"
	pySite    = "/usr/local/lib/python3.10/site-packages/"
	pyDataset = "/opt/train/data/dataset.py"
)

// loopFrames are the frames from the script to the training step, where a training job spends its life.
func loopFrames(tail ...pyFrame) []pyFrame {
	return append([]pyFrame{
		{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
		{File: pyTrain, Line: 388, Func: "main", Code: "trainer.fit(model, train_loader)"},
		{File: pyLoop, Line: 207, Func: "fit", Code: "loss = self.training_step(batch, step)"},
	}, tail...)
}

// userFault is an exception of the job's own code: where it is raised and what Python prints.
type userFault struct {
	frames []pyFrame
	exc    string
}

// userFaults are exceptions of the training loop that name no item, file, host or device: the code is at fault, whatever
// made it so. Texts are CPython's and PyTorch's own.
var userFaults = []userFault{
	{[]pyFrame{{File: pyLoop, Line: 151, Func: "training_step", Code: "loss = self.criterion(out, batch[\"labels\"])"},
		{File: pySite + "torch/nn/functional.py", Line: 3029, Func: "cross_entropy", Code: "return torch._C._nn.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction), ignore_index, label_smoothing)"}},
		"ValueError: Expected input batch_size (32) to match target batch_size (31)."},
	{[]pyFrame{{File: pyModel, Line: 96, Func: "forward", Code: "return hidden + residual"}},
		"RuntimeError: The size of tensor a (512) must match the size of tensor b (513) at non-singleton dimension 1"},
	{[]pyFrame{{File: pyLoop, Line: 163, Func: "training_step", Code: "total = total + aux[\"z_loss\"]"}},
		"TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'"},
	{[]pyFrame{{File: pyLoop, Line: 171, Func: "training_step", Code: "scale = tokens / mask_sum"}},
		"ZeroDivisionError: division by zero"},
	{[]pyFrame{{File: pyModel, Line: 233, Func: "route", Code: "expert = self.table[idx]"}},
		"IndexError: list index out of range"},
	{[]pyFrame{{File: pyLoop, Line: 158, Func: "training_step", Code: "seq = batch.tokens.shape[1]"}},
		"AttributeError: 'NoneType' object has no attribute 'shape'"},
	{[]pyFrame{{File: pyModel, Line: 71, Func: "forward", Code: "assert q.size(1) == k.size(1)"}},
		"AssertionError"},
	{[]pyFrame{{File: pyLoop, Line: 149, Func: "training_step", Code: "weights = self.loss_weights[kind]"}},
		"KeyError: 'span'"},
	{[]pyFrame{{File: pyModel, Line: 118, Func: "forward", Code: "return F.linear(x, self.weight)"}},
		"RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1024 and 1280x4096)"},
	{[]pyFrame{{File: pyLoop, Line: 180, Func: "training_step", Code: "loss.backward()"},
		{File: pySite + "torch/_tensor.py", Line: 492, Func: "backward", Code: "torch.autograd.backward("}},
		"RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"},
	{[]pyFrame{{File: pyLoop, Line: 199, Func: "after_step", Code: "self.meter.update(value)"}},
		"UnboundLocalError: local variable 'value' referenced before assignment"},
	{[]pyFrame{{File: pyLoop, Line: 152, Func: "training_step", Code: "out = self.module(batch)"},
		{File: pySite + "torch/nn/parallel/distributed.py", Line: 1519, Func: "forward", Code: "inputs, kwargs = self._pre_forward(*inputs, **kwargs)"}},
		"RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs participate in calculating loss."},
	{[]pyFrame{{File: "/opt/train/sampling/packing.py", Line: 44, Func: "pack", Code: "raise PackingOverflow(n, limit)"}},
		"engine.errors.PackingOverflow: 8193 tokens do not fit into 8192"},
}

// loaderFault is an exception that a DataLoader worker process raised and the training process raises again
// (torch/_utils.py ExceptionWrapper.reraise).
func loaderFault(worker int, exc string) []string {
	typ, _, _ := strings.Cut(exc, ":")
	short := typ[strings.LastIndexByte(typ, '.')+1:]
	out := pyTraceback(loopFrames(
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 630, Func: "__next__", Code: "data = self._next_data()"},
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1345, Func: "_next_data", Code: "return self._process_data(data)"},
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1371, Func: "_process_data", Code: "data.reraise()"},
		pyFrame{File: pySite + "torch/_utils.py", Line: 694, Func: "reraise", Code: "raise exception"},
	), fmt.Sprintf("%s: Caught %s in DataLoader worker process %d.", typ, short, worker))
	out = append(out, "Original Traceback (most recent call last):")
	inner := pyTraceback([]pyFrame{
		{File: pySite + "torch/utils/data/_utils/worker.py", Line: 308, Func: "_worker_loop", Code: "data = fetcher.fetch(index)"},
		{File: pySite + "torch/utils/data/_utils/fetch.py", Line: 51, Func: "fetch", Code: "data = [self.dataset[idx] for idx in possibly_batched_index]"},
		{File: pyDataset, Line: 88, Func: "__getitem__", Code: "return self.collate(item)"},
	}, exc)
	return append(append(out, inner[1:]...), "")
}

// loaderKilled is what the training process raises when a DataLoader worker dies (torch/utils/data/_utils/signal_handling.py
// and dataloader.py). how: killed, bus, gone.
func loaderKilled(how string, pid int) []string {
	frames := loopFrames(
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 630, Func: "__next__", Code: "data = self._next_data()"},
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1328, Func: "_next_data", Code: "idx, data = self._get_data()"},
		pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1133, Func: "_try_get_data", Code: "data = self._data_queue.get(timeout=timeout)"},
		pyFrame{File: "/usr/local/lib/python3.10/queue.py", Line: 180, Func: "get", Code: "self.not_empty.wait(remaining)"},
	)
	sig := slices.Concat(frames, []pyFrame{{File: pySite + "torch/utils/data/_utils/signal_handling.py", Line: 66, Func: "handler", Code: "_error_if_any_worker_fails()"}})
	bus := fmt.Sprintf("RuntimeError: DataLoader worker (pid %d) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.", pid)
	killed := fmt.Sprintf("RuntimeError: DataLoader worker (pid %d) is killed by signal: Killed. ", pid)
	switch how {
	case "bus":
		return append([]string{"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", ""}, pyTraceback(sig, bus)...)
	case "gone":
		return pyChain(pyDirectCause, pyTraceback(sig, killed),
			pyTraceback(frames[:6], fmt.Sprintf("RuntimeError: DataLoader worker (pid(s) %d) exited unexpectedly", pid)))
	}
	return pyTraceback(sig, killed)
}

// faulthandler prints CPython's report of a deadly signal: most recent call first (Modules/faulthandler.c).
func faulthandler(what string, thread uint64) []string {
	return []string{
		"Fatal Python error: " + what, "",
		fmt.Sprintf("Thread 0x%016x (most recent call first):", thread+0x2000),
		"  File \"/usr/local/lib/python3.10/threading.py\", line 324 in wait",
		"  File \"/usr/local/lib/python3.10/threading.py\", line 607 in wait",
		"  File \"/usr/local/lib/python3.10/threading.py\", line 1016 in _bootstrap_inner", "",
		fmt.Sprintf("Current thread 0x%016x (most recent call first):", thread),
		"  File \"" + pySite + "torch/autograd/__init__.py\", line 200 in backward",
		"  File \"" + pySite + "torch/_tensor.py\", line 487 in backward",
		"  File \"" + pyLoop + "\", line 180 in training_step",
		"  File \"" + pyLoop + "\", line 207 in fit",
		"  File \"" + pyTrain + "\", line 388 in main",
		"  File \"" + pyTrain + "\", line 412 in <module>", "",
		"Extension modules: numpy.core._multiarray_umath, torch._C, torch._C._fft, torch._C._linalg (total: 31)",
	}
}
