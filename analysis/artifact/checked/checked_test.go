package checked

import (
	"context"
	"strings"
	"testing"
)

const log = `0: bot check: WARN cn02: port: mlx5_3 port 1 is DOWN  [ibstat mlx5_3]
0: bot check: FAIL cn03: GPU: 7 of 8 GPUs  [nvidia-smi -L; dmesg | grep -i xid]
0: bot check: not ready: 3 nodes, 23 GPUs; 1 failure, 1 warning
0: bot check: the training was not started
step 1 WARN cn02: loss: high
`

func TestAResultIsTold(t *testing.T) {
	told, err := Kind.Read(context.Background(), strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cn02|warning: port: mlx5_3 port 1 is DOWN", "cn03|GPU: 7 of 8 GPUs", "all nodes|not ready: 3 nodes, 23 GPUs; 1 failure, 1 warning"}
	if len(told) != len(want) {
		t.Fatalf("told %v", told)
	}
	for i, x := range told {
		if got := x.Of + "|" + x.Says; got != want[i] {
			t.Errorf("%q, expected %q", got, want[i])
		}
		line := log[x.Offset : x.Offset+int64(x.Len)]
		for _, l := range x.Literals {
			if !strings.Contains(line, l) {
				t.Errorf("%q does not hold %q", line, l)
			}
		}
	}
}

func TestOnlyAResultIsKnown(t *testing.T) {
	if !Kind.Recognise([]byte(log)) {
		t.Error("a result is not recognised")
	}
	for _, other := range []string{"", "bot check: the training was not started\n", "usage: bot check: see --help\n", "FAIL cn03: GPU: 7 of 8 GPUs\n"} {
		if Kind.Recognise([]byte(other)) {
			t.Errorf("%q is taken for a result", other)
		}
	}
}
