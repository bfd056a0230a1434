package fetch

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"faultline/incident"
	"faultline/workflow"
)

// unpacking is the state of one archive.
type unpacking struct {
	*gatherer
	name     string // for sentences
	origin   string
	prefix   string // in front of entry names: "" or the archive's own name within its directory
	abs      string
	root     string
	size     int64
	used     *allowance
	refused  int
	taken    int
	names    map[string]bool
	overrun  error
	readFrom *counted
	nested   bool
	inner    []inner
}

// allowance is what an archive a person named has taken of what it may, those in it included: a bomb may be wrapped in another.
type allowance struct {
	name        string // for sentences
	packed, out int64
	entries     int
}

// claim lets an archive that is a bomb by its own account unpack to no more than a harmless one.
func (a *allowance) claim(entries []*zip.File, lim limits) {
	var all uint64
	for _, e := range entries {
		all += min(e.UncompressedSize64, 1<<62-all)
	}
	if all > uint64(lim.ratioAt) && all/uint64(lim.ratio) > uint64(a.packed) {
		a.packed = 0
	}
}

// inner is an archive within an archive.
type inner struct{ name, path string }

var (
	errSpool = errors.New("spool")
	errBomb  = errors.New("bomb")
)

// archive unpacks the logs of an archive into the spool. Entry names get prefix in front; root is what the user named.
func (g *gatherer) archive(given, base, abs, prefix, root string) {
	used := allowance{name: shown(given)}
	for _, in := range g.unpackOne(given, base, abs, prefix, root, g.opts.nested, &used) {
		if !used.over(g.lim) && used.entries <= g.lim.entries {
			g.unpackOne(in.name, path.Base(in.name), in.path, path.Join(prefix, in.name), root, false, &used)
		}
		os.Remove(in.path) // what it holds is kept
	}
}

// over says that the archive unpacks to more than the ratio allows.
func (a *allowance) over(lim limits) bool {
	return a.out > lim.ratioAt && a.out/lim.ratio > a.packed
}

// unpackOne unpacks one archive that is called base. With nested, it returns the archives in it.
func (g *gatherer) unpackOne(given, base, abs, prefix, root string, nested bool, used *allowance) []inner {
	name := shown(given)
	if g.opts.SpoolDir == "" {
		g.problem(Unreadable, given, fmt.Sprintf("%s is an archive and I have no directory to unpack it into: unpack it yourself and give me the directory.", name))
		return nil
	}
	u := &unpacking{gatherer: g, name: name, origin: "archive:" + slash(base), prefix: prefix, abs: abs, root: root, names: map[string]bool{}, nested: nested, used: used}
	before := used.entries
	err := u.read()
	if u.overrun != nil {
		err = u.overrun
	}
	var own *workflow.Fault
	switch {
	case errors.As(err, &own):
		g.fault = own
		g.problem(TooMuch, given, fmt.Sprintf("%s: %s, so part of it was left out.", name, own))
	case errors.Is(err, errSpool):
		g.problem(TooMuch, given, fmt.Sprintf("%s unpacks to more than %d bytes (limits.unpack_mb); the rest was left out: pack the logs of one job only, or give me the directory.", name, g.lim.spool))
	case errors.Is(err, errBomb):
		g.problem(Hostile, given, fmt.Sprintf("%s unpacks to more than %d times its size, so I stopped reading it: unpack it yourself if you trust it.", used.name, g.lim.ratio))
	case err != nil && g.ctx.Err() == nil:
		g.problem(Unreadable, given, fmt.Sprintf("%s is damaged or truncated (%s); I used what could be unpacked: fetch the archive again.", name, shown(reason(err))))
	}
	if u.refused > maxSentences {
		g.problem(Hostile, given, fmt.Sprintf("%s: %d more entries were rejected.", name, u.refused-maxSentences))
	}
	if u.taken > 0 || err != nil {
		return u.inner
	}
	if used.entries == before {
		g.problem(Empty, given, fmt.Sprintf("The archive %s is empty: pack the job's log directory.", name))
	} else {
		g.problem(NoLogs, given, fmt.Sprintf("The archive %s contains no usable log: pack the job's log directory.", name))
	}
	return u.inner
}

// counted counts the packed bytes that were read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (u *unpacking) read() error {
	f, err := u.gate.Open(u.abs)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	u.size = st.Size()
	if u.used.out+int64(u.used.entries) == 0 {
		u.used.packed = u.size
	}
	start := make([]byte, 4)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(start[:n], []byte("PK")) {
		return u.zip(f)
	}
	u.readFrom = &counted{r: f}
	var r io.Reader = bufio.NewReader(u.readFrom)
	if z, closer := unpack(r, start[:n]); z != nil {
		defer closer()
		r = z
	}
	m := bufio.NewReaderSize(&meter{u: u, r: r}, sniffLen)
	if head, _ := m.Peek(sniffLen); !isTar(head) && isJoined(head) {
		return u.joined(m)
	}
	return u.tar(tar.NewReader(m))
}

// meter watches the ratio over everything that a tar stream gives, skipped entries included.
type meter struct {
	u *unpacking
	r io.Reader
	n int64
}

func (m *meter) Read(b []byte) (int, error) {
	if err := m.u.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.r.Read(b)
	m.n += int64(n)
	m.u.used.out += int64(n)
	if m.u.used.over(m.u.lim) || m.n > m.u.lim.ratioAt && m.n/m.u.lim.ratio > m.u.readFrom.n {
		m.u.overrun = errBomb
		return 0, errBomb
	}
	return n, err
}

func (u *unpacking) tar(t *tar.Reader) error {
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			err = u.entry(h.Name, t)
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeSymlink, tar.TypeLink:
			u.used.entries++
			u.refuse(h.Name, "is a link, and I don't follow links in archives: pack the file itself")
		default:
			u.used.entries++
			u.refuse(h.Name, "is a device or another special file: pack only regular files")
		}
		if err != nil {
			return err
		}
		if u.used.entries > u.lim.entries {
			return u.full()
		}
	}
}

func (u *unpacking) zip(f *os.File) error {
	z, err := zip.NewReader(f, u.size)
	if err != nil {
		return err
	}
	u.used.claim(z.File, u.lim)
	for _, e := range z.File {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		switch mode := e.Mode(); {
		case mode.IsDir() || strings.HasSuffix(e.Name, "/"):
			continue
		case mode&os.ModeSymlink != 0:
			u.used.entries++
			u.refuse(e.Name, "is a link, and I don't follow links in archives: pack the file itself")
		case !mode.IsRegular():
			u.used.entries++
			u.refuse(e.Name, "is a device or another special file: pack only regular files")
		case e.Flags&1 != 0:
			u.used.entries++
			u.refuse(e.Name, "is encrypted: pack it without a password")
		case u.swells(e):
			u.used.entries++
			u.refuse(e.Name, fmt.Sprintf("unpacks to more than %d times its size, so I didn't read it: unpack it yourself if you trust it", u.lim.ratio))
		default:
			r, err := e.Open()
			if err != nil {
				u.refuse(e.Name, "can't be unpacked ("+shown(reason(err))+"): pack it again with deflate")
				continue
			}
			err = u.entry(e.Name, r)
			r.Close()
			var own *workflow.Fault
			if errors.Is(err, errSpool) || errors.Is(err, errBomb) || errors.As(err, &own) {
				return err
			}
			if err != nil {
				u.refuse(e.Name, "is damaged ("+shown(reason(err))+"): fetch the archive again")
			}
		}
		if u.used.entries > u.lim.entries {
			return u.full()
		}
	}
	return nil
}

// swells says that an entry is a bomb by its own account. What it holds beyond that account is not unpacked.
func (u *unpacking) swells(e *zip.File) bool {
	size, packed := e.UncompressedSize64, e.CompressedSize64
	return size > uint64(u.lim.ratioAt) && size/uint64(u.lim.ratio) > packed
}

func (u *unpacking) full() error {
	u.problem(TooMuch, u.name, fmt.Sprintf("%s has more than %d entries (limits.unpack_files); the rest was left out: pack the logs of one job only.", u.used.name, u.lim.entries))
	return nil
}

func (u *unpacking) refuse(entry, why string) {
	if u.refused++; u.refused <= maxSentences {
		u.problem(Hostile, entry, fmt.Sprintf("%s: the entry %s %s.", u.name, shown(entry), why))
	}
}

// entry writes one regular entry to the spool, unless it is no log.
func (u *unpacking) entry(name string, r io.Reader) error {
	u.used.entries++
	clean, ok := safe(name)
	switch {
	case !ok:
		u.refuse(name, "has a path outside the archive or an invalid one: pack with relative paths")
		return nil
	case u.names[clean]:
		u.refuse(name, "appears in the archive twice; I used the first: pack each file once")
		return nil
	case hidden(clean):
		u.skip("hidden", path.Join(u.prefix, clean))
		return nil
	case !u.opts.anyName && otherKind(clean) && (u.opts.Beside == nil || !besideKinds[extension(clean)]):
		u.skip("not a log, judging by its name", path.Join(u.prefix, clean))
		return nil
	}
	u.names[clean] = true
	dst := filepath.Join(u.opts.SpoolDir, fmt.Sprintf("%06d-%s", u.serial, flat(clean)))
	u.serial++
	n, sum, err := u.write(dst, r)
	if errors.Is(err, errTooBig) {
		os.Remove(dst)
		u.refuse(name, fmt.Sprintf("unpacks to more than %d bytes: unpack it yourself and give me the directory", u.lim.entry))
		return nil
	}
	if err != nil && n == 0 {
		os.Remove(dst)
		return err
	}
	if !u.opts.anyName && otherKind(clean) && !u.besides(dst, u.opts.Beside) {
		os.Remove(dst)
		u.spooled -= n
		u.skip("not a log, judging by its name", path.Join(u.prefix, clean))
		return err
	}
	kind, serr := u.sniff(dst)
	if own := workflow.NotOpened(serr); own != nil { // a limit of the bot says nothing about the file
		os.Remove(dst)
		u.spooled -= n
		return own
	}
	if serr != nil || kind != isText && kind != isBeside && (kind != isSeveral || u.nested) {
		if u.nested && (kind == isArchive || kind == isSeveral) && serr == nil && err == nil {
			u.inner = append(u.inner, inner{clean, dst})
			u.taken++
			return nil
		}
		os.Remove(dst)
		u.spooled -= n
		why := "binary, not a log"
		if kind == isArchive {
			why = "an archive within an archive, which I don't unpack; unpack it and give me the directory"
		}
		u.skip(why, path.Join(u.prefix, clean))
		return err
	}
	u.found = append(u.found, found{Source: incident.Source{Name: path.Join(u.prefix, clean), Path: dst, SHA256: sum, Bytes: n, Origin: u.origin}, root: u.root})
	u.taken++
	return err
}

var errTooBig = errors.New("too big")

// write copies an entry; after an error the bytes so far stay.
func (u *unpacking) write(dst string, r io.Reader) (n int64, sum string, err error) {
	n, sum, err = u.keep(dst, r)
	if sum != "" && u.readFrom == nil { // the meter counts what a stream gives
		if u.used.out += n; u.used.over(u.lim) {
			return n, sum, errBomb
		}
	}
	return n, sum, err
}

// keep writes a new file of the spool, within what one file and all of them together may take. Of one that takes more there is no sum.
func (g *gatherer) keep(dst string, r io.Reader) (n int64, sum string, err error) {
	w, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, "", workflow.NotKept(err)
	}
	h := sha256.New()
	room := min(g.lim.entry, g.lim.spool-g.spooled)
	n, err = io.Copy(io.MultiWriter(workflow.Keeping(w), h), io.LimitReader(r, room+1))
	if cerr := w.Close(); err == nil {
		err = workflow.NotKept(cerr)
	}
	if n > room {
		err = errTooBig
		if room < g.lim.entry {
			err = errSpool
		}
		return 0, "", err
	}
	g.spooled += n
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// safe cleans an entry's path, and refuses one that is absolute, climbs, or holds what no log's name does.
func safe(name string) (string, bool) {
	if name == "" || len(name) > maxNameLen || strings.ContainsAny(name, "\x00\\\n\r") || path.IsAbs(name) || (len(name) > 1 && name[1] == ':') {
		return "", false
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	clean := slash(path.Clean(name))
	return clean, clean != "." && clean != "/"
}

func hidden(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}

// flat is a file name for the spool, made of what every file system allows.
func flat(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-80):]
}
