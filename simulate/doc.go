package simulate

// How to add a mechanism.
//
// A mechanism is an entry of hangs (hangs.go) or killers (killers_table.go): a name, its stop-line, what can be ablated,
// and a function that plays it on a scene:
//
//	func playHostOOM(s *scene) error {
//		s.startup()                          // batch script, agents, NCCL, the framework's banner
//		at := s.training(sec(12), sec(90))   // progress lines and saves; returns the last record's time
//		victim := s.rng.IntN(s.world)
//		s.root = victim                      // "missing-root-file", "silent-root" act on it
//		s.slurmstepd(s.ranks[victim].node.index, at+ms(900), "Detected 1 oom_kill event …")
//		s.teardown([]exit{{victim, at + ms(950), -9}})
//		s.title = "…"
//		s.judge = func(v *view) Truth { … }  // from what the view shows, not from what was played
//		return nil
//	}
//
// Times are true time since the scene's start; every emitter prints them through its own clock and zone. The emitters:
//
//	s.c10(rank, t, 'W', "socket.cpp:697", msg)   C++ logger, in the release's prefix
//	s.plain(rank, t, msg)                        a rank's stderr as it is; s.said adds what the line states (says)
//	s.python(rank, t, lines...)                  a traceback, line by line, [rankN]: where the release has it
//	s.agent(node, t, 'E', elasticAPI, 869, msg)  torchrun's agent; s.childFailed its failure block
//	s.slurmstepd(node, t, msg), s.srun(t, msg), s.srunTasks, s.stepCancelled, s.batch(t, msg)
//	s.teardown(dead)                             everything after the first deaths, for agents and for srun alike
//	s.onNode(node, t, says, msg)                 a line of a node's own process
//
// Every line that states an identity, a state, the world size or the members of groups must carry its says bits: ablation
// and damage drop lines, and the truth is judged from the bits that survive (view).
