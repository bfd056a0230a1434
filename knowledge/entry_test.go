package knowledge

import "testing"

// A fact that includes another is stated together with it, and what an entry or a mechanism names exists.
func TestFactsOfEntriesFit(t *testing.T) {
	for _, s := range Signatures() {
		for _, both := range []Trait{AtRendezvous | AwaitsPeers, DamagedText | Damaged} {
			if narrow := both &^ (AwaitsPeers | Damaged); s.Says&narrow != 0 && s.Says&both != both {
				t.Errorf("%s states a fact, and not the one that includes it", s.ID)
			}
		}
		if s.Blames == WritersNode && !s.Direct {
			t.Errorf("%s blames its node and proves nothing", s.ID)
		}
		for _, o := range s.LooksLike {
			if _, ok := MechanismBySlug(o); !ok { // it may be its own mechanism, which a context replaces
				t.Errorf("%s looks like %q", s.ID, o)
			}
		}
	}
	for _, m := range Mechanisms() {
		for _, o := range m.Slug.Trouble().LeadsTo {
			if _, ok := MechanismBySlug(o); !ok && o != NotFound || o == m.Slug {
				t.Errorf("%s leads to %q", m.Slug, o)
			}
		}
		if m.Trouble != nil && m.Trouble.Led == "" {
			t.Errorf("%s: what it looks like as a consequence is not said", m.Slug)
		}
	}
}

// Failures may carry the id of a reading, or of a record that no line has, and no mechanism: nothing is known of those.
func TestNothingIsStatedByWhatHasNoEntry(t *testing.T) {
	for _, id := range []ID{"", IDSlurmOOM, "read-watchdog-state"} {
		if id.Says(^Trait(0)) || id.Blames() != Unstated || id.LooksLike() != nil {
			t.Errorf("%q states something", id)
		}
	}
	for _, s := range []Slug{"", "no-such-mechanism"} {
		if s.Is(^Nature(0)) || s.Again().Machine || s.Trouble().Led != "" {
			t.Errorf("%q is something", s)
		}
	}
	if !IDPeerStoreEOF.Says(LostStore) || IDPeerStoreEOF.Says(PortDown) || IDUCXTransport.Blames() != EitherEnd || !BadSample.Is(OfItem) || !BadSample.Again().Step {
		t.Error("what an entry states is not found by its id")
	}
}
