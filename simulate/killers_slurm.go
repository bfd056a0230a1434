package simulate

import (
	"fmt"
	"time"
)

// jobCancelled writes the batch step's line: slurmstepd of the batch host, into the batch script's file.
func (s *scene) jobCancelled(t time.Duration, due string) {
	n := s.node0()
	s.batch(t, fmt.Sprintf("slurmstepd: error: *** JOB %d ON %s CANCELLED AT %s%s ***", s.jobID, n.name, s.outside(n, t).Format("2006-01-02T15:04:05"), due))
}

// srunAborts are srun's own lines when the controller ends its step; their order is not causal [SLURM 22.05.8, 24.11.5].
func (s *scene) srunAborts(t time.Duration) {
	order := []string{"got SIGCONT", "forcing job termination", "Job step aborted: Waiting up to 32 seconds for job step to finish."}
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, m := range order {
		s.srun(t+ms(3*i), m)
	}
}

// controllerEnds is SLURM ending the whole job for a reason of its own (time limit, preemption, scancel, …) at t, with every
// process still alive except those on the nodes in gone. Consequences only: nothing here is a cause but the reason in due.
func (s *scene) controllerEnds(t time.Duration, due string, gone ...int) {
	s.srunAborts(t)
	s.jobCancelled(t+ms(5), due)
	if len(gone) == 0 || gone[0] != 0 {
		s.stepCancelled(t+ms(20), due)
	}
	for n := range s.nodes {
		dead := false
		for _, g := range gone {
			dead = dead || g == n
		}
		if dead {
			continue
		}
		at := t + ms(30) + s.jitter(ms(900))
		s.termReaction(n, at)
		if s.torchrun {
			s.srunTasks(at+sec(3), n, []int{n}, pick(s.rng, "Exited with exit code 1", "Terminated", "Exited with exit code 143"))
		} else {
			s.srunTasks(at+sec(2), n, s.nodes[n].ranks, pick(s.rng, "Terminated", "Exited with exit code 143"))
		}
	}
}

// termReaction is what the processes of a node print on SIGTERM from outside: the agent's shutdown, or the shell's word.
func (s *scene) termReaction(n int, at time.Duration) {
	if !s.torchrun {
		if s.rng.IntN(2) == 0 {
			for _, r := range s.nodes[n].ranks {
				s.plain(r, at+s.jitter(ms(50)), "Terminated")
			}
		}
		return
	}
	nd := s.nodes[n]
	s.agent(n, at, 'W', "elastic.agent.server.api", 719, "Received 15 death signal, shutting down workers")
	for i, r := range nd.ranks {
		s.agent(n, at+ms(1+i), 'W', elasticAPI, 897, fmt.Sprintf("Sending process %d closing signal SIGTERM", s.ranks[r].pid))
	}
	if s.rng.IntN(2) == 0 {
		s.onNode(n, at+ms(800), 0, "Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"+
			"  File \"/usr/local/lib/python3.10/dist-packages/torch/distributed/elastic/agent/server/api.py\", line 733, in run\n    result = self._invoke_run(role)\n"+
			"  File \"/usr/local/lib/python3.10/dist-packages/torch/distributed/elastic/multiprocessing/api.py\", line 62, in _terminate_process_handler\n    raise SignalException(f\"Process {os.getpid()} got signal: {sigval}\", sigval=sigval)\n"+
			fmt.Sprintf("torch.distributed.elastic.multiprocessing.api.SignalException: Process %d got signal: 15", nd.agentPID))
	}
}

// oomEvent is slurmstepd's report of the cgroup's OOM killer, in the node's own file: 22.05 and 24.11 differ.
func (s *scene) oomEvent(n int, t time.Duration, count int) {
	if s.slurm == "22.05" {
		s.slurmstepd(n, t, fmt.Sprintf("Detected %d oom-kill event(s) in StepId=%d.0. Some of your processes may have been killed by the cgroup out-of-memory handler.", count, s.jobID))
		return
	}
	plural := ""
	if count != 1 {
		plural = "s"
	}
	s.slurmstepd(n, t, fmt.Sprintf("Detected %d oom_kill event%s in StepId=%d.0. Some of the step tasks have been OOM Killed.", count, plural, s.jobID))
}

// launchFault is a failure of SLURM or the container runtime to start the step: no rank ever runs.
type launchFault struct {
	name string
	node bool   // its lines are slurmstepd's, in the node's own file
	sign string // what they hold, where node is set
}

var launchFaults = []launchFault{{name: "credential"}, {name: "io"}, {name: "pyxis", node: true, sign: "pyxis"}, {name: "chdir", node: true, sign: "couldn't chdir"}, {name: "launch timeout"}, {name: "communication"}}

// cannotLaunch writes the lines of a launch fault on node n.
func (s *scene) cannotLaunch(f launchFault, n int, t time.Duration) {
	name := s.nodes[n].name
	switch f.name {
	case "credential":
		s.srun(t, fmt.Sprintf("error: Task launch for StepId=%d.0 failed on node %s: Job credential expired", s.jobID, name))
		s.srun(t+ms(5), "error: Application launch failed: Job credential expired")
		s.srun(t+ms(9), "Job step aborted: Waiting up to 32 seconds for job step to finish.")
		s.srun(t+sec(32), "error: Timed out waiting for job step to complete")
	case "communication":
		s.srun(t, fmt.Sprintf("error: Task launch for StepId=%d.0 failed on node %s: Communication connection failure", s.jobID, name))
		s.srun(t+ms(5), "error: Application launch failed: Communication connection failure")
		s.srun(t+ms(9), "Job step aborted: Waiting up to 32 seconds for job step to finish.")
	case "io":
		for i := range s.tasks() {
			s.srun(t+ms(i), fmt.Sprintf("error: task %d launch failed: Slurmd could not connect IO", i))
		}
	case "launch timeout":
		s.srun(t, fmt.Sprintf("error: timeout waiting for task launch, started %d of %d tasks", s.tasks()-s.tasksPerNode(), s.tasks()))
		s.srun(t+ms(4), "Job step aborted: Waiting up to 32 seconds for job step to finish.")
		s.srun(t+sec(32), "error: Timed out waiting for job step to complete")
	case "chdir":
		for i := range s.tasksPerNode() {
			s.slurmstepd(n, t+ms(i), "couldn't chdir to `/scratch/train/run7': No such file or directory: going to /tmp instead")
		}
		for i := range s.tasksPerNode() {
			s.slurmstepd(n, t+ms(20+i), "execve(): /scratch/train/run7/launch.sh: No such file or directory")
		}
		s.srunTasks(t+sec(1), n, s.tasksOf(n), "Exited with exit code 2")
	case "pyxis":
		s.slurmstepd(n, t, "pyxis: container start failed with error code: 1")
		s.slurmstepd(n, t+ms(1), "pyxis: printing enroot log file:")
		s.slurmstepd(n, t+ms(1), "pyxis:     [ERROR] No such file or directory: /run/enroot/user-1000/train.sqsh")
		s.slurmstepd(n, t+ms(2), "pyxis: couldn't start container")
		s.slurmstepd(n, t+ms(3), "spank: required plugin spank_pyxis.so: task_init() failed with rc=-1")
		s.slurmstepd(n, t+ms(3), "Failed to invoke spank plugin stack")
		s.srunTasks(t+sec(1), n, s.tasksOf(n), "Exited with exit code 1")
	}
}

// tasks, tasksPerNode and tasksOf count SLURM tasks: an agent per node, or a process per rank.
func (s *scene) tasks() int {
	if s.torchrun {
		return len(s.nodes)
	}
	return s.world
}

func (s *scene) tasksPerNode() int {
	if s.torchrun {
		return 1
	}
	return s.spec.PerNode
}

func (s *scene) tasksOf(n int) []int {
	if s.torchrun {
		return []int{n}
	}
	return s.nodes[n].ranks
}
