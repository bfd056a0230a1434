package analysis

import (
	"context"
	"io"

	"faultline/analysis/artifact/numbers"
	"faultline/analysis/resolve"
)

func readNumbers(ctx context.Context, file string, r io.Reader) (func(*resolve.Handed), error) {
	t, err := numbers.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(h *resolve.Handed) {
		h.Numbers = append(h.Numbers, resolve.NumberFile{File: file, Table: t})
	}, nil
}
