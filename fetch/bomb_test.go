package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ok is a log that stands in front of what is hostile: it must be used all the same.
const ok = "[rank0]: RuntimeError: boom\n"

// packer writes zips whose entries say what they like.
type packer struct {
	tb  testing.TB
	buf bytes.Buffer
	zip *zip.Writer
}

func pack(tb testing.TB) *packer {
	p := &packer{tb: tb}
	p.zip = zip.NewWriter(&p.buf)
	return p.plain("a.log", ok)
}

func (p *packer) plain(name, text string) *packer {
	w, err := p.zip.Create(name)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		p.tb.Fatal(err)
	}
	return p
}

// stream adds an entry of packed bytes with the size that it claims to unpack to.
func (p *packer) stream(name string, packed []byte, claims uint64, sum uint32) *packer {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(len(packed)), UncompressedSize64: claims}
	w, err := p.zip.CreateRaw(h)
	if err == nil {
		_, err = w.Write(packed)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
	return p
}

func (p *packer) bytes() []byte {
	if err := p.zip.Close(); err != nil {
		p.tb.Fatal(err)
	}
	return p.buf.Bytes()
}

// steps is a stream that unpacks to the same line of a mebibyte n times.
func steps(tb testing.TB, n int) (packed []byte, size uint64, sum uint32) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		tb.Fatal(err)
	}
	chunk := append(bytes.Repeat([]byte("0"), 1<<20-1), '\n')
	h := crc32.NewIEEE()
	for range n {
		h.Write(chunk)
		if _, err := w.Write(chunk); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes(), uint64(n) << 20, h.Sum32()
}

// hostile are archives that unpack to more than they should, or say so, with the most that is unpacked of each and its one sentence.
func hostile(tb testing.TB) []struct {
	name     string
	data     []byte
	nested   bool
	bytes    int64
	sentence string
} {
	const mib = 1 << 20
	big, size, sum := steps(tb, 64)
	part, partSize, partSum := steps(tb, 4)
	claim := uint64(2 << 30)
	parts := pack(tb)
	for i := range 16 {
		parts.stream(fmt.Sprintf("rank-%d.log", i), part, partSize, partSum)
	}
	bomb := pack(tb).stream("big.log", big, size, sum).bytes()
	inParts := parts.bytes()
	wrapped, many, few := pack(tb), pack(tb), pack(tb)
	for i := range 60 {
		many.plain(fmt.Sprintf("rank-%d.log", i), "step\n")
	}
	manyData := many.bytes()
	for i := range 8 {
		wrapped.plain(fmt.Sprintf("n%d.zip", i), string(inParts))
		few.plain(fmt.Sprintf("n%d.zip", i), string(manyData))
	}
	var cut bytes.Buffer
	t := tar.NewWriter(&cut)
	if err := errors.Join(t.WriteHeader(&tar.Header{Name: "a.log", Typeflag: tar.TypeReg, Size: int64(len(ok))}), func() error { _, err := t.Write([]byte(ok)); return err }(), t.WriteHeader(&tar.Header{Name: "b.log", Typeflag: tar.TypeReg, Size: 8 << 30})); err != nil {
		tb.Fatal(err)
	}
	cut.WriteString(strings.Repeat("step\n", 1000))
	return []struct {
		name     string
		data     []byte
		nested   bool
		bytes    int64
		sentence string
	}{
		{"one entry.zip", bomb, false, 0, "big.log unpacks to more than 500 times"},
		{"many parts.zip", inParts, false, 12 * mib, "unpacks to more than 500 times"},
		{"wrapped.zip", wrapped.bytes(), true, 12 * mib, "wrapped.zip unpacks to more than 500 times"},
		{"wrapped, not unpacked.zip", pack(tb).plain("x.zip", string(bomb)).bytes(), false, 0, "an archive within an archive"},
		{"entries.zip", manyData, false, 51 * 5, "entries.zip has more than 50 entries"},
		{"entries of many.zip", few.bytes(), true, mib, "entries of many.zip has more than 50 entries"},
		{"claims less.zip", pack(tb).stream("big.log", big, 10, sum).bytes(), false, 64 << 10, "big.log is damaged"},
		{"claims more.zip", pack(tb).stream("big.log", part, claim, partSum).bytes(), false, 0, "big.log unpacks to more than 500 times"},
		{"claims all.tar", cut.Bytes(), false, 64 << 10, "is damaged or truncated"},
	}
}

// TestWhatIsHostileIsRefusedWithinItsBound counts what is unpacked, which is what takes time, and never more than that.
func TestWhatIsHostileIsRefusedWithinItsBound(t *testing.T) {
	for _, c := range hostile(t) {
		t.Run(c.name, func(t *testing.T) {
			spool := filepath.Join(inMemory(t), "spool")
			if err := os.Mkdir(spool, 0o755); err != nil {
				t.Fatal(err)
			}
			opts := LocalOptions{SpoolDir: spool, nested: c.nested, limits: limits{files: 1000, entries: 50, entry: 1 << 30, spool: 1 << 30, ratio: MaxArchiveRatio, ratioAt: 8 << 20}}
			s, err := Local(context.Background(), []string{save(t, c.name, c.data)}, opts)
			if err != nil {
				t.Fatal(err)
			}
			var unpacked int64
			found := false
			for _, src := range s.Sources {
				unpacked += src.Bytes
				found = found || strings.HasSuffix(src.Name, "a.log")
			}
			if most := c.bytes + int64(len(ok))*10; unpacked > most || !found {
				t.Errorf("%d bytes were unpacked, more than %d: %v", unpacked, most, names(s))
			}
			if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], c.sentence) {
				t.Errorf("%q, want one sentence with %q", s.Warnings, c.sentence)
			}
		})
	}
}

// TestAnArchiveBesideABombIsRead holds the bounds to the archive that exceeds them.
func TestAnArchiveBesideABombIsRead(t *testing.T) {
	big, size, sum := steps(t, 64)
	bomb := save(t, "bomb.zip", pack(t).stream("big.log", big, size, sum).bytes())
	good := save(t, "good.zip", zipOf(t, []item{{"good.log", "step\n", tar.TypeReg}}))
	s, err := local(t, LocalOptions{limits: limits{files: 10, entries: 10, entry: 1 << 30, spool: 1 << 30, ratio: MaxArchiveRatio, ratioAt: 1 << 20}}, bomb, good)
	if err != nil || len(s.Sources) != 2 {
		t.Errorf("%v %v", err, names(s))
	}
}

// BenchmarkHostileArchive takes the same with the limits of the program, of 2 MB that unpack to 2 GB and of 120,000 entries.
func BenchmarkHostileArchive(b *testing.B) {
	zeros := make([]byte, 1<<20)
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression)
	for range 2 << 10 {
		w.Write(zeros)
	}
	w.Close()
	part, size, sum := steps(b, 32)
	parts, many := pack(b), pack(b)
	for i := range 64 {
		parts.stream(fmt.Sprintf("rank-%d.log", i), part, size, sum)
	}
	for i := range 120_000 {
		many.plain(fmt.Sprintf("rank-%d.log", i), "step 1\n")
	}
	inParts := parts.bytes()
	for name, data := range map[string][]byte{
		"2MBto2GB":       pack(b).stream("big.log", packed.Bytes(), 2<<30, 0).bytes(),
		"2GBIn64Parts":   inParts,
		"120000Entries":  many.bytes(),
		"NestedArchives": pack(b).plain("x.zip", string(inParts)).bytes(),
	} {
		p := filepath.Join(b.TempDir(), "x.zip")
		if err := os.WriteFile(p, data, 0o644); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := Local(context.Background(), []string{p}, LocalOptions{SpoolDir: b.TempDir()})
				if err != nil || len(s.Warnings) != 1 {
					b.Fatalf("%v %v", err, s.Warnings)
				}
			}
		})
	}
}
