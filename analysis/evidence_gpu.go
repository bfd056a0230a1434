package analysis

import (
	"context"
	"errors"
	"io"

	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/artifact/kernel"
	"faultline/analysis/resolve"
)

func readKernel(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	l, err := kernel.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	add := func(h *resolve.Handed) { h.Kernel = append(h.Kernel, resolve.KernelLog{File: file, Log: l}) }
	if l.Damaged != "" {
		return add, errors.New(l.Damaged)
	}
	return add, nil
}

func readGPUs(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	s, err := gpustate.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(h *resolve.Handed) {
		for _, x := range s {
			h.GPUs = append(h.GPUs, resolve.GPUState{File: file, State: x})
		}
	}, nil
}
