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
	{0, 0, "", "", "Ended in order.", false},
	{1, 0, "", "", "A Python exception, or torchrun passing on that one of its processes failed.", false},
	{2, 0, "", "", "Wrong arguments (argparse), or a shell that was misused.", false},
	{120, 0, "", "", "Python could not flush its output at the end: the file system or the reader of a pipe was gone.", false},
	{125, 0, "", "", "SLURM's mark for a step in which the kernel killed a process for memory (printed as 0:125).", false},
	{126, 0, "", "", "The command was found but cannot be executed.", false},
	{127, 0, "", "", "The command, or a library that it needs to start, was not found.", false},
	{129, 1, "SIGHUP", "Hangup", "The terminal or session that started it went away.", false},
	{130, 2, "SIGINT", "Interrupt", "Interrupted, as by Ctrl-C; launchers pass it on.", true},
	{131, 3, "SIGQUIT", "Quit", "Asked to end with a core dump.", false},
	{132, 4, "SIGILL", "Illegal instruction", "The program was built for another processor, or jumped into data.", false},
	{134, 6, "SIGABRT", "Aborted", "Ended itself: NCCL's watchdog after a timeout, a failed assertion, or a damaged heap found by glibc.", true},
	{135, 7, "SIGBUS", "Bus error", "Memory could not be provided: often a full /dev/shm, or a mapped file on a lost mount.", false},
	{136, 8, "SIGFPE", "Floating point exception", "An integer division by zero in native code.", false},
	{137, 9, "SIGKILL", "Killed", "Killed at once: by the kernel for memory, by SLURM after its grace period, or by a person. Alone it proves none of them.", false},
	{138, 10, "SIGUSR1", "User defined signal 1", "A warning signal (sbatch --signal) that nothing caught.", false},
	{139, 11, "SIGSEGV", "Segmentation fault", "Touched memory that is not its own: a bug in native code or, if the same node repeats, hardware.", false},
	{140, 12, "SIGUSR2", "User defined signal 2", "A warning signal (sbatch --signal) that nothing caught.", false},
	{141, 13, "SIGPIPE", "Broken pipe", "Wrote to a pipe whose reader was gone: usually the reader died first.", true},
	{143, 15, "SIGTERM", "Terminated", "Asked to end: by torchrun or SLURM after another failure, at a limit, or by a person.", true},
	{152, 24, "SIGXCPU", "CPU time limit exceeded", "The limit of processor time was reached.", false},
	{153, 25, "SIGXFSZ", "File size limit exceeded", "The limit of file size was reached.", false},
}

// slurmSignals are numbers that SLURM prints after the colon and that are no signals of the operating system.
var slurmSignals = map[int]Exit{
	53:  {Signal: 53, Name: "0:53", Meaning: "SLURM could not open the output file or the batch script: often a log folder that does not exist."},
	125: {Signal: 125, Name: "0:125", Meaning: "The kernel killed a process of the step for memory (OUT_OF_MEMORY)."},
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
	return Exit{Code: code, Meaning: fmt.Sprintf("Ended with code %d, whose meaning is the program's own.", code)}
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
	return Exit{Code: 128 + signal, Signal: signal, Name: fmt.Sprintf("signal %d", signal), Meaning: fmt.Sprintf("Ended by signal %d.", signal)}
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
