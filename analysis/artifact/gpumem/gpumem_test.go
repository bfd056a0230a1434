package gpumem

import (
	"context"
	"strings"
	"testing"
)

// summary is what torch.cuda.memory_summary() of PyTorch 2.6 prints, shortened.
const summary = `|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 3                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 2            |        cudaMalloc retries: 5         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |  61440 MiB |  71680 MiB | 552960 MiB | 491520 MiB |
|       from large pool |  61440 MiB |  71680 MiB | 552960 MiB | 491520 MiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  79872 MiB |  79872 MiB | 718848 MiB | 638976 MiB |
|---------------------------------------------------------------------------|
| Non-releasable memory |  17408 MiB |  17408 MiB | 156672 MiB | 139264 MiB |
|===========================================================================|
`

// snapshot is that of torch.cuda.memory_snapshot().
const snapshot = `[{"device": 1, "address": 140000000000000, "total_size": 20971520, "allocated_size": 8388608, "segment_type": "large", "blocks": [{"size": 8388608, "state": "active_allocated"}, {"size": 12582912, "state": "inactive"}]},
{"device": 1, "total_size": 2097152, "allocated_size": 2097152, "segment_type": "small", "blocks": [{"size": 2097152, "state": "active_allocated"}]}]`

// dumped is {"segments": [{"device": 0, "total_size": 20, "allocated_size": 5, "segment_type": "large", "blocks": []}], "device_traces": [[]]} by Python's pickle.
const dumped = "\x80\x04}\x94(\x8c\x08segments\x94]\x94}\x94(\x8c\x06device\x94K\x00\x8c\ntotal_size\x94K\x14\x8c\x0eallocated_size\x94K\x05\x8c\x0csegment_type\x94\x8c\x05large\x94\x8c\x06blocks\x94]\x94ua\x8c\rdevice_traces\x94]\x94]\x94au."

func TestRecognise(t *testing.T) {
	for name, want := range map[string]bool{summary: true, snapshot: true, dumped: true, "": false, "INFO memory\n" + summary: false, "[1, 2]": false, "\x80\x02}(X\x07\x00\x00\x00versionX\x03\x00\x00\x002.9u.": false} {
		if got := Recognise([]byte(name)); got != want {
			t.Errorf("%.20q: %v", name, got)
		}
	}
	if !Pasted([]byte("INFO memory\n" + summary)) {
		t.Error("a summary in a log is not found")
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text                            string
		device, reserved, allocated, inactive int64
	}{
		{"a summary", summary, 3, 79872 << 20, 61440 << 20, 17408 << 20},
		{"a summary in a log", "step 3\n" + strings.ReplaceAll(summary, "\n|", "\n[rank3]: |"), 3, 79872 << 20, 61440 << 20, 17408 << 20},
		{"a snapshot", snapshot, 1, 23068672, 10485760, 12582912},
		{"a pickle", dumped, 0, 20, 5, 15},
	} {
		m, err := Read(context.Background(), strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Device != c.device || m.Reserved != c.reserved || m.Allocated != c.allocated || m.Inactive != c.inactive {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
	m, _ := Read(context.Background(), strings.NewReader(snapshot))
	if m.Worst.Place != "[0]" || m.Block != (Block{"[0].blocks[0]", 8388608}) || m.LargestIn != 12582912 || len(m.Sizes) != 2 || m.Sizes[0].Bytes != 8388608 {
		t.Errorf("%+v", m)
	}
}

// A program that prints its summary again and again shows how its use grew; another device's, or another rank's, is no point of that.
func TestSummariesOneAfterAnother(t *testing.T) {
	stamped := func(text, stamp string) string {
		return strings.ReplaceAll("\n"+strings.TrimSuffix(text, "\n"), "\n", "\n"+stamp+" [rank3]: ")[1:] + "\n"
	}
	grown := strings.Replace(summary, "61440 MiB |  71680", "71000 MiB |  71680", 1)
	other := strings.Replace(strings.Replace(summary, "device ID 3", "device ID 4", 1), "61440 MiB |  71680", "11 MiB |  71680", 1)
	text := stamped(summary, "2026-11-20T10:00:00.125Z") + "step 5\n" + stamped(other, "2026-11-20T10:00:00.125Z") + strings.ReplaceAll(stamped(grown, "2026-11-20T10:05:00.125Z"), "rank3", "rank9") + stamped(grown, "2026-11-20T10:05:01.250Z")
	m, err := Read(context.Background(), strings.NewReader(text))
	if err != nil || len(m.Series) != 2 || m.Series[0].Allocated != 61440<<20 || m.Series[1].Allocated != 71000<<20 || m.Allocated != 71000<<20 || m.Retries != 5 {
		t.Fatalf("%v, %+v", err, m)
	}
	if l := m.Series[1].At; !strings.Contains(text[l.At:l.At+int64(l.Len)], "71000 MiB") {
		t.Errorf("%+v", l)
	}
}

func TestHostileFiles(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "calls": "\x80\x04cos\nsystem\n(\x8c\x02lst\x85R.", "cut": dumped[:60], "damaged": `{"segments": [{"total_size": `, "deep": strings.Repeat("[", 1<<16),
		"no numbers": strings.Split(summary, "| Allocated")[0]} {
		if m, err := Read(context.Background(), strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(summary)
	f.Add(snapshot)
	f.Add(dumped)
	f.Fuzz(func(t *testing.T, text string) {
		Recognise([]byte(text))
		m, err := Read(context.Background(), strings.NewReader(text))
		if err == nil && (m.Reserved < 0 || m.Allocated < 0 || m.Free() < 0) {
			t.Fatalf("%+v", m)
		}
	})
}
