//go:build realevidence

package evidence

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tcpdump, as text and as its file: a port that nobody listens on, and a way back that was gone while data was sent. netem, which
// loses single packets, is no part of this machine's kernel; and what a link that is down loses never comes to tcpdump.
func TestTcpdump(t *testing.T) {
	p := newPair(t)
	p.serve("5201", "iperf3", "-s")
	file := filepath.Join(t.TempDir(), "capture.pcap")
	dump := exec.Command("ip", "netns", "exec", p.a, "tcpdump", "-i", "eth0", "-U", "-Z", "root", "-s", "128", "-w", file, "tcp")
	var said bytes.Buffer
	dump.Stderr = &said
	if err := dump.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = dump.Process.Signal(os.Interrupt)
			_ = dump.Wait()
		}
	}
	t.Cleanup(end)
	p.until("tcpdump writes", func() bool { s, err := os.Stat(file); return err == nil && s.Size() >= 24 })
	_, _ = p.try(p.a, "iperf3", "-c", far, "-p", "5999")
	client := exec.Command("ip", "netns", "exec", p.a, "iperf3", "-c", far, "-t", "3600", "-b", "2M")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Process.Kill(); _ = client.Wait() })
	size := func() int64 {
		s, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return s.Size()
	}
	const some = 1 << 10 // of headers alone: that is a dozen packets
	for _, what := range []string{"the transfer is under way", "it goes on"} {
		was := size()
		p.until(what, func() bool { return size() > was+some })
	}
	was := p.resent()
	p.must(p.b, "ip", "route", "add", "blackhole", near+"/32")
	p.until("something is sent again", func() bool { return p.resent() > was })
	p.must(p.b, "ip", "route", "del", "blackhole", near+"/32")
	before := size() // it goes on with what was lost
	p.until("the transfer goes on", func() bool { return size() > before+2*some })
	_ = client.Process.Signal(os.Interrupt)
	late := time.AfterFunc(time.Minute, func() { _ = client.Process.Kill() })
	_ = client.Wait()
	late.Stop()
	end()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("tcpdump", "-nn", "-r", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"capture.pcap": string(b), "capture.txt": string(text)} {
		r := bot(t, map[string]string{name: content})
		expect(t, r, "packets", "from "+far+":5999", "reset the connection")
		if !strings.Contains(string(text), "Flags [P.]") {
			t.Skipf("SKIPPED: nothing was sent: %s", said.String())
		}
		expect(t, r, "packets", "to "+far+":5201", "retransmitted")
	}
}
