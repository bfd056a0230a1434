package serve

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"
)

// otherBucket belongs to a team that the jobs of these tests have nothing to do with.
const otherBucket = "legal-merger-2026"

// daemonLog is the INFO log of one daemon of a storage that does its work: in the formats of AIStore 5.0, from the day before
// the jobs of these tests to the hour after. It has what all such logs have and what says nothing: odd start-up warnings, other
// people's buckets, our own refused request.
func daemonLog(daemon string) string {
	role := "target"
	if strings.Contains(daemon, "proxy") {
		role = "proxy"
	}
	start := time.Date(2025, 1, 20, 23, 13, 39, 754726000, time.UTC)
	var b strings.Builder
	at := start
	line := func(level, format string, args ...any) {
		fmt.Fprintf(&b, level+at.Format(" 15:04:05.000000 ")+format+"\n", args...)
		at = at.Add(137 * time.Microsecond)
	}
	fmt.Fprintf(&b, "Started up at %s, host %s-0, go1.26.8 for linux/amd64\n", start.Format("2006/01/02 15:04:05"), "ais-"+role)
	line("E", "config:3622 Warning: load initial global config from /etc/ais/ais.json")
	line("I", `config:3671 log.dir: "/var/log/ais"; l4.proto: tcp; pub port: 51081; verbosity: 3`)
	line("I", "daemon:321 Version 5.0.v1.5.0, build 4f5a4b, CPUs(32, runtime=32), containerized")
	line("I", "htrun:363 PUBLIC (user) access: {10.0.4.7 51081 http://10.0.4.7:51081 10.0.4.7:51081} (config: 10.0.4.7)")
	line("I", "daemon:263 Node %s[%s], Version 5.0.v1.5.0, build 4f5a4b, CPUs(32, runtime=32), containerized\n", role[:1], daemon)
	line("I", "htrun:2567 %s[%s] via primary health: cluster startup Ok, Smap v8[N_g66e331O, p[ais-proxy-0], t=2, p=1]", role[:1], daemon)
	line("I", "%s:553 %s[%s] is ready", role, role[:1], daemon)
	line("I", "common:454 Starting %sstats", role)
	for n := 1; n <= 60*18; n++ { // minutes
		at = start.Add(time.Duration(n) * time.Minute)
		if n%60 == 0 {
			line("I", "common:494 %s =============", at.Format("02 Jan 06 15:04 MST"))
		}
		switch {
		case n%3 != 0:
		case role == "proxy":
			line("I", "{auth.success.n:%d,auth.total.n:%d,get.n:%d,kalive.ns:764096,lst.n:%d,state.flags:6}", n, n, 400*n, n/3)
		default:
			line("I", "{get.n:%d,get.ns:383442,getbatch.n:%d,getbatch.obj.n:%d,getbatch.obj.size:%d,getbatch.rxwait.ns:%d,state.flags:6,stream.in.n:%d,stream.out.n:%d}",
				200*n, 20*n, 640*n, 640*n*131072, 9_000_000*n, 430*n, 425*n)
			line("I", "running(1): get-batch[gbt-iAf4A11G9]")
		}
		switch {
		case n == 990 && role == "target": // another team's trouble, in the middle of the job's last hour
			line("W", "moss:678 x-get-batch[gbt-Q7hh1pLs0]-ais://%s %s[%s] bcast abort [ ais://%s/deal/000017 does not exist ]", otherBucket, role[:1], daemon, otherBucket)
			line("E", "ErrObjNotFound: ais://%s/deal/000018 does not exist: GET /v1/objects/%s/deal/000018 (called by p[ais-proxy-0]) (%s[%s]: htrun.go:1636 <- tgtobj.go:460])",
				otherBucket, otherBucket, role[:1], daemon)
		case n == 1079 && role == "proxy":
			line("W", "prxauth:421 token validation failed: token signature is invalid: signature is invalid")
			line("E", "invalid token from header \"Authorization\": invalid token [err: token signature is invalid: signature is invalid]: GET /v1/daemon (p[%s]: htrun.go:1640 <- prxclu.go:83])", daemon)
		}
	}
	return b.String()
}

// daemonLogs is the archive of one daemon's logs, as `what=log&all=true` gives it.
func daemonLogs(daemon string) []byte {
	role := "target"
	if strings.Contains(daemon, "proxy") {
		role = "proxy"
	}
	return packed(map[string]string{"ais" + role + ".ais-" + role + "-0.INFO.0120-231339.1": daemonLog(daemon)})
}

// packed is a tar.gz.
func packed(files map[string]string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	t := tar.NewWriter(z)
	for name, text := range files {
		_ = t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
		_, _ = t.Write([]byte(text))
	}
	_ = t.Close()
	_ = z.Close()
	return buf.Bytes()
}
