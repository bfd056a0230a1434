package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"testing"

	"faultline/incident"
)

// What is hashed are the stored bytes to the last, wherever the last quotation stands and whatever unpacking leaves.
func TestFilesAreHashedAsTheyAreVerified(t *testing.T) {
	long := body + strings.Repeat("0123456789abcdef\n", 1<<17)
	contents := map[string]string{
		"plain.log": body, "long.log": long, "known.log": body, "uncited.log": body, "counted.log": body,
		"long.gz": gz(t, long), "cut.gz": gz(t, long)[:2000], "trailer.zst": zst(t, long) + "what follows is no frame",
	}
	files := write(t, contents)
	r := &incident.Report{}
	sums, want := map[string]string{}, map[string]string{}
	for name, text := range contents {
		sum := sha256.Sum256([]byte(text))
		sums[name], want[name] = "", hex.EncodeToString(sum[:])
		if name != "uncited.log" && name != "counted.log" {
			r.Chain = append(r.Chain, incident.Link{Evidence: []incident.Evidence{quoteOf(t, name, body, "torn", nil)}})
		}
	}
	r.Chain = append(r.Chain, incident.Link{Evidence: []incident.Evidence{{Kind: incident.KindCount, Files: []string{"counted.log"}, N: 1, Predicate: lits("torn")}}})
	sums["known.log"], want["known.log"], want["uncited.log"], want["counted.log"] = "as fetched", "as fetched", "", ""
	if _, failures, err := (Verifier{}).ReportAndHash(t.Context(), files, r, sums); err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	if !maps.Equal(sums, want) {
		t.Errorf("%v, expected %v", sums, want)
	}
}
