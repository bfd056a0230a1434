package knowledge

import "strings"

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
	{1, "EPERM", "Operation not permitted", "The operating system forbids this to the job's user.", SymptomRole, "", "Look at the path or device in the line, and who may use it."},
	{2, "ENOENT", "No such file or directory", "A file or folder does not exist, or its file system is not mounted on this node.", SymptomRole, "", "Look for the path on the node that failed and on another one: there on one only means a mount."},
	{4, "EINTR", "Interrupted system call", "A signal arrived while the call waited: something else stopped the process.", ConsequenceRole, "", "Look for the signal."},
	{5, "EIO", "Input/output error", "The storage (or a device) returned an error for a read or write.", CauseRole, StorageUnresponsive, ""},
	{11, "EAGAIN", "Resource temporarily unavailable", "A limit of processes or threads was reached, or a call would have had to wait.", SymptomRole, ResourceLimit, ""},
	{12, "ENOMEM", "Cannot allocate memory", "Memory could not be had: of the host, or the limit of memory that may be locked for the network card.", SymptomRole, "", "Which call failed? ibv_reg_mr: the limit of locked memory (ulimit -l). Anything else: the memory of the host and of the job's cgroup.\nulimit -l; free -g"},
	{13, "EACCES", "Permission denied", "The job's user may not use this file.", SymptomRole, "", "Compare the owner and mode of the path with the job's user.\nls -ld PATH; id"},
	{17, "EEXIST", "File exists", "Something to be created is there already: often several ranks that create the same folder or file at once.", SymptomRole, "", "Let one rank create it, and the others wait."},
	{20, "ENOTDIR", "Not a directory", "A part of the path is a file.", SymptomRole, "", "Read the path in the line."},
	{22, "EINVAL", "Invalid argument", "A call got a value it cannot use.", SymptomRole, "", "The call in the line decides; alone it says little."},
	{23, "ENFILE", "Too many open files in system", "The node, not the process, has no more room for open files.", CauseRole, ResourceLimit, ""},
	{24, "EMFILE", "Too many open files", "The process may not open another file or connection.", CauseRole, ResourceLimit, ""},
	{27, "EFBIG", "File too large", "The file would exceed a limit of the file system or of the process.", SymptomRole, "", "Compare with the limits of the process and of the file system.\nulimit -f"},
	{28, "ENOSPC", "No space left on device", "The file system is full: of bytes, or of files (inodes).", CauseRole, StorageFull, ""},
	{30, "EROFS", "Read-only file system", "The path cannot be written: mounted so, or the kernel did so after an error of the disk.", SymptomRole, "", "Look how it is mounted, and why.\nmount | grep PATH; dmesg -T | grep -iE 'remount|I/O error'"},
	{32, "EPIPE", "Broken pipe", "The process wrote to something that was already gone.", ConsequenceRole, "", "Follow the other end: what read from the pipe or connection, and why did it end first?"},
	{37, "ENOLCK", "No locks available", "The file system could not give a lock: its lock service does not answer, or it is mounted without one.", CauseRole, StorageUnresponsive, ""},
	{97, "EAFNOSUPPORT", "Address family not supported by protocol", "An IPv6 address was tried where there is no IPv6; alone and followed by success it is noise.", NoiseRole, "", "Nothing, as long as the job goes on."},
	{98, "EADDRINUSE", "Address already in use", "Another process has this port: an earlier run that still lives, or another job on the node.", CauseRole, ConfigError, ""},
	{99, "EADDRNOTAVAIL", "Cannot assign requested address", "The address does not belong to this node, or its ports are used up.", SymptomRole, InitUnreachable, ""},
	{101, "ENETUNREACH", "Network is unreachable", "The node knows no way to that address.", SymptomRole, InitUnreachable, ""},
	{103, "ECONNABORTED", "Software caused connection abort", "The connection was given up on this side.", SymptomRole, PeerLost, ""},
	{104, "ECONNRESET", "Connection reset by peer", "The other side closed the connection: it ended, restarted, or dropped an idle one; alone and retried it is noise.", SymptomRole, PeerLost, ""},
	{107, "ENOTCONN", "Transport endpoint is not connected", "A mounted file system lost its server or its client process; on a socket: the connection is gone.", SymptomRole, StorageUnresponsive, ""},
	{108, "ESHUTDOWN", "Cannot send after transport endpoint shutdown", "The file system's client was cut off by its server (Lustre eviction).", CauseRole, StorageUnresponsive, ""},
	{110, "ETIMEDOUT", "Connection timed out", "The other side did not answer: it is gone, overloaded, or something on the way drops packets.", SymptomRole, "", "The address in the line names the other side. Before the first step see init-unreachable; of a store, storage-retries-exhausted."},
	{111, "ECONNREFUSED", "Connection refused", "Nothing listens at that address and port: not started yet, already ended, or the wrong address.", SymptomRole, "", "The address in the line names the other side: does its process live? Before the first step see init-unreachable."},
	{113, "EHOSTUNREACH", "No route to host", "The node of that address is down, or a firewall refuses.", SymptomRole, InitUnreachable, ""},
	{116, "ESTALE", "Stale file handle", "The network file system forgot a file that was open: removed, replaced, or the server restarted.", CauseRole, StorageUnresponsive, ""},
	{121, "EREMOTEIO", "Remote I/O error", "The device or server at the other end returned an error.", SymptomRole, "", "Read the kernel log of the node at that time.\nssh NODE 'dmesg -T | tail -50'"},
	{122, "EDQUOT", "Disk quota exceeded", "The user's or project's share of the file system is used up.", CauseRole, StorageFull, ""},
	{125, "ECANCELED", "Operation canceled", "The caller gave the operation up.", ConsequenceRole, "", "Look for what ended before."},
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

// ErrnoByName finds "ENOSPC", in any case.
func ErrnoByName(name string) (Errno, bool) {
	for _, e := range errnos {
		if strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return Errno{}, false
}
