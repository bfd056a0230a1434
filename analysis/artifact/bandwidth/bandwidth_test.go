package bandwidth

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, name string) []Test {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !Recognise(b[:min(len(b), HeadLen)]) {
		t.Errorf("%s is not recognised", name)
	}
	tests, err := Read(t.Context(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.01 }

func TestIperf3(t *testing.T) {
	tests := read(t, "iperf3-3.12.json")
	if len(tests) != 1 || !near(tests[0].Gbits, 25.35) || tests[0].Remote != "10.77.0.2" || tests[0].Local != "10.77.0.1" || tests[0].Retransmits != 0 || tests[0].Record != "end.sum_received" {
		t.Errorf("%+v", tests)
	}
	tests = read(t, "iperf3-3.12-two-streams.txt")
	if len(tests) != 1 || !near(tests[0].Gbits, 16.7) || tests[0].Streams != 2 || tests[0].Remote != "10.77.0.2" || tests[0].Retransmits != 0 || !tests[0].Ended {
		t.Errorf("%+v", tests)
	}
}

func TestIperf3ThatFailed(t *testing.T) {
	text := `{"start":{"connected":[],"version":"iperf 3.12"},"intervals":[],"end":{},"error":"error - unable to connect to server: No route to host"}`
	tests, err := Read(t.Context(), strings.NewReader(text))
	if err != nil || len(tests) != 1 || tests[0].Ended || !strings.Contains(tests[0].Error, "No route") {
		t.Errorf("%+v, %v", tests, err)
	}
	if _, err := Read(t.Context(), strings.NewReader(`{"start":`)); err == nil {
		t.Error("a report that is cut is no report")
	}
}

// perftest's MB are 2²⁰ bytes; with --report_gbits they are bits.
func TestPerftest(t *testing.T) {
	tests := read(t, "ib_write_bw.txt")
	if len(tests) != 1 || tests[0].Tool != "ib_write_bw" || !near(tests[0].Gbits, 195.26) || tests[0].Local != "26.45.209.242" || tests[0].Remote != "26.45.209.243" {
		t.Errorf("%+v", tests)
	}
	tests = read(t, "ib_send_bw-gbits-failed.txt")
	if len(tests) != 2 || tests[0].Error == "" || tests[0].Ended || tests[0].Host != "node03" || !near(tests[1].Gbits, 196.7) {
		t.Errorf("%+v", tests)
	}
}

func TestOthersAreNone(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version": "iperf 2"}`, "RDMA_Write BW Test", "[ ID] Interval           Transfer     Bitrate         Retr\n", "Connecting to host 10.0.0.1, port 5201\n"} {
		if Recognise([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		tests, err := Read(t.Context(), bytes.NewReader(b))
		if err != nil && len(tests) > 0 {
			t.Fatal(err)
		}
	})
}
