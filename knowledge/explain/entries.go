package explain

import (
	"fmt"
	"slices"
	"strings"

	"faultline/knowledge"
)

// Where facts come from that have no source of their own.
const (
	taxonomySource  = "Faultline's taxonomy of ways to fail"
	glossarySource  = "Faultline's glossary"
	exceptionSource = "CPython and PyTorch, exception types"
	exitSource      = "Linux signal(7); SLURM 22.05 and 24.11, observed"
)

func ofMechanism(m knowledge.Mechanism) Entry {
	e := Entry{Kind: Mechanism, ID: string(m.Slug), Title: m.Title, Meaning: m.Meaning, Role: knowledge.CauseRole, Mechanism: m.Slug, Source: taxonomySource}
	switch m.Slug {
	case knowledge.PeerLost:
		e.Role = knowledge.SymptomRole
	case knowledge.Completed, knowledge.Unknown:
		e.Role = ""
	}
	return e
}

func ofLine(s knowledge.Signature, fields map[string]string) Entry {
	e := Entry{Kind: Line, ID: string(s.ID), Title: strings.TrimSpace(s.Literals[0]), Meaning: s.Meaning, Role: s.Role, Direct: s.Direct, Mechanism: s.Mechanism, Source: s.Source,
		Example: s.Example, Fields: fields, Owner: s.Owner}
	if s.Site != "" {
		e.Source = s.Where()
	}
	e.Check = checkOf(&s, fields)
	if m, ok := knowledge.MechanismBySlug(s.Mechanism); ok && s.Role != knowledge.NoiseRole && s.Role != knowledge.InfoRole {
		e.Title = m.Title
	} else if len(s.Literals[0]) < 24 {
		e.Title = strings.TrimSpace(s.Example)
	}
	return e
}

// checkOf is the first advice of an entry, with what its line captures; "" where it has none.
func checkOf(s *knowledge.Signature, fields map[string]string) string {
	if len(s.Do) == 0 {
		return ""
	}
	a := s.Do[0].Fill(knowledge.WithCaptures(map[string]string{}, fields))
	return strings.TrimSpace(a.Text + "\n" + a.Command)
}

func ofMessage(m knowledge.Message) Entry {
	e := Entry{Kind: Line, ID: string(m.ID), Title: strings.TrimSpace(m.Literals[0]), Meaning: m.Meaning, Role: m.Role, Mechanism: m.Mechanism, Cause: m.Cause, Check: m.Check,
		Collect: m.Collect, Source: m.Source, Example: m.Example}
	if len(e.Title) < 30 {
		e.Title = strings.TrimSpace(m.Example)
	}
	return e
}

// echoes are exceptions that something else explains, as a rule.
var echoes = []string{"ChildFailedError", "DistBackendError", "DistNetworkError", "DistStoreError", "KeyboardInterrupt", "SignalException"}

func ofException(typ string) Entry {
	name := typ[strings.LastIndexByte(typ, '.')+1:]
	e := Entry{Kind: Exception, ID: name, Title: name, Meaning: knowledge.ExceptionMeaning(name), Role: knowledge.CauseRole, Mechanism: knowledge.Exception, Source: exceptionSource,
		Check: "The last lines of its traceback show the file and line; the lines above show what the program was doing. If several ranks have one, the earliest counts."}
	if slices.Contains(echoes, name) {
		e.Role, e.Mechanism = knowledge.ConsequenceRole, ""
		e.Check = "Earlier lines on all ranks: find the first error that isn't a lost connection or the launcher's summary."
	}
	return e
}

func ofExit(x knowledge.Exit) Entry {
	e := Entry{Kind: Exit, ID: fmt.Sprintf("exit code %d", x.Code), Title: fmt.Sprintf("exit code %d", x.Code), Meaning: x.Meaning, Role: knowledge.SymptomRole, Source: exitSource}
	switch {
	case strings.HasPrefix(x.Name, "0:"):
		e.ID, e.Title, e.Role = x.Name, "SLURM exit "+x.Name, knowledge.CauseRole
	case x.Signal > 0 && strings.HasPrefix(x.Name, "SIG"):
		e.ID = x.Name
		e.Title = fmt.Sprintf("%s: signal %d, exit code %d or −%d, SLURM 0:%d", x.Name, x.Signal, x.Code, x.Signal, x.Signal)
	}
	if x.Consequence {
		e.Role = knowledge.ConsequenceRole
	}
	e.Mechanism, e.Check = exitDetails(x)
	if x.Code == 0 && x.Signal == 0 {
		e.Role = knowledge.NoiseRole
	}
	return e
}

func ofSlurmExit(code, signal int) Entry { return ofExit(knowledge.SlurmExit(code, signal)) }

// exitDetails says what an ending may speak for, and what to look at first. An ending alone decides nothing, so only
// SLURM's own marks have a mechanism.
func exitDetails(x knowledge.Exit) (mechanism knowledge.Slug, check string) {
	const earlier = "Earlier lines on all ranks: the first error is the failure; this only ends it."
	switch {
	case x.Name == "0:53":
		return knowledge.SchedulerError, "The folders in --output and --error: they must exist and be writable on every node."
	case x.Name == "0:125" || x.Code == 125:
		return knowledge.HostOOM, "Ask SLURM how much memory was used and requested.\nsacct -D -P -j JOB -o JobID,State,ExitCode,MaxRSS,ReqMem,NodeList"
	}
	switch x.Signal {
	case 0:
		switch x.Code {
		case 0:
			return "", ""
		case 1:
			return "", "The last traceback above it; under torchrun, the block for the failed process."
		case 2:
			return "", "The usage message above it."
		case 120:
			return "", "Is its output folder full or gone?\ndf -h PATH"
		case 126, 127:
			return "", "Look for the path in the line above it, on the failed node.\nls -l PATH; ldd PATH"
		}
		return "", "The program's documentation, and its last output."
	case 7:
		return "", "Is shared memory full on the node, or is the file system with a mapped file gone?\nssh NODE df -h /dev/shm"
	case 9:
		return "", "Was it out of memory? Then the kernel logs “Killed process” and SLURM shows OUT_OF_MEMORY or 0:125. If neither, it was SLURM itself, a launcher, or a person.\nssh NODE \"dmesg -T | grep -iE 'killed process|oom'\"; sacct -D -P -j JOB -o JobID,State,ExitCode,DerivedExitCode"
	case 4, 8, 11:
		return "", "Does it recur on the same node? Set PYTHONFAULTHANDLER=1 to print the stack next time.\nssh NODE coredumpctl info"
	}
	return "", earlier
}

func ofXid(x knowledge.Xid) Entry {
	return Entry{Kind: Xid, ID: fmt.Sprintf("Xid %d", x.Number), Title: fmt.Sprintf("Xid %d: %s", x.Number, x.Name), Meaning: x.Meaning, Role: x.Role, Direct: settles(x.Number), Mechanism: x.Mechanism, Check: x.Check, Action: x.Advises(), Source: knowledge.XidSource}
}

// settles says whether the signature of an Xid's kernel line is direct.
func settles(xid int) bool {
	for _, id := range knowledge.Whole().Match(nil, fmt.Appendf(nil, "NVRM: Xid (PCI:0000:00:00): %d,", xid)) {
		if s, _ := knowledge.Whole().Lookup(id); s.Direct {
			return true
		}
	}
	return false
}

func ofErrno(n knowledge.Errno) Entry {
	return Entry{Kind: Errno, ID: fmt.Sprintf("errno %d", n.Number), Title: fmt.Sprintf("errno %d, %s: %s", n.Number, n.Name, n.Text), Meaning: n.Meaning, Role: n.Role, Mechanism: n.Mechanism, Check: n.Check, Source: knowledge.ErrnoSource}
}

func ofWord(w knowledge.SlurmWord, asked string) Entry {
	what := "job state"
	if w.Reason {
		what = "job reason"
	}
	return Entry{Kind: Scheduler, ID: asked, Title: asked + " (SLURM, " + what + ")", Meaning: w.Meaning, Role: w.Role, Mechanism: w.Mechanism, Check: w.Check, Source: w.Source()}
}

func ofVariable(v knowledge.Variable) Entry {
	of := "read by " + v.Of
	if v.Of == "nobody" {
		of = "no longer read"
	}
	return Entry{Kind: Variable, ID: v.Name, Title: v.Name + " (" + of + ")", Meaning: v.Meaning, Default: v.Default, Trap: v.Trap, Cost: v.Cost, Source: v.Source}
}

func ofLink(l *knowledge.Link) Entry {
	return Entry{Kind: Term, ID: l.Name, Title: l.Name, Meaning: l.Text(), Source: l.Source}
}
