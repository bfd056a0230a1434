package diagnose

import (
	"strings"
	"testing"
)

// What actors of several nodes print stands in the driver's file: the one host that NCCL names there is not that of the others.
func TestAFileOfRaysActorsIsOfNoNode(t *testing.T) {
	far := "(TrainWorker pid=4009, ip=10.1.0.6) "
	text := "(TrainWorker pid=4000, ip=10.1.0.0) step 12 loss 1.9\n(TrainWorker pid=4001, ip=10.1.0.1) gpu-1:4001:4388 [0] misc/socket.cc:81 NCCL WARN socketProgress: Connection closed by remote peer 10.1.0.6<41234>\n"
	for l := range strings.Lines(raisedBy(6, "RuntimeError: CUDA error: unspecified launch failure")) {
		text += far + l
	}
	fieldCase{"a host that another actor names", one(text), []string{"cuda-error"}, "rank 6"}.check(t)
}
