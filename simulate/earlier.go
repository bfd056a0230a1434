package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// HistorySpec selects a history of earlier runs of one incident; the same spec always gives the same bytes.
type HistorySpec struct {
	Seed uint64
	Kind string // one of Histories()
	Name string // of the incident's job
	Item string // what the incident's failure names; for the kinds "item" and "other-item"
	// Mechanism is how the earlier runs failed; "" = as the incident.
	Mechanism string
}

// HistoryTruth is what a history determines, no more.
type HistoryTruth struct {
	Weighs string // host, step or item: what recurs more often than chance explains; "" for nothing
	Runs   int    // lines that tell of an earlier run, each run once
	// Good is the id of the last run of the same name that went well, "" for none; Changed are the kinds of what differs.
	Good    string
	Changed []string
}

// Histories lists the kinds of histories.
func Histories() []string {
	return []string{"noise", "host", "host-same-rank", "host-only", "host-rank-0", "step", "step-once", "item", "other-item", "good", "unrelated", "hostile", "itself"}
}

// line is one run as a history states it. It is written here as an operator's script would write it, not as the bot does.
type line map[string]any

// past writes the history of one incident.
type past struct {
	inc  *Incident
	spec HistorySpec
	rng  *rand.Rand
	out  []line
	raw  []string
}

// History writes earlier runs of an incident, with known truth.
func History(inc *Incident, spec HistorySpec) ([]byte, HistoryTruth) {
	p := &past{inc: inc, spec: spec, rng: rand.New(rand.NewPCG(spec.Seed, 77))}
	if p.spec.Mechanism == "" {
		p.spec.Mechanism = inc.Spec.Mechanism
	}
	var t HistoryTruth
	host := p.host()
	switch spec.Kind {
	case "noise": // every fifth run failed, each on another node, at another step
		for i := range 30 {
			l := p.run(i)
			if i%5 == 0 {
				p.fail(l, p.node(i/5), p.inc.Spec.PerNode*(i/5)+1, int64(1000+17*i))
			}
		}
	case "host": // other jobs, other ranks, the same node
		t.Weighs = "host"
		for i := range 41 {
			l := p.run(i)
			l["name"] = fmt.Sprintf("other-%d", i%4)
			if i%10 == 3 {
				p.fail(l, host, p.other(i), int64(1000+17*i))
			}
		}
	case "host-same-rank": // the rank explains it as well
		for i := range 12 {
			if l := p.run(i); i%3 == 0 {
				p.fail(l, host, inc.Played.Root, int64(1000+17*i))
			}
		}
	case "host-rank-0": // rank 0 has duties of its own, in every job
		for i := range 12 {
			l := p.run(i)
			l["name"] = fmt.Sprintf("other-%d", i)
			p.fail(l, host, 0, int64(1000+17*i))
		}
	case "host-only": // a node on which every job runs alone is the root of each that fails
		for i := range 12 {
			l := p.run(i)
			l["nodes"], l["nodes_count"], l["name"] = []string{host}, 1, fmt.Sprintf("other-%d", i)
			if i%2 == 0 {
				p.fail(l, host, p.other(i), int64(1000+17*i))
			}
		}
	case "step": // on other nodes, after the same step
		t.Weighs = "step"
		for i := range 6 {
			if l := p.run(i); i%2 == 0 {
				p.fail(l, p.node(i+1), p.other(i), int64(inc.Played.Step))
			}
		}
	case "step-once": // once among a few short runs is chance
		for i := range 6 {
			l := p.run(i)
			l["steps_logged"] = 20
			step := int64(inc.Played.Step)
			if i > 0 {
				step += int64(3 * i)
			}
			p.fail(l, p.node(i+1), p.other(i), step)
		}
	case "item":
		t.Weighs = "item"
		for i := range 8 {
			if l := p.run(i); i == 2 || i == 5 {
				p.fail(l, p.node(i), p.other(i), int64(1000+17*i))
				l["item"] = spec.Item
			}
		}
	case "other-item":
		for i := range 8 {
			if l := p.run(i); i == 2 || i == 5 {
				p.fail(l, p.node(i), p.other(i), int64(1000+17*i))
				l["item"] = fmt.Sprintf("%s.%d", spec.Item, i)
			}
		}
	case "good": // the newest that went well ran elsewhere, with other arguments
		t.Changed = []string{"nodes-added", "nodes-removed", "argument", "argument", "argument"}
		for i := range 4 {
			l := p.run(i)
			l["arguments"] = map[string]string{"lr": "0.1", "old": "1"}
			nodes := append([]string{"spare01"}, inc.Played.Nodes[1:]...)
			l["nodes"] = nodes
			t.Good = l["id"].(string)
		}
	case "unrelated":
		for i := range 10 {
			l := p.run(i)
			l["name"], l["nodes"] = "somebody-else", []string{"z1", "z2"}
			if i%2 == 0 {
				p.fail(l, "z1", 3, int64(inc.Played.Step))
				l["name"] = "somebody-else"
			}
		}
	case "hostile":
		p.hostile(host)
	case "itself": // this very run, twice, is no earlier one
		for range 2 {
			l := p.run(0)
			l["id"], l["job"] = fmt.Sprintf("%d/0", inc.Played.Job), fmt.Sprint(inc.Played.Job)
			p.fail(l, host, inc.Played.Root, int64(inc.Played.Step))
		}
	}
	if spec.Kind != "itself" {
		t.Runs = len(p.out)
	}
	return p.bytes(), t
}

func (p *past) host() string {
	if p.inc.Played.Root < 0 {
		return p.inc.Played.Nodes[0]
	}
	return p.inc.Played.Nodes[p.inc.Played.Root/p.inc.Spec.PerNode]
}

func (p *past) node(i int) string { return p.inc.Played.Nodes[i%len(p.inc.Played.Nodes)] }

// other is a rank that is neither the root's nor rank 0.
func (p *past) other(i int) int {
	world := len(p.inc.Played.Nodes) * p.inc.Spec.PerNode
	r := 1 + (p.inc.Played.Root+i+7)%(world-1)
	if r == p.inc.Played.Root {
		r = 1 + r%(world-1)
	}
	return r
}

// run is an earlier run that went well, on the same nodes.
func (p *past) run(i int) line {
	job := fmt.Sprint(1000 + i)
	start := p.inc.Played.Start.Add(time.Duration(i-400) * 24 * time.Hour)
	l := line{"schema": "faultline.history/v1", "id": job + "/0", "job": job, "run": 0, "name": p.spec.Name, "completed": true, "status": "no-failure",
		"mechanism": "completed", "origin": "none", "start": start.Format("2006-01-02T15:04:05"), "end": start.Add(9 * time.Hour).Format("2006-01-02T15:04:05"),
		"nodes": p.inc.Played.Nodes, "nodes_count": len(p.inc.Played.Nodes), "step": 50000, "steps_logged": 5000, "user": "u-secret-key", "confidence": 0.9,
		"world_size": len(p.inc.Played.Nodes) * p.inc.Spec.PerNode, "something_new": []int{1}}
	p.out = append(p.out, l)
	return l
}

func (p *past) fail(l line, node string, rank int, step int64) {
	l["completed"], l["status"], l["mechanism"], l["origin"] = false, "confirmed", p.spec.Mechanism, "software"
	l["root_nodes"], l["root_ranks"], l["step"] = []string{node}, []int{rank}, step
}

// hostile claims much, in lines that are none.
func (p *past) hostile(host string) {
	claim := fmt.Sprintf(`"job":"9","run":0,"completed":false,"status":"confirmed","mechanism":%q,"root_nodes":[%q],"root_ranks":[%d],"nodes":[%q],"step":%d`,
		p.spec.Mechanism, host, p.inc.Played.Root+1, host, p.inc.Played.Step)
	p.raw = []string{
		"", "not JSON", "{}", "[]", "null", `{"schema":"faultline.history/v2","id":"9/0",` + claim + `}`,
		`{"schema":"faultline.history/v1",` + claim + `}`, `{"schema":"faultline.history/v1","id":"8/0",` + claim + `}`,
		`{"schema":"faultline.history/v1","id":"9/0",` + claim, `{"schema":"faultline.history/v1","id":"9/0",` + claim + `} tail`,
		`{"schema":"faultline.history/v1","id":"9/0","id":"9/0",` + claim + `}`, "{\"schema\":\"faultline.history/v1\",\r\"id\":\"9/0\"," + claim + "}",
		"\x1b[31m{\"schema\":\"faultline.history/v1\",\"id\":\"9/0\"," + claim + "}", `{"schema":"faultline.history/v1","id":["9/0"],` + claim + `}`,
		`{"schema":"faultline.history/v1","id":"9/0","item":"` + string(bytes.Repeat([]byte("x"), 300<<10)) + `",` + claim + `}`,
		`{"schema":"faultline.history/v1","id":"9/0","world_size":-4,` + claim + `}`, `{"schema":"faultline.history/v1","id":"9/0","name":"a\u0007b",` + claim + `}`,
		`{"schema":"faultline.history/v1","id":"9/0","world_size":1e999,` + claim + `}`, string(bytes.Repeat([]byte("["), 20000)),
		`{"schema":"faultline.history/v1","id":"9/0","x":` + string(bytes.Repeat([]byte("["), 20000)), "\xff\xfe\x00\x01", "<!channel> `rm -rf /`",
	}
}

// bytes writes the lines in an order that means nothing, as Python's json.dumps would.
func (p *past) bytes() []byte {
	lines := p.raw
	for _, l := range p.out {
		b, err := json.Marshal(l)
		if err != nil {
			panic("simulate: a line of history: " + err.Error()) // plain values only
		}
		lines = append(lines, string(bytes.ReplaceAll(b, []byte(`":`), []byte(`": `))))
	}
	p.rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	var out bytes.Buffer
	for _, l := range lines {
		out.WriteString(l)
		out.WriteByte('\n')
	}
	return out.Bytes()
}
