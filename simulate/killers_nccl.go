package simulate

import "fmt"

// ncclRemoteLast are NCCL's last words on a rank whose peer's process is gone (src/misc/socket.cc of 2.18 … 2.27; the form
// of 2.14 from a public log).
func ncclRemoteLast(nccl, peerHost, peerIP string, port, kind int) string {
	if before(nccl, "2.18") {
		if kind%2 == 0 {
			return fmt.Sprintf("Net : Call to recv from %s<%d> failed : Broken pipe", peerIP, port)
		}
		return fmt.Sprintf("Net : Connection closed by remote peer %s<%d>", peerHost, port)
	}
	switch kind % 3 {
	case 1:
		if !before(nccl, "2.27") {
			return fmt.Sprintf("socketProgressOpt: Call to recv from %s<%d> failed : Connection reset by peer", peerIP, port)
		}
	case 2:
		return fmt.Sprintf("socketProgress: Connection closed by remote peer %s<%d>", peerIP, port)
	}
	return fmt.Sprintf("socketProgress: Connection closed by remote peer %s<%d>", peerHost, port)
}

// ncclRemote is the error block of ncclRemoteError (torch/csrc/distributed/c10d/NCCLUtils.cpp getNcclErrorDetailStr).
func ncclRemote(nccl, last string) string {
	return "NCCL error: remote process exited or there was a network error, NCCL version " + nccl +
		"\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely." +
		"\nLast error:\n" + last
}

// ncclSystem is the error block of ncclSystemError as Python raises it (NCCLUtils.hpp C10D_NCCL_CHECK).
func ncclSystem(torch, nccl, last string, line int) string {
	class := "torch.distributed.DistBackendError"
	if before(torch, "2.1") {
		class = "RuntimeError"
	}
	return fmt.Sprintf("%s: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:%d, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version %s\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\n%s", class, line, nccl, last)
}

// ncclCuda is the error block of ncclUnhandledCudaError as Python raises it.
func ncclCuda(torch, nccl, last string, line int) string {
	class := "torch.distributed.DistBackendError"
	if before(torch, "2.1") {
		class = "RuntimeError"
	}
	return fmt.Sprintf("%s: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:%d, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version %s\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n%s", class, line, nccl, last)
}

// ncclWarn is a WARN of NCCL; it begins with a newline, and has a stamp of its own from 2.26 on (src/debug.cc).
func ncclWarn(nccl, stamp, host string, pid, tid, dev int, file, msg string) string {
	head := ""
	if !before(nccl, "2.26") {
		head = "[" + stamp + "] "
	}
	return fmt.Sprintf("\n%s%s:%d:%d [%d] %s NCCL WARN %s", head, host, pid, tid, dev, file, msg)
}

// collectiveFrames end in a collective: where a rank stands when its peer goes away.
func collectiveFrames(i int) []pyFrame {
	c10d := pySite + "torch/distributed/distributed_c10d.py"
	log := pyFrame{File: pySite + "torch/distributed/c10d_logger.py", Line: 75, Func: "wrapper", Code: "return func(*args, **kwargs)"}
	places := [][]pyFrame{
		{{File: pyLoop, Line: 213, Func: "reduce_metrics", Code: "dist.all_reduce(t)"}, log,
			{File: c10d, Line: 2219, Func: "all_reduce", Code: "work.wait()"}},
		{{File: pyLoop, Line: 220, Func: "sync", Code: "dist.barrier()"}, log,
			{File: c10d, Line: 3702, Func: "barrier", Code: "work.wait()"}},
		{{File: pyLoop, Line: 226, Func: "gather", Code: "dist.all_gather_into_tensor(out, t)"}, log,
			{File: c10d, Line: 3017, Func: "all_gather_into_tensor", Code: "work.wait()"}},
	}
	return loopFrames(places[i%len(places)]...)
}

// storeBroken is the warning of a TCPStore client whose server is gone (torch/csrc/distributed/c10d/TCPStore.cpp,
// ProcessGroupNCCL.cpp of 2.4 … 2.7): rank 0's agent ended first. A line of every orderly and disorderly end.
func storeBroken(host string, port, fd int) string {
	return fmt.Sprintf("[c10d] sendBytes failed on SocketImpl(fd=%d, addr=[%s]:%d, remote=[%s]:29500): Broken pipe", fd, host, port, host)
}

// notDestroyed is the destructor's reminder at exit, of every rank of a job that does not call destroy_process_group.
const notDestroyed = "Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown"

// ncclRemotePython is ncclRemoteError as Python raises it.
func ncclRemotePython(torch, nccl, last string) string {
	class := "torch.distributed.DistBackendError"
	if before(torch, "2.1") {
		class = "RuntimeError"
	}
	return fmt.Sprintf("%s: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, remote process exited or there was a network error, NCCL version %s\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n%s", class, nccl, last)
}

// ncclInternal is ncclInternalError as Python raises it.
func ncclInternal(torch, nccl, last string) string {
	class := "torch.distributed.DistBackendError"
	if before(torch, "2.1") {
		class = "RuntimeError"
	}
	return fmt.Sprintf("%s: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, internal error, NCCL version %s\nncclInternalError: Internal check failed.\nLast error:\n%s", class, nccl, last)
}

// ibCompletion is a failed work completion of InfiniBand: transport retries exceeded (src/transport/net_ib.cc of 2.18 … 2.29).
func ibCompletion(nccl, peerIP string, port, hca int) string {
	switch {
	case before(nccl, "2.20"):
		return fmt.Sprintf("NET/IB : Got completion from peer %s<%d> with error 12, opcode 0, len 0, vendor err 129 (Recv)", peerIP, port)
	case before(nccl, "2.22"):
		return fmt.Sprintf("NET/IB : Got completion from peer %s<%d> with status=12 opcode=0 len=0 vendor err 129 (Recv)", peerIP, port)
	}
	return fmt.Sprintf("NET/IB: Got completion from peer %s<%d> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_%d", peerIP, port, hca)
}

// storeTimeout is a TCPStore client that waits for a key nobody sets (TCPStore.cpp; the class of 2.4 and later).
func storeTimeout(torch string) string {
	if before(torch, "2.4") {
		return "RuntimeError: Socket Timeout"
	}
	return "torch.distributed.DistStoreError: Socket Timeout"
}
