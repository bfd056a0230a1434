package knowledge

import (
	"maps"
	"slices"
	"strings"
)

// exceptionMeanings explains Python exceptions whose text no signature knows: they are the job's own code speaking.
var exceptionMeanings = map[string]string{
	"AssertionError":      "A check in the program failed.",
	"AttributeError":      "The program asked an object for something it does not have: often another version of a library.",
	"ChildFailedError":    "The launcher reports that a process failed; that process's own lines say why.",
	"ConnectionError":     "A connection to a server failed.",
	"DistBackendError":    "The communication library gave up; mostly the echo of a failure on another rank.",
	"DistNetworkError":    "The connection to the job's meeting point failed.",
	"DistStoreError":      "The job's meeting point (the store) did not answer in time.",
	"EOFError":            "A file or connection ended too early.",
	"FileNotFoundError":   "A file or directory that the program needs does not exist.",
	"FloatingPointError":  "A number became infinite or undefined.",
	"IndexError":          "The program reached past the end of a list.",
	"KeyError":            "The program looked for an entry that is not there: a setting, a column, a parameter.",
	"KeyboardInterrupt":   "The process was interrupted, by a person or by the launcher's cleaning up.",
	"MemoryError":         "The program could not get host memory.",
	"ModuleNotFoundError": "A Python package is missing.",
	"NotImplementedError": "The program or library does not support what was asked for.",
	"OSError":             "The operating system refused something: a file, a connection, a limit.",
	"PermissionError":     "The job's user may not read or write a path.",
	"RecursionError":      "The program called itself without end.",
	"RuntimeError":        "The program or a library could not go on; the text says why.",
	"SignalException":     "The launcher was told to stop.",
	"StopIteration":       "A source of data ended where more was expected.",
	"TimeoutError":        "Something did not answer in time.",
	"TypeError":           "The program passed a value of the wrong type, often because a library's version differs.",
	"UnboundLocalError":   "The program used a variable before it had a value.",
	"ValueError":          "The program met a value it cannot use.",
	"ZeroDivisionError":   "The program divided by zero.",
}

// ExceptionMeaning explains a Python exception type as printed ("torch.distributed.DistBackendError"); "" if the type is
// the program's own.
func ExceptionMeaning(typ string) string {
	return exceptionMeanings[typ[strings.LastIndexByte(typ, '.')+1:]]
}

// ExceptionTypes are the types that ExceptionMeaning knows, sorted.
func ExceptionTypes() []string { return slices.Sorted(maps.Keys(exceptionMeanings)) }
