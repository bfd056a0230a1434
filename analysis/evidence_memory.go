package analysis

import (
	"context"
	"io"

	"faultline/analysis/artifact/gpumem"
	"faultline/analysis/resolve"
)

func readMemory(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	m, err := gpumem.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(h *resolve.Handed) {
		h.Memory = append(h.Memory, resolve.MemoryFile{File: file, Memory: m})
	}, nil
}
