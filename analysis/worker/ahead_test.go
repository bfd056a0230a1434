package worker_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"faultline/analysis/worker"
	"faultline/simulate/volume"
)

// A large file is read and searched ahead of the reader on other goroutines: what the reader says must not show it.
func TestReadingAheadSaysTheSame(t *testing.T) {
	sc, err := worker.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range volume.Kinds() {
		var text bytes.Buffer
		if err := volume.Write(&text, volume.Options{Kind: kind, Files: 4, PerFile: 8, FileSize: 3 << 20}, 1); err != nil {
			t.Fatal(err)
		}
		want, err := worker.Read(context.Background(), "x", bytes.NewReader(text.Bytes()), sc)
		if err != nil {
			t.Fatal(err)
		}
		got, err := worker.Read(context.Background(), "x", bytes.NewReader(text.Bytes()), sc.By(sc.Ahead(2)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the observations differ", kind)
		}
	}
}
