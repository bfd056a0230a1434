package knowledge

import (
	"slices"
	"testing"
)

func TestWhatIsLeftOutOfACatalogueIsUnknownThereAndNowhereElse(t *testing.T) {
	for _, s := range Whole().Signatures() {
		less := Whole().Without(s.ID)
		if _, known := less.Lookup(s.ID); known || slices.Contains(less.Match(nil, []byte(s.Example)), s.ID) || less.Entry(s.ID).ID != "" || less.Fields(s.ID, []byte(s.Example)) != nil {
			t.Fatalf("%s is left out and known", s.ID)
		}
		want := slices.DeleteFunc(Whole().Match(nil, []byte(s.Example)), func(id ID) bool { return id == s.ID })
		if got := less.Match(nil, []byte(s.Example)); !slices.Equal(got, want) {
			t.Fatalf("without %s its line is %q, not %q", s.ID, got, want)
		}
		if less.Whole() {
			t.Fatal("a part passes for the whole")
		}
	}
	if _, known := Whole().Lookup("peer-store-eof"); !known || !Whole().Whole() {
		t.Error("the whole has changed")
	}
}

func TestReadersAreLeftOutByName(t *testing.T) {
	deaf := Whole().WithoutReaders("desync").Without("peer-store-eof").WithoutReaders("batch end")
	if deaf.Reads("desync") || deaf.Reads("batch end") || !deaf.Reads("traceback") || !Whole().Reads("desync") || deaf.Whole() {
		t.Error("another reader is left out")
	}
	if _, known := deaf.Lookup("peer-store-eof"); known {
		t.Error("what was left out is back")
	}
}

func TestAMessageIsLeftOutToo(t *testing.T) {
	m := Whole().Messages()[0]
	if !m.In(m.Example) || m.In("nothing of it") {
		t.Errorf("%s does not stand in its example", m.ID)
	}
	less := Whole().Without(m.ID)
	if slices.ContainsFunc(less.Messages(), func(o Message) bool { return o.ID == m.ID }) || len(less.Messages()) != len(Whole().Messages())-1 {
		t.Error("a message that is left out is known")
	}
}

func BenchmarkWithout(b *testing.B) {
	Whole().Lookup("")
	for b.Loop() {
		Whole().Without("peer-store-eof")
	}
}
