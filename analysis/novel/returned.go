package novel

import (
	"bytes"
	"strings"

	"faultline/pattern"
)

// NCCL and RCCL warn of what a caller may well do without: a library that is not there, a probe. Where a call fails for good, each function that
// hands its error on prints so in the same thread, below the warning: "init.cc:876 -> 2". What the thread does next tells the two apart.

// mostThreads bounds how many threads' warnings are followed at once.
const mostThreads = 256

var handedOn = pattern.New(`CCL INFO \S+\.(?:cc|cpp|cu|h):\d+ -> -?[1-9]\d*`)

func sayingOf(text string) saying {
	switch {
	case strings.Contains(text, "CCL WARN "):
		return warns
	case handedOn.MatchString(text):
		return hands
	case strings.Contains(text, "CCL INFO "):
		return speaks
	}
	return other
}

// thread is the "host:pid:tid" that a line of NCCL begins with; "" where it has none.
func thread(line []byte) []byte {
	at := bytes.Index(line, []byte("CCL "))
	if at < 0 {
		return nil
	}
	for _, word := range bytes.Fields(line[:at]) {
		if bytes.Count(word, []byte(":")) >= 2 && word[len(word)-1] != ':' && word[0] != '[' {
			return word
		}
	}
	return nil
}

// warning is a line of NCCL that warns.
type warning struct {
	kind *Kind
	at   Place
	text string
}

// threads are the newest warnings of threads that said nothing since.
type threads map[string]warning

// hear notes what becomes of warnings: k is the shape of the line that was read. It returns a warning of which a call failed, the first of its shape.
func (t threads) hear(k *Kind, b []byte, at Place) (failed warning, ok bool) {
	if k.saying == other || k.saying != warns && len(t) == 0 {
		return failed, false
	}
	who := string(thread(b))
	if who == "" {
		return failed, false
	}
	w, open := t[who]
	if k.saying == warns {
		if open || len(t) < mostThreads {
			t[who] = warning{k, at, string(b)}
		}
		return failed, false
	}
	delete(t, who)
	switch {
	case !open || w.kind.outcome == returned:
	case k.saying == hands:
		return w, true
	default:
		w.kind.outcome = endured
	}
	return failed, false
}
