package fetch

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"faultline/workflow"
)

// content is what the first bytes of a file say.
type content uint8

const (
	isText content = iota // also a compressed single file, also empty
	isArchive
	isBinary
	isForeign // a log perhaps, in a form that is not read
	isBeside  // no log, and evidence beside one
	isSeveral // text of several logs, each under its header
)

// sniffLen is how much of a file is looked at.
const sniffLen = 8 << 10

// sniff looks at the start of a file. What is evidence beside logs, Beside knows by it.
func (g *gatherer) sniff(p string) (content, error) {
	beside := g.opts.Beside
	archive, start, err := g.startOf(p)
	if err != nil {
		return isBinary, err
	}
	if archive || isTar(start) {
		return isArchive, nil
	}
	kind := look(start)
	switch {
	case kind != isText && beside != nil && beside(start):
		kind = isBeside
	case kind == isText && isJoined(start) && g.several(p):
		kind = isSeveral
	}
	return kind, nil
}

// startOf is the start of a file's content, or says that it is a zip archive.
func (g *gatherer) startOf(p string) (zip bool, start []byte, err error) {
	f, err := g.gate.Open(p)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	b := make([]byte, sniffLen)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil, err
	}
	b = b[:n]
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06")) {
		return true, nil, nil
	}
	if inner, ok := unpackStart(f, b); ok {
		b = inner
	}
	return false, b, nil
}

// besides says that a file which is no log by its name is to be read all the same, by its content.
func (g *gatherer) besides(p string, read func(start []byte) bool) bool {
	if read == nil || !besideKinds[extension(p)] {
		return false
	}
	_, start, err := g.startOf(p)
	if own := workflow.NotOpened(err); own != nil && g.fault == nil {
		g.fault = own
	}
	return err == nil && read(start)
}

// besideKinds are endings of files that are no logs by them, and may be evidence beside logs: what tools print for machines.
var besideKinds = map[string]bool{".json": true, ".jsonl": true, ".csv": true, ".tsv": true, ".pkl": true, ".pickle": true}

// unpackStart is the start of the content of a compressed file.
func unpackStart(f *os.File, b []byte) ([]byte, bool) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, false
	}
	r, closer := unpack(bufio.NewReader(f), b)
	if r == nil {
		return nil, false
	}
	defer closer()
	out := make([]byte, sniffLen)
	n, _ := io.ReadFull(r, out) // damaged: what can be read decides, and the scanner reports the damage
	return out[:n], true
}

// unpack returns a reader of the content if start has the magic bytes of gzip or zstd, else nil.
func unpack(r io.Reader, start []byte) (io.Reader, func()) {
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		if z, err := gzip.NewReader(r); err == nil {
			return z, func() { z.Close() }
		}
		return bytes.NewReader(nil), func() {}
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		if z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20)); err == nil {
			return z, z.Close
		}
		return bytes.NewReader(nil), func() {}
	}
	return nil, nil
}

func isTar(b []byte) bool {
	if len(b) < 512 || !bytes.HasPrefix(b[257:], []byte("ustar")) {
		return false
	}
	_, err := tar.NewReader(bytes.NewReader(b)).Next()
	return err == nil
}

// magics of things that stand beside logs. PK (zip) is told apart before.
var magics = []string{
	"\x7fELF", "\x89PNG", "\xff\xd8\xff", "GIF8", "%PDF", "SQLite format 3", "PAR1", "\x89HDF", "ARROW1", "\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05",
	"\x93NUMPY", "!<arch>\n",
}

// foreigners are xz, bzip2 and the byte order marks of UTF-16.
var foreigners = []string{"\xfd7zXZ", "BZh", "\xff\xfe", "\xfe\xff"}

// look tells text from other content. NUL bytes alone make no binary: holes of a crashed node are full of them.
func look(b []byte) content {
	if isDump(b) {
		return isText
	}
	for _, m := range magics {
		if bytes.HasPrefix(b, []byte(m)) {
			return isBinary
		}
	}
	for _, m := range foreigners {
		if bytes.HasPrefix(b, []byte(m)) {
			return isForeign
		}
	}
	odd, seen := 0, 0
	for _, c := range b {
		if c == 0 {
			continue
		}
		seen++
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\b' && c != '\f' && c != 0x1b && c != 7 {
			odd++
		}
	}
	if odd*20 > seen {
		return isBinary
	}
	return isText
}

// isDump says that a pickle is the dump of a rank's flight recorder, which PyTorch writes beside a job's logs: these are the names in
// it (c10d, 2.2 to 2.10).
func isDump(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("\x80\x02")) {
		return false
	}
	for _, name := range []string{"pg_config", "pg_status", "nccl_version", "comm_lib_version", "profiling_name"} {
		if bytes.Contains(b, []byte(name)) {
			return true
		}
	}
	return false
}

// otherKinds are endings of files that stand in job directories and are no logs. ".o" is not among them: batch scripts often have their
// output written to "name-%j.o", and an object file is known by its content.
var otherKinds = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range strings.Fields(`.pt .pth .pkl .pickle .ckpt .safetensors .bin .npy .npz .onnx .gguf .so .a .pyc .whl .egg .png .jpg .jpeg .gif .svg .pdf
		.parquet .arrow .feather .h5 .hdf5 .idx .sqlite .db .mp4 .wav .flac .py .ipynb .c .cc .cpp .cu .h .go .rs .js .css .html .md .rst .yaml .yml .toml .ini .cfg .lock
		.json .jsonl .csv .tsv .sbatch .sh .slurm .nsys-rep .qdrep .model .vocab .distcp .metadata .exe .dll`) {
		m[e] = true
	}
	return m
}()

// NoLog says that a file is of something else by its name.
func NoLog(name string) bool { return otherKind(name) || hidden(name) }

// otherKind says that a file is no log by its name. torchrun's error.json is one.
func otherKind(name string) bool {
	if strings.EqualFold(path.Base(name), "error.json") {
		return false
	}
	return otherKinds[extension(name)] || strings.Contains(strings.ToLower(path.Base(name)), "tfevents")
}

// extension is how a name ends, what it is compressed with apart.
func extension(name string) string {
	low := strings.ToLower(path.Base(name))
	for _, z := range []string{".gz", ".zst"} {
		low = strings.TrimSuffix(low, z)
	}
	return path.Ext(low)
}
