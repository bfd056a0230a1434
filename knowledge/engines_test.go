package knowledge

import "testing"

func TestAsksEngine(t *testing.T) {
	for text, want := range map[string]bool{
		"Max retries exceeded with url: /v1/chat/completions (Caused by":                         true,
		"Max retries exceeded with url: /update_weights_from_tensor (Caused by":                  true,
		"503 Server Error: Service Unavailable for url: http://10.0.0.4:30000/health_generate":   true,
		"Max retries exceeded with url: /v1/objects/bck/generate.tar (Caused by":                 false,
		"Max retries exceeded with url: /datasets/a/resolve/main/data.parquet (Caused by":        false,
		"Max retries exceeded with url: /generated/shard-000001.tar (Caused by":                  false,
		"404 Client Error: Not Found for url: https://huggingface.co/api/models/score/tree/main": false,
	} {
		if got := AsksEngine(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
