package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// What huggingface_hub says that a try threw is no end of its tries.
func TestWhatATryThrew(t *testing.T) {
	const (
		threw   = "'(MaxRetryError(\"HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded with url: /a (Caused by ReadTimeoutError)\"), '(Request ID: 1b)')' thrown while requesting GET https://hub.example/a\n"
		again   = "Retrying in 1s [Retry 1/5].\n"
		gaveUp  = "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded with url: /a (Caused by ReadTimeoutError)\"), '(Request ID: 1b)')"
		leaking = "[rank9]:[W917 05:40:00.132000357 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())\n"
	)
	for _, c := range []fieldCase{
		{"and it tried again", map[string]string{"a.log": stepsFrom(1, 40) + "Training completed.\n", "b.log": threw + again + leaking}, []string{"completed"}, "-"},
		{"and it gave up", one(fieldSteps + threw + again + raisedBy(4, gaveUp)), []string{"storage-retries-exhausted"}, "rank 4"},
	} {
		c.check(t)
	}
}

// A rank whose reads were given up, and that did not end there, does not end another rank: which of both came first nobody says.
func TestWhatAnotherRankGaveUp(t *testing.T) {
	ladder := func(rank int) string {
		var b strings.Builder
		for k := 1; k <= 5; k++ {
			fmt.Fprintf(&b, "[rank%d]: retry %d/5 reading s3://b/k: timed out\n", rank, k)
		}
		return b.String()
	}
	for _, c := range []fieldCase{
		{"of another rank", one(fieldSteps + ladder(2) + raisedBy(3, "KeyError: 'labels'")), []string{"exception", "storage-retries-exhausted"}, ""},
		{"of the same rank", one(fieldSteps + ladder(3) + raisedBy(3, "KeyError: 'labels'")), []string{"storage-retries-exhausted"}, "rank 3"},
		{"of nobody that is known", one(fieldSteps + strings.ReplaceAll(ladder(3), "[rank3]: ", "") + raisedBy(3, "KeyError: 'labels'")), []string{"storage-retries-exhausted"}, ""},
	} {
		c.check(t)
	}
}
