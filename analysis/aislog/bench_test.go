package aislog

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// daily is what a busy target writes: counters every ten seconds, batches, now and then a warning; storm adds the lines of a
// peer that is gone.
func daily(size int, storm bool) []byte {
	var b bytes.Buffer
	b.WriteString(up)
	for i := 0; b.Len() < size; i++ {
		s := i * 10 % 86400
		at := fmt.Sprintf("%02d:%02d:%02d.", s/3600, s/60%60, s%60)
		fmt.Fprintf(&b, "I %s000000 {err.getbatch.n:3,get.n:%d,get.ns.total:%d,get.size:%d,getbatch.n:%d,getbatch.obj.n:%d,getbatch.obj.size:%d,kalive.ns:853669,put.n:618,put.ns.total:356661019,put.size:147324928,state.flags:6,stream.in.n:%d,stream.in.size:1771175936,stream.out.n:%d,stream.out.size:1290534912}\n",
			at, i, i*100, i*1000, i, i*64, i*100000, i*60, i*61)
		fmt.Fprintf(&b, "I %s000001 running(1): get-batch[gbt-hWOfbPezW]\n", at)
		for j := range 12 {
			fmt.Fprintf(&b, "I %s%06d moss:521 get-batch[gbt-hWOfbPezW] ctlmsg ( t[ais-target-1]:[reqs:%d errs:110 objs:(15460,1.89GiB)] )\n", at, 10+j, i)
		}
		if storm {
			for j := range 20 {
				fmt.Fprintf(&b, "W %s%06d moss:678 x-get-batch[gbt-iAf4A11G9]-ais://lab t[ais-target-1] bcast abort [ GFN(ais://lab/o/%06d, t[ais-target-%d]): Get \"http://127.0.0.1:18283/v1/objects/lab/o/%06d?gfn=true\": dial tcp 127.0.0.1:18283: connect: connection refused ]\n", at, 100+j, i, j%40, i)
			}
		}
		if s%3600 == 0 && i > 0 {
			day := 20 + i*10/86400
			fmt.Fprintf(&b, "I %s900000 common:494 %02d Nov 26 %02d:%02d UTC =============\n", at, day%28+1, s/3600, s/60%60)
		}
	}
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	sc := scanner(b)
	for name, storm := range map[string]bool{"daily": false, "storm": true} {
		text := daily(16<<20, storm)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			before := processorTime()
			for b.Loop() {
				if _, err := Read(context.Background(), Source{Name: "aistarget-a/x"}, bytes.NewReader(text), sc); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(text))*float64(b.N)/1e6/(processorTime()-before).Seconds(), "cpu-MB/s")
		})
	}
}

// processorTime is what this process has used: a neighbour on the machine disturbs it less than the wall clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
