package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What the numbers table says of an Xid is what the signature of its kernel line says.
func TestXidsAgreeWithTheirSignatures(t *testing.T) {
	seen := 0
	for i, x := range xids {
		if i > 0 && xids[i-1].Number >= x.Number {
			t.Errorf("Xid %d stands at the wrong place", x.Number)
		}
		if x.Name == "" || sentences(x.Meaning) != 1 || x.Role == "" || x.Mechanism == "" && x.Check == "" {
			t.Errorf("Xid %d is incomplete: one sentence, a role, and a mechanism or something to check", x.Number)
		}
		if _, ok := MechanismBySlug(x.Mechanism); x.Mechanism != "" && !ok {
			t.Errorf("Xid %d: unknown mechanism %s", x.Number, x.Mechanism)
		}
		for _, id := range Whole().Match(nil, fmt.Appendf(nil, "NVRM: Xid (PCI:0000:01:00): %d, pid=1, x", x.Number)) {
			s, _ := Whole().Lookup(id)
			seen++
			if s.Mechanism != x.Mechanism || s.Role != x.Role {
				t.Errorf("Xid %d: %s %s here, %s %s in signature %s", x.Number, x.Mechanism, x.Role, s.Mechanism, s.Role, id)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d numbers have a signature", seen)
	}
	// And the other way: every number that a signature names is in the table.
	for n := 1; n < 200; n++ {
		if ids := Whole().Match(nil, fmt.Appendf(nil, "NVRM: Xid (PCI:0000:01:00): %d, x Fatal", n)); len(ids) > 0 {
			if _, ok := XidByNumber(n); !ok {
				t.Errorf("Xid %d has signature %v and no entry", n, ids)
			}
		}
	}
}

func TestErrnosAgreeWithTheirSignatures(t *testing.T) {
	for i, e := range errnos {
		if i > 0 && errnos[i-1].Number >= e.Number {
			t.Errorf("errno %d stands at the wrong place", e.Number)
		}
		if e.Name == "" || e.Text == "" || sentences(e.Meaning) != 1 || e.Role == "" || e.Mechanism == "" && e.Check == "" {
			t.Errorf("errno %d is incomplete", e.Number)
		}
		if _, ok := MechanismBySlug(e.Mechanism); e.Mechanism != "" && !ok {
			t.Errorf("errno %d: unknown mechanism %s", e.Number, e.Mechanism)
		}
		for _, id := range Whole().Match(nil, fmt.Appendf(nil, "OSError: [Errno %d] %s", e.Number, e.Text)) {
			if s, _ := Whole().Lookup(id); e.Mechanism != "" && s.Mechanism != "" && s.Mechanism != e.Mechanism {
				t.Errorf("errno %d: %s here, %s in signature %s", e.Number, e.Mechanism, s.Mechanism, id)
			}
		}
	}
}

func TestVariablesAreComplete(t *testing.T) {
	for i, v := range variables {
		if i > 0 && variables[i-1].Name >= v.Name {
			t.Errorf("%s stands twice", v.Name)
		}
		if v.Of == "" || v.Default == "" || v.Source == "" || sentences(v.Meaning) != 1 || v.Name != strings.ToUpper(v.Name) {
			t.Errorf("%s is incomplete, or its meaning is not one sentence", v.Name)
		}
	}
	// The reference warns of this one: people set it, and nothing happens.
	if v, ok := VariableByName("nccl_timeout"); !ok || v.Of != "nobody" || !strings.Contains(v.Trap, "init_process_group(timeout=") {
		t.Errorf("NCCL_TIMEOUT: %+v", v)
	}
}

// Advice exports variables: each of them is explained.
func TestTheVariablesOfAdviceAreExplained(t *testing.T) {
	eachAdvice(func(m Mechanism, a Advice) {
		for _, word := range strings.FieldsFunc(a.Command, func(r rune) bool { return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", r) }) {
			for _, prefix := range []string{"NCCL_", "TORCH_", "PYTORCH_", "CUDA_", "AIS_", "PYTHON"} {
				if _, ok := VariableByName(word); strings.HasPrefix(word, prefix) && word != prefix && !ok {
					t.Errorf("%s advises %s, which is not explained", m.Slug, word)
				}
			}
		}
	})
}

func TestSlurmWordsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range slurmWords {
		if seen[w.Name] {
			t.Errorf("%s stands twice", w.Name)
		}
		seen[w.Name] = true
		if sentences(w.Meaning) != 1 || w.Role == "" || w.Check == "" {
			t.Errorf("%s is incomplete, or its meaning is not one sentence", w.Name)
		}
		if _, ok := MechanismBySlug(w.Mechanism); w.Mechanism != "" && !ok {
			t.Errorf("%s: unknown mechanism %s", w.Name, w.Mechanism)
		}
		if upper := w.Name == strings.ToUpper(w.Name); upper == w.Reason {
			t.Errorf("%s: states are capitals, reasons are not", w.Name)
		}
	}
	for name, want := range map[string]string{"AssocGrpGRES": "AssocGrp*", "QOSMaxJobsPerUserLimit": "QOSMax*", "TIMEOUT": "TIMEOUT", "TimeLimit": "TimeLimit"} {
		if w, ok := SlurmWordByName(name); !ok || w.Name != want {
			t.Errorf("%s leads to %q", name, w.Name)
		}
	}
	for _, name := range []string{"", "Assoc", "timeout", "AssocGrp is a prefix"} {
		if w, ok := SlurmWordByName(name); ok {
			t.Errorf("%q leads to %s", name, w.Name)
		}
	}
}

func TestEveryMechanismHasItsLookAlikes(t *testing.T) {
	for _, m := range Mechanisms() {
		likes := LookAlikes(m.Slug)
		if len(likes) == 0 && m.Slug != "completed" && m.Slug != "unknown" {
			t.Errorf("%s has none", m.Slug)
		}
		for _, l := range likes {
			if _, ok := MechanismBySlug(l.Mechanism); !ok || l.Mechanism == m.Slug || l.Tell == "" {
				t.Errorf("%s: %+v", m.Slug, l)
			}
		}
	}
}

// A reading is for people only: where the engine has a signature for the same line, that one explains it.
func TestReadingsAreCompleteAndHaveNoSignatureOfTheirOwn(t *testing.T) {
	var ids []ID
	for _, s := range readings {
		if s.Meaning == "" || s.Source == "" || s.Role == "" || len(s.Literals) == 0 || s.Pattern != "" || slices.Contains(ids, s.ID) {
			t.Errorf("%s is incomplete, stands twice or has a pattern", s.ID)
		}
		ids = append(ids, s.ID)
		rest := s.Example
		for _, l := range s.Literals {
			i := strings.Index(rest, l)
			if i < 0 {
				t.Errorf("%s: its example lacks %q", s.ID, l)
				break
			}
			rest = rest[i+len(l):]
		}
		if _, ok := Whole().Lookup(s.ID); ok {
			t.Errorf("%s is a signature too", s.ID)
		}
		if _, ok := MechanismBySlug(s.Mechanism); s.Mechanism != "" && !ok {
			t.Errorf("%s: unknown mechanism %s", s.ID, s.Mechanism)
		}
		for _, id := range Whole().Match(nil, []byte(s.Example)) {
			if other, _ := Whole().Lookup(id); other.Role == CauseRole && other.Mechanism != s.Mechanism {
				t.Errorf("%s: its example is explained by %s already", s.ID, id)
			}
		}
	}
}
