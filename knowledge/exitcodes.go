package knowledge

import "fmt"

// Exit is the meaning of one way in which a process ends.
type Exit struct {
	Code    int    // as a shell prints it; for a signal 128 + Signal
	Signal  int    // 0: none
	Name    string // "SIGKILL", or "" for a plain code
	Text    string // as srun and the shell print it (strsignal, glibc): "Killed"; "" for a plain code
	Meaning string
	// Consequence is true where this ending is, as a rule, the echo of another failure.
	Consequence bool
}

// exits is the dictionary of slurm.md §1: endings seen with SLURM 22.05 and 24.11, Linux signal numbers (x86-64, arm64).
var exits = []Exit{
	{0, 0, "", "", "Success.", false},
	{1, 0, "", "", "A Python exception, or torchrun reporting that one of its processes failed.", false},
	{2, 0, "", "", "Wrong arguments (argparse), or a shell usage error.", false},
	{120, 0, "", "", "Python couldn't flush its output on exit: the file system or the pipe's reader was gone.", false},
	{125, 0, "", "", "SLURM's code for a step in which the kernel OOM-killed a process (printed as 0:125).", false},
	{126, 0, "", "", "The command was found but is not executable.", false},
	{127, 0, "", "", "The command, or a library it needs to start, was not found.", false},
	{129, 1, "SIGHUP", "Hangup", "The terminal or session that started it was closed.", false},
	{130, 2, "SIGINT", "Interrupt", "Interrupted, for example by Ctrl-C; launchers pass it on.", true},
	{131, 3, "SIGQUIT", "Quit", "Asked to exit with a core dump.", false},
	{132, 4, "SIGILL", "Illegal instruction", "The program was built for a different CPU, or jumped into data.", false},
	{134, 6, "SIGABRT", "Aborted", "Aborted: by the NCCL watchdog after a timeout, a failed assertion, or heap corruption found by glibc.", true},
	{135, 7, "SIGBUS", "Bus error", "A memory page couldn't be provided: often /dev/shm is full, or a mapped file is on a lost mount.", false},
	{136, 8, "SIGFPE", "Floating point exception", "An integer division by zero in native code.", false},
	{137, 9, "SIGKILL", "Killed", "Killed by the kernel's OOM killer, by SLURM after its grace period, or by a person. The code alone doesn't tell which.", false},
	{138, 10, "SIGUSR1", "User defined signal 1", "A warning signal (sbatch --signal) that the program didn't handle.", false},
	{139, 11, "SIGSEGV", "Segmentation fault", "Invalid memory access: a bug in native code or, if it recurs on the same node, hardware.", false},
	{140, 12, "SIGUSR2", "User defined signal 2", "A warning signal (sbatch --signal) that the program didn't handle.", false},
	{141, 13, "SIGPIPE", "Broken pipe", "Wrote to a pipe whose reader was gone: usually the reader died first.", true},
	{143, 15, "SIGTERM", "Terminated", "Asked to exit: by torchrun or SLURM after another failure, at a limit, or by a person.", true},
	{152, 24, "SIGXCPU", "CPU time limit exceeded", "The CPU time limit was reached.", false},
	{153, 25, "SIGXFSZ", "File size limit exceeded", "The file size limit was reached.", false},
}

// slurmSignals are numbers that SLURM prints after the colon and that are no signals of the operating system.
var slurmSignals = map[int]Exit{
	53:  {Signal: 53, Name: "0:53", Meaning: "SLURM couldn't open the output file or the batch script: often the log folder doesn't exist."},
	125: {Signal: 125, Name: "0:125", Meaning: "The kernel OOM-killed a process in the step (OUT_OF_MEMORY)."},
}

// ExitCodes returns the table, by code.
func ExitCodes() []Exit { return append([]Exit(nil), exits...) }

// ExitCode explains a code as shells (137), torchrun and Python (−9) print it.
func ExitCode(code int) Exit {
	if code < 0 {
		return ExitSignal(-code)
	}
	for _, e := range exits {
		if e.Code == code {
			return e
		}
	}
	if code > 128 && code <= 128+64 {
		return ExitSignal(code - 128)
	}
	return Exit{Code: code, Meaning: fmt.Sprintf("Exited with code %d, which the program defines itself.", code)}
}

// EndedItself says that a code is one with which a program ends by its own will: an exception's 1, its own sys.exit(7), exit(-1).
// 120 is Python's trouble with its last output, 125 to 127 are SLURM's and the shell's, from 128 on codes stand for signals.
func EndedItself(code int) bool { return code > 0 && code < 125 && code != 120 || code == 255 }

// ExitSignal explains the signal that ended a process.
func ExitSignal(signal int) Exit {
	for _, e := range exits {
		if e.Signal == signal && signal > 0 {
			return e
		}
	}
	return Exit{Code: 128 + signal, Signal: signal, Name: fmt.Sprintf("signal %d", signal), Meaning: fmt.Sprintf("Killed by signal %d.", signal)}
}

// SlurmExit explains SLURM's pair code:signal, as in "0:9" or "1:0". sacct up to 25.05 prints 15 where the code was 143,
// so a small code may be a signal; that is not decided here.
func SlurmExit(code, signal int) Exit {
	if e, ok := slurmSignals[signal]; ok && code == 0 {
		return e
	}
	if signal > 0 {
		return ExitSignal(signal)
	}
	return ExitCode(code)
}
