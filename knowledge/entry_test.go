package knowledge

import (
	"slices"
	"strings"
	"testing"
)

// A fact that includes another is stated together with it, and what an entry or a mechanism names exists.
func TestFactsOfEntriesFit(t *testing.T) {
	for _, s := range Whole().Signatures() {
		if s.Says&AtRendezvous != 0 && s.Says&AwaitsPeers == 0 {
			t.Errorf("%s waits where all meet, and for nobody", s.ID)
		}
		if named := strings.HasPrefix(string(s.ID), "slurm-") || strings.HasPrefix(string(s.ID), "host-oom-"); named && s.Says&ByDaemon == 0 {
			t.Errorf("%s is named after who speaks, and does not say so", s.ID)
		}
		if strings.HasPrefix(string(s.ID), "slurm-") != (s.System == "SLURM") {
			t.Errorf("%s: its name and its system, %q, differ", s.ID, s.System)
		}
		if problem := s.unsaid(); problem != "" {
			t.Errorf("%s %s", s.ID, problem)
		}
		if s.Blames == WritersNode && !s.Direct {
			t.Errorf("%s blames its node and proves nothing", s.ID)
		}
		for _, c := range s.Cases {
			if problem := c.problem(); problem != "" {
				t.Errorf("%s: a case %s", s.ID, problem)
			}
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
		if problem := m.troubled(); problem != "" {
			t.Errorf("%s: %s", m.Slug, problem)
		}
	}
}

// unsaid says what an entry lacks that the engine asks it for because of what it says.
func (s *Signature) unsaid() string {
	names := func(whose Whose, kinds ...NameKind) bool {
		return slices.ContainsFunc(s.Names, func(n Name) bool { return (whose == 0 || n.Whose == whose) && slices.Contains(kinds, n.Kind) })
	}
	switch says := func(t Trait) bool { return s.Says&t != 0 }; {
	case says(NoAnswer|Answers) && !names(0, AsServer):
		return "tells of a server and names none"
	case says(Orphaned) && !names(Writer, AsPID):
		return "tells of a process and does not number it"
	case says(WroteRecorder) && !names(Writer, AsPath):
		return "tells of a dump, and not where it is"
	case says(NodeUnheard) && !names(Unheard, AsAddress, AsHost, AsNodeIndex):
		return "tells of a node and names none"
	case says(StatesVerbs) && !strings.Contains(s.Pattern, "(?P<status>"):
		return "has no capture for the state of the transfer"
	case says(WaitedInVain) && !says(OverGloo) && s.Exchange == "":
		return "does not say in what it waited"
	}
	return ""
}

func TestEntriesThatLackWhatTheySayAreFound(t *testing.T) {
	for want, s := range map[string]Signature{
		"":                                 {Says: NoAnswer, Names: []Name{{"server", AsServer, Culprit}}},
		"tells of a server and names none": {Says: Answers},
		"tells of a process and does not number it":    {Says: Orphaned, Names: []Name{{"pid", AsPID, Mentioned}}},
		"tells of a dump, and not where it is":         {Says: WroteRecorder},
		"tells of a node and names none":               {Says: NodeUnheard},
		"has no capture for the state of the transfer": {Says: StatesVerbs, Pattern: `x`},
		"does not say in what it waited":               {Says: WaitedInVain},
	} {
		if got := s.unsaid(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

// troubled says what is wrong with how a store's daemons show a mechanism: correlating knows none by name.
func (m Mechanism) troubled() string {
	const ofDaemons = AIStoreOnly | LoadAlone | Outage | OwnDoing | ToldByPeers | TwoEnds | OnRequest
	t := m.Trouble
	switch {
	case t == nil && m.Nature&ofDaemons != 0:
		return "is of daemons, who do not show it"
	case t == nil:
		return ""
	case t.Told == "" || t.Led == "":
		return "what happened is not said, by itself and as a consequence"
	case strings.Contains(t.Told+t.Led, "%"):
		return "has a verb for Sprintf"
	case len(t.Faults)+len(t.Words) == 0 && m.Slug != AISAdministration: // which meets requests by what it took away
		return "what the requests look like that it makes fail is not said"
	}
	return ""
}

func TestTroublesThatSayTooLittleAreFound(t *testing.T) {
	full := Trouble{Told: "{daemon} was slow", Led: "{daemon} was slow", Words: []string{"slow"}}
	for want, change := range map[string]func(*Mechanism){
		"":                                  func(*Mechanism) {},
		"is of daemons, who do not show it": func(m *Mechanism) { m.Trouble, m.Nature = nil, Outage },
		"what happened is not said, by itself and as a consequence":  func(m *Mechanism) { m.Trouble.Led = "" },
		"has a verb for Sprintf":                                     func(m *Mechanism) { m.Trouble.Told = "%s was slow" },
		"what the requests look like that it makes fail is not said": func(m *Mechanism) { m.Trouble.Words = nil },
	} {
		trouble := full
		m := Mechanism{Trouble: &trouble}
		change(&m)
		if got := m.troubled(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

// problem says what is wrong with a case.
func (c Case) problem() string {
	entered := func(id ID) bool { _, ok := Whole().Lookup(id); return id == "" || ok }
	_, is := MechanismBySlug(c.Is)
	switch {
	case c.Why == "":
		return "does not say why"
	case c.Below == "" && c.In == 0 && c.Once == 0:
		return "always holds"
	case (c.Below != "" || c.Once != 0) && c.In != 0:
		return "asks for a situation, which is known when the line is read, and for other lines, which are not"
	case !entered(c.Below) || !entered(c.Unless):
		return "waits for a line that no entry knows"
	case c.Is != "" && c.Is != Nothing && !is:
		return "names a mechanism that does not exist"
	case c.Is == "" && c.As == "" && c.Proves == AsBefore && c.By == "":
		return "changes nothing"
	}
	return ""
}

func TestCasesThatCannotWorkAreFound(t *testing.T) {
	for want, c := range map[string]Case{
		"does not say why":                      {Once: EndIsTold, Is: Nothing},
		"always holds":                          {Is: Nothing, Why: "so"},
		"waits for a line that no entry knows":  {Below: "no-such-line", Is: Nothing, Why: "so"},
		"names a mechanism that does not exist": {Once: EndIsTold, Is: "no-such-mechanism", Why: "so"},
		"changes nothing":                       {Once: EndIsTold, Why: "so"},
	} {
		if got := c.problem(); got != want {
			t.Errorf("%+v: %q, expected %q", c, got, want)
		}
	}
}

// Failures may carry the id of a reading, or of a record that no line has, and no mechanism: nothing is known of those.
func TestNothingIsStatedByWhatHasNoEntry(t *testing.T) {
	for _, id := range []ID{"", IDSlurmOOM, "read-watchdog-state"} {
		if e := Whole().Entry(id); e.Says != 0 || e.Blames != Unstated || e.LooksLike != nil {
			t.Errorf("%q states something", id)
		}
	}
	for _, s := range []Slug{"", "no-such-mechanism"} {
		if s.Is(^Nature(0)) || s.Again().Machine || s.Trouble().Led != "" {
			t.Errorf("%q is something", s)
		}
	}
	if store := Whole().Entry("peer-store-eof").Says; store&LostStore == 0 || store&PortDown != 0 || Whole().Entry("ucx-transport").Blames != EitherEnd || !BadSample.Is(OfItem) || !BadSample.Again().Step {
		t.Error("what an entry states is not found by its id")
	}
}
