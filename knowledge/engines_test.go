package knowledge

import (
	"slices"
	"testing"
)

// What a loader's store has may be called like an engine's address.
func TestGivingUpOnAStoreIsNotOnAnEngine(t *testing.T) {
	for url, want := range map[string]bool{"/healthcare/a.tar": true, "/generated-captions/a.tar": true, "/update_2024/a.tar": true, "/generate/a.tar": true,
		"/generate": false, "/generate/": false, "/health": false, "/update_weights_from_disk": false, "/v1/chat/completions": false,
		"/score": false, "/score/a.tar": true, "/pause_generation": false} {
		line := "requests.exceptions.ConnectionError: HTTPConnectionPool(host='minio', port=9000): Max retries exceeded with url: " + url + " (Caused by NewConnectionError(''))"
		if got := slices.Contains(Whole().Match(nil, []byte(line)), "storage-retries-exhausted"); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

func TestAsksEngine(t *testing.T) {
	for text, want := range map[string]bool{
		"Max retries exceeded with url: /v1/chat/completions (Caused by":                         true,
		"Max retries exceeded with url: /update_weights_from_tensor (Caused by":                  true,
		"503 Server Error: Service Unavailable for url: http://10.0.0.4:30000/health_generate":   true,
		"Max retries exceeded with url: /v1/objects/bck/generate.tar (Caused by":                 false,
		"Max retries exceeded with url: /datasets/a/resolve/main/data.parquet (Caused by":        false,
		"Max retries exceeded with url: /generate/ (Caused by":                                   true,
		"404 Client Error: Not Found for url: http://10.0.0.4:8000/health":                       true,
		"Max retries exceeded with url: /generate/shard-000001.tar (Caused by":                   false,
		"Max retries exceeded with url: /score-data/a.tar (Caused by":                            false,
		"Max retries exceeded with url: /generated/shard-000001.tar (Caused by":                  false,
		"404 Client Error: Not Found for url: https://huggingface.co/api/models/score/tree/main": false,
	} {
		if got := AsksEngine(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
