package knowledge

import (
	"slices"
	"strings"
)

// relays are what AIStore puts in front of an answer that it passes on: that of another AIStore cluster, or of a cloud bucket.
// Source: AIStore ais/backend, v1.5.0.
var relays = []string{"remote-cluster[", "aws-error[", "gcp-error[", "azure-error[", "oci-error["}

// Relayed says that an answer of AIStore is that of the store behind it.
func Relayed(text string) bool {
	return slices.ContainsFunc(relays, func(r string) bool { return strings.Contains(text, r) })
}

// backends are what the counters of a target are called by that count its requests to a store behind the cluster: "remais.put.n". Source: as above.
var backends = []string{"remais.", "aws.", "gcp.", "azure.", "oci."}

// CountsBehind says that a counter of a target counts requests to a store behind the cluster.
func CountsBehind(counter string) bool {
	return slices.ContainsFunc(backends, func(b string) bool { return strings.HasPrefix(counter, b) })
}
