package diagnose

import (
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// What an error line says counts beside an exit status: whose call it was, which program could not be started, which process is gone.
func TestErrorLinesBesideAnExitStatus(t *testing.T) {
	const (
		exits  = "srun: error: c7: tasks 4-5: Exited with exit code 1\nsrun: error: c9: task 6: Exited with exit code 1\n"
		hydra  = "[proxy:0:2@c7] HYDU_create_process (../../utils/launch/launch.c:74): execvp error on file /opt/$APP/helperd (No such file or directory)\n"
		killed = "\n===================================================================================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 5 PID 777 RUNNING AT c9\n=   KILLED BY SIGNAL: 9 (Killed)\n"
		actor  = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: Trainer\n\tactor_id: 00aa\n\tpid: 5151\n\tnamespace: 11bb\n\tip: 10.9.8.7\n"
	)
	for _, c := range []struct {
		name, text string
		want       []string // candidates, sorted
		says       string   // in the summary or whom it names
	}{
		{"NCCL refuses an argument", "RuntimeError: NCCL error in: /src/ProcessGroupNCCL.cpp:514, invalid argument, NCCL version 2.10.3\n" + exits, []string{"config-error"}, "NCCL rejected"},
		{"NCCL refuses its use, in the older form", "RuntimeError: NCCL Error 5: invalid usage (run with NCCL_DEBUG=WARN for details)\n" + exits, []string{"config-error"}, "NCCL rejected"},
		{"a helper that is not there, then the clean-up", hydra + killed, []string{"config-error"}, "could not start a program"},
		{"a call failed, then exit statuses", "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nRuntimeError: NCCL error in: /src/ProcessGroupNCCL.cpp:514, internal error, NCCL version 2.10.3\n" + exits,
			[]string{"exception", "peer-lost", "unknown"}, ""},
		{"the same, without its header", "RuntimeError: NCCL error in: /src/ProcessGroupNCCL.cpp:514, internal error, NCCL version 2.10.3\n" + exits, []string{"exception", "peer-lost", "unknown"}, ""},
		{"exit statuses alone", exits, []string{"exception", "unknown"}, ""},
		{"a worker of Ray's is gone", actor + "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.\n",
			[]string{"external-signal", "host-oom", "native-crash", "peer-lost", "unknown"}, "process 5151 on 10.9.8.7"},
		{"a node of Ray's is gone, below the end of a traceback", "  File \"/opt/ray/train/_internal/utils.py\", line 43, in check\n    ray.get(ref)\n" + actor + "The actor died because its node has died. Node Id: 22cc\n", []string{"node-failure", "peer-lost", "unknown"}, "process 5151 on 10.9.8.7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0)).Verdict
			var got []string
			for _, x := range v.Candidates {
				got = append(got, x.Mechanism)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("said %v (%s)", got, v.Summary)
			}
			if said := v.Summary + "; " + v.Root.Named; !strings.Contains(said, c.says) {
				t.Errorf("said %q, want %q", said, c.says)
			}
		})
	}
}
