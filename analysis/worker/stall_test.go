package worker

import (
	"slices"
	"testing"
)

func TestOtherFrameworksNameWhoDidNotCome(t *testing.T) {
	const stalled = "[2021-02-02 21:19:07.345988: W /build/horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or " +
		"broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to " +
		"submit different tensors or that only subset of ranks is submitting tensors, which will cause deadlock. \n"
	tests := []struct {
		name, text    string
		kind          BarrierKind
		absent        []int
		joined, world int64
	}{
		{"Horovod", stalled + "Missing ranks:\n0: [grads/a, grads/b ...]\n5!: [grads/a]\n\nother text\n7: [no]\n", "horovod", []int{0, 5}, -1, -1},
		{"Horovod, who is ready", stalled + "Stalled ops: conv1.weight [ready ranks: 5, 1, 4, 7, 2, 3], bn1.weight [ready ranks: 5, 1, 4, 7, 2, 3]\n", "horovod", []int{0, 6}, 6, -1},
		{"Horovod, older word", stalled + "Stalled ranks:\n3: [grads/a]\n", "horovod", []int{3}, -1, -1},
		{"Horovod, one line a tensor", "[1,0]<stderr>:[2019-04-13 13:55:31.858119: W horovod/common/operations.cc:588] bcast_kernel_0 [missing ranks: 1, 3]\n" +
			"[1,0]<stderr>:[2019-04-13 13:55:31.858146: W horovod/common/operations.cc:588] bcast_bias_0 [missing ranks: 1, 3]\n", "horovod", []int{1, 3}, -1, -1},
		{"JAX", "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: save:12::1. This usually happens because a task triggered the barrier too early or too slowly.\n" +
			"# of tasks that reached the barrier: 6/8.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n" +
			"/job:jax_worker/replica:0/task:5\n/job:jax_worker/replica:0/task:7\n\nmore\n", "jax", []int{5, 7}, 6, 8},
		{"JAX, older", "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: sync0. Timed out task names:\n/job:jax_worker/replica:0/task:3\nmore\n",
			"jax", []int{3}, -1, -1},
		{"JAX start-up", "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]PjRT_Client_Connect::0. Look at the task logs.\n# of tasks that reached the barrier: 7/8.\n" +
			"The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:5\n", "store", []int{5}, 7, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text)
			if len(obs.Barriers) != 1 {
				t.Fatalf("%d barriers: %+v", len(obs.Barriers), obs.Barriers)
			}
			b := obs.Barriers[0]
			if b.Kind != tt.kind || !slices.Equal(b.Absent, tt.absent) || b.Joined != tt.joined || b.World != tt.world {
				t.Errorf("got %+v", b)
			}
		})
	}
}
