// Package filename reads what the name of a log file says: job, node, task, rank. It is the inverse of SLURM's file-name
// patterns (sbatch --output, %j %n %N %t %A %a %r) for those in common use, and knows torchrun's directories. Names are
// hints: they tie a file to a node or a rank, they never accuse one.
package filename

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"faultline/pattern"
)

// None is the value of a number that the name does not state.
const None = -1

// Name is what one name states.
type Name struct {
	// Job is the job id as printed, "4242", or "4242_3" for an element of an array; "" if not stated.
	Job string
	// Host is the node's name (%N), or "".
	Host string
	// NodeIndex is the index of the node within the step (%n): the n-th of the step's node list, not a part of a name.
	NodeIndex int
	// Task is the SLURM task (%t). It is a global rank only where one task is one rank.
	Task int
	// Rank is a global rank that the name calls a rank.
	Rank int
	// Local is a local rank: torchrun's attempt_0/3/stderr.log, or "local_rank3".
	Local int
	// Restart is the restart count (%r) or torchrun's attempt.
	Restart int
}

var nothing = Name{NodeIndex: None, Task: None, Rank: None, Local: None, Restart: None}

// naming is one way to name a log. Groups: j job, a array element, n node index, N host, t task, r rank, l local rank,
// c restart count, i a number that is a node's index if the names make a dense series and else part of a host's name.
type naming struct {
	slurm string // what a person would write
	re    *pattern.Regexp
}

func pat(slurm, re string) naming { return naming{slurm, pattern.New(re)} }

// patterns are tried in order against the path without compression and log suffixes; the first that fits counts.
var patterns = []naming{
	pat("torchrun --log-dir", `(?:^|/)attempt_(?P<c>\d{1,4})/(?P<l>\d{1,4})/(?:stdout|stderr|error)(?:\.json)?$`),
	pat("local_rank3", `(?i)(?:^|[/._-])local[_-]?rank[_=-]?(?P<l>\d{1,4})(?:$|[/._-])`),
	pat("%j rank3", `(?i)(?:^|[/._-])(?P<j>\d{3,10})[._-](?:global[_-]?)?rank[_=-]?(?P<r>\d{1,6})(?:$|[._-])[^/]*$`),
	pat("rank3", `(?i)(?:^|[/._-])(?:global[_-]?)?rank[_=-]?(?P<r>\d{1,6})(?:$|[._-])[^/]*$`),
	pat("log-%x_%j_%r.err", `(?:^|/)log-[^/]*?_(?P<j>\d{1,10})_(?P<c>\d{1,4})$`),
	pat("slurm-%A_%a.out", `(?:^|/)slurm-(?P<j>\d{1,10})_(?P<a>\d{1,7})$`),
	pat("slurm-%A_%a-%n.out", `(?:^|/)(?:slurm|error|output)-(?P<j>\d{1,10})_(?P<a>\d{1,7})-(?P<n>\d{1,5})$`),
	pat("error-%j-%n-%t.out", `(?:^|/)(?:slurm|error|output|out|err|stdout|stderr|log)[_-](?P<j>\d{1,10})-(?P<n>\d{1,5})-(?P<t>\d{1,6})$`),
	pat("error-%j-%N-%t.out", `(?:^|/)(?:slurm|error|output|out|err|stdout|stderr|log)[_-](?P<j>\d{1,10})-(?P<N>[A-Za-z][A-Za-z0-9.-]*)-(?P<t>\d{1,6})$`),
	pat("error-%j-%n.out", `(?:^|/)(?:slurm|error|output|out|err|stdout|stderr|log)-(?P<j>\d{1,10})-(?P<n>\d{1,5})$`),
	pat("%j_%t_log.err", `(?:^|/)(?P<j>\d{1,10})_(?P<t>\d{1,6})_log$`),
	pat("slurm-%j.out", `(?:^|/)(?:slurm|error|output|out|err|stdout|stderr|log)[_-](?P<j>\d{1,10})$`),
	pat("error-%j-%N.out", `(?:^|/)(?:slurm|error|output|out|err|stdout|stderr|log)[_-](?P<j>\d{1,10})[_-](?P<N>[A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*)$`),
	pat("%x-%j-%n.err", `(?:^|/)[^/]+[-_.](?P<j>\d{4,10})-(?P<n>\d{1,5})$`),
	pat("%x-%j-%N.err", `(?:^|/)[^/]+[-_.](?P<j>\d{4,10})-(?P<N>[A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*)$`),
	pat("%j-%n.out", `(?:^|/)(?P<j>\d{3,10})-(?P<n>\d{1,5})$`),
	pat("%j-%N.out", `(?:^|/)(?P<j>\d{3,10})[-_.](?P<N>[A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*)$`),
	pat("%x-%j.out", `(?:^|/)[^/]+[-_.](?P<j>\d{4,10})$`),
	pat("%j.out", `(?:^|/)(?P<j>\d{3,10})$`),
	pat("%N.log", `(?:^|/)(?P<i>(?:node|host)[_-]?\d{1,6})$`),
	pat("%N.log", `(?:^|/)(?P<N>(?:node|host)[A-Za-z0-9-]*\d[A-Za-z0-9.-]*)$`),
}

// process names a file that a process wrote under its own pid: a core dump, NCCL_DEBUG_FILE with "%p". The number is no job.
var process = pattern.New(`(?i)(?:^|/)(?:(?:vg)?core|nccl[^/]*)\.(?:[^/]+\.)?\d{1,10}$`)

// suffixes are taken off the end, as often as they stand there.
var suffixes = []string{".gz", ".zst", ".xz", ".bz2", ".1", ".old", ".log", ".out", ".err", ".txt", ".stdout", ".stderr"}

// trim returns the path without suffixes. A torchrun log named just "stderr.log" keeps its stem.
func trim(name string) string {
	for again := true; again; {
		again = false
		for _, s := range suffixes {
			if strings.HasSuffix(name, s) && len(name) > len(s) && name[len(name)-len(s)-1] != '/' {
				name, again = name[:len(name)-len(s)], true
			}
		}
	}
	return name
}

// Stem is a name without compression and the suffixes of logs.
func Stem(name string) string { return trim(name) }

// Parse reads all names of one input. It needs them together: "node-0 … node-7" are indices if they make a dense series
// from 0 or 1 on, and otherwise names of hosts. Names that say nothing are left out.
func Parse(names []string) map[string]Name {
	out := map[string]Name{}
	var plain []string
	for _, name := range names {
		n, index := parse(name)
		if index != "" {
			plain = append(plain, name)
			n.Host = index
		}
		if n != nothing {
			out[name] = n
		}
	}
	indices(out, plain)
	hosts := spread(out, names)
	hyphened(out, names, hosts)
	counted(out)
	beside(out)
	return out
}

// ofAnyWord finds a number behind a word of any kind, at the end of a name: a job's, or a date, a time or the number of a process.
var ofAnyWord = pattern.New(`(?:^|/)[^/]+[-_.]\d{4,10}$`)

// ofALog finds what logs end in.
var ofALog = pattern.New(`\.(?:log|out|err|stdout|stderr)(?:\.(?:gz|zst|xz|bz2|old|\d))*$`)

// beside takes the jobs back out of names of other files than logs ("squeue_1841.txt", "pystack-48211.txt") where names of logs state another one.
func beside(out map[string]Name) {
	jobs := map[string]bool{}
	weak := func(name string) bool { return !ofALog.MatchString(name) && ofAnyWord.MatchString(trim(name)) }
	for name, n := range out {
		jobs[n.Job] = jobs[n.Job] || !weak(name)
	}
	delete(jobs, "")
	if certain := slices.Collect(maps.Values(jobs)); !slices.Contains(certain, true) {
		return
	}
	for name, n := range out {
		if n.Job == "" || jobs[n.Job] {
			continue
		}
		if n.Job = ""; n == nothing {
			delete(out, name)
		} else {
			out[name] = n
		}
	}
}

// numbered is a name that ends in a number behind a hyphen: "dgx2-8" is task 8 on dgx2 or a host of that name.
var numbered = pattern.New(`^(.+)[-_.](?:(task)[_=-]?)?(\d{1,6})$`)

var (
	// general are last parts of names that no single machine has, kinds of machines and of GPUs: a number behind one belongs to the host's name.
	general = pattern.New(`(?i)(?:^|[-_.])(?:nodes?|hosts?|workers?|gpus?|cpus?|compute|server|instance|pod|pool|master|launcher|trainer|vm|dgx|hgx|rack|` +
		`[abghlv]\d{2,3}0?|gb\d00|gh200|mi\d{3}x?|p\d{1,2}d?e?n?)$`)
	partOfIP = pattern.New(`(?i)^ip-\d{1,3}-\d{1,3}-\d{1,3}$`) // EC2's names of hosts: "ip-10-0-0-5"
	wholeIP  = pattern.New(`(?i)^ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}$`)
)

// bare is a name of a host and a number behind a job, however they are joined: "%x_%j_%N_%t".
var bare = pattern.New(`(?i)(?:^|[/._-])(\d{3,10})[._-]([a-z][a-z0-9.-]*\d[a-z0-9.-]*[._-]\d{1,6})$`)

// numberOf tells a host and the number behind it apart where the name alone tells how: of "worker-27" and "ip-10-0-0-5" the number is a
// part, of "ip-10-0-0-5-3" and "n1-task3" it is a task. sure is false where it may be either.
func numberOf(name string) (host string, task int, sure bool) {
	m := numbered.FindStringSubmatch(name)
	if m == nil || wholeIP.MatchString(name) {
		return name, None, true
	}
	num, _ := strconv.Atoi(m[3])
	switch {
	case m[2] != "" && strings.ContainsAny(m[1], "0123456789"), wholeIP.MatchString(m[1]):
		return m[1], num, true
	case partOfIP.MatchString(m[1]), general.MatchString(m[1]):
		return name, None, true
	}
	return m[1], num, false
}

// hyphened settles what a number behind the name of a host is. Where the name alone does not tell, it is a task if those of the job are so
// numbered; else no node is named. It is never taken for a part of the host's name because of other files: with some of them missing, the
// same file would be another node's. Numbers with zeros in front may be tasks as well (%4t), but then nothing proves it: they are a part of
// the name where ranks are known by that name.
func hyphened(out map[string]Name, names []string, hosts map[string]bool) {
	doubtful := map[string][]numberedFile{} // by job
	for _, name := range names {
		if n, known := out[name]; !known || n.Host == "" && n.Task == None && n.Rank == None && n.NodeIndex == None {
			if m := bare.FindStringSubmatch(trim(name)); m != nil {
				host, task, sure := numberOf(m[2])
				if !sure && !padded(m[2], host) {
					doubtful[m[1]] = append(doubtful[m[1]], numberedFile{name, host, task}) // what stands before may be of the experiment's name: no more is taken from it
				}
			}
		}
	}
	for file, n := range out {
		if n.Host == "" || n.Rank != None || n.Job == "" {
			continue
		}
		name := n.Host
		if n.Task != None {
			stem := trim(file)
			name = stem[strings.LastIndex(stem, n.Host):]
		}
		host, task, sure := numberOf(name)
		if n.Host, n.Task = host, task; !sure {
			n.Host, n.Task = "", None
			switch {
			case !padded(name, host):
				doubtful[n.Job] = append(doubtful[n.Job], numberedFile{file, host, task})
			case hosts[name]:
				n.Host = name
			}
		}
		if out[file] = n; n == nothing {
			delete(out, file)
		}
	}
	for job, files := range doubtful {
		if tasks(files) {
			for _, f := range files {
				n, known := out[f.file]
				if !known {
					n = nothing
				}
				n.Job, n.Host, n.Task = job, f.host, f.num
				out[f.file] = n
			}
		}
	}
}

// padded says that the number behind the host in a name has zeros in front.
func padded(name, host string) bool { return len(name) > len(host)+2 && name[len(host)+1] == '0' }

// numberedFile is a file whose name may state a host and a task.
type numberedFile struct {
	file, host string
	num        int
}

// tasks says that the numbers are those of a job's tasks: each is on one host. On one host all of them are there, from 0 on; on several more
// than half of them, and each host has those that follow one another, or every n-th.
func tasks(files []numberedFile) bool {
	on, of := map[int]string{}, map[string][]int{}
	for _, f := range files {
		if !strings.ContainsAny(f.host, "0123456789") {
			return false
		}
		switch h, seen := on[f.num]; {
		case !seen:
			on[f.num] = f.host
			of[f.host] = append(of[f.host], f.num)
		case h != f.host:
			return false
		}
	}
	most := slices.Max(slices.Collect(maps.Keys(on)))
	if len(on) < 2 || len(of) == 1 {
		return len(on) > 1 && most == len(on)-1
	}
	if 2*len(on) <= most+1 {
		return false
	}
	blocks, cyclic := true, true
	for host, nums := range of {
		slices.Sort(nums)
		for num := nums[0]; num <= nums[len(nums)-1]; num++ {
			h, seen := on[num]
			blocks = blocks && (!seen || h == host)
		}
		for _, num := range nums {
			cyclic = cyclic && (num-nums[0])%len(of) == 0
		}
	}
	return blocks || cyclic
}

// counted takes the jobs back out of names that count from 0: no scheduler calls a job so, and "out_0 … out_7" are processes or nodes.
func counted(out map[string]Name) {
	series := map[string]bool{} // from 0 on
	head := func(name string) string { return strings.TrimRight(trim(name), "0123456789") }
	for name, n := range out {
		if n.Job == "0" {
			series[head(name)] = true
		}
	}
	if len(series) == 0 {
		return
	}
	for name, n := range out {
		if !series[head(name)] || !strings.HasSuffix(trim(name), n.Job) {
			continue
		}
		if n.Job = ""; n == nothing {
			delete(out, name)
		} else {
			out[name] = n
		}
	}
}

// onNode is a name that states a node and a rank on it, behind the job: "%x-%j-%N-rank%t".
var onNode = pattern.New(`(?i)^(.*?(?:^|[/._-])(\d{3,10}))[._-]([a-z][a-z0-9.-]*?\d[a-z0-9.-]*?)[._-](?:global[_-]?)?rank[_=-]?(\d{1,6})$`)

// spread ties ranks to nodes where names state both: each number stands with one node alone, and there are several nodes. What stands
// before the number would otherwise be a part of the experiment's name or an attempt. It returns the hosts.
func spread(out map[string]Name, names []string) (hosts map[string]bool) {
	hosts = map[string]bool{}
	type group struct {
		nodes map[string]bool
		nums  map[int]bool
		off   bool
	}
	groups := map[string]*group{}
	each := func(see func(name string, g *group, m []string, num int)) {
		for _, name := range names {
			if m := onNode.FindStringSubmatch(trim(name)); m != nil {
				g := groups[m[1]]
				if g == nil {
					g = &group{nodes: map[string]bool{}, nums: map[int]bool{}}
					groups[m[1]] = g
				}
				num, _ := strconv.Atoi(m[4])
				see(name, g, m, num)
			}
		}
	}
	each(func(_ string, g *group, m []string, num int) {
		g.off = g.off || g.nums[num]
		g.nodes[m[3]], g.nums[num] = true, true
	})
	each(func(name string, g *group, m []string, num int) {
		if g.off || len(g.nodes) < 2 {
			return
		}
		n := nothing
		n.Job, n.Host, n.Rank = m[2], m[3], num
		out[name], hosts[m[3]] = n, true
	})
	return hosts
}

// parse reads one name. index is a text such as "node-3", which may be an index or a host.
func parse(name string) (n Name, index string) {
	n = nothing
	stem := trim(name)
	if process.MatchString(stem) {
		return n, ""
	}
	for _, p := range patterns {
		m := p.re.FindStringSubmatch(stem)
		if m == nil {
			continue
		}
		for i, g := range p.re.SubexpNames() {
			v, err := strconv.Atoi(m[i])
			if err != nil {
				v = None
			}
			switch g {
			case "j":
				if len(m[i]) > 1 && m[i][0] == '0' {
					break // a padded number counts nodes or ranks: "cn-0042.log"; no scheduler calls a job so
				}
				n.Job = m[i]
			case "a":
				if n.Job != "" {
					n.Job += "_" + m[i]
				}
			case "n":
				n.NodeIndex = v
			case "N":
				n.Host = m[i]
			case "t":
				n.Task = v
			case "r":
				if n.Rank = v; several(stem, v) {
					n.Rank = None
				}
			case "l":
				n.Local = v
			case "c":
				n.Restart = v
			case "i":
				index = m[i]
			}
		}
		return n, index
	}
	return n, ""
}

// ranks finds a range behind the word rank: "rank8-15". "rank_3_8" may be rank 3 of 8.
var ranks = pattern.New(`(?i)ranks?[_=-]?(\d{1,6})(?:-|_to_|\.\.)(\d{1,6})(?:$|[._-])`)

// several says that a name calls a range of ranks that begins with this one, not one rank and another number.
func several(stem string, rank int) bool {
	const most = 256
	m := ranks.FindStringSubmatch(stem)
	if m == nil {
		return false
	}
	from, _ := strconv.Atoi(m[1])
	to, _ := strconv.Atoi(m[2])
	return from == rank && to > from && to < from+most
}

// indices turns "node_0 … node_7" into node indices. A hyphen or underscore before the number and a dense series from 0
// make it an index; "node7" without a separator is how hosts are called.
func indices(out map[string]Name, names []string) {
	seen := map[int]bool{}
	for _, name := range names {
		h := out[name].Host
		v, ok := number(h)
		if !ok {
			return
		}
		seen[v] = true
	}
	if len(seen) < 2 {
		return
	}
	for i := range len(seen) {
		if !seen[i] {
			return
		}
	}
	for _, name := range names {
		n := out[name]
		n.NodeIndex, _ = number(n.Host)
		n.Host = ""
		out[name] = n
	}
}

// number is the N of "node-N" or "node_N", unpadded.
func number(h string) (int, bool) {
	i := strings.LastIndexAny(h, "-_")
	if i < 0 {
		return 0, false
	}
	v, err := strconv.Atoi(h[i+1:])
	return v, err == nil && (v == 0 || h[i+1] != '0')
}
