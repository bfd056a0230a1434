package knowledge

// Errno is one error number of the operating system, as Python prints it: [Errno 28].
type Errno struct {
	Number    int
	Name      string // "ENOSPC"
	Text      string // as glibc prints it: "No space left on device"
	Meaning   string // one sentence for people
	Role      Role
	Mechanism Slug   // slug this number speaks for, or ""
	Check     string // what to look at first where no mechanism says it; a second line is a command
}

// ErrnoSource is where the numbers and texts come from.
const ErrnoSource = "Linux errno(3), numbers of x86-64 and arm64"

// errnos holds those that end training jobs, in order. A number alone never proves whose fault it is: the call that failed,
// and the path or address in its line, do.
var errnos = []Errno{
	{1, "EPERM", "Operation not permitted", "The operating system doesn't allow the job's user to do this.", SymptomRole, "", "Check the path or device in the line, and who may use it."},
	{2, "ENOENT", "No such file or directory", "A file or folder does not exist, or its file system is not mounted on this node.", SymptomRole, "", "Look for the path on the failed node and on another one: if only one has it, suspect a mount."},
	{4, "EINTR", "Interrupted system call", "A signal arrived during the call: something else stopped the process.", ConsequenceRole, "", "Look for the signal."},
	{5, "EIO", "Input/output error", "Storage (or a device) returned an error for a read or write.", CauseRole, StorageUnresponsive, ""},
	{11, "EAGAIN", "Resource temporarily unavailable", "A process or thread limit was reached, or a non-blocking call would have had to wait.", SymptomRole, ResourceLimit, ""},
	{12, "ENOMEM", "Cannot allocate memory", "Out of host memory, or over the limit for memory locked for the network card.", SymptomRole, "", "Which call failed? For ibv_reg_mr, check the locked-memory limit (ulimit -l); otherwise, host memory and the job's cgroup.\nulimit -l; free -g"},
	{13, "EACCES", "Permission denied", "The job's user has no permission for this file.", SymptomRole, "", "Compare the owner and mode of the path with the job's user.\nls -ld PATH; id"},
	{17, "EEXIST", "File exists", "The file or folder already exists: often several ranks create it at once.", SymptomRole, "", "Let one rank create it and have the rest wait."},
	{20, "ENOTDIR", "Not a directory", "Part of the path is a file.", SymptomRole, "", "Check the path in the line."},
	{22, "EINVAL", "Invalid argument", "A call was given an invalid value.", SymptomRole, "", "Check which call failed; the error alone says little."},
	{23, "ENFILE", "Too many open files in system", "The node, not the process, has run out of file handles.", CauseRole, ResourceLimit, ""},
	{24, "EMFILE", "Too many open files", "The process has hit its limit of open files and connections.", CauseRole, ResourceLimit, ""},
	{27, "EFBIG", "File too large", "The file would exceed a file-system or process limit.", SymptomRole, "", "Compare with the process and file-system limits.\nulimit -f"},
	{28, "ENOSPC", "No space left on device", "The file system is out of space or inodes.", CauseRole, StorageFull, ""},
	{30, "EROFS", "Read-only file system", "The path is read-only: mounted that way, or remounted by the kernel after a disk error.", SymptomRole, "", "Check how it is mounted, and why.\nmount | grep PATH; dmesg -T | grep -iE 'remount|I/O error'"},
	{32, "EPIPE", "Broken pipe", "The process wrote to a pipe or connection that was already closed.", ConsequenceRole, "", "Check the other end: what was reading from it, and why did it exit first?"},
	{37, "ENOLCK", "No locks available", "The file system couldn't grant a lock: its lock service isn't responding, or it is mounted without one.", CauseRole, StorageUnresponsive, ""},
	{97, "EAFNOSUPPORT", "Address family not supported by protocol", "An IPv6 address was tried on a host without IPv6; harmless if the connection then succeeds.", NoiseRole, "", "Nothing, as long as the job continues."},
	{98, "EADDRINUSE", "Address already in use", "Another process is using this port: an earlier run that is still alive, or another job on the node.", CauseRole, ConfigError, ""},
	{99, "EADDRNOTAVAIL", "Cannot assign requested address", "The address doesn't belong to this node, or its ports are exhausted.", SymptomRole, InitUnreachable, ""},
	{101, "ENETUNREACH", "Network is unreachable", "The node has no route to that address.", SymptomRole, InitUnreachable, ""},
	{103, "ECONNABORTED", "Software caused connection abort", "The local side aborted the connection.", SymptomRole, PeerLost, ""},
	{104, "ECONNRESET", "Connection reset by peer", "The other side closed the connection: it exited, restarted, or dropped an idle connection; harmless if it happens once and the retry succeeds.", SymptomRole, PeerLost, ""},
	{107, "ENOTCONN", "Transport endpoint is not connected", "A mounted file system lost its server or client process; on a socket, the connection is gone.", SymptomRole, StorageUnresponsive, ""},
	{108, "ESHUTDOWN", "Cannot send after transport endpoint shutdown", "The file system's client was cut off by its server (Lustre eviction).", CauseRole, StorageUnresponsive, ""},
	{110, "ETIMEDOUT", "Connection timed out", "The other side didn't respond: it is gone or overloaded, or something in between drops packets.", SymptomRole, "", "Check the host at the address in the line. Before the first step, see init-unreachable; for a store, storage-retries-exhausted."},
	{111, "ECONNREFUSED", "Connection refused", "Nothing is listening at that address and port: not started yet, already exited, or the wrong address.", SymptomRole, "", "Is the process at the address in the line alive? Before the first step, see init-unreachable."},
	{113, "EHOSTUNREACH", "No route to host", "The node at that address is down, or a firewall rejects the connection.", SymptomRole, InitUnreachable, ""},
	{116, "ESTALE", "Stale file handle", "An open file's handle is no longer valid on the network file system: the file was removed or replaced, or the server restarted.", CauseRole, StorageUnresponsive, ""},
	{121, "EREMOTEIO", "Remote I/O error", "The device or server at the other end returned an error.", SymptomRole, "", "Read the node's kernel log for that time.\nssh NODE 'dmesg -T | tail -50'"},
	{122, "EDQUOT", "Disk quota exceeded", "The user's or project's quota on the file system is used up.", CauseRole, StorageFull, ""},
	{125, "ECANCELED", "Operation canceled", "The caller cancelled the operation.", ConsequenceRole, "", "Look for what exited or failed before it."},
}

// Errnos returns the table, by number.
func Errnos() []Errno { return append([]Errno(nil), errnos...) }

// ErrnoByNumber finds one number.
func ErrnoByNumber(n int) (Errno, bool) {
	for _, e := range errnos {
		if e.Number == n {
			return e, true
		}
	}
	return Errno{}, false
}
