package worker

import (
	"fmt"
	"strings"
	"testing"
)

// What processes print at once, behind a prefix that no collector is known to write, is told apart again.
func TestTracebacksBehindAnUnknownPrefixAreTheirWriters(t *testing.T) {
	for name, form := range map[string]string{"a prefix": "<gx%d>.%d :: %s", "a record": `{"box":"gx%d","no":%d,"text":%q}`} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range []string{"loading the tokenizer", "building the model", "reading shard 17", "gx0:41%[1]d:419 [0] NCCL INFO comm 0x55d%[1]d rank %[1]d nranks 4 cudaDev 0 busId 1a000 - Init COMPLETE",
				"Traceback (most recent call last):", `  File "train.py", line %[1]d, in step`, "    loss.backward()", "ValueError: bad sample %[1]d"} {
				for i := range 4 {
					if text := l; strings.Contains(l, "%") {
						fmt.Fprintf(&b, form+"\n", i/2, i, fmt.Sprintf(text, i))
					} else {
						fmt.Fprintf(&b, form+"\n", i/2, i, text)
					}
				}
			}
			obs := observe(t, b.String())
			if len(obs.Exceptions) != 4 {
				t.Fatalf("%d exceptions of 4: %+v", len(obs.Exceptions), obs.Exceptions)
			}
			for i, x := range obs.Exceptions {
				if who := x.Who(); who.Task != i || x.Message != fmt.Sprint("bad sample ", i) || len(x.Frames) != 1 || x.Frames[0].Line != i {
					t.Errorf("%+v is by %+v", x, who)
				}
			}
			if n := len(obs.CommInits); n != 4 {
				t.Errorf("%d communicators of 4", n)
			}
		})
	}
}
