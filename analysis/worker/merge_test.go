package worker

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/line"
)

// someObservations makes observations of a few files with many coincidences of place and content, in every list.
func someObservations(rnd *rand.Rand) *Observations {
	o := &Observations{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice {
			continue
		}
		elem := list.Type().Elem()
		byFile := elem.Kind() == reflect.Slice
		if byFile {
			elem = elem.Elem()
		}
		if elem.Kind() != reflect.Struct {
			continue
		}
		for range rnd.IntN(4) {
			e := reflect.New(elem).Elem()
			if f := e.FieldByName("File"); f.IsValid() {
				f.SetString(fmt.Sprintf("f%d", rnd.IntN(2)))
			}
			if f := e.FieldByName("Off"); f.IsValid() {
				f.SetInt(int64(rnd.IntN(2)))
			}
			if f := e.FieldByName("By"); f.IsValid() { // equal writers need not be shared
				who := line.NoOne
				who.Global = rnd.IntN(2)
				f.Set(reflect.ValueOf(&who))
			}
			if f := e.FieldByName("Unclassified"); f.IsValid() && f.Kind() == reflect.Int {
				f.SetInt(int64(rnd.IntN(3)))
			}
			for k := range e.NumField() {
				if f := e.Field(k); f.Kind() == reflect.String && f.String() == "" {
					f.SetString([]string{"a", "b"}[rnd.IntN(2)])
				}
			}
			if byFile {
				e = reflect.Append(reflect.MakeSlice(reflect.SliceOf(elem), 0, 1), e)
			}
			list.Set(reflect.Append(list, e))
		}
	}
	return Merge(o)
}

func TestMergeKeepsWhatNCCLSaysOfEachFileOnce(t *testing.T) {
	log := func(file string) *Observations {
		return &Observations{Tails: []Tail{{File: file}}, NCCL: []*nccl.Log{{File: file}}}
	}
	var got []string
	for _, l := range Merge(Merge(log("b"), log("a")), log("b")).NCCL {
		got = append(got, l.File)
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("what is left is of %v", got)
	}
}

func TestMergeIsASetUnion(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		a, b, c := someObservations(rnd), someObservations(rnd), someObservations(rnd)
		if !reflect.DeepEqual(Merge(a, b), Merge(b, a)) {
			t.Fatal("not commutative")
		}
		if !reflect.DeepEqual(Merge(Merge(a, b), c), Merge(a, Merge(b, c))) {
			t.Fatal("not associative")
		}
		if !reflect.DeepEqual(Merge(a, a, nil), Merge(a)) || !reflect.DeepEqual(Merge(Merge(a)), Merge(a)) {
			t.Fatal("not idempotent")
		}
	}
}

func TestMergeKeepsEveryList(t *testing.T) {
	o := &Observations{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
		}
	}
	m := reflect.ValueOf(Merge(o)).Elem()
	for i := range m.NumField() {
		if f := m.Field(i); f.Kind() == reflect.Slice && f.Len() != 1 {
			t.Errorf("%s is lost in Merge", m.Type().Field(i).Name)
		}
	}
}

func TestMergeKeepsWhatDiffersAtOnePlace(t *testing.T) {
	at := At{Pos: Pos{File: "f", Line: 3, Off: 40, Len: 9}, By: &line.NoOne}
	m := Merge(
		&Observations{Timeouts: []Timeout{{At: at, Work: Work{Seq: 2}}, {At: at, Work: Work{Seq: 1}}}},
		&Observations{Timeouts: []Timeout{{At: at, Work: Work{Seq: 1}}}},
	)
	if len(m.Timeouts) != 2 || m.Timeouts[0].Work.Seq != 1 {
		t.Errorf("got %+v", m.Timeouts)
	}
}
