// Package probe holds a program that tests one component of a training job on every rank (compute, memory, data, communication), and
// judges what its ranks print.
package probe

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Script is the program.
//
//go:embed probe.py
var Script []byte

// Components are what it tests, in the order in which one rests on the other (isolate.JobComponents, and a test holds both together).
var Components = []string{"compute", "memory", "data", "communication"}

// Means says what the test of a component tells of a failed job.
func Means(component string) string {
	switch component {
	case "compute":
		return "If all ranks are equally fast and their results repeat, the GPUs are sound: look at the program."
	case "memory":
		return "If it passes, each GPU gives 90% of its free memory and keeps it: the program needs more than there is."
	case "data":
		return "If all ranks read equally fast, the files and their storage are sound. --loader module:function tests the job's own loader."
	case "communication":
		return "If it passes on the job's nodes, the network and NCCL are sound: look at the program."
	}
	return ""
}

// Result is what one rank printed.
type Result struct {
	Component   string
	Rank, World int
	Node        string
	OK          bool
	Rate        float64 // of a rank that is OK, in the component's unit; 0 where nothing was measured
	Text        string
}

// line is how the program reports; a launcher's label may stand in front.
var line = regexp.MustCompile(`probe (compute|memory|data|communication): rank (\d{1,7}) of (\d{1,7}) on (\S{1,255}): (ok|FAIL) (.{1,400})`)

// uncompared ends the line of a rank that did too little, or something else than measure, to be slow.
const uncompared = "; not compared"

// mostResults bounds what is read of one output.
const mostResults = 1 << 17

// Read takes the results from an output. Of a rank that ran twice the last counts.
func Read(r io.Reader) ([]Result, error) {
	var out []Result
	at := map[[2]string]int{}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for in.Scan() {
		m := line.FindStringSubmatch(in.Text())
		if m == nil || len(out) == mostResults {
			continue
		}
		x := Result{Component: m[1], Node: m[4], OK: m[5] == "ok", Text: m[6]}
		x.Rank, _ = strconv.Atoi(m[2])
		x.World, _ = strconv.Atoi(m[3])
		if x.OK && !strings.HasSuffix(x.Text, uncompared) {
			rate, _, _ := strings.Cut(x.Text, " ")
			x.Rate, _ = strconv.ParseFloat(rate, 64)
		}
		key := [2]string{m[1], m[2]}
		if i, again := at[key]; again {
			out[i] = x
			continue
		}
		at[key] = len(out)
		out = append(out, x)
	}
	if err := in.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("reading the output: %w", err)
	}
	return out, nil
}

// slow is how far below the median of its component a rank is slow.
const slow = 1.5

// Trouble is what is wrong in a component.
type Trouble struct {
	Component string
	Ranks     []int
	Nodes     []string // of those ranks
	Text      string
}

// Judge says what is wrong: ranks that failed, that printed nothing, and that were slow beside three others or more. All ranks of a
// communication end together, so that none of them is slow.
func Judge(all []Result) (out []Trouble) {
	for _, c := range Components {
		of := slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.Component != c })
		if len(of) == 0 {
			continue
		}
		slices.SortFunc(of, func(a, b Result) int { return a.Rank - b.Rank })
		if t, ok := absent(c, of); ok { // first: those that wait for it fail, too
			out = append(out, t)
		}
		out = append(out, failed(c, of)...)
		if c != "communication" {
			out = append(out, slowed(c, of)...)
		}
	}
	return out
}

// failed gathers ranks that failed with the same words.
func failed(component string, of []Result) (out []Trouble) {
	for _, r := range of {
		if r.OK {
			continue
		}
		i := slices.IndexFunc(out, func(t Trouble) bool { return t.Text == r.Text })
		if i < 0 {
			i = len(out)
			out = append(out, Trouble{Component: component, Text: r.Text})
		}
		out[i].add(r)
	}
	return out
}

func absent(component string, of []Result) (Trouble, bool) {
	t := Trouble{Component: component, Text: "no result: it crashed, or never started"}
	world := slices.MaxFunc(of, func(a, b Result) int { return a.World - b.World }).World
	for rank := range min(world, mostResults) {
		if _, ok := slices.BinarySearchFunc(of, rank, func(r Result, rank int) int { return r.Rank - rank }); !ok {
			t.Ranks = append(t.Ranks, rank)
		}
	}
	return t, len(t.Ranks) > 0
}

func slowed(component string, of []Result) (out []Trouble) {
	var rates []float64
	for _, r := range of {
		if r.OK && r.Rate > 0 {
			rates = append(rates, r.Rate)
		}
	}
	if len(rates) < 4 {
		return nil
	}
	slices.Sort(rates)
	median := rates[len(rates)/2]
	for _, r := range of {
		if r.OK && r.Rate > 0 && r.Rate*slow < median {
			t := Trouble{Component: component, Text: fmt.Sprintf("%s; the median is %.4g", r.Text, median)}
			t.add(r)
			out = append(out, t)
		}
	}
	return out
}

func (t *Trouble) add(r Result) {
	t.Ranks = append(t.Ranks, r.Rank)
	if !slices.Contains(t.Nodes, r.Node) {
		t.Nodes = append(t.Nodes, r.Node)
	}
}
