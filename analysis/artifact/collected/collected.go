// Package collected reads what a bundle of "bot collect" says of itself: on which node it was made, which processes it looked at, and
// what could not be had there. Source: knowledge/collect.
package collected

import (
	"context"
	"errors"
	"io"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

// Missing is one thing that could not be had.
type Missing struct {
	lines.Place
	Text string // as it stands there: "missing nvidia-smi: not installed"
	What string
	Why  string
}

// Asked is a node that the command went to.
type Asked struct {
	lines.Place
	Node string
}

// List is what one node says; or, with no Node, which nodes were asked.
type List struct {
	Node    string
	Asked   []Asked
	Missing []Missing
}

// maxMissing bounds what is held of one node.
const maxMissing = 256

// maxAsked bounds the nodes that are held: there are no larger jobs.
const maxAsked = 1 << 15

// ErrOther says that a file is no such list.
var ErrOther = errors.New("it is no list of what was collected")

var head = pattern.New(`^faultline collect 1 job=([0-9_+]{1,24}) node=([A-Za-z0-9_.\-]{1,100})\r?(?:\n|$)`)

var (
	asked = pattern.New(`^faultline nodes 1 job=([0-9_+]{1,24})\r?(?:\n|$)`)
	node  = pattern.New(`^[A-Za-z0-9_.\-]{1,100}$`)
)

// Recognise knows such a list by its first line.
func Recognise(start []byte) bool {
	start = start[:min(len(start), 256)]
	return head.Match(start) || asked.Match(start)
}

// Read reads a list.
func Read(ctx context.Context, r io.Reader) (*List, error) {
	var l *List
	err := lines.Each(ctx, r, func(at lines.Line) error {
		if l == nil {
			if m := asked.FindStringSubmatch(at.Text); m != nil {
				l = &List{}
				return nil
			}
			m := head.FindStringSubmatch(at.Text)
			if m == nil {
				return ErrOther
			}
			l = &List{Node: m[2]}
			return nil
		}
		if l.Node == "" {
			if node.MatchString(at.Text) && len(l.Asked) < maxAsked {
				l.Asked = append(l.Asked, Asked{at.Place, at.Text})
			}
			return nil
		}
		rest, ok := strings.CutPrefix(at.Text, "missing ")
		what, why, said := strings.Cut(rest, ": ")
		if ok && said && what != "" && len(l.Missing) < maxMissing {
			l.Missing = append(l.Missing, Missing{Place: at.Place, Text: at.Text, What: what, Why: strings.TrimSpace(why)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, ErrOther
	}
	return l, nil
}
