package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// newScene builds the cluster of a spec: nodes, clocks, ranks, groups.
func newScene(spec Spec) (*scene, error) {
	v, err := findGeneration(spec.Torch)
	if err != nil {
		return nil, err
	}
	world := spec.NodeCount * spec.PerNode
	if world < 2 || world > 16384 {
		return nil, fmt.Errorf("simulate: a job has 2 to 16384 ranks, not %d", world)
	}
	if p := spec.Layout.product(); p != world {
		return nil, fmt.Errorf("simulate: layout %+v needs %d ranks, the nodes have %d", spec.Layout, p, world)
	}
	s := &scene{spec: spec, v: v, world: world, rng: rand.New(rand.NewPCG(spec.Seed, 0x9e3779b97f4a7c15)), root: -1}
	r := s.rng
	// Seconds since the start carry no sub-second part of their own: the phases of the clocks give it.
	s.start = time.Date(v.year+r.IntN(2), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e9), time.UTC)
	s.jobID = 100000 + r.IntN(9000000)
	s.slurm = pick(r, "22.05", "24.11")
	s.torchrun = spec.FileMode == "node"
	s.timeoutMS = v.timeoutMS
	if r.IntN(3) == 0 {
		s.timeoutMS = pick(r, 300000, 1200000, 1800000, 3600000)
	}
	s.stepTime = ms(700 + r.IntN(4000))
	s.loss = 2 + r.Float64()
	s.nodeList(r)
	for _, n := range s.nodes {
		for local := range spec.PerNode {
			k := &rank{id: len(s.ranks), local: local, node: n, pid: n.agentPID + 70 + 3*local + r.IntN(2), sticky: -1}
			n.ranks = append(n.ranks, k.id)
			s.ranks = append(s.ranks, k)
		}
	}
	s.buildGroups()
	s.frame = chooseFramework(s)
	// A framework that does not print the world size outright leaves it to the operator's flag.
	s.askedWorld, s.askedNodes = r.IntN(2) == 0 || !s.frame.statesWorld, r.IntN(3) != 0
	return s, nil
}

func (l Layout) product() int {
	p := 1
	for _, x := range []int{l.TP, l.CP, l.EP, l.DP, l.PP} {
		p *= max(x, 1)
	}
	return p
}

// nodeList names the nodes and sets their clocks.
func (s *scene) nodeList(r *rand.Rand) {
	prefix := pick(r, "node", "gpu-", "hgx", "n", "cn-a", "dgx-h100-", "worker-")
	domain := pick(r, "", ".cluster.local", ".hpc.example.org")
	first, width := 1+r.IntN(40), 2
	if s.spec.NodeCount > 60 {
		width = 4
	}
	zone := time.Duration(0)
	if s.spec.ZoneMix {
		// Whole quarter-hours: every zone in use is one.
		zone = time.Duration(pick(r, -32, -28, -20, 4, 8, 22, 23, 32, 36, 39)) * 15 * time.Minute
	}
	for i := range s.spec.NodeCount {
		n := &node{index: i, name: fmt.Sprintf("%s%0*d", prefix, width, first+i), local: zone, agentPID: 2000 + r.IntN(60000)}
		n.fqdn = n.name + domain
		n.ip = fmt.Sprintf("10.%d.%d.%d", 1+r.IntN(200), i/200, 10+i%200)
		n.phase = time.Duration(r.Int64N(int64(time.Second)))
		n.skew = time.Duration(r.IntN(20)-10) * time.Millisecond
		if s.spec.ZoneMix {
			n.skew = time.Duration(r.IntN(6000)-3000) * time.Millisecond
			if r.IntN(4) == 0 { // this node's containers keep the local zone
				n.inside = zone
			}
		}
		s.nodes = append(s.nodes, n)
	}
}

// hostlist is the nodes in SLURM's notation.
func (s *scene) hostlist() string { return hostlist(s.nodes) }

// hostlist compresses nodes that newScene numbered in sequence.
func hostlist(nodes []*node) string {
	if len(nodes) == 0 {
		return ""
	}
	if len(nodes) == 1 {
		return nodes[0].name
	}
	a, b := nodes[0].name, nodes[len(nodes)-1].name
	i := len(a)
	for i > 0 && a[i-1] >= '0' && a[i-1] <= '9' {
		i--
	}
	return fmt.Sprintf("%s[%s-%s]", a[:i], a[i:], b[i:])
}

// buildGroups makes the process groups in the order in which the frameworks make them. Every rank calls new_group for
// every group, so the GUID counts them all; the PG ID counts the ones a process belongs to
// [Megatron-Core parallel_state.initialize_model_parallel, PyTorch distributed_c10d.new_group].
func (s *scene) buildGroups() {
	all := make([]int, s.world)
	for i := range all {
		all[i] = i
	}
	s.addGroup("default", "default_pg", all)
	l := s.spec.Layout
	switch l.Kind {
	case "hsdp":
		// DeviceMesh: shard varies fastest, replicate is the outer dimension.
		s.family("replicate", "mesh_dp_replicate", func(r int) int { return r % l.TP })
		s.family("shard", "mesh_dp_shard", func(r int) int { return r / l.TP })
	case "megatron":
		tp, cp, ep, dp := max(l.TP, 1), max(l.CP, 1), max(l.EP, 1), max(l.DP, 1)
		coord := func(r int) (t, c, e, d, p int) {
			t, r = r%tp, r/tp
			c, r = r%cp, r/cp
			e, r = r%ep, r/ep
			return t, c, e, r % dp, r / dp
		}
		key := func(useT, useC, useE, useD, useP bool) func(int) int {
			return func(r int) int {
				t, c, e, d, p := coord(r)
				k := 0
				for _, x := range []struct {
					use  bool
					v, n int
				}{{useT, t, tp}, {useC, c, cp}, {useE, e, ep}, {useD, d, dp}, {useP, p, max(l.PP, 1)}} {
					if x.use {
						k = k*x.n + x.v
					}
				}
				return k
			}
		}
		s.family("dp", "DATA_PARALLEL_GROUP_WITH_CP", key(true, false, false, false, true))
		if cp > 1 {
			s.family("cp", "CONTEXT_PARALLEL_GROUP", key(true, false, true, true, true))
		}
		s.family("mp", "MODEL_PARALLEL_GROUP", key(false, true, true, true, false))
		s.family("tp", "TENSOR_MODEL_PARALLEL_GROUP", key(false, true, true, true, true))
		s.family("pp", "PIPELINE_MODEL_PARALLEL_GROUP", key(true, true, true, true, false))
		if ep > 1 {
			s.family("ep", "EXPERT_MODEL_PARALLEL_GROUP", key(true, true, false, true, true))
		}
	}
}

// family adds one group per value of key.
func (s *scene) family(kind, desc string, key func(rank int) int) {
	members := map[int][]int{}
	var order []int
	for r := range s.world {
		k := key(r)
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], r)
	}
	for _, k := range order {
		s.addGroup(kind, desc, members[k])
	}
}

func (s *scene) addGroup(kind, desc string, ranks []int) {
	if s.v.group < groupNameDesc {
		desc = "" // pg_desc exists from 2.4 on
	}
	g := &group{guid: fmt.Sprint(len(s.groups)), desc: desc, kind: kind, ranks: ranks, ids: make(map[int]int, len(ranks))}
	// Groups of a kind have done the same work: their counters agree, and only the GUID tells them apart.
	g.base, g.baseP = 50+s.rng.IntN(400), 1000+s.rng.IntN(50000)
	if kind != "default" {
		g.base = 2000 + s.rng.IntN(200000)
	}
	for _, x := range s.groups {
		if x.kind == kind {
			g.base, g.baseP = x.base, x.baseP
			break
		}
	}
	for _, r := range ranks {
		g.ids[r] = len(s.ranks[r].groups)
		s.ranks[r].groups = append(s.ranks[r].groups, g)
	}
	s.groups = append(s.groups, g)
}

// groupOf is the rank's group of a kind, nil if it has none.
func (s *scene) groupOf(r int, kind string) *group {
	for _, g := range s.ranks[r].groups {
		if g.kind == kind {
			return g
		}
	}
	return nil
}
