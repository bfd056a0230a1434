package diagnose

import "testing"

// savedBy is a traceback of a rank that saves a checkpoint.
func savedBy(rank int, last string) string {
	return raisedBy(rank, "  File \"/opt/env/lib/python3.11/site-packages/torch/serialization.py\", line 850, in save\n    _save(obj, opened_zipfile)\n"+last)
}

// The C library speaks the language of the node: its number says the same everywhere, and where there is none its words are in its catalogues.
func TestFieldErrnosInOtherLanguages(t *testing.T) {
	for _, c := range []fieldCase{
		{"a full disk, by its number", one(fieldSteps + savedBy(3, "OSError: [Errno 28] Plus de place sur le disque: '/scratch/run/7.pt'")), []string{"storage-full"}, "rank 3"},
		{"a quota, by its number", one(fieldSteps + savedBy(2, "OSError: [Errno 122] Kontingent erschöpft: '/home/run/7.pt'")), []string{"storage-full"}, "rank 2"},
		{"a full disk, in French", one(fieldSteps + savedBy(3, "OSError: Aucun espace disponible sur le périphérique")), []string{"storage-full"}, "rank 3"},
		{"a full disk, in German", one(fieldSteps + savedBy(1, "OSError: Auf dem Gerät ist kein Speicherplatz mehr verfügbar")), []string{"storage-full"}, "rank 1"},
		{"words that nobody knows", one(fieldSteps + savedBy(3, "OSError: [Errno 999] the lane is torn: '/scratch/run/7.pt'")), []string{"checkpoint-io", "unknown"}, "rank 3"},
		{"and without a number", one(fieldSteps + savedBy(2, "OSError: lease of segment 9 went missing")), []string{"checkpoint-io", "unknown"}, "rank 2"},
	} {
		c.check(t)
	}
}
