package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/artifact/bandwidth"
	"faultline/analysis/artifact/bmc"
	"faultline/analysis/artifact/checked"
	"faultline/analysis/artifact/collected"
	"faultline/analysis/artifact/fabric"
	"faultline/analysis/artifact/folded"
	"faultline/analysis/artifact/frtrace"
	"faultline/analysis/artifact/gpumem"
	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/artifact/kernel"
	"faultline/analysis/artifact/nccl"
	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/artifact/numbers"
	"faultline/analysis/artifact/packets"
	"faultline/analysis/artifact/ras"
	"faultline/analysis/artifact/recorder"
	"faultline/analysis/artifact/rows"
	"faultline/analysis/artifact/stacks"
	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/artifact/trace"
	"faultline/analysis/resolve"
	"faultline/analysis/scan"
	"faultline/incident"
)

// evidenceKind is one kind of evidence beside the logs.
type evidenceKind struct {
	name string // for people
	// recognise knows a file by how it begins: evidenceHead bytes, or all of a shorter one.
	recognise func(head []byte) bool
	// pasted, if set, finds it within the text of a small log as well, where somebody put it.
	pasted func(text []byte) bool
	// read returns what adds the facts of a file to those of the others.
	read readKindFunc
	// reader, if set, makes read for one run, where files have much in common that is kept once.
	reader func() readKindFunc
	// alone: such a file is never a worker's log, too.
	alone bool
	// only says that a whole file is nothing else: then it is no worker's log either.
	only func([]byte) bool
	// besides: it is read from a file that another kind recognises as well, and from small logs of the job.
	besides bool
}

type readKindFunc func(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error)

// evidenceKinds are all that are known; of several that recognise a file the first counts.
var evidenceKinds = []evidenceKind{
	// A trace names process groups as a dump does, so it is asked for first.
	{name: "PyTorch profiler traces (Chrome JSON, also compressed, one file per rank)", recognise: trace.Recognise, read: readTrace, alone: true},
	{name: "per-step tables of losses, gradient norms or checksums (CSV with headings, JSON lines)", recognise: numbers.Recognise, read: readNumbers},
	{name: "GPU memory reports from PyTorch's allocator (memory_summary as text, memory_snapshot as pickle or JSON)", recognise: gpumem.Recognise, pasted: gpumem.Pasted, read: readMemory},
	{name: "PyTorch flight-recorder dumps (pickle or JSON, one file per rank, its number at the end of the name)",
		recognise: recorder.Recognise, reader: dumpReader, alone: true},
	{name: "output of PyTorch's flight-recorder analysis (torchfrtrace, fr_trace)", recognise: frtrace.Recognise, pasted: frtrace.Recognise, read: readAnalysis},
	// A kernel log may hold the call traces of processes and what drivers say of ports.
	{name: "kernel logs (dmesg, journalctl -k, syslog)", recognise: kernel.Recognise, read: readKernel, alone: true},
	{name: "output of nvidia-smi, dcgmi or rocm-smi", recognise: gpustate.Recognise, pasted: gpustate.Pasted, read: readGPUs},
	{name: "process stacks (py-spy dump, also with --json, faulthandler, gdb, /proc/PID/stack, ps)",
		recognise: stacks.Recognise, pasted: stacks.Pasted, read: readStacks, only: stacks.Only},
	{name: "folded stacks (py-spy record --format raw, perf through stackcollapse, one file per rank)", recognise: folded.Recognise, read: readProfile, alone: true},
	{name: "nccl-tests output (all_reduce_perf and its siblings)", recognise: nccltests.Recognise, pasted: nccltests.Recognise, read: readTests},
	{name: "nccl-tests reports (JSON, from -J FILE)", recognise: nccltests.RecogniseJSON, read: readTests, alone: true},
	{name: "path tests (iperf3 as text or JSON; ib_write_bw, ib_send_bw, ib_read_bw)", recognise: bandwidth.Recognise, read: readPaths, alone: true},
	{name: "network state and counters (ibstat, ibstatus, ibv_devinfo, perfquery, iblinkinfo, ibqueryerrors, rdma statistic, ip -s link, ethtool, ping, files from /sys)",
		recognise: fabric.Recognise, pasted: fabric.Pasted, read: readFabric, alone: true},
	{name: "captured packets (tcpdump text, pcap, pcapng)", recognise: packets.Recognise, read: readCapture, alone: true},
	{name: "NCCL RAS output as JSON (ncclras -v -f json)", recognise: ras.RecogniseJSON, read: readRAS, alone: true},
	{name: "NCCL RAS output as text (ncclras -v)", recognise: ras.Recognise, pasted: ras.Pasted, read: readRAS},
	{name: "NCCL's own logs (NCCL_DEBUG=INFO, NCCL_DEBUG_FILE)", recognise: nccl.Recognise, read: readNCCL},
	rowByRow(&bmc.Kind),
	{name: "bundles from bot collect", recognise: collected.Recognise, read: readCollected, alone: true},
	rowByRow(&checked.Kind),
	{name: "tables over time (CSV, TSV, columns, name=value or JSON rows, with a time or a step: nvidia-smi, dmon, iostat, vmstat, sar, port counters, own metrics)",
		recognise: timeseries.Recognise, read: readSeries, only: timeseries.Headed, besides: true},
}

// rowByRow is a kind of which each row speaks for itself: its package is all there is to it.
func rowByRow(k *rows.Kind) evidenceKind {
	return evidenceKind{name: k.Name, recognise: k.Recognise, pasted: k.Pasted, read: func(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
		told, err := k.Read(ctx, r)
		if err != nil {
			return nil, err
		}
		return func(h *resolve.Handed) { h.Rows = append(h.Rows, resolve.RowFile{File: file, Kind: k, Rows: told}) }, nil
	}}
}

const (
	evidenceHead = 64 << 10  // of a file that is handed in
	logHead      = 8 << 10   // of a log
	smallLog     = 256 << 10 // a log up to here is searched as a whole for what is pasted into it,
	smallLogs    = 32 << 20  // unless all such logs of a job together have more bytes
)

// kindsIn are the kinds that a file holds: one that it is as a whole, or what is pasted into it. besides tells kinds that are read beside others.
func kindsIn(head []byte, whole bool, besides func(*evidenceKind, []byte) bool) (out []*evidenceKind) {
	for i := range evidenceKinds {
		if k := &evidenceKinds[i]; !k.besides && k.recognise(head) {
			out = []*evidenceKind{k}
			break
		}
	}
	switch {
	case len(out) > 0 && out[0].alone:
		return out
	case len(out) == 0 && whole:
		for i := range evidenceKinds {
			if k := &evidenceKinds[i]; k.pasted != nil && k.pasted(head) {
				out = append(out, k)
			}
		}
	}
	for i := range evidenceKinds {
		if k := &evidenceKinds[i]; k.besides && besides(k, head) {
			out = append(out, k)
		}
	}
	return out
}

// begins says that a file which begins so is of the kind, or holds some of it.
func (k *evidenceKind) begins(head []byte) bool { return k.recognise(head) }

// alike says that it is nothing else.
func (k *evidenceKind) alike(head []byte) bool { return k.only != nil && k.only(head) }

// given is one file with evidence.
type given struct {
	source incident.Source
	kinds  []*evidenceKind // that it holds, where that is known already
	log    bool            // it is a large log: the numbers in its lines are no table
	add    []func(*resolve.Handed)
	note   string
}

// readEvidence reads what was handed in, and what of it stands in the logs. What is none of the kinds that are known is named, and left
// out.
func readEvidence(ctx context.Context, in *Input) error {
	all := make([]given, 0, len(in.Evidence)+len(in.both))
	seen := map[string]bool{} // paths: a folder of the logs may be handed in by itself as well
	for _, s := range in.Evidence {
		if !seen[s.Path] {
			seen[s.Path] = true
			all = append(all, given{source: s})
		}
	}
	all = append(all, in.both...)
	slices.SortStableFunc(all, func(a, b given) int { return strings.Compare(a.source.Name, b.source.Name) })
	readers := map[*evidenceKind]readKindFunc{}
	for i := range evidenceKinds {
		k := &evidenceKinds[i]
		if readers[k] = k.read; k.reader != nil {
			readers[k] = k.reader()
		}
	}
	heads := &sync.Pool{New: func() any { return new(bytes.Buffer) }}
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(in.workers())
	for i := range all {
		g.Go(func() error {
			all[i].add, all[i].note = readKinds(reading, in.Opener, all[i], readers, heads)
			return reading.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	in.handed, in.beside = resolve.Handed{}, map[string]bool{}
	for _, f := range all {
		if f.note != "" {
			in.notes = append(in.notes, f.note)
		}
		for _, add := range f.add {
			add(&in.handed)
			in.beside[f.source.Name] = true
			if f.source.Node != "" {
				if in.handed.Origins == nil {
					in.handed.Origins = map[string]string{}
				}
				in.handed.Origins[f.source.Name] = f.source.Node
			}
		}
	}
	if err := readBaseline(ctx, in); err != nil {
		return err
	}
	slices.Sort(in.notes)
	return nil
}

// readKinds reads what a file holds, or says why not.
func readKinds(ctx context.Context, from scan.Opener, f given, readers map[*evidenceKind]readKindFunc, heads *sync.Pool) ([]func(*resolve.Handed), string) {
	s, kinds := f.source, f.kinds
	if kinds == nil {
		room := heads.Get().(*bytes.Buffer)
		defer heads.Put(room)
		head, err := headInto(room, from, s, evidenceHead)
		if err != nil {
			return nil, fmt.Sprintf("not read: %s: %v", s.Name, plain(err))
		}
		kinds = kindsIn(head, len(head) < smallLog, (*evidenceKind).begins)
		if f.log {
			kinds = slices.DeleteFunc(kinds, func(k *evidenceKind) bool { return k.besides })
		} else if len(kinds) == 0 {
			return nil, fmt.Sprintf("not used: %s isn't a known kind of evidence (docs/evidence.md lists them)", s.Name)
		}
	}
	var out []func(*resolve.Handed)
	var notes []string
	for _, k := range kinds {
		add, err := readKind(ctx, from, s, readers[k])
		if err != nil {
			notes = append(notes, fmt.Sprintf("not used: %s: %v", s.Name, plain(err)))
		}
		if add != nil {
			out = append(out, add)
		}
	}
	return out, strings.Join(notes, "; ")
}

func readKind(ctx context.Context, from scan.Opener, s incident.Source, read readKindFunc) (func(*resolve.Handed), error) {
	f, err := from.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(ctx, s.Name, f)
}

// headOf is how a file begins: n bytes, or all of a small one.
func headOf(from scan.Opener, s incident.Source, n int) ([]byte, error) {
	return headInto(new(bytes.Buffer), from, s, n)
}

// headInto is headOf in a buffer that may be used again.
func headInto(b *bytes.Buffer, from scan.Opener, s incident.Source, n int) ([]byte, error) {
	if s.Bytes < smallLog {
		n = smallLog
	}
	return startInto(b, from, s, n)
}

// startInto is the first n bytes of a file, whatever its size.
func startInto(b *bytes.Buffer, from scan.Opener, s incident.Source, n int) ([]byte, error) {
	f, err := from.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b.Reset()
	b.Grow(int(min(int64(n), max(s.Bytes, 0))) + bytes.MinRead) // of a compressed file it is not enough, and grows
	_, err = io.CopyN(b, f, int64(n))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && b.Len() == 0 {
		return nil, err
	}
	return b.Bytes(), nil
}

// KnownEvidence is what can be handed in beside logs, for people.
func KnownEvidence() string {
	names := make([]string, len(evidenceKinds))
	for i := range evidenceKinds {
		names[i] = evidenceKinds[i].name
	}
	return strings.Join(names, "; ")
}

// dumpReader reads the dumps of one run.
func dumpReader() readKindFunc {
	shared := new(recorder.Shared)
	return func(_ context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
		return readDump(shared, file, r)
	}
}

func readDump(shared *recorder.Shared, file string, r io.Reader) (func(*resolve.Handed), error) {
	d, err := shared.Read(r)
	if err != nil {
		return nil, err
	}
	rank, ok := recorder.RankOf(file)
	switch {
	case !ok:
		return nil, errors.New("it is a dump of a flight recorder, and its name does not end with its rank")
	case !d.Fits(rank):
		return nil, fmt.Errorf("by its name it is rank %d's dump, but that rank isn't in any of its groups", rank)
	}
	return func(h *resolve.Handed) {
		h.Dumps = append(h.Dumps, resolve.RankDump{Rank: rank, File: file, Dump: d})
	}, nil
}

// The kinds of which a whole file is one thing.
var (
	readAnalysis = readAs(frtrace.Read, func(h *resolve.Handed, file string, a *frtrace.Analysis) {
		h.Analyses = append(h.Analyses, resolve.FileAnalysis{File: file, Analysis: a})
	})
	readStacks = readAs(stacks.Read, func(h *resolve.Handed, file string, f *stacks.File) {
		h.Stacks = append(h.Stacks, resolve.StackFile{Name: file, Stacks: f})
	})
	readSeries = readAs(timeseries.Read, func(h *resolve.Handed, file string, t *timeseries.Table) {
		h.Series = append(h.Series, resolve.SeriesFile{File: file, Table: t})
	})
	readProfile = readAs(folded.Read, func(h *resolve.Handed, file string, p *folded.Profile) {
		h.Profiles = append(h.Profiles, resolve.ProfileFile{File: file, Profile: p})
	})
	readCollected = readAs(collected.Read, func(h *resolve.Handed, file string, l *collected.List) {
		h.Collected = append(h.Collected, resolve.CollectedList{Name: file, List: l})
	})
	readFabric = readAs(fabric.Read, func(h *resolve.Handed, file string, facts *fabric.File) {
		h.Fabric = append(h.Fabric, resolve.FabricFile{File: file, Facts: facts})
	})
	readPaths = readAs(bandwidth.Read, func(h *resolve.Handed, file string, tests []bandwidth.Test) {
		h.Paths = append(h.Paths, resolve.PathFile{File: file, Tests: tests})
	})
	readCapture = readAs(packets.Read, func(h *resolve.Handed, file string, c *packets.Capture) {
		h.Captures = append(h.Captures, resolve.CaptureFile{File: file, Capture: c})
	})
	readMemory = readAs(gpumem.Read, func(h *resolve.Handed, file string, m *gpumem.Memory) {
		h.Memory = append(h.Memory, resolve.MemoryFile{File: file, Memory: m})
	})
	readNumbers = readAs(numbers.Read, func(h *resolve.Handed, file string, t *numbers.Table) {
		h.Numbers = append(h.Numbers, resolve.NumberFile{File: file, Table: t})
	})
	readTrace = readAs(trace.Read, func(h *resolve.Handed, file string, t *trace.Trace) {
		h.Traces = append(h.Traces, resolve.FileTrace{File: file, Trace: t})
	})
)

// readAs hands in what read makes of a whole file.
func readAs[T any](read func(context.Context, io.Reader) (T, error), add func(*resolve.Handed, string, T)) readKindFunc {
	return func(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
		v, err := read(ctx, r)
		if err != nil {
			return nil, err
		}
		return func(h *resolve.Handed) { add(h, file, v) }, nil
	}
}
