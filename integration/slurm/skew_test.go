//go:build realslurm && amd64

package slurm

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// skewBy is the variable that makes this test's binary run its arguments with a clock that is so many seconds ahead.
const skewBy = "FAULTLINE_TEST_SKEW"

func TestMain(m *testing.M) {
	if s := os.Getenv(skewBy); s != "" {
		ahead, err := strconv.ParseInt(s, 10, 64)
		if err == nil {
			var code int
			if code, err = skewed(ahead, os.Args[1:]); err == nil {
				os.Exit(code)
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// skewed runs a program that asks the kernel for the time and is told another. A time namespace does not move the clock of the day, and
// a static binary takes no library in front of it; so each answer is changed as a debugger would.
func skewed(ahead int64, args []string) (int, error) {
	runtime.LockOSThread() // all of ptrace is of one thread
	_ = os.Unsetenv(skewBy)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		return 0, fmt.Errorf("waiting for %s: %w", args[0], err)
	}
	if err := withoutVDSO(pid); err != nil {
		return 0, err
	}
	const endWithUs = 0x100000 // PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|endWithUs); err != nil {
		return 0, fmt.Errorf("tracing: %w", err)
	}
	at, deliver := pid, 0
	for {
		_ = syscall.PtraceSyscall(at, deliver) // the thread may have ended
		var err error
		if at, err = syscall.Wait4(-1, &ws, syscall.WALL, nil); err != nil {
			return 0, fmt.Errorf("waiting: %w", err)
		}
		deliver = 0
		switch {
		case at == pid && ws.Exited():
			return ws.ExitStatus(), nil
		case at == pid && ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case !ws.Stopped() || ws.StopSignal() == syscall.SIGTRAP || ws.StopSignal() == syscall.SIGSTOP:
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			move(at, ahead)
		default:
			deliver = int(ws.StopSignal())
		}
	}
}

// move changes the answer to clock_gettime(CLOCK_REALTIME).
func move(tid int, ahead int64) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(tid, &r) != nil || r.Orig_rax != syscall.SYS_CLOCK_GETTIME || r.Rdi != 0 || r.Rax != 0 {
		return
	}
	word := make([]byte, 8)
	if _, err := syscall.PtracePeekData(tid, uintptr(r.Rsi), word); err != nil {
		return
	}
	binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)+uint64(ahead))
	_, _ = syscall.PtracePokeData(tid, uintptr(r.Rsi), word)
}

// withoutVDSO hides the kernel's page that answers without a call. The stack of a program that starts holds its arguments, its
// environment and the auxiliary vector, each behind a zero (System V ABI, AMD64 supplement, 3.4.1).
func withoutVDSO(pid int) error {
	const ignore, vdso = 1, 33 // AT_IGNORE, AT_SYSINFO_EHDR
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &r); err != nil {
		return fmt.Errorf("reading registers: %w", err)
	}
	word := make([]byte, 8)
	peek := func(at uintptr) (uint64, error) {
		_, err := syscall.PtracePeekData(pid, at, word)
		return binary.LittleEndian.Uint64(word), err
	}
	at := uintptr(r.Rsp) + 8
	for range 2 { // behind the arguments, behind the environment
		for {
			v, err := peek(at)
			if err != nil {
				return fmt.Errorf("reading the stack: %w", err)
			}
			if at += 8; v == 0 {
				break
			}
		}
	}
	for ; ; at += 16 {
		v, err := peek(at)
		if err != nil || v == 0 {
			return fmt.Errorf("the kernel tells of no page that answers without a call: %w", err)
		}
		if v == vdso {
			binary.LittleEndian.PutUint64(word, ignore)
			_, err := syscall.PtracePokeData(pid, at, word)
			return err
		}
	}
}
