package scan

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// Lines that somebody takes before they are searched are missing among those that are delivered, and nothing else changes.
func TestLinesThatAreTakenAreNotDelivered(t *testing.T) {
	var text bytes.Buffer
	for i := range 4000 {
		switch i % 7 {
		case 0, 1, 2:
			fmt.Fprintf(&text, "known line %d with alpha\n", i)
		case 3:
			fmt.Fprintf(&text, "line %d of nobody %s\n", i, strings.Repeat("x", i%90))
		default:
			fmt.Fprintf(&text, "other %d beta %s\n", i, strings.Repeat("y", i%300))
		}
	}
	text.WriteString("known line at the end with alpha, and no line end")
	// With less than nothing, others read and search ahead.
	for _, chunk := range []int{300, 4 << 10, 1 << 20, -(4 << 10)} {
		sc, err := New([]string{"alpha", "beta", "gamma"}, Options{MaxLine: 256, ChunkSize: max(chunk, -chunk), HeadLines: 5, Frequent: map[string]bool{"gamma": true}})
		if err != nil {
			t.Fatal(err)
		}
		if chunk < 0 {
			sc = sc.Ahead(2)
		}
		place := func(l *Line) string { return fmt.Sprint(l.No, l.TextOff, string(l.Text), l.Marks) }
		known := func(text []byte) bool { return bytes.HasPrefix(text, []byte("known")) }
		var want, got, taken []string
		if _, err := sc.Scan(context.Background(), bytes.NewReader(text.Bytes()), func(l *Line) (int, error) {
			if !known(l.Text) || l.No <= 5 || l.Last {
				want = append(want, place(l))
			} else {
				taken = append(taken, fmt.Sprint(l.No, l.Off))
			}
			return 0, nil
		}); err != nil {
			t.Fatal(err)
		}
		peek := func(text []byte, no, off int64) bool {
			if !known(text) {
				return false
			}
			if len(taken) == 0 || taken[0] != fmt.Sprint(no, off) {
				t.Fatalf("chunks of %d: line %d at %d is offered, not %v", chunk, no, off, taken[:min(len(taken), 1)])
			}
			taken = taken[1:]
			return true
		}
		if _, err := sc.ScanNews(context.Background(), bytes.NewReader(text.Bytes()), peek, func(l *Line) (int, error) { got = append(got, place(l)); return 0, nil }); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(taken) > 0 {
			t.Errorf("chunks of %d: %d lines, not %d; %d were not taken", chunk, len(got), len(want), len(taken))
		}
	}
}
