package knowledge

import (
	"strings"

	"faultline/pattern"
)

// engineCalls are the paths of servers that a job runs beside its trainers: engines that generate, and judges that score; one that ends in a
// star begins so. Sources: vLLM (entrypoints/openai, TRL's vllm_serve), SGLang (srt/entrypoints/http_server.py), their routers,
// text-generation-inference.
var engineCalls = []string{
	"v1/completions", "v1/chat/completions", "v1/score", "v1/rerank", "v1/embeddings", "generate", "generate_stream", "score", "classify",
	"update_weights*", "update_named_param", "batch_update_named_params", "init_weights_update_group", "init_communicator", "close_communicator",
	"get_weights_by_name", "reset_prefix_cache", "flush_cache", "release_memory_occupation", "resume_memory_occupation", "pause_generation",
	"continue_generation", "abort_request", "health", "health_generate", "server_info", "get_server_info", "get_model_info", "get_world_size",
}

// engineURL finds such a path whole: not "/score/a.tar", which a store may have.
var engineURL = pattern.New(`(?:with url: |https?://[\w.\[\]:-]{1,120})/(?:` + strings.ReplaceAll(strings.Join(engineCalls, "|"), "*", `\w*`) + `)/?(?:[^\w/.-]|$)`)

// engineGivenUp is how urllib3 tells that it gave up on such a server.
func engineGivenUp() (texts []string) {
	for _, call := range engineCalls {
		if begin, more := strings.CutSuffix(call, "*"); more {
			texts = append(texts, "with url: /"+begin)
		} else {
			texts = append(texts, "with url: /"+call+" (", "with url: /"+call+"/ (")
		}
	}
	return texts
}

// nowhere is how a client that waits for many servers at once (httpx with asyncio) says that one of them cannot be reached: it names none.
const nowhere = "All connection attempts failed"

// numbered is how aiohttp names a server that it was given by number, which a store rarely is.
var numbered = pattern.New(`Cannot connect to host \d{1,3}(?:\.\d{1,3}){3}:\d`)

// AsksEngine says that what a client of some server tells is about an engine of the job itself and not about a store.
func AsksEngine(text string) bool { return engineURL.MatchString(text) }

// AsksSomebody says that what a client tells does not tell a store from a server of the job.
func AsksSomebody(text string) bool { return text == nowhere || numbered.MatchString(text) }
