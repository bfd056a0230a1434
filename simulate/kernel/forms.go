package kernel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// klog is the kernel log of one node.
type klog struct {
	node  string
	form  Form
	zone  int
	boot  time.Time
	task  int
	lines []entry
}

type entry struct {
	at  time.Time
	msg string
}

func (k *klog) add(at time.Time, format string, args ...any) {
	k.lines = append(k.lines, entry{at, fmt.Sprintf(format, args...)})
}

// text is the log as the tool prints it.
func (k *klog) text() string {
	slices.SortStableFunc(k.lines, func(a, b entry) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, e := range k.lines {
		local := e.at.Add(time.Duration(k.zone) * time.Hour)
		up := e.at.Sub(k.boot)
		since := fmt.Sprintf("[%5d.%06d] ", int64(up/time.Second), int64(up%time.Second)/1000)
		switch k.form {
		case Ctime:
			fmt.Fprintf(&b, "[%s] %s\n", local.Format("Mon Jan _2 15:04:05 2006"), e.msg)
		case Plain, Bare:
			fmt.Fprintf(&b, "%s%s\n", since, e.msg)
		case Journal:
			fmt.Fprintf(&b, "%s %s kernel: %s\n", local.Format("Jan 02 15:04:05"), k.node, e.msg)
		case ISO:
			fmt.Fprintf(&b, "%s%+03d00 %s kernel: %s\n", local.Format("2006-01-02T15:04:05"), k.zone, k.node, e.msg)
		case Syslog:
			fmt.Fprintf(&b, "%s %s kernel: %s%s\n", local.Format("Jan _2 15:04:05"), k.node, since, e.msg)
		case Labels:
			fmt.Fprintf(&b, "%*d: [%s] %s\n", 2, k.task, local.Format("Mon Jan _2 15:04:05 2006"), e.msg)
		}
	}
	return b.String()
}
