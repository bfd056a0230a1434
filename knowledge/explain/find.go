package explain

import (
	"slices"
	"strconv"
	"strings"

	"faultline/knowledge"
	"faultline/pattern"
)

// Forms of what is asked for by name.
var (
	question = pattern.New(`(?i)^(?:what(?:'s| is| are| does)|explain|meaning of)\s+(?:an?\s+|the\s+)?(.+?)(?:\s+means?)?\s*\??$`)
	setting  = pattern.New(`^(?:export\s+)?([A-Z][A-Z0-9_]{2,60})(?:=.*)?$`)
	bare     = pattern.New(`^[-−]?\d{1,4}$`)
	slurm    = pattern.New(`^(\d{1,3}):(\d{1,3})$`)
)

// named finds what a short text is the name of: a mechanism, a signature, a variable, a word of the scheduler, a signal, a
// number, a term.
func (f *finder) named(text string) {
	name := strings.Trim(strings.TrimSpace(text), "`'\"“”.,;")
	if m := question.FindStringSubmatch(name); m != nil {
		name = strings.Trim(m[1], "`'\"“”.,;")
	}
	if name == "" || len(name) > 120 {
		return
	}
	lower := strings.ToLower(name)
	if m, ok := knowledge.MechanismBySlug(knowledge.Slug(strings.ReplaceAll(lower, " ", "-"))); ok {
		f.add(ofMechanism(m), byName, 0, "")
	}
	for _, m := range knowledge.Mechanisms() {
		if strings.EqualFold(m.Title, name) {
			f.add(ofMechanism(m), byName, 0, "")
		}
	}
	if s, ok := f.known.Lookup(knowledge.ID(lower)); ok {
		f.add(ofLine(s, nil), byName, 0, "")
	}
	for _, s := range knowledge.Readings() {
		if string(s.ID) == lower {
			f.add(ofLine(s, nil), byName, 0, "")
		}
	}
	for _, m := range f.known.Messages() {
		if string(m.ID) == lower {
			f.add(ofMessage(m), byName, 0, "")
		}
	}
	if m := setting.FindStringSubmatch(name); m != nil {
		if v, ok := knowledge.VariableByName(m[1]); ok {
			f.add(ofVariable(v), byName, 0, "")
		}
	} else if v, ok := knowledge.VariableByName(name); ok && strings.Contains(name, "_") {
		f.add(ofVariable(v), byName, 0, "")
	}
	if w, ok := knowledge.SlurmWordByName(name); ok {
		f.add(ofWord(w, name), byName, 0, "")
	}
	for _, e := range knowledge.Errnos() { // by its symbol, or as the C library prints it
		if strings.EqualFold(e.Name, name) || strings.EqualFold(e.Text, name) {
			f.add(ofErrno(e), byName, 0, "")
		}
	}
	for _, e := range knowledge.ExitCodes() {
		if e.Signal > 0 && (strings.EqualFold(e.Name, name) || strings.EqualFold(e.Name, "SIG"+name) || strings.EqualFold(e.Text, name)) {
			f.add(ofExit(e), byName, 0, "")
		}
	}
	if knowledge.ExceptionMeaning(name) != "" {
		f.add(ofException(name), byName, 0, "")
	}
	if t, ok := knowledge.TermByName(name); ok {
		f.add(Entry{Kind: Term, ID: t.Name, Title: t.Name, Meaning: t.Text, Source: glossarySource}, byName, 0, "")
	}
	if l, ok := knowledge.LinkByName(name); ok {
		f.add(ofLink(&l), byName, 0, "")
	}
	if m := slurm.FindStringSubmatch(name); m != nil {
		code, signal := number(m[1]), number(m[2])
		f.add(ofSlurmExit(code, signal), byNumber, 0, "")
	}
	if bare.MatchString(name) {
		f.bare(number(name))
	}
}

// bare explains a number without a word beside it. It may be an exit code, an Xid or an errno: all that are known, the
// exit code first.
func (f *finder) bare(n int) {
	e := knowledge.ExitCode(n)
	known := slices.ContainsFunc(knowledge.ExitCodes(), func(x knowledge.Exit) bool { return x == e })
	if known {
		f.add(ofExit(e), byNumber, 0, "")
	}
	if n < 0 {
		if !known {
			f.add(ofExit(e), byNumber, 0, "")
		}
		return
	}
	if x, ok := knowledge.XidByNumber(n); ok {
		f.add(ofXid(x), byNumber, 0, "")
	}
	if x, ok := knowledge.ErrnoByNumber(n); ok {
		f.add(ofErrno(x), byNumber, 0, "")
	}
	if !known && n > 0 && n < 256 {
		f.add(ofExit(e), byNumber, 0, "")
	}
}

func number(s string) int {
	n, err := strconv.Atoi(strings.Replace(s, "−", "-", 1))
	if err != nil {
		return 0 // at most four digits reach here
	}
	return n
}

// Numbers as lines of logs and people write them.
var (
	exitForm   = pattern.New(`(?i)(?:\bexit(?:ed)?(?:\s+with)?(?:\s+(?:exit[_ ]?)?(?:code|status))?|\bexit_?code|\breturn(?:ed)?[_ ]code|\breturned non-zero exit status|\bterminated with code)\s*[:=]?\s*\(?([-−]?\d{1,3})\b`)
	signalForm = pattern.New(`(?i)\bsignal[ :=]{1,2}\(?(\d{1,2})\b`)
	slurmForm  = pattern.New(`\b(?:Derived)?Exit(?:Code|Status)=(\d{1,3}):(\d{1,3})\b`)
	xidForm    = pattern.New(`(?i)\bxid\b(?:\s*\([^)]{1,40}\))?[\s:=#]{0,3}(\d{1,3})\b`)
	errnoForm  = pattern.New(`(?i)\berrno\b\s?[:=]?\s?(\d{1,3})\b`)
	wordForm   = pattern.New(`\b(?:Reason|JobState|State)=([A-Za-z_]{4,40})|\(([A-Z][A-Za-z]{5,40})[,)]|\|([A-Z_]{6,14})(?:\||$| by )`)
	nameForm   = pattern.New(`\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b`)
	errorForm  = pattern.New(`(?:^|[\s\]:|])((?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Interrupt|StopIteration|Exit))(?::|$)`)
)

// maxLine bounds what is looked at of one line by the forms; signatures have a bound of their own.
const maxLine = 8 << 10

// line finds what one line of a log says: signatures, readings, numbers, the type of an exception, variables.
func (f *finder) line(n int, line string, traceback bool) {
	explained := false
	for _, id := range f.known.Match(nil, []byte(line)) {
		s, _ := f.known.Lookup(id)
		f.add(ofLine(s, f.known.Fields(id, []byte(line))), byWording, n, line)
		explained = true
	}
	for _, s := range knowledge.Readings() {
		if literals := (knowledge.Message{Literals: s.Literals}); literals.In(line) {
			f.add(ofLine(s, nil), byWording, n, line)
			explained = true
		}
	}
	for _, m := range f.known.Messages() {
		if m.In(line) {
			f.add(ofMessage(m), byWording, n, line)
			explained = true
		}
	}
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	for _, m := range xidForm.FindAllStringSubmatch(line, 8) {
		if x, ok := knowledge.XidByNumber(number(m[1])); ok {
			f.add(ofXid(x), byNumber, n, line)
		}
	}
	for _, m := range errnoForm.FindAllStringSubmatch(line, 8) {
		if e, ok := knowledge.ErrnoByNumber(number(m[1])); ok {
			f.add(ofErrno(e), byNumber, n, line)
		}
	}
	for _, m := range slurmForm.FindAllStringSubmatch(line, 8) {
		f.add(ofSlurmExit(number(m[1]), number(m[2])), byNumber, n, line)
	}
	for _, m := range exitForm.FindAllStringSubmatch(line, 8) {
		f.add(ofExit(knowledge.ExitCode(number(m[1]))), byNumber, n, line)
	}
	for _, m := range signalForm.FindAllStringSubmatch(line, 8) {
		if s := number(m[1]); s > 0 {
			f.add(ofExit(knowledge.ExitSignal(s)), byNumber, n, line)
		}
	}
	for _, m := range wordForm.FindAllStringSubmatch(line, 8) {
		word := m[1] + m[2] + m[3]
		if w, ok := knowledge.SlurmWordByName(word); ok && (w.Reason || m[2] == "") {
			f.add(ofWord(w, word), byNumber, n, line)
		}
	}
	if m := errorForm.FindStringSubmatch(line); m != nil && !explained {
		if knowledge.ExceptionMeaning(m[1]) != "" {
			f.add(ofException(m[1]), byException, n, line)
		} else if traceback {
			e := ofException(m[1])
			e.Meaning = "An exception defined by the program or one of its libraries; see its message."
			f.add(e, byException, n, line)
		}
	}
	for _, name := range nameForm.FindAllString(line, 16) {
		if v, ok := knowledge.VariableByName(name); ok {
			f.add(ofVariable(v), byMention, n, line)
		}
	}
}
