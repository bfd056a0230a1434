package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"faultline/fetch/gate"
	"faultline/incident"
	"faultline/workflow"
)

type gatherer struct {
	ctx      context.Context
	opts     LocalOptions
	gate     *gate.Gate
	owners   map[uint32]bool // of what was taken
	lim      limits
	found    []found
	problems []Problem
	fault    error
	skipped  map[string][]string // reason → names
	named    []func()            // take files of the directory that are no logs by their names, and may be by their content
	spooled  int64
	serial   int
}

func newGatherer(ctx context.Context, opts LocalOptions) *gatherer {
	lim := opts.limits
	if lim == (limits{}) {
		lim = limits{files: MaxFiles, entries: MaxEntries, entry: MaxEntryBytes, spool: MaxSpoolBytes, ratio: MaxArchiveRatio, ratioAt: RatioFrom}
	}
	if opts.Unpack.Files > 0 {
		lim.entries = opts.Unpack.Files
	}
	if opts.Unpack.Bytes > 0 {
		lim.spool, lim.entry = opts.Unpack.Bytes, min(lim.entry, opts.Unpack.Bytes)
	}
	g := &gatherer{ctx: ctx, opts: opts, gate: opts.Gate, owners: map[uint32]bool{}, lim: lim, skipped: map[string][]string{}}
	if g.gate == nil {
		g.gate = gate.Typed()
	}
	return g
}

func (g *gatherer) problem(k Kind, name, text string) {
	g.problems = append(g.problems, Problem{Kind: k, Name: name, Text: text})
}

const (
	cannotBeRead = " cannot be read"
	askOwner     = "ask its owner for read permission"
)

// unreadable reports what cannot be read. Where only a limit of this process stands in the way, that is no fault of the logs.
func (g *gatherer) unreadable(name, what string, err error, advice string) {
	if own := workflow.NotOpened(err); g.fault == nil && own != nil {
		g.fault = own
	}
	g.problem(Unreadable, name, fmt.Sprintf("%s (%s): %s.", what, reason(err), advice))
}

func (g *gatherer) skip(why, name string) { g.skipped[why] = append(g.skipped[why], name) }

// skips are one sentence for each reason to leave files out, with up to three names.
func (g *gatherer) skips() []string {
	var out []string
	for why, names := range g.skipped {
		sort.Strings(names)
		if len(names) == 1 {
			out = append(out, fmt.Sprintf("Left out %s: %s.", shown(names[0]), why))
			continue
		}
		var some []string
		for _, n := range names[:min(3, len(names))] {
			some = append(some, shown(n))
		}
		more := ""
		if len(names) > 3 {
			more = ", …"
		}
		out = append(out, fmt.Sprintf("Left out %d files (%s%s): %s.", len(names), strings.Join(some, ", "), more, why))
	}
	return out
}

// shown is a name fit for a sentence: bounded, without control bytes.
func shown(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffd || (r >= 0x80 && r < 0xa0) {
			return '?'
		}
		return r
	}, name)
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

// root takes one path as the user gave it.
func (g *gatherer) root(given, abs string) {
	p, err := g.gate.Look(abs)
	if g.gate.Own(abs) { // where the bot keeps what people upload is nothing to them
		given = filepath.Base(given)
	}
	name := shown(given)
	switch {
	case gate.WhyNot(err) != "":
		g.problem(Refused, given, fmt.Sprintf("Left out %s: %s.", name, gate.WhyNot(err)))
	case errors.Is(err, fs.ErrNotExist):
		g.problem(Missing, given, fmt.Sprintf("%s doesn't exist: check the spelling, and that the file system is mounted on this machine.", name))
	case err != nil:
		g.unreadable(given, name+cannotBeRead, err, askOwner)
	case p.Info.IsDir():
		g.dir(given, p)
	case !p.Info.Mode().IsRegular() && g.stream(given, abs):
	case !p.Info.Mode().IsRegular():
		g.problem(Special, given, fmt.Sprintf("%s is a device, socket or pipe, not a regular file: save its output to a file and name that.", name))
	default:
		g.file(given, abs, p)
	}
}

// stream takes what comes through a pipe that this process was started with; false where it is none.
func (g *gatherer) stream(given, abs string) bool {
	r, err := g.gate.Stream(abs)
	if r == nil && err == nil || g.opts.SpoolDir == "" {
		return false
	}
	// A descriptor's number says nothing of the job: a name with it could be taken for a rank's.
	dir, name := filepath.Join(g.opts.SpoolDir, "stream-"+filepath.Base(abs)), "pipe"
	if filepath.Base(abs) == "stdin" {
		name = "stdin"
	}
	dst := filepath.Join(dir, name)
	if err == nil {
		defer r.Close()
		defer context.AfterFunc(g.ctx, func() { r.Close() })() // whoever writes may pause for ever
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		_, _, err = g.keep(dst, r)
	}
	var p gate.Place
	if err == nil {
		p, err = g.gate.Look(dst)
	}
	if err != nil {
		g.unreadable(given, shown(given)+cannotBeRead+" to its end", err, "save it to a file and name that")
		return true
	}
	g.file(given, dst, p)
	return true
}

// file takes a file that the user named: whatever its name is, its content decides.
func (g *gatherer) file(given, abs string, p gate.Place) {
	base := filepath.Base(abs)
	switch kind, err := g.sniff(p.Path); {
	case gate.WhyNot(err) != "":
		g.problem(Refused, given, fmt.Sprintf("Left out %s: %s.", shown(given), gate.WhyNot(err)))
	case err != nil:
		g.unreadable(given, shown(given)+cannotBeRead, err, askOwner)
	case kind == isArchive && !otherKind(base), kind == isSeveral && g.opts.SpoolDir != "":
		g.take(p, p.Info)
		g.archive(given, base, p.Path, "", abs)
	case kind == isForeign:
		g.problem(Binary, given, foreign(given))
	case kind != isText && kind != isBeside && kind != isSeveral:
		g.problem(Binary, given, fmt.Sprintf("%s is a binary file: neither a log nor evidence I know. Name the job's text logs (.out, .err, .log, also .gz or .zst); docs/evidence.md lists what else I read.", shown(given)))
	default:
		g.take(p, p.Info)
		g.found = append(g.found, found{Source: incident.Source{Name: slash(base), Path: p.Path, Written: p.Info.ModTime().UnixNano(), Bytes: p.Info.Size(), Origin: "path"}, root: abs, file: true})
	}
}

// take notes whose file is taken. The bot's own are copies of what people gave.
func (g *gatherer) take(p gate.Place, info fs.FileInfo) {
	if uid, yes := gate.Strange(info); yes && !p.Own {
		g.owners[uid] = true
	}
}

// dir walks a directory.
func (g *gatherer) dir(given string, place gate.Place) {
	abs, name := place.Path, shown(given)
	g.named = nil
	before, problems, files, denied := len(g.found), len(g.problems), 0, false
	full := errors.New("full")
	err := g.walk(abs, func(p string, d fs.DirEntry, err error) error {
		if cerr := g.ctx.Err(); cerr != nil {
			return cerr
		}
		rel, rerr := filepath.Rel(abs, p)
		if rerr != nil {
			return rerr
		}
		rel = slash(rel)
		if err != nil {
			denied = true
			g.unreadable(rel, "The directory "+inside(name, rel)+cannotBeRead, err, askOwner)
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			g.skip("hidden", rel)
			return nil
		}
		if d.IsDir() {
			return nil
		}
		files++
		if len(g.found)-before >= g.lim.files {
			g.problem(TooMuch, given, fmt.Sprintf("%s contains more than %d files; the rest were left out: name the directory of one job.", name, g.lim.files))
			return full
		}
		g.entry(place, p, rel, d)
		return nil
	})
	if err != nil && !errors.Is(err, full) && g.ctx.Err() == nil {
		g.unreadable(given, name+cannotBeRead+" to its end", err, "try again, or copy it to a local disk")
	}
	if len(g.found) == before { // names tell logs from other files; where no name is a log's, the content does
		for _, take := range g.named {
			take()
		}
	}
	if len(g.found) > before || len(g.problems) > problems || denied {
		return
	}
	if files == 0 {
		g.problem(Empty, given, fmt.Sprintf("The directory %s is empty: name the job's log directory.", name))
		return
	}
	holds := fmt.Sprintf("%d files, none of them a log", files)
	if files == 1 {
		holds = "one file, which isn't a log"
	}
	g.problem(NoLogs, given, fmt.Sprintf("The directory %s contains %s: name the job's log directory.", name, holds))
}

// walk calls do for everything below a directory, in the order of names. A directory that cannot be read is told once.
func (g *gatherer) walk(dir string, do func(p string, d fs.DirEntry, err error) error) error {
	list, err := g.gate.List(dir)
	if err != nil {
		if err := do(dir, nil, err); err != nil {
			return err
		}
	}
	for _, d := range list {
		p := filepath.Join(dir, d.Name())
		err := do(p, d, nil)
		if err == nil && d.IsDir() {
			err = g.walk(p, do)
		}
		if err != nil && !errors.Is(err, fs.SkipDir) {
			return err
		}
	}
	return nil
}

// entry takes one file of a directory.
func (g *gatherer) entry(place gate.Place, p, rel string, d fs.DirEntry) {
	root := place.Path
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		if target, err := g.gate.Look(p); err != nil || !within(root, target.Path) {
			g.skip("a link out of the directory, which I don't follow; name its target to include it", rel)
		} else {
			g.skip("a link to a file in the same directory", rel)
		}
		return
	case !d.Type().IsRegular():
		g.skip("not a regular file", rel)
		return
	case !g.opts.anyName && otherKind(d.Name()) && !g.besides(p, g.opts.Beside):
		if besideKinds[extension(p)] && g.opts.Records != nil {
			g.named = append(g.named, func() {
				if g.besides(p, g.opts.Records) {
					g.text(place, p, rel, d)
				}
			})
		}
		g.skip(notByName, rel)
		return
	}
	g.text(place, p, rel, d)
}

const notByName = "not a log, judging by its name"

// text takes a file that may be a log by its name.
func (g *gatherer) text(place gate.Place, p, rel string, d fs.DirEntry) {
	root := place.Path
	st, err := d.Info()
	if err == nil && !place.Vouched(st) {
		err = &gate.Refused{Name: p, Why: gate.Foreign}
	}
	if err == nil {
		var kind content
		if kind, err = g.sniff(p); err == nil {
			if kind == isSeveral && g.opts.SpoolDir == "" {
				kind = isText
			}
			switch kind {
			case isArchive, isSeveral:
				g.take(place, st)
				g.archive(rel, d.Name(), p, rel, root)
			case isText, isBeside:
				g.take(place, st)
				g.found = append(g.found, found{Source: incident.Source{Name: rel, Path: p, Written: st.ModTime().UnixNano(), Bytes: st.Size(), Origin: "path"}, root: root})
			case isForeign:
				g.problem(Binary, rel, foreign(rel))
			default:
				g.skip("binary, not a log", rel)
			}
			return
		}
	}
	if why := gate.WhyNot(err); why != "" {
		g.skip(string(why), rel)
		return
	}
	g.unreadable(rel, shown(rel)+cannotBeRead, err, askOwner)
}

func foreign(name string) string {
	return fmt.Sprintf("%s is compressed with xz or bzip2, or is UTF-16, which I can't read: convert it to plain text, gzip or zstd.", shown(name))
}

func within(root, target string) bool {
	rel, err := filepath.Rel(root, target)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func inside(name, rel string) string {
	if rel == "." {
		return name
	}
	return path.Join(name, shown(rel))
}

func slash(p string) string { return strings.ToValidUTF8(filepath.ToSlash(p), "?") }
