package aiscluster

import "fmt"

// release is what differs from one version of AIStore to the next. Texts and line numbers are those of the sources at the
// tags v1.3.30, v1.4.2, v1.4.9 and v1.5.0, and of a cluster of 5.0 that was run.
type release struct {
	name, version, golang string
	index                 int
	batches               bool // Get-Batch is in use (x-get-batch; its code is in 3.30, its use begins with 4.0)
	neighbours            bool // entries that a neighbour gave instead are counted (4.3)
	auth                  bool // requests with and without a token are counted (4.2)
}

var releases = []release{
	{name: "3.30", version: "3.30.v1.3.30", golang: "go1.24.4", index: 0},
	{name: "4.2", version: "4.2.v1.4.2", golang: "go1.25.5", index: 1, batches: true, auth: true},
	{name: "4.9", version: "4.9.v1.4.9", golang: "go1.26.1", index: 2, batches: true, neighbours: true, auth: true},
	{name: "5.0", version: "5.0.v1.5.0", golang: "go1.26.8", index: 3, batches: true, neighbours: true, auth: true},
}

// Releases are the names of the versions that can be played, oldest first.
func Releases() []string {
	out := make([]string, len(releases))
	for i := range releases {
		out[i] = releases[i].name
	}
	return out
}

func findRelease(name string) (*release, error) {
	for i := range releases {
		if releases[i].name == name {
			return &releases[i], nil
		}
	}
	return nil, fmt.Errorf("aiscluster: unknown release %q", name)
}

// positions are the places in the source that lines come from: file name without ".go", and the line in each release.
var positions = map[string]struct {
	file string
	line [4]int
}{
	"marker":        {"common", [4]int{492, 502, 502, 494}},
	"stats":         {"common", [4]int{451, 463, 463, 454}},
	"cpu-extreme":   {"common", [4]int{577, 590, 590, 582}},
	"cpu-high":      {"common", [4]int{587, 600, 600, 592}},
	"goroutines":    {"common", [4]int{632, 656, 656, 648}},
	"mem-oom":       {"common", [4]int{532, 545, 545, 537}},
	"mem-low":       {"common", [4]int{539, 552, 552, 544}},
	"mem-extreme":   {"pressure", [4]int{131, 131, 141, 141}},
	"mem-free":      {"gc", [4]int{50, 50, 52, 52}},
	"log-dir":       {"config", [4]int{2167, 2840, 2989, 3671}},
	"config":        {"config", [4]int{2169, 2842, 2991, 3673}},
	"version":       {"daemon", [4]int{312, 320, 323, 321}},
	"title":         {"daemon", [4]int{245, 250, 263, 263}},
	"terminated":    {"daemon", [4]int{342, 370, 374, 374}},
	"fatal":         {"daemon", [4]int{346, 374, 378, 378}},
	"public":        {"htrun", [4]int{302, 330, 362, 363}},
	"control":       {"htrun", [4]int{317, 345, 377, 378}},
	"data":          {"htrun", [4]int{330, 358, 390, 391}},
	"shutdown":      {"htrun", [4]int{594, 664, 711, 708}},
	"primary-ok":    {"htrun", [4]int{1893, 1978, 2180, 2284}},
	"cluster-ok":    {"htrun", [4]int{2178, 2316, 2471, 2567}},
	"rx-smap":       {"htrun", [4]int{1750, 1835, 1990, 2098}},
	"rx-rmd":        {"htrun", [4]int{1690, 1772, 1922, 2030}},
	"rx-bmd":        {"tgtcp", [4]int{640, 660, 742, 781}},
	"newer-smap":    {"tgtcp", [4]int{1304, 1290, 1440, 1479}},
	"start-reb":     {"tgtcp", [4]int{890, 901, 1044, 1082}},
	"tid":           {"target", [4]int{344, 347, 387, 386}},
	"ready":         {"target", [4]int{510, 512, 551, 553}},
	"volume":        {"fs", [4]int{1130, 1142, 1311, 1289}},
	"memory":        {"target", [4]int{280, 281, 318, 315}},
	"pid":           {"proxy", [4]int{134, 135, 140, 161}},
	"pmemory":       {"proxy", [4]int{104, 105, 110, 124}},
	"talive":        {"kalive", [4]int{115, 117, 117, 117}},
	"palive":        {"kalive", [4]int{175, 177, 177, 177}},
	"fast-kalive":   {"kalive", [4]int{276, 279, 279, 266}},
	"slow-ok":       {"kalive", [4]int{333, 336, 336, 323}},
	"slow-kalive":   {"kalive", [4]int{339, 342, 342, 329}},
	"removed":       {"kalive", [4]int{441, 444, 452, 439}},
	"kalive-retry":  {"kalive", [4]int{592, 595, 603, 590}},
	"kalive-ok":     {"kalive", [4]int{618, 621, 629, 616}},
	"kalive-failed": {"kalive", [4]int{625, 628, 636, 623}},
	"joined":        {"clustermap", [4]int{354, 354, 354, 370}},
	"autoreg":       {"prxclu", [4]int{560, 571, 602, 0}},
	"metasync":      {"metasync", [4]int{436, 440, 448, 452}},
	"synced":        {"metasync", [4]int{392, 396, 404, 408}},
	"reb-done":      {"listener", [4]int{150, 155, 164, 167}},
	"uuid":          {"earlystart", [4]int{870, 878, 1172, 1181}},
	"cluster-up":    {"earlystart", [4]int{348, 353, 590, 590}},
	"reb-init":      {"globrun", [4]int{286, 293, 288, 288}},
	"reb-run":       {"globrun", [4]int{454, 394, 424, 424}},
	"reb-start":     {"globrun", [4]int{500, 516, 550, 550}},
	"reb-finish":    {"globrun", [4]int{529, 545, 587, 587}},
	"reb-end":       {"globrun", [4]int{620, 640, 665, 670}},
	"reb-wait":      {"bcast", [4]int{88, 88, 88, 88}},
	"gfn-on":        {"gfn", [4]int{40, 42, 44, 44}},
	"gfn-fail":      {"tgtobj", [4]int{993, 1087, 1086, 1086}},
	"gfn-off":       {"gfn", [4]int{60, 62, 66, 66}},
	"sb-open":       {"bundle", [4]int{107, 106, 119, 119}},
	"sb-again":      {"bundle", [4]int{0, 479, 426, 430}},
	"sdm-open":      {"ml", [4]int{262, 347, 422, 447}},
	"sdm-rx":        {"shared_dm", [4]int{0, 267, 292, 350}},
	"sdm-reconnect": {"shared_dm", [4]int{0, 153, 159, 202}},
	"sdm-back":      {"shared_dm", [4]int{0, 275, 300, 359}},
	"sdm-stats":     {"shared_dm", [4]int{0, 0, 181, 224}},
	"sdm-drop":      {"shared_dm", [4]int{0, 0, 325, 384}},
	"recv":          {"recv", [4]int{108, 82, 82, 82}},
	"yelp":          {"client_fasthttp", [4]int{100, 101, 105, 108}},
	"term":          {"base", [4]int{194, 171, 172, 173}},
	"moss-run":      {"moss", [4]int{160, 274, 325, 320}},
	"moss-idle":     {"moss", [4]int{237, 380, 439, 434}},
	"moss-ctl":      {"moss", [4]int{0, 452, 526, 521}},
	"moss-abort":    {"moss", [4]int{199, 300, 671, 678}},
	"moss-err":      {"moss", [4]int{0, 520, 677, 684}},
	"moss-press":    {"moss", [4]int{0, 441, 594, 589}},
	"moss-index":    {"moss", [4]int{655, 1056, 1418, 1454}},
	"moss-recv":     {"moss", [4]int{670, 1014, 1375, 1411}},
	"moss-stale":    {"moss", [4]int{0, 0, 980, 1012}},
	"moss-gfn-ok":   {"moss", [4]int{0, 1330, 1690, 1733}},
	"moss-gfn":      {"moss", [4]int{0, 1322, 1672, 1715}},
	"moss-gone":     {"moss", [4]int{0, 1640, 2102, 2175}},
	"abort-wi":      {"t2tctrl", [4]int{0, 0, 116, 86}},
	"hk":            {"housekeeper", [4]int{190, 196, 204, 207}},
	"client-gone":   {"target", [4]int{1010, 1050, 1110, 1264}},
	"cold-retry":    {"tgtobj", [4]int{746, 821, 820, 820}},
	"fshc-wake":     {"tgtobj", [4]int{1041, 1150, 1149, 1149}},
	"fshc-oos":      {"tgtfshc", [4]int{31, 31, 31, 31}},
	"fshc-all":      {"target_stats", [4]int{628, 717, 754, 754}},
	"fshc-all-w":    {"target_stats", [4]int{629, 718, 755, 755}},
	"fshc-limit":    {"fshc", [4]int{164, 215, 215, 215}},
	"fshc-proceed":  {"fshc", [4]int{165, 216, 216, 216}},
	"fshc-off":      {"fshc", [4]int{177, 227, 227, 227}},
	"cleanup":       {"tgtspace", [4]int{77, 77, 77, 77}},
	"no-cleanup":    {"tgtspace", [4]int{68, 68, 68, 68}},
	"cleanup-rm":    {"cleanup", [4]int{880, 902, 1011, 1028}},
	"lru":           {"lru", [4]int{178, 180, 183, 183}},
	"lru-end":       {"lru", [4]int{190, 192, 195, 195}},
	"token":         {"prxauth", [4]int{0, 420, 443, 421}},
	"aws":           {"aws", [4]int{966, 975, 839, 903}},
	"txn":           {"txn", [4]int{240, 250, 262, 269}},
	"admin":         {"prxcycle", [4]int{151, 160, 167, 169}},
	"admin-warn":    {"prxcycle", [4]int{0, 0, 0, 213}},
	"moss-end":      {"moss", [4]int{0, 330, 372, 379}},
	"listed":        {"evict", [4]int{0, 0, 129, 131}},
	"xact-end":      {"base", [4]int{220, 228, 236, 236}},
	"log-gc":        {"common", [4]int{763, 778, 778, 770}},
	"prefetch":      {"prefetch", [4]int{210, 240, 262, 266}},
}

// at is a position as a line has it.
func (v *release) at(key string) string {
	p, ok := positions[key]
	if !ok {
		panic("aiscluster: no position " + key) // a slip in this package
	}
	file := p.file
	if key == "autoreg" && v.index == 3 {
		return "pclupost:464"
	}
	return fmt.Sprintf("%s:%d", file, p.line[v.index])
}

// chains are the call chains behind failed requests, in 5.0; the first of them, htrun, is the same for all.
var htrun = [4]int{1334, 1414, 1541, 1636}

// chain is a call chain: "htrun.go:1636 <- ml.go:460".
func (v *release) chain(rest ...string) string {
	s := fmt.Sprintf("htrun.go:%d", htrun[v.index])
	for _, r := range rest {
		s += " <- " + r
	}
	return s
}
