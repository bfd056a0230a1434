package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/worker"
	"faultline/pattern"
)

// saidHosts are the hosts that files give as theirs in their first lines, by file; "" where a file gives several.
func saidHosts(obs *worker.Observations) map[string]string {
	said := map[string]string{}
	for i := range obs.Facts {
		x := &obs.Facts[i]
		if x.Key != worker.HostSaid {
			continue
		}
		host := ShortHost(x.Value)
		if old, known := said[x.File]; known && old != host {
			host = ""
		}
		said[x.File] = host
	}
	return said
}

// nodesSaid ties files to the hosts that they give as theirs, and to one that stands in front of some of their lines only, where that is
// confirmed: by the file's name, or because other files give others. A batch script prints the name of the first node, and then the file
// holds what all of them print; the names in front of few lines may be keys.
func (id *identity) nodesSaid(obs *worker.Observations) {
	said := saidHosts(obs)
	several := map[string]bool{}
	for _, host := range said {
		if host != "" {
			several[host] = true
		}
	}
	for file, host := range said {
		switch {
		case host == "", id.fileNode[file] != "", id.multiHost[file]:
		case len(several) > 1, namedFor(file, host):
			id.fileNode[file], id.nodeBasis[file] = host, "the file's own first lines"
		}
	}
	for k := range obs.Tails {
		t := &obs.Tails[k]
		if !id.keyed[t.File] || id.fileNode[t.File] != "" || id.multiHost[t.File] {
			continue
		}
		if host := onlyLabel(t); host != "" && namedFor(t.File, host) {
			id.fileNode[t.File], id.nodeBasis[t.File] = host, "host in front of its lines, and the file's name"
		}
	}
}

// onlyLabel is the one name that stands in front of lines of a file as hosts do; "" where there are several, or none.
func onlyLabel(t *worker.Tail) string {
	only := ""
	for i := range t.Writers {
		host := ShortHost(t.Writers[i].Who.Host)
		if host == "" || host == only {
			continue
		}
		if only != "" {
			return ""
		}
		only = host
	}
	return only
}

// namedFor says that a file's name, without its folders, holds that of a host.
func namedFor(file, host string) bool {
	return holdsWord(strings.ToLower(file[strings.LastIndexByte(file, '/')+1:]), host)
}

// peer finds the host of whom a line of a library speaks: NCCL's "remote peer n4<51204>", c10d's "remote=[n4.svc]:23456" and "(n4.svc, 23456)".
var peer = pattern.New(`(?:remote peer |remote=\[|\()([A-Za-z][A-Za-z-]*[0-9][\w-]*(?:\.[A-Za-z][\w-]*)*)(?:<|\]:|, \d{2,5}\))`)

// spokenOf are the hosts of which processes speak as their peers, or as where all of them meet.
func spokenOf(obs *worker.Observations) (hosts []string) {
	for i := range obs.Facts {
		if x := &obs.Facts[i]; x.Key == "master" && hostLike.MatchString(ShortHost(x.Value)) {
			hosts = append(hosts, x.Value)
		}
	}
	say := func(text string) {
		if m := peer.FindStringSubmatch(text); m != nil {
			hosts = append(hosts, m[1])
		}
	}
	for i := range obs.Signs {
		say(obs.Signs[i].Text)
	}
	for i := range obs.Exceptions {
		say(obs.Exceptions[i].Message)
	}
	for i := range obs.NCCLWarns {
		say(obs.NCCLWarns[i].Text)
	}
	return hosts
}

// hostsInFiles are the nodes that the contents of files name, in order: another file may be called by one of them.
func (id *identity) hostsInFiles(obs *worker.Observations) []string {
	hosts := map[string]bool{}
	for _, host := range saidHosts(obs) {
		hosts[host] = host != ""
	}
	delete(hosts, "")
	for _, host := range spokenOf(obs) {
		hosts[ShortHost(host)] = true
	}
	for _, host := range id.fileNode {
		if hostLike.MatchString(host) {
			hosts[host] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// rangesOnNodes ties ranks to nodes by tables of the kind "node 2: c5n03 ranks 16-23".
func (id *identity) rangesOnNodes(obs *worker.Observations) {
	for i := range obs.Facts {
		x := &obs.Facts[i]
		if x.Key != worker.RanksOn {
			continue
		}
		var host string
		var from, to int
		if _, err := fmt.Sscan(x.Value, &host, &from, &to); err != nil || to < from || to >= MaxWorld {
			continue
		}
		for rank := from; rank <= to; rank++ {
			id.tie(rank, ShortHost(host))
		}
	}
}

// stream finds the word for one of a process's two streams in the name of its file: "attempt_0/2/stderr.log", "err5.txt".
var stream = pattern.New(`(?i)(^|[/._-])(?:std)?(?:out|err|error|output)(\d*(?:$|[/._-]))`)

// streamless is the name of a file without that word.
func streamless(name string) string { return stream.ReplaceAllString(name, "${1}\x00${2}") }

// streams gives both streams of a process the rank and node of which one of them tells: two files whose names differ in that word alone.
func (id *identity) streams(names []string) {
	pairs := map[string][]string{}
	for _, name := range names {
		if key := streamless(name); key != name {
			pairs[key] = append(pairs[key], name)
		}
	}
	for _, pair := range pairs {
		if len(pair) != 2 {
			continue
		}
		for i, name := range pair {
			other := pair[1-i]
			if rank, known := id.fileRank[other]; known {
				if _, own := id.fileRank[name]; !own {
					id.fileRank[name] = rank
				}
			}
			if id.fileNode[name] == "" && !id.multiHost[name] && id.fileNode[other] != "" {
				id.fileNode[name], id.nodeBasis[name] = id.fileNode[other], id.nodeBasis[other]
			}
		}
	}
}
