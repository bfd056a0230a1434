package knowledge

import (
	"slices"
	"strings"
	"testing"
)

// A message explains what no signature does: one wording must not be explained in two tables.
func TestMessagesAreCompleteAndTheEngineDoesNotMatchThem(t *testing.T) {
	var ids []ID
	for _, m := range messages {
		if sentences(m.Meaning) != 1 || m.Cause == "" || m.Check == "" || m.Source == "" || roleless(m.Role) || len(m.Literals) == 0 || slices.Contains(ids, m.ID) {
			t.Errorf("%s is incomplete, or stands twice", m.ID)
		}
		ids = append(ids, m.ID)
		rest := m.Example
		for _, l := range m.Literals {
			_, after, found := strings.Cut(rest, l)
			if !found {
				t.Errorf("%s: its example lacks %q", m.ID, l)
			}
			rest = after
		}
		if _, ok := Whole().Lookup(m.ID); ok {
			t.Errorf("%s is a signature too", m.ID)
		}
		if _, ok := MechanismBySlug(m.Mechanism); m.Mechanism != "" && !ok {
			t.Errorf("%s: unknown mechanism %s", m.ID, m.Mechanism)
		}
		if got := Whole().Match(nil, []byte(m.Example)); len(got) > 0 {
			t.Errorf("%s: its example is explained by %v already", m.ID, got)
		}
	}
	for _, r := range readings {
		if slices.Contains(ids, r.ID) {
			t.Errorf("%s is a reading too", r.ID)
		}
	}
}

func roleless(r Role) bool {
	return r != CauseRole && r != SymptomRole && r != ConsequenceRole && r != InfoRole
}

// What is advised to collect is explained, and its price is known.
func TestEverySettingThatCollectsHasItsCost(t *testing.T) {
	lists := map[string][]string{}
	for _, m := range Mechanisms() {
		if len(m.Collect) > 0 {
			lists[string(m.Slug)] = m.Collect
		}
	}
	for _, m := range messages {
		lists[string(m.ID)] = m.Collect
	}
	for of, collect := range lists {
		settings := Settings(collect)
		if len(settings) != len(collect) {
			t.Errorf("%s: %v has a variable that is not explained", of, collect)
		}
		for _, s := range settings {
			if s.Value == "" || s.Cost == "" {
				t.Errorf("%s: %s has no value or no cost", of, s.Name)
			}
		}
	}
	for _, name := range []string{"TORCH_DISTRIBUTED_DEBUG", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "TORCH_LOGS", "TORCH_CPP_LOG_LEVEL", "CUDA_LAUNCH_BLOCKING",
		"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DESYNC_DEBUG", "TORCH_NCCL_ENABLE_TIMING", "TORCH_NCCL_NAN_CHECK", "TORCH_SHOW_CPP_STACKTRACES", "PYTHONFAULTHANDLER"} {
		if v, ok := VariableByName(name); !ok || v.Cost == "" {
			t.Errorf("%s: what it costs is not known", name)
		}
	}
}

func TestEveryAdviceOfTheXidCatalogueIsSaidPlainly(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range xids {
		seen[x.Action] = true
		if x.Action != "" && xidActions[x.Action] == "" {
			t.Errorf("Xid %d: %s is not explained", x.Number, x.Action)
		}
	}
	for word := range xidActions {
		if !seen[word] {
			t.Errorf("no Xid has %s", word)
		}
	}
}
