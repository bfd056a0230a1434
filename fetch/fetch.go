// Package fetch brings the files of a job to the engine. This file and its neighbours read what is on this machine:
// directories, files and archives.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"faultline/fetch/gate"
	"faultline/incident"
)

// LocalOptions says where archives may be unpacked.
type LocalOptions struct {
	// SpoolDir is an existing directory of the caller for the entries of archives. Without it archives are refused.
	SpoolDir string
	// nested: archives within archives are unpacked too, one deep.
	nested bool
	// anyName: the name of a file does not tell that it is none.
	anyName bool
	// Beside says of the start of a file's content that it is evidence beside logs: such a file is taken though it is no log by its
	// name or is no text. The engine knows it.
	Beside func(start []byte) bool
	// Records says the same of records that a run writes of itself. They are taken where a directory holds nothing else to read: beside logs
	// they repeat them, or are the data that it trains on.
	Records func(start []byte) bool
	// Gate opens the files; nil is gate.Typed, for paths of a person's own machine.
	Gate *gate.Gate
	// Unpack bounds what one call may unpack; zero means the constants.
	Unpack Bounds
	// limits are for tests; zero means the constants.
	limits limits
}

// Bounds are of what archives may unpack to, as configured: limits.unpack_files and limits.unpack_mb.
type Bounds struct {
	Files int
	Bytes int64
}

// Limits of one Local call.
const (
	MaxFiles        = 200_000  // files taken from directories
	MaxEntries      = 20_000   // entries looked at in one archive and those in it
	MaxEntryBytes   = 16 << 30 // one unpacked entry
	MaxSpoolBytes   = 64 << 30 // all unpacked entries
	MaxArchiveRatio = 500      // deflate reaches 1,000 with nothing but repetition; logs reach 100. unpacked to packed, once an archive has given RatioFrom bytes
	RatioFrom       = 256 << 20
	maxNameLen      = 1024
	maxSentences    = 100 // sentences about one kind of trouble in one archive
)

type limits struct {
	files, entries               int
	entry, spool, ratio, ratioAt int64
}

// Set is what was found. Sources are sorted by name.
type Set struct {
	Sources []incident.Source
	// Warnings are sentences about what was left out, harmless or not, sorted; they include those of Unreadable.
	Warnings []string
	// Unreadable is what the user named, or what should have been a log, and could not be used.
	Unreadable []Problem
	// Fault is a *workflow.Fault where SpoolDir did not take what archives hold.
	Fault error
	// Owners are the accounts whose files were taken, sorted, without root and the bot's own.
	Owners []string
}

// Kind of a Problem.
type Kind string

const (
	Missing    Kind = "missing"    // no such path
	Empty      Kind = "empty"      // a directory or archive without any file
	NoLogs     Kind = "no-logs"    // a directory or archive of something else
	Binary     Kind = "binary"     // a file that is no text
	Unreadable Kind = "unreadable" // no permission, or an error while reading
	Hostile    Kind = "hostile"    // an archive's entry that was refused
	Special    Kind = "special"    // a device, socket or pipe
	Refused    Kind = "refused"    // the gate does not open it
	TooMuch    Kind = "too-much"   // a limit was reached
)

// Problem is one thing that could not be used, as a sentence that names the file and says what to do.
type Problem struct {
	Kind Kind
	Name string
	Text string
}

func (p Problem) Error() string { return p.Text }

// ErrNothing says that not one log could be taken; the error's text says why. The Set is still returned.
var ErrNothing = errors.New("nothing to read")

// nothing is ErrNothing with its reasons.
type nothing struct{ problems []Problem }

func (e *nothing) Error() string {
	var b strings.Builder
	for i, p := range e.problems {
		if i == 5 {
			fmt.Fprintf(&b, "\nand %d more", len(e.problems)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func (e *nothing) Is(target error) bool { return target == ErrNothing }

func (e *nothing) Unwrap() []error {
	errs := make([]error, 0, len(e.problems))
	for _, p := range e.problems {
		errs = append(errs, p)
	}
	return errs
}

// Local takes the logs under paths: directories (walked; links are not followed), files, and tar, tar.gz, tar.zst and
// zip archives (unpacked into opts.SpoolDir). A log that is merely compressed (.gz, .zst) stays as it is.
//
// Names are relative to the path the user gave (a file's or archive's own name for a single file, an entry's path for an
// archive), so that they do not depend on parent folders or on the order of paths. Only if files of two paths would get
// one name, all names get the last element of their path in front, and further elements while that is not enough.
//
// What cannot be used is reported in the Set. The error is ErrNothing if no log was found at all, or ctx's.
func Local(ctx context.Context, paths []string, opts LocalOptions) (*Set, error) {
	g := newGatherer(ctx, opts)
	if len(paths) == 0 {
		g.problem(NoLogs, "", "No path given: name the directory, files or archive with the job's logs.")
	}
	seen := map[string]bool{}
	for _, p := range paths {
		if p == "" { // a variable that is not set; filepath would take it for the current directory
			g.problem(Missing, p, "Empty path given: name the directory, files or archive with the job's logs.")
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			g.problem(Unreadable, p, fmt.Sprintf("Can't resolve %s: %s.", p, reason(err)))
			continue
		}
		if seen[abs] {
			continue
		}
		seen[abs] = true
		g.root(p, abs)
		if err := ctx.Err(); err != nil {
			return g.set(), err
		}
	}
	set := g.set()
	if len(set.Sources) == 0 {
		return set, &nothing{set.Unreadable}
	}
	return set, nil
}

// found is a source and the path of the user's that it came from.
type found struct {
	incident.Source
	root string // absolute
	file bool   // root is the file itself
}

// set gives the sources their final names and sorts everything.
func (g *gatherer) set() *Set {
	s := &Set{Unreadable: g.problems, Owners: accounts(g.owners), Fault: g.fault}
	for k := 0; ; k++ {
		s.Sources = s.Sources[:0]
		unique, more := map[string]bool{}, false
		for _, f := range g.found {
			src := f.Source
			prefix, longer := tail(f, k)
			src.Name = path.Join(prefix, src.Name)
			more = more || longer
			unique[src.Name] = true
			s.Sources = append(s.Sources, src)
		}
		if len(unique) == len(g.found) || !more {
			break
		}
	}
	sort.Slice(s.Sources, func(i, j int) bool { return s.Sources[i].Name < s.Sources[j].Name })
	sort.SliceStable(s.Unreadable, func(i, j int) bool { return s.Unreadable[i].Text < s.Unreadable[j].Text })
	for _, p := range s.Unreadable {
		s.Warnings = append(s.Warnings, p.Text)
	}
	s.Warnings = append(s.Warnings, g.skips()...)
	sort.Strings(s.Warnings)
	return s
}

// tail is the last k elements of the folder that f's name is relative to, and whether there are more.
func tail(f found, k int) (string, bool) {
	dir := f.root
	if f.file {
		dir = filepath.Dir(dir)
	}
	parts := strings.FieldsFunc(filepath.ToSlash(dir), func(r rune) bool { return r == '/' })
	if k > len(parts) {
		k = len(parts)
	}
	return path.Join(parts[len(parts)-k:]...), k < len(parts)
}

// reason is an error without the path in front of it.
func reason(err error) string {
	for {
		u := errors.Unwrap(err)
		if u == nil {
			return err.Error()
		}
		err = u
	}
}
