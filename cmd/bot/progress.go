package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"faultline/messages"
)

// terminal says whether the stream is a terminal and how wide it is.
func terminal(stream any) (bool, int) {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return true, width
}

// plainWidth is that of a terminal of old, for readers that nobody knows the width of.
const plainWidth = 80

// columns are how wide a text may be: as the terminal is, else as $COLUMNS says.
func columns(out io.Writer) int {
	if tty, width := terminal(out); tty {
		return width
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return plainWidth
}

// colored decides about colour; NO_COLOR is the convention of no-color.org.
func colored(choice string, out io.Writer) bool {
	if choice == "auto" {
		tty, _ := terminal(out)
		return tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return choice == "always"
}

// progress draws a bar on a terminal and nothing anywhere else.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	width int
	begun time.Time
	due   time.Time // the next drawing
	drawn bool
	bar   messages.ProgressBar
}

// redraw is how often the bar changes; more often only flickers.
const redraw = 100 * time.Millisecond

// newProgress returns nil, which draws nothing, where out is no terminal that can draw over what it shows.
func newProgress(out io.Writer, label string) *progress {
	tty, width := terminal(out)
	if !tty || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &progress{out: out, width: width, bar: messages.ProgressBar{Label: label}}
}

// update may be called by several goroutines.
func (p *progress) update(done, total int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.begun.IsZero() { // the first bytes: a conversation may have waited for a person before
		p.begun, p.due = now, now.Add(redraw)
	}
	if now.Before(p.due) {
		return
	}
	p.due, p.drawn = now.Add(redraw), true
	fmt.Fprint(p.out, "\r\x1b[K"+p.bar.Line(done, total, now.Sub(p.begun), p.width-1))
}

// clear removes the bar.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.drawn, p.begun = false, time.Time{}
}
