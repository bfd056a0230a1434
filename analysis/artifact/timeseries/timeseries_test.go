package timeseries

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTablesAreReadByTheirShape(t *testing.T) {
	for _, c := range []struct {
		name, text, host string
		want             []string
	}{
		{name: "nvidia-smi as CSV, GPUs counted through", text: `timestamp, name, index, power.limit [W], clocks_event_reasons.sw_power_cap
2026/02/03 14:10:00.380, NVIDIA X, 0, 700.00 W, Not Active
2026/02/03 14:10:00.390, NVIDIA X, 1, 700.00 W, Not Active
2026/02/03 14:11:00.380, NVIDIA X, 0, 400.00 W, Active
2026/02/03 14:11:00.390, NVIDIA X, 1, 700.00 W, Not Active
`, want: []string{"power.limit [W] index=0: 700 400", "clocks_event_reasons.sw_power_cap index=0: 0 1", "power.limit [W] index=1: 700 700", "clocks_event_reasons.sw_power_cap index=1: 0 0"}},
		{name: "a column for each node", text: "time,n1,n2\n2026-05-07 16:19:00,0.1,0.2\n2026-05-07 16:20:00,0.1,0.2\n2026-05-07 16:21:00,3,0.2\n", want: []string{" =n1: 0.1 0.1 3", " =n2: 0.2 0.2 0.2"}},
		{name: "columns between blanks, the time at the end", host: "k2", text: `# vmstat -w -t 60   (k2)
   r    b   swpd   si   so                 CET
   1    0      0    0    0 2026-02-17 13:12:00
   2    0      0    0    0 2026-02-17 13:13:00
   1    9   6000   47   36 2026-02-17 13:14:00
`, want: []string{"r: 1 2 1", "b: 0 0 9", "swpd: 0 0 6000", "si: 0 0 47", "so: 0 0 36"}},
		{name: "blocks below a time, with twelve hours", host: "w2", text: `Linux 5.15.0 (w2)  09/30/2026  _x86_64_

09/30/2026 10:00:00 PM
Device      r/s   %util
sda        12.1    0.8
nvme0      90.0   21.9

09/30/2026 10:01:00 PM
Device      r/s   %util
sda        12.1    0.8
nvme0      90.0   99.0
`, want: []string{"r/s Device=sda: 12.1 12.1", "%util Device=sda: 0.8 0.8", "r/s Device=nvme0: 90 90", "%util Device=nvme0: 21.9 99"}},
		{name: "times as headings", text: "node\tcounter\t2026-04-14T11:10\t2026-04-14T11:18\nh1\tpause\t1\t9\nh1\tcrc\t0\t0\nh2\tpause\t1\t8\n", want: []string{"pause node=h1: 1 9", "crc node=h1: 0 0", "pause node=h2: 1 8"}},
		{name: "names and values", text: "06:46:24 iter 100 tokens: ep0=0.97 ep1=1.00 top 4\n06:47:24 iter 200 tokens: ep0=0.60 ep1=3.00 top 4\n06:48:24 iter 300 tokens: ep0=0.61 ep1=3.10 top 4\n", want: []string{" =ep0: 0.97 0.6 0.61", " =ep1: 1 3 3.1"}},
		{name: "objects", text: `{"ts": 1771000000, "rank": 0, "grad_s": 0.5}` + "\n" + `{"ts": 1771000000, "rank": 1, "grad_s": 0.5}` + "\n" + `{"ts": 1771000060, "rank": 0, "grad_s": 0.7}` + "\n", want: []string{"grad_s rank=0: 0.5 0.7", "grad_s rank=1: 0.5"}},
		{name: "metrics one below the other", text: "time,node,metric,value\n2026-05-07 16:19:00,n1,rx,1\n2026-05-07 16:19:00,n1,tx,2\n2026-05-07 16:20:00,n1,rx,3\n2026-05-07 16:20:00,n1,tx,4\n", want: []string{"rx node=n1: 1 3", "tx node=n1: 2 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Recognise([]byte(c.text)) {
				t.Error("is not recognised")
			}
			got, err := Read(t.Context(), strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if said := told(got); !slices.Equal(said, c.want) {
				t.Errorf("read as\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(c.want, "\n"))
			}
			if got.Host != c.host {
				t.Errorf("host %q, want %q", got.Host, c.host)
			}
		})
	}
}

func told(x *Table) (out []string) {
	for _, s := range x.Series {
		var b strings.Builder
		b.WriteString(s.What)
		for _, k := range s.Keys {
			fmt.Fprintf(&b, " %s=%s", k.Name, k.Value)
		}
		b.WriteByte(':')
		for _, p := range s.Points {
			fmt.Fprintf(&b, " %v", p.Value)
		}
		out = append(out, b.String())
	}
	return out
}

func TestALogIsNoTable(t *testing.T) {
	for _, text := range []string{
		"2026-03-11 04:13:10 INFO starting the training loop now\n2026-03-11 04:13:11 INFO step 12 of 400 done\n2026-03-11 04:13:12 INFO step 13 of 400 done\n",
		"index, temperature.gpu\n0, 70\n1, 71\n2, 85\n", // one look is no course
		"NCCL INFO Channel 00/02 : 0 1 2 3\nNCCL INFO Trees [0] 1/-1/-1\nNCCL INFO Connected all rings\n",
	} {
		if Recognise([]byte(text)) {
			t.Errorf("is taken for a table:\n%s", text)
		}
	}
}

// Whether a byte stands between digits is asked before the expressions that find times and dates.
func FuzzBetween(f *testing.F) {
	for _, s := range []string{"at 12:30:45 now", "2026-05-06", "05/06/2026", "05/06/2026 10:11:12 PM", "a:b", "1:2", "step 3, loss 2.1", "::", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if inside.MatchString(s) && !between(s, ':') || dateOnly.MatchString(s) && !between(s, '-') && !between(s, '/') {
			t.Errorf("%q holds a time or a date", s)
		}
	})
}
