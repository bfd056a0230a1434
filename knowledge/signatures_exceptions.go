package knowledge

import (
	"maps"
	"slices"
	"strings"
)

// exceptionMeanings explains Python exceptions whose text no signature knows: they are the job's own code speaking.
var exceptionMeanings = map[string]string{
	"AssertionError":      "A check in the program failed.",
	"AttributeError":      "The program used an attribute that an object doesn't have: often a different version of a library.",
	"ChildFailedError":    "The launcher reports that a process failed; that process's own lines show why.",
	"ConnectionError":     "A connection to a server failed.",
	"DistBackendError":    "The communication library gave up; usually because another rank failed.",
	"DistNetworkError":    "The connection to the job's rendezvous store failed.",
	"DistStoreError":      "The job's rendezvous store did not respond in time.",
	"EOFError":            "A file or connection ended too early.",
	"Empty":               "A queue stayed empty for as long as the program waited: what fills it delivered nothing.",
	"FileNotFoundError":   "A file or directory that the program needs does not exist.",
	"FloatingPointError":  "A number became infinite or undefined.",
	"Full":                "A queue stayed full for as long as the program waited: what empties it took nothing.",
	"IndexError":          "The program read past the end of a list.",
	"KeyError":            "The program looked for an entry that doesn't exist: a setting, a column, a parameter.",
	"KeyboardInterrupt":   "The process was interrupted, by a person or by the launcher's cleanup.",
	"MemoryError":         "The program could not get host memory.",
	"ModuleNotFoundError": "A Python package is missing.",
	"NotImplementedError": "The program or library doesn't support the requested feature.",
	"OSError":             "The operating system refused something: a file, a connection or a resource.",
	"PermissionError":     "The job's user has no permission to read or write a path.",
	"RecursionError":      "The program recursed without end.",
	"RuntimeError":        "The program or a library could not continue; the message says why.",
	"SignalException":     "The launcher was told to stop.",
	"StopIteration":       "A data source ended when the program expected more.",
	"TimeoutError":        "Something did not respond in time.",
	"TypeError":           "The program passed a value of the wrong type, often because of a different library version.",
	"UnboundLocalError":   "The program used a variable before it had a value.",
	"ValueError":          "The program got a value it can't use.",
	"ZeroDivisionError":   "The program divided by zero.",
}

// ExceptionMeaning explains a Python exception type as printed ("torch.distributed.DistBackendError"); "" if the type is
// the program's own.
func ExceptionMeaning(typ string) string {
	return exceptionMeanings[typ[strings.LastIndexByte(typ, '.')+1:]]
}

// ExceptionTypes are the types that ExceptionMeaning knows, sorted.
func ExceptionTypes() []string { return slices.Sorted(maps.Keys(exceptionMeanings)) }
