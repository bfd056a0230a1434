package severity

import (
	"strings"
	"testing"
)

func TestHowBadALineSounds(t *testing.T) {
	for line, want := range map[string]Level{
		"": Calm, "step 12 loss 0.5": Calm, "val_error: 0.02": Calm, "error: 0.02, top5 error=0.1": Calm, "0 errors, no failures": Calm, "errors=0 failed: 0": Calm,
		"--exit-on-error ignore_errors=True on_error=raise": Calm, "error=None, exception: null": Calm, "exit code 0": Calm, "returned with rc=0": Calm,
		"/var/log/error/x.log opened": Calm, "I1126 10:12:44.1 4242 x.cc:1] ready": Calm, "mean squared error 0.1": Calm,
		"E1126 10:12:44.123456 4242 ring.cc:88] torn": Failed, "[E1126 10:12:44.123456 ring.cc:88] torn": Failed, "F1126 10:12:44.1 4242 ring.cc:88] torn": Crash,
		"2026-11-26 10:12:44,001 - mux - ERROR - torn": Failed, "ERROR:root:torn": Failed, "CRITICAL mux torn": Crash, "WARNING: torn": Warning, "Group Comms Ranks Status Errors": Warning, "gn1:7:9 [0] net.cc:4 NCCL WARN torn": Failed, "gn1:7:9 [0] net.cc:4 RCCL WARN torn": Failed, "gn1:7:9 [0] net WARN torn": Warning, "time=x level=ERROR msg=torn": Failed,
		`{"level":"fatal","msg":"torn"}`: Crash, `{"level":50,"msg":"torn"}`: Failed, `{"level":30,"msg":"fine"}`: Calm, `{"severity": "WARNING", "message": "torn"}`: Warning,
		"<2>feeder: torn": Crash, "<3>feeder: torn": Failed, "<6>feeder: fine": Calm, "PRIORITY=3": Failed, "[10:12][E][mux] torn": Failed,
		"[W socket.cpp:697] [c10d] The client has failed to connect": Warning, "[rank2]:[W TCPStore.cpp:125] [c10d] sendBytes failed": Warning, "[E ring.cpp:88] torn": Failed, "[E ring 88] torn": Calm,
		"2026-11-26 10:12:44 INFO  mux - the read failed": Warning, "DEBUG: retrying": Calm,
		"feeder left with exit status 41": Failed, "exited with code -9": Failed, "Command returned non-zero exit status 2.": Failed,
		"ValueError: lane": Failed, "com.x.LeaseLostException": Failed, "untimeError: lane": Failed, "SIGSEGV": Crash, "ENOSPC": Failed,
		"Segmentation fault (core dumped)": Crash, "段错误 (核心已转储)": Crash, "Permission non accordée": Failed, "aucun espace disponible sur le périphérique": Failed,
		"Auf dem Gerät ist kein Speicherplatz mehr verfügbar": Failed, "Violación de segmento": Crash, "入力/出力エラーです": Failed, "Ошибка ввода/вывода": Failed,
		"/site-packages/x.py:1: UserWarning: odd": Warning, "panic: torn": Crash, "ERROR:root:wandb: Network error (ReadTimeout), entering retry loop.": Warning, "read failed, falling back to sequential reads": Warning, "no progress for 1800 s": Failed, "error: 13: Permission denied": Failed,
		"detected a non-fatal error on port 3": Failed, "no fatal error so far": Failed, "a fatal error on port 3": Crash,
		"upload answered, status code 200": Calm, "HTTP status code: 204": Calm, "status code 302 from the tracker": Calm, "status code 503": Failed, "status code 1": Failed,
		"error: no device of that name": Failed, "error: on lane 3 of the mux": Failed, "fatal: no lanes left": Crash, "error: no": Calm, "error: none, failed: no": Calm, "errors: no failures": Calm,
	} {
		if got := Of([]byte(line)); got.Level != want {
			t.Errorf("%q is %s (%s), not %s", line, got.Level, got.Why, want)
		}
	}
}

// A sign stands where it says that it stands.
func TestTheSignIsInTheLine(t *testing.T) {
	for _, line := range []string{"x 12 Segmentation fault (core dumped)", "数据: 段错误", "2026-11-26 10:12:44,001 - mux - ERROR - torn", "the feeder failed", "left with exit status 41"} {
		s := Of([]byte(line))
		if s.Level == Calm || s.At+s.Len > len(line) || s.Len == 0 {
			t.Errorf("%q: %+v", line, s)
			continue
		}
		if word := line[s.At : s.At+s.Len]; !strings.Contains(s.Why, word) {
			t.Errorf("%q: %q stands at its place, not what %s", line, word, s.Why)
		}
	}
}

func TestEveryMessageOfTheCatalogueIsKnownByItself(t *testing.T) {
	n := 0
	for _, c := range catalogued {
		for _, text := range append([]string{strings.ToLower(c.message)}, c.texts...) {
			n++
			if s := Of([]byte("mux: " + text)); s.Level < c.level {
				t.Errorf("%q (%s) is %s (%s), not %s", text, c.message, s.Level, s.Why, c.level)
			}
		}
	}
	if n < 800 {
		t.Errorf("only %d messages", n)
	}
}

func FuzzOf(f *testing.F) {
	f.Add([]byte("E1126 10:12:44.1 1 x.cc:1] exit code 12: SIGSEGV error=0 \xff\xfe"))
	f.Add([]byte("<"))
	f.Add([]byte(`{"level":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s := Of(line); s.At < 0 || s.Len < 0 || s.At+s.Len > len(line) {
			t.Errorf("%q: %+v", line, s)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	line := []byte("2026-11-26 10:12:44,001 - trainer - INFO - step 1200/500000 loss 2.153 grad_norm 0.12 tokens per second 12345.6")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		Of(line)
	}
}

// What a message says of causes that it only guesses is not what happened.
func TestGuessesComeLast(t *testing.T) {
	for line, want := range map[string]string{
		"lane 3 timed out. This can be caused by a deadlock or a crash of its owner": "timed out",
		"lane 3 lies there. This can be caused by a deadlock of its owner":           "deadlock",
	} {
		if s := Of([]byte(line)); line[s.At:s.At+s.Len] != want {
			t.Errorf("%q: %q, not %q", line, line[s.At:s.At+s.Len], want)
		}
	}
}

// What tells how something ended tells nothing of why, unless it says that, too.
func TestWhatTellsOnlyAnEnd(t *testing.T) {
	for line, want := range map[string]bool{
		"srun: error: n14: task 7: Exited with exit code 1":                                                                  true,
		"srun: error: n14: tasks 0-6: Terminated":                                                                            true,
		"slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2024-11-02T10:12:44 ***":                                         true,
		"E0626 09:32:11.5 14 api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 4242) of binary: /usr/bin/python3":        true,
		"  traceback : Signal 6 (SIGABRT) received by PID 48095":                                                             true,
		"torch.distributed.elastic.multiprocessing.api.SignalException: Process 5404 got signal: 15":                         true,
		"feeder helper left with exit status 41":                                                                             true,
		"train.py FAILED":                                                                                                    true,
		"terminate called after throwing an instance of 'std::runtime_error'":                                                true,
		"slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2024-11-02T10:12:44 DUE TO TIME LIMIT ***":                       false,
		"srun: error: n14: task 7: Out Of Memory":                                                                            false,
		"srun: error: n14: task 7: Segmentation fault":                                                                       false,
		"feeder died with exit code 139":                                                                                     false,
		"failed (exitcode: -11) local_rank: 0 (pid: 4242)":                                                                   false,
		"mux gave up on lane 3, exit code 2":                                                                                 false,
		"Net : Connection closed by remote peer n21<48524>, terminated":                                                      false,
		"ValueError: lane 3 has exit code 7":                                                                                 false,
		"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2) ran for 600000 milliseconds before that.": false,
		"step 12 loss 0.5": false,
	} {
		if got := Of([]byte(line)); got.Ends != want {
			t.Errorf("%q tells only an end: %v (%s)", line, got.Ends, got.Why)
		}
	}
}
