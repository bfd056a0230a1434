package resolve

import "testing"

const (
	oomNew = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 6 has a total capacity of 79.33 GiB of which 1.35 GiB is free. "
	oomEnd = " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)

// What an error is due to is what its own numbers prove, and open where they do not.
func TestOOMCauses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       OOMCause
		elsewhere  int64
	}{
		{"the program fills the GPU", oomNew + "Including non-PyTorch memory, this process has 77.97 GiB memory in use. Of the allocated memory 75.65 GiB is allocated by PyTorch, and 853.04 MiB is reserved by PyTorch but unallocated." + oomEnd, OOMFull, 0},
		{"fragmented", oomNew + "Including non-PyTorch memory, this process has 77.97 GiB memory in use. Of the allocated memory 60.65 GiB is allocated by PyTorch, and 15.80 GiB is reserved by PyTorch but unallocated." + oomEnd, OOMFragmented, 0},
		{"another process", oomNew + "Process 1234 has 70.00 GiB memory in use. Including non-PyTorch memory, this process has 7.97 GiB memory in use. Of the allocated memory 7.15 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.", OOMOccupied, 70 << 30},
		{"in a container the only process listed is this one", "CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated.", OOMFull, 0},
		{"in a container one of two listed is this one", oomNew + "Process 9 has 47.97 GiB memory in use. Process 10 has 30.00 GiB memory in use. Of the allocated memory 46.00 GiB is allocated by PyTorch, and 700.00 MiB is reserved by PyTorch but unallocated.", OOMOccupied, 30 << 30},
		{"listed alone, and not this one", oomNew + "Process 9 has 60.00 GiB memory in use. Of the allocated memory 16.00 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.", OOMOccupied, 60 << 30},
		{"until 2.0, full", "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 4.00 GiB total capacity; 3.46 GiB already allocated; 0 bytes free; 3.47 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory", OOMFull, 0},
		{"until 2.0, fragmented", "CUDA out of memory. Tried to allocate 1.50 GiB (GPU 3; 31.75 GiB total capacity; 21.00 GiB already allocated; 500.00 MiB free; 29.10 GiB reserved in total by PyTorch)", OOMFragmented, 0},
		{"cached apart", "CUDA out of memory. Tried to allocate 1024.00 MiB (GPU 0; 15.90 GiB total capacity; 14.25 GiB already allocated; 991.56 MiB free; 607.00 KiB cached)", OOMFull, 0},
		{"one request above all", "CUDA out of memory. Tried to allocate 190.00 GiB. GPU 0 has a total capacity of 79.33 GiB of which 70.00 GiB is free. Including non-PyTorch memory, this process has 9.00 GiB memory in use. Of the allocated memory 8.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.", OOMTooLarge, 0},
		{"a cap", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.33 GiB of which 40.00 GiB is free. Including non-PyTorch memory, this process has 39.00 GiB memory in use. 39.66 GiB allowed; Of the allocated memory 38.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.", OOMCapped, 0},
		{"half is missing", oomNew + "Of the allocated memory 10.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.", OOMOpen, 0},
	} {
		o, ok := ReadOOM(c.text)
		if got := o.Cause(); !ok || got != c.want || o.Elsewhere() != c.elsewhere {
			t.Errorf("%s: %d, %+v", c.name, got, o)
		}
	}
	for _, text := range []string{"", "CUDA out of memory.", "CUDA out of memory. Tried to allocate 2.00 GiB.", "Tried to allocate 2.00 parsecs (GPU 0; 1 total capacity"} {
		if o, ok := ReadOOM(text); ok {
			t.Errorf("%q: %+v", text, o)
		}
	}
}

func FuzzReadOOM(f *testing.F) {
	f.Add(oomNew + "Process 9 has 60.00 GiB memory in use. Of the allocated memory 16.00 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.")
	f.Add("Tried to allocate 20.00 MiB (GPU 0; 4.00 GiB total capacity; 3.46 GiB already allocated; 0 bytes free; 3.47 GiB reserved")
	f.Fuzz(func(t *testing.T, text string) {
		if o, ok := ReadOOM(text); ok && (o.Total <= 0 || o.Elsewhere() < 0) {
			t.Fatalf("%+v", o)
		}
	})
}
