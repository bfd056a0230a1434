package severity

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// exitWords stand before the number of an exit status.
var exitWords = [][]byte{[]byte("exit code"), []byte("exitcode"), []byte("exit status"), []byte("exited with code"), []byte("exited with status"), []byte("exited with"),
	[]byte("return code"), []byte("returned code"), []byte("returned non-zero exit status"), []byte("non-zero status"), []byte("status code"), []byte("rc"), []byte("errno"),
	[]byte("terminated by signal"), []byte("killed by signal"), []byte("received signal"), []byte("caught signal"), []byte("got signal"), []byte("signal number")}

// nothings are the values by which a line says that there is no error.
var nothings = [][]byte{[]byte("none"), []byte("null"), []byte("nil"), []byte("false"), []byte("true"), []byte("no"), []byte("ok"), []byte("off"), []byte("on"), []byte("n/a"),
	[]byte("<nil>"), []byte("ignore"), []byte("raise"), []byte("warn"), []byte("[]"), []byte("{}")}

// goesOn are words, in lower case, by which a program says that it tries again or does without.
var goesOn = [][]byte{[]byte("retry"), []byte("retries"), []byte("retried"), []byte("try again"), []byte("trying again"), []byte("fall back"), []byte("falling back"), []byte("fallback"),
	[]byte("continuing"), []byte("ignored"), []byte("ignoring"), []byte("recovered"), []byte("instead"), []byte("by default"), []byte("using default"), []byte("skipping")}

// denials are words that take back the one behind them.
var denials = map[string]bool{"no": true, "0": true, "without": true, "zero": true, "not": true, "never": true, "non": true, "any": true, "if": true, "ignore": true, "ignoring": true,
	"allow": true, "max": true, "mean": true, "relative": true, "absolute": true, "squared": true, "rounding": true, "avoid": true, "prevent": true, "handle": true, "kein": true,
	"keine": true, "aucune": true, "sans": true, "sin": true, "per-token": true, "prediction": true, "validation": true, "training": true, "train": true, "test": true, "eval": true}

// troubles are words for failures, in lower case. What people say of small things as often is only a warning.
var troubles = map[string]Level{
	"fatal": Crash, "panic": Crash, "panicked": Crash, "panicking": Crash, "segfault": Crash, "segfaulted": Crash, "crashed": Crash, "crash": Crash, "coredump": Crash, "uncaught": Crash,
	"aborted": Crash, "aborting": Crash, "oom-killed": Crash, "oomkilled": Crash, "killed": Crash, "lockup": Crash, "oops": Crash, "sigsegv": Crash, "sigabrt": Crash, "sigbus": Crash,
	"sigill": Crash, "sigfpe": Crash, "sigkill": Crash, "oom-kill": Crash, "oom-killer": Crash, "deadlock": Crash, "deadlocked": Crash,
	"error": Failed, "errors": Warning, "failed": Failed, "failure": Failed, "failures": Warning, "failing": Failed, "fails": Failed, "fail": Failed, "exception": Failed, "exceptions": Failed,
	"traceback": Failed, "abort": Failed, "unable": Failed, "cannot": Failed, "couldn't": Failed, "refused": Failed, "denied": Failed, "timeout": Failed, "time-out": Failed,
	"unreachable": Failed, "unresponsive": Failed, "corrupt": Failed, "corrupted": Failed, "corruption": Failed, "mismatch": Failed, "mismatched": Failed, "mismatches": Failed,
	"broken": Failed, "uncorrectable": Failed, "illegal": Failed, "violation": Failed, "unrecoverable": Failed, "hung": Failed, "hang": Failed, "hangs": Failed, "stuck": Failed,
	"stalled": Failed, "dead": Failed, "died": Failed, "oom": Failed, "unhandled": Failed, "overrun": Failed, "exhausted": Failed, "evicted": Failed, "throttled": Warning,
	"disconnected": Failed, "vanished": Failed, "crashing": Crash, "malformed": Failed, "gave-up": Failed, "diverged": Failed, "inconsistent": Failed, "nan": Warning,
	"invalid": Warning, "missing": Warning, "lost": Warning, "unexpected": Warning, "unexpectedly": Failed, "exceeded": Warning, "exceeds": Warning, "rejected": Warning, "expired": Warning,
	"down": Warning, "offline": Warning, "bad": Warning, "wrong": Warning, "unknown": Warning, "dropped": Warning, "retry": Warning, "retrying": Warning, "truncated": Warning,
	"terminated": Warning, "terminating": Warning, "interrupted": Warning, "cancelled": Warning, "canceled": Warning, "unavailable": Warning, "unsupported": Warning, "incompatible": Warning,
	"degraded": Warning, "overflow": Warning, "underflow": Warning, "skipped": Warning, "warning": Warning, "slow": Warning, "stale": Warning, "late": Warning, "blocked": Warning,
	"disabled": Calm, "faulty": Failed, "fault": Failed, "faulted": Failed, "wedged": Failed, "unrecognized": Warning, "insufficient": Failed, "overheated": Failed, "shutdown": Warning,
	"out-of-memory": Crash, "starved": Warning, "disappeared": Failed, "quit": Warning, "desync": Failed, "desynchronized": Failed, "diverging": Warning, "unfinished": Warning,
	// Other languages, the words that loggers and tools there print.
	"erreur": Failed, "erreurs": Failed, "échec": Failed, "échoué": Failed, "fehler": Failed, "fehlgeschlagen": Failed, "abgestürzt": Crash, "abgebrochen": Failed, "fallo": Failed,
	"falló": Failed, "errore": Failed, "fallito": Failed, "impossibile": Failed, "erro": Failed, "falha": Failed, "falhou": Failed, "błąd": Failed, "chyba": Failed, "selhalo": Failed,
	"fout": Failed, "mislukt": Failed, "misslyckades": Failed, "hata": Failed, "ошибка": Failed, "Ошибка": Failed, "сбой": Failed, "помилка": Failed, "lỗi": Failed, "feil": Failed, "fejl": Failed,
}

// phraseList are phrases for failures, in lower case; those of the C library are in catalogued, with their translations.
var phraseList = map[Level][]string{
	Crash: {"core dumped", "dumped core", "segmentation violation", "terminate called", "unhandled exception", "uncaught exception", "assertion failed", "assertion `", "assertion '",
		"assert failed", "check failed:", "fatal error", "internal compiler error", "stack smashing detected", "double free", "corrupted size", "free(): invalid", "malloc(): ", "munmap_chunk(): ",
		"buffer overflow detected", "out of memory", "out-of-memory", "memory exhausted", "stack overflow", "kernel panic", "bug: unable to handle", "general protection fault",
		"machine check", "hardware error", "watchdog: bug", "soft lockup", "hard lockup", "hung_task", "blocked for more than", "call trace:", "process received signal", "caught signal",
		"fell off the bus", "thread panicked", "unreachable code", "goroutine 1 [", "exception in thread", "abnormal termination", "abnormally", "exited unexpectedly", "died unexpectedly",
		"ended unexpectedly", "was killed", "has been killed", "invoked oom-killer", "killed process", "pure virtual method called", "undefined behavior", "addresssanitizer", "threadsanitizer",
		"memorysanitizer", "heap-use-after-free", "access violation", "is out of bounds", "invalid __global__", "invalid __shared__", "invalid __local__", "misaligned address",
		"forrtl: severe", "fortran runtime error", "error stop", "mpi_abort", "caught exception", "致命错误", "致命的", "核心已转储", "吐核", "コアダンプ", "치명적",
		"core généré", "speicherabzug", "volcado", "core créé", "зрут пам", "образ памяти сброшен"},
	Warning: {"must be", "no longer", "waited for", "still waiting", "did not", "does not", "was not", "were not", "not found"},
	Failed: {"could not", "couldn’t", "can't", "can not", "timed out", "times out", "gave up", "giving up", "no such", "not responding", "did not respond", "does not respond", "no response",
		"not available", "not enough", "not permitted", "is closed", "was closed by", "closed by peer", "closed by remote", "went away", "gone away", "lost contact", "lost connection",
		"connection lost", "link down", "link is down", "no heartbeat", "heartbeat missed", "missed heartbeat", "missed heartbeats", "unexpected end", "unexpected eof", "premature end", "end of file",
		"wrong size", "different size", "size mismatch", "does not match", "do not match", "don't match", "not equal", "never joined", "never arrived", "no progress", "not making progress",
		"out of range", "out of bounds", "out of space", "out of disk", "disk full", "quota exceeded", "too many", "limit exceeded", "exceeds the limit", "deadline exceeded",
		"bad magic", "bad checksum", "checksum error", "crc error", "parity error", "ecc error", "i/o error", "device error", "medium error", "remote side", "went down",
		"has failed", "have failed", "unable to", "stopped responding", "is not alive", "not alive", "is dead", "node lost", "became unhealthy", "unhealthy", "stack trace", "stacktrace",
		"错误", "失败", "异常", "无法", "超时", "エラー", "失敗", "異常", "タイムアウト", "できません", "오류", "실패", "시간 초과", "délai dépassé", "zeitüberschreitung", "tiempo de espera", "не удалось", "тайм-аут",
		"no se pudo", "não foi possível", "konnte nicht", "nicht möglich", "n'a pas pu", "nie powiodło", "kan niet", "nelze", "başarısız"},
}

// signals end processes of themselves: whoever prints one of their names speaks of a crash. SIGTERM and SIGINT ask; they do not crash.
var signals = map[string]bool{"SIGSEGV": true, "SIGABRT": true, "SIGBUS": true, "SIGILL": true, "SIGFPE": true, "SIGKILL": true, "SIGSYS": true, "SIGXCPU": true, "SIGXFSZ": true}

// numbers are the names of the operating system's errors that mean trouble by themselves.
var numbers = map[string]bool{"EIO": true, "ENOSPC": true, "ENOMEM": true, "EMFILE": true, "ENFILE": true, "EROFS": true, "ESTALE": true, "ETIMEDOUT": true, "ECONNRESET": true,
	"ECONNREFUSED": true, "ECONNABORTED": true, "EHOSTUNREACH": true, "ENETUNREACH": true, "EDQUOT": true, "EREMOTEIO": true, "EACCES": true, "EPERM": true, "EPIPE": true,
	"ENOTCONN": true, "ESHUTDOWN": true, "ENOLCK": true, "EADDRINUSE": true}

// exceptionEnds end the names of exceptions' types in most languages.
var exceptionEnds = [][]byte{[]byte("Error"), []byte("Exception"), []byte("Fault"), []byte("Failure"), []byte("Interrupt")}

// text is one phrase.
type text struct {
	Level
	text []byte
	of   string // the C library's message that it translates, "" where it is none
}

func (t text) why(printed []byte) string {
	why := "says “" + string(printed) + "”"
	if t.of != "" {
		why += ", which is “" + t.of + "”"
	}
	return why
}

// index finds phrases by their first four bytes.
type index struct {
	any [1 << 12 / 64]uint64
	by  map[uint32][]text
}

var phrases = sync.OnceValue(func() *index {
	ix := &index{by: map[uint32][]text{}}
	add := func(t text) {
		k := key(t.text)
		ix.any[k>>6] |= 1 << (k & 63)
		ix.by[k] = append(ix.by[k], t)
	}
	for level, list := range phraseList {
		for _, p := range list {
			add(text{level, []byte(p), ""})
		}
	}
	for _, c := range catalogued {
		add(text{c.level, lower([]byte(c.message)), ""})
		for _, t := range c.texts {
			add(text{c.level, []byte(t), c.message})
		}
	}
	for _, list := range ix.by { // the longest phrase says most
		slices.SortFunc(list, func(a, b text) int {
			return cmp.Or(cmp.Compare(len(b.text), len(a.text)), bytes.Compare(a.text, b.text))
		})
	}
	return ix
})
