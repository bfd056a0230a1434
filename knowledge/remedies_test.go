package knowledge

import (
	"strings"
	"testing"
)

func TestEveryFailureHasARemedy(t *testing.T) {
	for _, m := range Mechanisms() {
		if m.Origin == "none" || m.Slug == Unknown {
			continue
		}
		if len(Remedies(m.Slug)) == 0 {
			t.Errorf("%s: nothing is known to mend it", m.Slug)
		}
	}
	seen := map[string]bool{}
	for _, r := range remedies {
		if seen[r.Slug] || r.Risk == "" || r.Verify == "" || len(r.For) == 0 || len(r.Words) == 0 || !strings.HasSuffix(r.Does, ".") {
			t.Errorf("%s: twice, or not whole: %+v", r.Slug, r)
		}
		seen[r.Slug] = true
		for _, m := range r.For {
			if _, ok := MechanismBySlug(m); !ok {
				t.Errorf("%s: there is no mechanism %s", r.Slug, m)
			}
		}
		for _, w := range r.Words {
			if w != strings.ToLower(w) {
				t.Errorf("%s: %q is compared in lower case", r.Slug, w)
			}
		}
	}
	lasting := false
	for _, r := range Remedies(GPUOOM) {
		if lasting && !r.Structural {
			t.Errorf("%s helps at once, and is named after what lasts", r.Slug)
		}
		lasting = r.Structural
	}
}

func TestARemedyIsRecognisedInAPersonsWords(t *testing.T) {
	for text, want := range map[string]string{
		"halved the micro-batch":                     "smaller-batch",
		"batch 8 -> 4":                               "smaller-batch",
		"set PYTORCH_CUDA_ALLOC_CONF, fragmentation": "expandable-segments",
		"switched to FSDP":                           "shard-more",
		"gradient checkpointing on":                  "checkpoint-activations",
		"halved the batch and the sequence length":   "", // which of the two helped is not known
		"prayed": "",
		"":       "",
	} {
		got, ok := RemedyIn(GPUOOM, text)
		if ok != (want != "") || ok && got.Slug != want {
			t.Errorf("%q: %v %s, want %q", text, ok, got.Slug, want)
		}
	}
	if _, ok := RemedyIn(TimeLimit, "halved the micro-batch"); ok {
		t.Error("a batch mends no time limit")
	}
}
