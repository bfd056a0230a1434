package aislog

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"faultline/pattern"
)

var titles = pattern.New(`^(?:Node ([tp])\[([A-Za-z0-9_.-]{1,64})\](?:\[P\])?, )?Version ([0-9A-Za-z._-]{1,40})`)

// title reads "Node t[ais-target-1], Version 5.0.v1.5.0, build lab, …" or what stands behind the comma.
func title(msg []byte) (role Role, id, version string) {
	m := titles.FindSubmatch(msg)
	if m == nil {
		return "", "", ""
	}
	switch string(m[1]) {
	case "t":
		role = Target
	case "p":
		role = Proxy
	}
	return role, string(m[2]), string(m[3])
}

var smap = pattern.New(`Smap v\d+\[([A-Za-z0-9_-]{3,40}), (?:.{0,100}?, t=(\d{1,4}), p=(\d{1,4})\])?`)

// aboutMembers are kinds of records that state the cluster map.
var aboutMembers = map[Kind]bool{Joined: true, MapChanged: true, Removed: true, Election: true, PrimaryDown: true, Administration: true}

// members reads what a record says of the cluster map: its id and how many daemons it holds.
func (r *reader) members(msg []byte) {
	if !bytes.Contains(msg, []byte("Smap v")) {
		return
	}
	m := smap.FindSubmatch(msg)
	if m == nil {
		return
	}
	if r.p.cluster == "" {
		r.p.cluster = string(m[1])
	}
	if n, err := strconv.Atoi(string(m[2])); err == nil {
		r.p.targets = max(r.p.targets, n)
	}
	if n, err := strconv.Atoi(string(m[3])); err == nil {
		r.p.proxies = max(r.p.proxies, n)
	}
}

// maxListens bounds the addresses of one daemon: for clients, for control and for data.
const maxListens = 8

// listens is the address in "PUBLIC (user) access: {127.0.0.1 18080 http://127.0.0.1:18080 127.0.0.1:18080}".
func listens(msg []byte) string {
	for _, scheme := range []string{"http://", "https://"} {
		if a := token(msg, scheme); a != "" && bytes.IndexByte([]byte(a), ':') > 0 {
			return strings.TrimRight(a, "}")
		}
	}
	return ""
}

var fileName = pattern.New(`^ais(target|proxy)\.[^/]*\.(INFO|ERROR)\.\d{4}-\d{6}\.(\d{1,9})(?:$|\.)`)

// named is what the name of a file says: a process id means something only outside containers, where it is not 1.
func named(name string) (pid int, role Role) {
	m := fileName.FindStringSubmatch(path.Base(name))
	if m == nil {
		return 0, ""
	}
	if pid, _ = strconv.Atoi(m[3]); pid == 1 {
		pid = 0
	}
	return pid, Role(m[1])
}

// self is the id of the daemon that writes, as far as that is known while its file is read.
func (r *reader) self() string {
	if r.p.id != "" {
		return r.p.id
	}
	return r.named
}

var archive = pattern.New(`^ais(target|proxy)-([A-Za-z0-9_.-]{1,64}?)(?:\.tar\.gz|\.tgz|\.tar|\.tar\.zst|\.zip)?$`)

// archived is the daemon that a folder or an archive is named after: "ais log get" takes the name from the cluster map.
func archived(hint string) (Role, string) {
	for dir := path.Dir(hint); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m := archive.FindStringSubmatch(path.Base(dir)); m != nil {
			return Role(m[1]), m[2]
		}
	}
	return "", ""
}
