package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

const (
	maxSigns   = 8  // lines that lead to the storage
	maxBuckets = 64 // names of buckets that the job says
)

// smell finds the lines of the job that lead to its storage. They prove nothing by themselves: they are why somebody looks there.
func (b *builder) smell() {
	s := &b.r.Storage
	uses := b.storageUses()
	s.Signs = append(b.storageTroubles(len(uses) > 0), uses...)
	s.Signs = s.Signs[:min(len(s.Signs), maxSigns)]
	for i := range b.s.Facts.Obs.Facts {
		x := &b.s.Facts.Obs.Facts[i]
		if (x.Key == "bucket" || x.Key == "data_source" && strings.Contains(x.Value, "://")) && !slices.Contains(s.Buckets, x.Value) {
			s.Buckets = append(s.Buckets, x.Value)
		}
	}
	last := ""
	for k := range b.s.Facts.Obs.IOs.All() {
		_, rest, ok := strings.Cut(k.Target, "/v1/objects/")
		name, _, _ := strings.Cut(rest, "/")
		if !ok || name == "" || name == last || len(s.Buckets) >= maxBuckets {
			continue
		}
		if last = name; !slices.Contains(s.Buckets, "ais://"+name) {
			s.Buckets = append(s.Buckets, "ais://"+name)
		}
	}
	slices.Sort(s.Buckets)
	s.Buckets = s.Buckets[:min(len(s.Buckets), maxBuckets)]
}

// clients are storage clients by the form of their lines.
var clients = map[string]string{
	"lhotse": "Lhotse", "dataloader": "a DataLoader worker", "ais": "the AIStore SDK", "ais-resume": "the AIStore SDK", "hadoop": "the Hadoop client",
	"google": "the Google client", "gcsfs": "gcsfs", "botocore": "botocore",
}

func clientOf(form string) string {
	if c := clients[form]; c != "" {
		return c
	}
	return "a storage client"
}

// troubles are what clients say, by what storageTroubles calls it.
var troubles = map[string]string{
	"loader":                    " reported that a batch, or an item in one, did not arrive",
	retried + resolve.Exhausted: " gave up on %s after its last retry",
	retried + resolve.Open:      " was still retrying %s when the logs end",
	retried + resolve.Recovered: " retried %s, and it recovered",
}

const retried = "retry "

// storageTroubles are the first lines of each kind of trouble that is no noise: that a retry recovered says that the job went on,
// not that nothing was late; what is confirmed to have another cause needs none of it.
func (b *builder) storageTroubles(uses bool) []incident.StorageSign {
	f, v := b.s.Facts, &b.r.Verdict
	elsewhere := v.Status == incident.Confirmed && v.Origin != "storage" && v.Origin != "data-loading-stall" || v.Status == incident.NoFailure
	type key struct{ trouble, form, request string }
	type kind struct {
		first worker.At
		n     int
	}
	kinds := map[key]*kind{}
	note := func(trouble, form, request string, at worker.At, n int) {
		k := kinds[key{trouble, form, request}]
		if k == nil {
			k = &kind{first: at}
			kinds[key{trouble, form, request}] = k
		}
		if before(at, k.first) {
			k.first = at
		}
		k.n += n
	}
	for k := range f.Obs.IOs.All() {
		if k.Kind() != worker.IOLoader {
			continue
		}
		if l := k.IO(); l.Form != "dataloader" || uses { // a worker's exception may be about anything
			note("loader", l.Form, "", l.At, 1+l.More)
		}
	}
	for _, l := range f.Ladders {
		if !uses && clients[l.Form()] == "" && l.Outcome != resolve.Exhausted {
			continue // of whom it is nobody says, and nothing says that it went wrong
		}
		if !l.Idle && (l.Outcome != resolve.Recovered || !elsewhere) {
			note(retried+l.Outcome, l.Form(), l.Request(), l.First.At(), 1)
		}
	}
	for _, at := range f.Resets.At {
		if uses && !elsewhere && f.Obs.IOs.Find(at.File, at.Off) == nil {
			note("reset", "", "", at, 1)
		}
	}
	if v.Status == incident.NoFailure {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(kinds), func(x, y key) int {
		a, b := kinds[x].first, kinds[y].first
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Off, b.Off), cmp.Compare(x.trouble, y.trouble), cmp.Compare(x.form, y.form), cmp.Compare(x.request, y.request))
	})
	var out []incident.StorageSign
	for _, key := range keys {
		k := kinds[key]
		says := "a connection was closed by the other side"
		if key.form != "" {
			says = clientOf(key.form) + strings.Replace(troubles[key.trouble], "%s", key.request, 1)
		}
		if k.n > 1 {
			says += fmt.Sprintf(" (%d times)", k.n)
		}
		out = append(out, incident.StorageSign{Kind: incident.SignTrouble, Statement: says, Evidence: []incident.Evidence{mechanism.QuoteAt(k.first, nil)}})
	}
	return out
}

func before(a, b worker.At) bool {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Off, b.Off)) < 0
}

// storageUses are the first lines of each kind that say that the job reads its data from AIStore, or by Lhotse.
func (b *builder) storageUses() []incident.StorageSign {
	first := map[string]worker.At{}
	note := func(says string, at worker.At) {
		if had, ok := first[says]; !ok || before(at, had) {
			first[says] = at
		}
	}
	f := b.s.Facts
	for i := range f.Obs.Facts {
		switch x := &f.Obs.Facts[i]; {
		case x.Key == "data_source" && x.Value == "lhotse":
			note("the job loads its data with Lhotse", x.At)
		case x.Key == "data_source" && strings.HasPrefix(x.Value, "ais://"):
			note("the job reads its data from "+x.Value, x.At)
		case x.Key == "storage_client":
			note("the job uses "+x.Value, x.At)
		}
	}
	for k := range f.Obs.IOs.All() {
		if l := k.IO(); l.Form == "lhotse" || l.Form == "ais" || l.Form == "ais-resume" {
			note("the job uses "+clientOf(l.Form), l.At)
		}
	}
	says := slices.Sorted(maps.Keys(first))
	var out []incident.StorageSign
	for _, s := range says[:min(len(says), maxSigns)] {
		out = append(out, incident.StorageSign{Kind: incident.SignUse, Statement: s, Evidence: []incident.Evidence{mechanism.QuoteAt(first[s], nil)}})
	}
	return out
}
