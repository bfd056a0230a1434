package main

import (
	"bytes"
	"context"
	"errors"

	paths "faultline/analysis/artifact/bandwidth"
	"faultline/analysis/artifact/nccltests"
	"faultline/preflight"
)

// tools read what nccl-tests and perftest print, for bot check.
var tools = preflight.Tools{Bus: busRates, RDMA: rdmaRate}

func busRates(out []byte) ([]preflight.Measure, error) {
	runs, err := nccltests.Read(context.Background(), bytes.NewReader(out))
	if err != nil {
		return nil, err
	}
	var list []preflight.Measure
	for _, r := range runs {
		for i := range r.Rows {
			if bus, ok := r.Rows[i].Best(); ok {
				list = append(list, preflight.Measure{Size: r.Rows[i].Size, Rate: bus * 1e9})
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("it printed no bandwidth")
	}
	return list, nil
}

func rdmaRate(out []byte) (float64, error) {
	tests, err := paths.Read(context.Background(), bytes.NewReader(out))
	if err != nil {
		return 0, err
	}
	for _, t := range tests {
		switch {
		case t.Error != "":
			return 0, errors.New(t.Error)
		case t.Ended:
			return t.Gbits * 1e9 / 8, nil
		}
	}
	return 0, errors.New("it printed no bandwidth")
}
