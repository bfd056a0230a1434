package mechanism

import (
	"strings"
	"testing"
)

func TestALongMessageKeepsItsKindAndItsReason(t *testing.T) {
	const free = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 5 has a total capacity of 79.15 GiB of which 341.25 MiB is free. " +
		"Including non-PyTorch memory, this process has 78.80 GiB memory in use. Of the allocated memory 74.91 GiB is allocated by PyTorch, and 2.17 GiB is reserved by PyTorch but unallocated."
	for _, c := range []struct{ name, text, end string }{
		{"short", "RuntimeError: no", "RuntimeError: no"},
		{"its end is the reason", "requests.ConnectionError: " + strings.Repeat("x ", 150) + "[Errno 111] Connection refused'))", "Connection refused'))"},
		{"what PyTorch advises is none", free + " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  " +
			"See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)", "of which 341.25 MiB is free."},
		{"older", free + " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF", "of which 341.25 MiB is free."},
	} {
		if got := short(c.text); !strings.HasSuffix(got, c.end) || len(got) > 210 {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
