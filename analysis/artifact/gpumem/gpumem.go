// Package gpumem reads what PyTorch's allocator says of one GPU's memory: the text of torch.cuda.memory_summary(), and the snapshots of
// torch.cuda.memory_snapshot() (JSON) and torch.cuda.memory._dump_snapshot() (pickle, read by the safe reader of package pickle).
//
// Sources: torch/cuda/memory.py (memory_summary, memory_snapshot, _dump_snapshot; 1.13 to 2.10) and
// torch/csrc/cuda/memory_snapshot.cpp: segments with address, total_size, allocated_size, active_size, stream, segment_type and
// blocks (size, requested_size, state: active_allocated, active_pending_free, active_awaiting_free, inactive).
package gpumem

import (
	"bytes"
	"strings"

	"faultline/analysis/artifact/pickle"
	"faultline/pattern"
)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 4 << 10

// None is a number that is not stated.
const None = -1

// Memory is what one file says.
type Memory struct {
	Device    int64 // None; as the process counts them
	Reserved  int64 // bytes held of the GPU
	Allocated int64 // bytes that the program uses
	Inactive  int64 // bytes in split blocks that nobody uses: they cannot be given back, and a large request may not fit in
	Segments  int
	LargestIn int64   // the largest unused block
	Sizes     []Class // of used blocks, the most bytes first
	// Worst is the segment with the most bytes that are unused beside used ones.
	Worst Segment
	// Block is the largest used block of a snapshot, by its place.
	Block Block
	// Retries is how often the allocator gave back all that it held and asked anew; None.
	Retries int64
	// Lines hold the numbers of a summary: of the last one, where a program prints one again and again. Series is what was in use in each.
	Lines  []Line
	Series []Point
}

// Class counts used blocks of about one size: above half of Size, up to Size.
type Class struct {
	Size, Bytes int64
}

// Segment is one segment of a snapshot, by its place in the file.
type Segment struct {
	Place            string
	Total, Allocated int64
}

// Block is a block of a snapshot, by its place in the file.
type Block struct {
	Place string
	Size  int64
}

// Point is what was in use when a summary was made.
type Point struct {
	Allocated int64
	At        Line
}

// Line is a line of a summary with a number in it.
type Line struct {
	What string
	At   int64 // its offset
	N    int64 // its number in the file, from 1
	Len  int
}

// Free is what is reserved and not used.
func (m *Memory) Free() int64 { return m.Reserved - m.Allocated }

var summaryHead = pattern.New(`\|\s+PyTorch CUDA memory summary, device ID (\d+)\s+\|`)

// Recognise says whether a file that begins so is such a text or snapshot.
func Recognise(head []byte) bool {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case pickle.Recognise(head):
		return bytes.Contains(head[:min(len(head), 64)], []byte("segments")) || bytes.Contains(head, []byte("segment_type")) && bytes.Contains(head, []byte("total_size"))
	case bytes.HasPrefix(trimmed, []byte("[")) || bytes.HasPrefix(trimmed, []byte("{")):
		return bytes.Contains(head, []byte(`"total_size"`)) && (bytes.Contains(head, []byte(`"segment_type"`)) || bytes.Contains(head, []byte(`"blocks"`)))
	case bytes.HasPrefix(trimmed, []byte("|====")):
		return summaryHead.Match(head)
	}
	return false
}

// Pasted says that a summary stands somewhere in a text.
func Pasted(text []byte) bool {
	return bytes.Contains(text, []byte("PyTorch CUDA memory summary")) && summaryHead.Match(text)
}

// unit is what a count of bytes is written in: format_size of torch/cuda/memory.py ("B  ", "KiB", "MiB", … since 2.0; "KB", "MB" before).
func unit(s string) (int64, bool) {
	switch strings.ToUpper(strings.Replace(s, "i", "", 1)) {
	case "B":
		return 1, true
	case "KB":
		return 1 << 10, true
	case "MB":
		return 1 << 20, true
	case "GB":
		return 1 << 30, true
	case "TB":
		return 1 << 40, true
	}
	return 0, false
}
