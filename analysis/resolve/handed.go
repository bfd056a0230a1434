package resolve

import (
	"reflect"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/artifact/ras"
	"faultline/analysis/artifact/rows"
	"faultline/analysis/artifact/timeseries"
)

// Handed is evidence beside the logs, as it was read, by kind. Its order is that of the files' names.
type Handed struct {
	// Collected say what could not be had on the nodes of a bundle.
	Collected []CollectedList
	Dumps     []RankDump     // of PyTorch's flight recorder
	Analyses  []FileAnalysis // of dumps, by torchfrtrace
	Stacks    []StackFile    // of py-spy, faulthandler, gdb and the kernel
	Profiles  []ProfileFile  // folded stacks of profilers
	Fabric    []FabricFile   // of the network: ports, links, counters
	Tests     []TestFile     // of nccl-tests
	// Baseline are runs of nccl-tests that somebody states as good; Bandwidth is what their largest size has to reach on the bus, in
	// GB/s, 0 where nobody says so.
	Baseline  []TestFile
	Bandwidth float64
	Paths     []PathFile      // of iperf3 and perftest
	Traces    []FileTrace     // of PyTorch's profiler
	NCCL      []*nccl.Log     // NCCL's own logs
	RAS       []*ras.Snapshot // answers of NCCL's RAS
	Memory    []MemoryFile    // of GPUs, by PyTorch's allocator
	Numbers   []NumberFile    // losses, norms, checksums by step
	Kernel    []KernelLog     // of nodes
	GPUs      []GPUState      // what tools say of GPUs
	Rows      []RowFile       // what speaks for itself row by row
	Series    []SeriesFile    // tables over time
	// Origins are the nodes that files were fetched from, by their names, where that is known.
	Origins  map[string]string
	Captures []CaptureFile // of tcpdump
}

// RowFile is a file of a kind of evidence of which each row speaks for itself.
type RowFile struct {
	File string
	Kind *rows.Kind
	Rows []rows.Told
}

// SeriesFile is a table over time.
type SeriesFile struct {
	File  string
	Table *timeseries.Table
}

// Empty says that there is none.
func (h Handed) Empty() bool { return reflect.ValueOf(h).IsZero() }
