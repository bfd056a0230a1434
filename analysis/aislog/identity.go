package aislog

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
)

var titles = regexp.MustCompile(`^(?:Node ([tp])\[([A-Za-z0-9_.-]{1,64})\](?:\[P\])?, )?Version ([0-9A-Za-z._-]{1,40})`)

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

var smap = regexp.MustCompile(`Smap v\d+\[([A-Za-z0-9_-]{3,40}), `)

// clusterOf is the id of the cluster map that a record names.
func clusterOf(msg []byte) string {
	if !bytes.Contains(msg, []byte("Smap v")) {
		return ""
	}
	if m := smap.FindSubmatch(msg); m != nil {
		return string(m[1])
	}
	return ""
}

var fileName = regexp.MustCompile(`^ais(target|proxy)\.[^/]*\.(INFO|ERROR)\.\d{4}-\d{6}\.(\d{1,9})(?:$|\.)`)

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

var archive = regexp.MustCompile(`^ais(target|proxy)-([A-Za-z0-9_.-]{1,64}?)(?:\.tar\.gz|\.tgz|\.tar|\.tar\.zst|\.zip)?$`)

// archived is the daemon that a folder or an archive is named after: "ais log get" takes the name from the cluster map.
func archived(hint string) (Role, string) {
	for dir := path.Dir(hint); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m := archive.FindStringSubmatch(path.Base(dir)); m != nil {
			return Role(m[1]), m[2]
		}
	}
	return "", ""
}
