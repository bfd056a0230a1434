package line

import (
	"testing"
	"unsafe"
)

func TestAStampFromAboveComesBack(t *testing.T) {
	for kind := NoStamp; kind <= Uptime; kind++ {
		s := Stamp{Kind: kind, Emitter: Collector, Hour: 17, Year: 2025, Nanos: 5, ZoneOffset: -210, Unix: 9}
		above := s.Above()
		if above.Kind != NoStamp || above.Emitter != NoEmitter {
			t.Errorf("kind %d: a line without a stamp has one: %+v", kind, above)
		}
		want := s
		if kind == NoStamp {
			want = Stamp{}
		}
		if got := above.FromAbove(); got != want {
			t.Errorf("kind %d: %+v, expected %+v", kind, got, want)
		}
		if got := s.FromAbove(); got != (Stamp{}) {
			t.Errorf("kind %d: a line's own stamp is taken for one from above: %+v", kind, got)
		}
	}
}

// Every observation holds one: what is added here is added to hundreds of megabytes.
func TestAStampIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Stamp{}); n > 24 {
		t.Errorf("%d bytes", n)
	}
}
