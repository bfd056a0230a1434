package worker

import (
	"bytes"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

// Lines that list the members of groups as global ranks, and lines that tie ranks to each other or to a host.

func topologyHandlers() []handler {
	return []handler{
		{"group list", []string{" group: [", " group : [", " group ranks: [", " group ranks : [", "_GROUP: [["}, readGroups},
		{"device mesh", []string{"device mesh with [", "DeviceMesh("}, readMesh},
		{"lightning rank", []string{"GLOBAL_RANK: ", "LOCAL_RANK: "}, readLightning},
		{"rank and world", []string{"world_size", "orld size", "World Size", "WORLD SIZE"}, readRankWorld},
		{"rank and host", []string{"host=", "host: ", "hostname", "node="}, readRankHost},
		{"Ray's ranks", []string{") world_rank="}, readRayRanks},
		{"roll call", []string{"rank: ", "Rank: ", " rank=", "Process index: "}, readRollCall},
	}
}

// maxTopology bounds the ranks of one line; the largest published jobs have fewer.
const maxTopology = 1 << 17

var (
	// NeMo, nemo/collections/nlp/modules/common/megatron/megatron_init.py and lightning/megatron_init.py:
	// "Rank 0 has data parallel group : [0, 8]", "All tensor model parallel group ranks: [[0, 1], [2, 3]]".
	ownGroup  = pattern.New(`Rank (\d+) has ([\w -]+?) group ?: (\[[\d, ]*\])`)
	allGroups = pattern.New(`All ([\w -]+?) group ranks ?: (\[\[[\d,\[\] ]*\]\])`)
	namedList = pattern.New(`\b(\w+_GROUP): (\[\[[\d,\[\] ]*\]\])`)
)

func readGroups(r *reader, rec *record) bool {
	t := Topology{At: rec.At}
	if m := allGroups.FindSubmatch(rec.Text); m != nil {
		t.Name, t.Groups = clip(m[1]), intLists(m[2])
	} else if m := namedList.FindSubmatch(rec.Text); m != nil {
		t.Name, t.Groups = clip(m[1]), intLists(m[2])
	} else if m := ownGroup.FindSubmatch(rec.Text); m != nil {
		t.Name, t.Groups = clip(m[2]), intLists(m[3])
	}
	if len(t.Groups) == 0 {
		return false
	}
	emit(r, &r.obs.Topologies, t)
	return true
}

// intLists reads "[0, 8]" or "[[0, 1], [2, 3]]". A list with an absurd number in it is none.
func intLists(b []byte) [][]int {
	var lists [][]int
	n := 0
	for part := range bytes.SplitSeq(bytes.Trim(b, "[] "), []byte("[")) {
		part = bytes.TrimRight(part, "], ")
		if len(part) == 0 {
			continue
		}
		list := intList(part)
		if n += len(list); len(list) == 0 || n > maxTopology {
			return nil
		}
		for _, v := range list {
			if v >= maxTopology {
				return nil
			}
		}
		lists = append(lists, list)
	}
	return lists
}

var (
	// TorchTitan, torchtitan/distributed/parallel_dims.py: "Building 2-D device mesh with ['dp_shard', 'tp'], [8, 2]".
	buildMesh = pattern.New(`Building \d-D device mesh with \[([^\]]{1,200})\], \[([\d, ]{1,100})\]`)
	// torch.distributed.device_mesh, repr up to 2.8: "DeviceMesh('cuda', [[0, 1], [2, 3]], mesh_dim_names=('dp', 'tp'))".
	meshRepr = pattern.New(`DeviceMesh\((?:'\w+', )?(\[\[[\d,\[\] ]*\]\]), mesh_dim_names=\(([^)]{1,200})\)\)`)
)

func readMesh(r *reader, rec *record) bool {
	if m := buildMesh.FindSubmatch(rec.Text); m != nil {
		return emitMesh(r, rec, meshNames(m[1]), intList(m[2]), nil)
	}
	if m := meshRepr.FindSubmatch(rec.Text); m != nil {
		rows := intLists(m[1])
		var flat []int
		for _, row := range rows {
			if len(row) != len(rows[0]) {
				return false
			}
			flat = append(flat, row...)
		}
		if len(rows) == 0 {
			return false
		}
		return emitMesh(r, rec, meshNames(m[2]), []int{len(rows), len(rows[0])}, flat)
	}
	return false
}

func meshNames(b []byte) []string {
	var names []string
	for part := range strings.SplitSeq(string(b), ",") {
		if n := strings.Trim(part, " '\""); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// emitMesh lists the groups of each dimension of a mesh. Ranks are laid out row by row (init_device_mesh); flat gives
// them where the line prints them.
func emitMesh(r *reader, rec *record, names []string, shape, flat []int) bool {
	world := 1
	for _, n := range shape {
		if n < 1 || n > maxTopology || world > maxTopology/n {
			return false
		}
		world *= n
	}
	if len(shape) == 0 || len(names) != len(shape) || flat != nil && len(flat) != world {
		return false
	}
	stride := world
	for d, size := range shape {
		outer := stride // ranks covered by one index of the dimensions before this one
		stride /= size
		var groups [][]int
		for base := range world {
			if base%outer >= stride {
				continue
			}
			group := make([]int, size)
			for k := range group {
				group[k] = base + k*stride
				if flat != nil {
					group[k] = flat[group[k]]
				}
			}
			groups = append(groups, group)
		}
		emit(r, &r.obs.Topologies, Topology{At: rec.At, Name: names[d], Groups: groups})
	}
	fact(r, rec, "world_size", strconv.Itoa(world))
	return true
}

var (
	lightningGlobal = pattern.New(`\bGLOBAL_RANK: (\d+), MEMBER: (\d+)/(\d+)`)
	lightningLocal  = pattern.New(`\bLOCAL_RANK: (\d+) - CUDA_VISIBLE_DEVICES`)
)

// maxGlued bounds the ranks of one node, whose prints may stand on one line: Python writes the text and its end apart, and
// between the two another process writes its own.
const maxGlued = 64

func readLightning(r *reader, rec *record) bool {
	found := lightningGlobal.FindAllSubmatch(rec.Text, maxGlued)
	for _, m := range found {
		identify(r, Identity{At: rec.At, Global: bounded(string(m[1])), Local: line.Unknown, World: bounded(string(m[3]))})
	}
	if found != nil {
		return true
	}
	found = lightningLocal.FindAllSubmatch(rec.Text, maxGlued)
	for _, m := range found {
		global := rec.Who.Global
		if len(found) > 1 {
			global = line.Unknown // the line has more than one writer
		}
		identify(r, Identity{At: rec.At, Global: global, Local: bounded(string(m[1])), World: line.Unknown})
	}
	return found != nil
}

var (
	// Prints of scripts: "[rank2] host=node02 local=0", "rank: 3, hostname: node7", "global_rank=3 local_rank=1 node=n2".
	printedRank  = pattern.New(`(?i)(?:^|[\s\[(,{'"])(?:global[_ ])?rank['"]?\s?[:=]?\s?(\d{1,6})(?:[\s\]),:]|$)`)
	printedHost  = pattern.New(`(?i)(?:^|[\s\[(,{'"])(?:host|hostname|host_name|node|node_name)['"]?\s?[:=]\s?['"]?([A-Za-z0-9][\w.-]{0,100})`)
	printedLocal = pattern.New(`(?i)(?:^|[\s\[(,{'"])local(?:_rank| rank)?['"]?\s?[:=]\s?(\d{1,3})(?:[\s\]),]|$)`)
	onlyDigits   = pattern.New(`^\d{1,4}$`)
)

// readRankHost reads what a script prints of its own identity. Warnings and errors that name a rank and a host mostly
// speak of somebody else.
func readRankHost(r *reader, rec *record) bool {
	const maxPrint = 400
	if len(rec.Text) > maxPrint || rec.Prefix.Severity == 'E' || rec.Prefix.Severity == 'W' || rec.Prefix.Severity == 'F' {
		return false
	}
	for _, w := range []string{"rror", "arning", "WARN", "failed", "peer", "HTTP", "from rank", "://"} {
		if bytes.Contains(rec.Text, []byte(w)) {
			return false
		}
	}
	host := printedHost.FindSubmatch(rec.Text)
	rank := printedRank.FindSubmatch(rec.Text)
	if host == nil || rank == nil || onlyDigits.Match(host[1]) {
		return false
	}
	id := Identity{At: rec.At, Global: bounded(string(rank[1])), Local: line.Unknown, World: line.Unknown, Host: strings.TrimRight(string(host[1]), ".")}
	if m := printedLocal.FindSubmatch(rec.Text); m != nil {
		id.Local = bounded(string(m[1]))
	}
	identify(r, id)
	return false
}

var (
	printedWorld = pattern.New(`(?i)(?:^|[\s\[(,;|{'"])world[_ ]size['"]?\s?[:=]?\s?(\d{1,6})(?:[\s\]),;.|}]|$)`)
	// ofAGroup finds the words of lines that speak of a smaller world than the job's.
	ofAGroup = pattern.New(`(?i)parallel|group|mesh|dataset|loader|sampler|://|\b(?:[tdpcems]p|fsdp|hsdp|shard|replicate|local|expert|tensor|pipeline|data|context|model|sequence|engine|vllm|sglang)\b`)
)

// readRankWorld reads what a script prints of its own rank together with the number of ranks: "rank 3, world_size 64".
func readRankWorld(r *reader, rec *record) bool {
	const maxPrint = 400
	if len(rec.Text) > maxPrint || rec.Prefix.Severity == 'E' || rec.Prefix.Severity == 'W' || rec.Prefix.Severity == 'F' || ofAGroup.Match(bytes.ReplaceAll(rec.Msg, []byte("rocess group"), nil)) {
		return false
	}
	world, rank := printedWorld.FindSubmatch(rec.Msg), printedRank.FindSubmatch(rec.Msg)
	if world == nil || rank == nil {
		return false
	}
	if n := bounded(string(world[1])); n > 1 && bounded(string(rank[1])) < n {
		fact(r, rec, "world_size", strconv.Itoa(n))
	}
	return false
}

// calledRank finds the number of a line that begins by giving the writer's rank: Transformers' "Process rank: 3, device: cuda:1",
// Accelerate's "Process index: 3", a script's "rank=3 pid=812".
var calledRank = pattern.New(`(?i)^\W{0,3}((?:[a-z']+ ){0,3}(?:rank|process index)\W?\s?[:=]\s?)(\d{1,6})\b`)

// others are words of lines that speak of another's rank, or of trouble.
var others = pattern.New(`(?i)error|fail|peer|from|lost|missing|wait|timeout|timed|abort|exit|kill|dead|root|node.rank|machine`)

// readRollCall reads the line by which each process of a job may give its number.
func readRollCall(r *reader, rec *record) bool {
	const maxPrint = 400
	elsewhere := rec.Who.Global >= 0 || rec.Prefix.Severity == 'E' || rec.Prefix.Severity == 'F'
	if elsewhere || len(rec.Text) > maxPrint || others.Match(rec.Msg) || ofAGroup.Match(rec.Msg) {
		return false
	}
	if n := len(r.obs.Identities); n > 0 && r.obs.Identities[n-1].Off == rec.Off {
		return false // the line says more, and was read
	}
	if m := calledRank.FindSubmatch(rec.Msg); m != nil {
		identify(r, Identity{At: rec.At, Global: bounded(string(m[2])), Local: line.Unknown, World: line.Unknown, Call: clip(m[1])})
	}
	return false
}

// identify emits what ties ranks together; a line that ties nothing is none.
func identify(r *reader, id Identity) {
	if id.Global == line.Unknown && id.Local == line.Unknown {
		return
	}
	emit(r, &r.obs.Identities, id)
}
