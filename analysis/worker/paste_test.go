package worker

import "testing"

func TestPastedTextReadsAsTyped(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"entities", "peer 10.0.0.2&lt;4791&gt; said &quot;no&quot; &amp; left", `peer 10.0.0.2<4791> said "no" & left`},
		{"a lone ampersand", "a & b &c", "a & b &c"},
		{"a path keeps its backslashes", `C:\data\_x\*.bin`, `C:\data\_x\*.bin`},
		{"a newline in a string", `"a\nb"`, `"a\nb"`},
		{"links", "[p2p.cc:783](https://p2p.cc:783/) x", "p2p.cc:783 x"},
	}
	for _, tt := range tests {
		if got := string(unescape(unlink([]byte(tt.in)))); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPastedWarningsAreRead(t *testing.T) {
	obs := observe(t, "n1:4242:4300 [3] transport/net_ib.cc:1100 NCCL WARN NET/IB : Got completion from peer 10.1.2.3&lt;4791&gt; with status=12 opcode=0 len=0 vendor err 129 (Send)\n")
	if len(obs.NCCLWarns) != 1 || obs.NCCLWarns[0].Peer != "10.1.2.3" || len(obs.NCCLWarns[0].Signs) == 0 {
		t.Errorf("%+v", obs.NCCLWarns)
	}
}
