package knowledge

import (
	"slices"
	"testing"
)

func TestArtefactsSayWhatTheyAreAndHowTheyAreHad(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range artefacts {
		if a.Slug == "" || a.What == "" || a.Why == "" || seen[a.Slug] {
			t.Errorf("%+v is incomplete, or stands there twice", a)
		}
		seen[a.Slug] = true
		if a.Lasts == OfProcess && (a.Alive == "" || a.Next == "") || a.Lasts == OfNext && a.Next == "" {
			t.Errorf("%s: how is it collected?", a.Slug)
		}
		for _, c := range []string{a.Command, a.Alive, a.Next} {
			for _, p := range placeholder.FindAllStringSubmatch(c, -1) {
				if p[1] != "dumps" && !slices.Contains(Placeholders, p[1]) {
					t.Errorf("%s: unknown placeholder %s", a.Slug, p[0])
				}
			}
		}
	}
}

func TestEachPairOfMechanismsHasArtefactsThatDecideIt(t *testing.T) {
	seen := map[[2]Slug]bool{}
	for _, d := range deciders {
		if d.between[0] >= d.between[1] || seen[d.between] {
			t.Errorf("%v is not in order, or stands there twice", d.between)
		}
		seen[d.between] = true
		for _, m := range d.between {
			if _, ok := MechanismBySlug(m); !ok {
				t.Errorf("there is no mechanism %s", m)
			}
		}
		if len(d.by) == 0 {
			t.Errorf("nothing decides %v", d.between)
		}
		for _, slug := range d.by {
			if _, ok := ArtefactBySlug(slug); !ok {
				t.Errorf("%v: there is no artefact %s", d.between, slug)
			}
		}
	}
}

func TestWhatDecidesASetStandsFirst(t *testing.T) {
	for _, tt := range []struct {
		set  []Slug
		want []string
	}{
		{[]Slug{"collective-hang", "gpu-hang"}, []string{FlightRecorder, KernelLog, FabricCounters}},
		{[]Slug{"rank-stalled", "collective-hang", "gpu-hang"}, []string{FlightRecorder, Stacks, KernelLog, FabricCounters, NCCLRAS}},
		{[]Slug{"external-signal", "host-oom"}, []string{KernelLog, SlurmRecords}},
		{[]Slug{"rank-stalled"}, nil},
		{[]Slug{"peer-lost", "unknown"}, nil},
	} {
		var got []string
		for _, a := range Deciding(tt.set) {
			got = append(got, a.Slug)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v is decided by %v, want %v", tt.set, got, tt.want)
		}
	}
}
