package simulate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// ablate removes lines before they are routed: evidence that this run's logs never had.
func (s *scene) ablate() {
	drop := func(f func(entry) bool) { s.entries = slices.DeleteFunc(s.entries, f) }
	switch s.spec.Ablate {
	case "silent-root":
		drop(func(e entry) bool { return e.rank == s.root || e.says&(saysWorld|saysGroups|saysNodes) != 0 })
		s.askedWorld, s.askedNodes = false, false
	case "no-world":
		drop(func(e entry) bool { return e.says&(saysWorld|saysNodes) != 0 })
		s.askedWorld, s.askedNodes = false, false
	case "no-node": // nothing names a host: no rank is tied to one
		drop(func(e entry) bool {
			return slices.ContainsFunc(s.nodes, func(n *node) bool { return strings.Contains(e.text, n.name) })
		})
		s.askedWorld, s.askedNodes = true, false
	case "no-topology":
		drop(func(e entry) bool { return e.says&saysGroups != 0 })
		s.askedWorld = true
	}
}

// damages on whole files; the rest act on bytes (scar).
func (s *scene) damage(sinks []*sink) error {
	root := s.root >= 0 && (s.spec.Damage == "missing-root-file" || s.spec.Damage == "truncated-root")
	switch s.spec.Damage {
	case "missing-root-file", "missing-other-file", "truncated-root", "truncated-other":
	default:
		if s.spec.Damage != "" && !slices.Contains(byteDamages, s.spec.Damage) {
			return fmt.Errorf("simulate: unknown damage %q", s.spec.Damage)
		}
		return nil
	}
	if s.spec.FileMode == "single" {
		return fmt.Errorf("simulate: %s needs several files", s.spec.Damage)
	}
	target := -1
	if root {
		target = s.root
	} else {
		// Some rank whose file is not the culprit's; the last node's, so that rank 0's banner stays.
		for r := s.world - 1; r >= 0; r-- {
			if s.root < 0 || s.ranks[r].node != s.ranks[s.root].node || (s.spec.FileMode != "node" && r != s.root) {
				target = r
				break
			}
		}
	}
	if target < 0 {
		return fmt.Errorf("simulate: %s: there is only one node", s.spec.Damage)
	}
	for _, k := range sinks {
		if k.rank != target && !(k.rank < 0 && k.node == s.ranks[target].node.index) {
			continue
		}
		if s.spec.Damage[0] == 'm' {
			k.missing = true
			if s.spec.Ablate != "no-world" && s.spec.Ablate != "silent-root" {
				s.askedWorld, s.askedNodes = true, true
			}
			continue
		}
		// Cut before the incident began: nothing of the failure is in this file.
		limit := s.onset() / 2
		n := len(k.entries)
		for n > 1 && k.entries[n-1].at > limit {
			n--
		}
		k.entries, k.cut = slices.Clone(k.entries[:n]), true
	}
	return nil
}

// onset is when the incident began: the first lines of the failure come a timeout later.
func (s *scene) onset() time.Duration {
	if s.end != nil {
		return s.end.onset
	}
	last := time.Duration(0)
	for _, e := range s.entries {
		last = max(last, e.at)
	}
	return last
}

// scar damages the bytes of a file without taking facts away.
func (s *scene) scar(f File, k *sink) (File, error) {
	d := f.Data
	at := func(frac float64) int { // the start of a line somewhere in the file
		i := bytes.IndexByte(d[int(float64(len(d))*frac):], '\n')
		if i < 0 {
			return len(d)
		}
		return int(float64(len(d))*frac) + i + 1
	}
	insert := func(frac float64, b []byte) { d = slices.Insert(slices.Clone(d), at(frac), b...) }
	switch s.spec.Damage {
	case "wrapped":
		var out bytes.Buffer
		for _, l := range bytes.SplitAfter(d, []byte("\n")) {
			for len(l) > 138 { // 137 columns and the newline
				out.Write(l[:137])
				out.WriteByte('\n')
				l = l[137:]
			}
			out.Write(l)
		}
		d = out.Bytes()
	case "crlf":
		d = bytes.ReplaceAll(d, []byte("\n"), []byte("\r\n"))
	case "nul":
		insert(0.3, make([]byte, 512))
		insert(0.6, append(make([]byte, 64), '\n'))
	case "utf8":
		insert(0.4, []byte("loss \xff\xfe\xc3( \x80 of shard\n"))
	case "long-line":
		if k.rank > 0 || k.node > 0 {
			break // one file is enough
		}
		insert(0.5, append(bytes.Repeat([]byte("0123456789abcdef"), 2<<20/16), '\n'))
	case "no-first":
		d = d[at(0):]
		if len(d) == 0 {
			d = f.Data
		}
	case "no-last":
		if lines := bytes.SplitAfter(d, []byte("\n")); len(lines) > 6 {
			d = bytes.Join(lines[:len(lines)-2], nil)
		}
	case "gz":
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(d); err != nil {
			return f, fmt.Errorf("compressing: %w", err)
		}
		if err := w.Close(); err != nil {
			return f, fmt.Errorf("compressing: %w", err)
		}
		d, f.Name = out.Bytes(), f.Name+".gz"
	case "zst":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return f, fmt.Errorf("compressing: %w", err)
		}
		d, f.Name = w.EncodeAll(d, nil), f.Name+".zst"
	}
	f.Data = d
	return f, nil
}
