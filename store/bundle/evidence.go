package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"faultline/messages/redact"
)

const (
	// maxLine bounds the memory that one line takes; what is longer is cut, and says so.
	maxLine = 256 << 10
	// maxLog bounds the content of one log in a bundle; what is longer is cut, and says so.
	maxLog = 1 << 30
	// maxKeyLines bounds how far a private key without an end masks what follows; the longest real ones have 210 lines.
	maxKeyLines = 1000
)

// errCut says that a log is longer than what a bundle holds of it.
var errCut = errors.New("only the beginning is here: the file is longer than a bundle holds of it")

// redactLog copies a log, redacted, line by line: line n of the copy is line n of the log. A carriage return inside a line, which
// would begin a new line here, is written as ␍.
func redactLog(w io.Writer, r io.Reader, limit int64) error {
	out := bufio.NewWriter(w)
	in := bufio.NewReaderSize(&io.LimitedReader{R: r, N: limit}, 64<<10)
	var masker lineMasker
	var read int64
	for {
		line, n, err := readLine(in)
		read += n
		if n > 0 {
			ends := strings.HasSuffix(line, "\n")
			if _, err := out.WriteString(masker.next(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
			if ends {
				if err := out.WriteByte('\n'); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if read >= limit {
		return errCut
	}
	return nil
}

// readLine reads one line with its end; of a line that is too long, the beginning and a remark. n is what was read of the log.
func readLine(in *bufio.Reader) (line string, n int64, err error) {
	var b bytes.Buffer
	var left int64
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if room := maxLine - b.Len(); len(part) > room {
			left += int64(len(part) - room)
			part = part[:room]
		}
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if left > 0 {
			ended := err == nil
			if ended {
				left-- // the line's end
			}
			// A token that is cut is no token any more, and would not be masked: cut before it.
			kept := b.Bytes()
			if i := bytes.LastIndexByte(kept, ' '); i > len(kept)-4096 && i > 0 {
				left += int64(len(kept) - i)
				kept = kept[:i]
			} else {
				left += min(4096, int64(len(kept)))
				kept = kept[:max(0, len(kept)-4096)]
			}
			line = fmt.Sprintf("%s [… %d bytes of this line are left out]", kept, left)
			if ended {
				line += "\n"
			}
			return line, n, err
		}
		return b.String(), n, err
	}
}

// lineMasker masks the lines of one log. Secrets that stand on several lines need a memory: a private key, and a value on the
// line after its name.
type lineMasker struct {
	key  int    // lines that still belong to a private key
	name string // the last line, when it ends with a name whose value may follow
}

func (m *lineMasker) next(line string) string {
	line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\r", "␍")
	if m.key > 0 {
		m.key--
		if i := strings.Index(line, "-----END "); i >= 0 {
			m.key = 0
			rest := line[i+len("-----END "):]
			if j := strings.Index(rest, "-----"); j >= 0 {
				return redact.Mask + m.next(rest[j+len("-----"):])
			}
		}
		return redact.Mask
	}
	name := m.name
	m.name = ""
	if t := strings.TrimRight(line, " \t"); strings.HasSuffix(t, ":") || strings.HasSuffix(t, "=") {
		m.name = t[max(0, len(t)-256):]
	}
	if i := strings.LastIndex(line, "-----BEGIN "); i >= 0 && strings.Contains(line[i:], "PRIVATE KEY") && !strings.Contains(line[i:], "-----END ") {
		m.key = maxKeyLines
	}
	clean := oneLine(redact.String(line))
	if name == "" {
		return clean
	}
	value := strings.TrimLeft(line, " \t")
	_, masked, ok := strings.Cut(redact.String(name+"\n"+value), "\n")
	if ok && strings.Count(masked, redact.Mask) > strings.Count(clean, redact.Mask) {
		return line[:len(line)-len(value)] + oneLine(masked)
	}
	return clean
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "␍") }
