package knowledge

import "faultline/pattern"

// engineURL are the addresses of servers that a job runs beside its trainers: engines that generate, and judges that score. Sources: vLLM
// (entrypoints/openai, TRL's vllm_serve), SGLang (srt/entrypoints/http_server.py), their routers, text-generation-inference.
var engineURL = pattern.New(`(?:with url: |https?://[\w.\[\]:-]{1,120})/(?:v1/(?:chat/)?completions|v1/(?:score|rerank|embeddings)|generate(?:_stream)?|score|classify|` +
	`update_weights\w*|update_named_param|batch_update_named_params|init_weights_update_group|init_communicator|close_communicator|get_weights_by_name|` +
	`reset_prefix_cache|flush_cache|release_memory_occupation|resume_memory_occupation|(?:pause|continue)_generation|abort_request|` +
	`health(?:_generate)?|server_info|get_(?:server|model)_info|get_world_size)/?(?:[^\w/.-]|$)`) // not "/score/a.tar", which a store may have

// nowhere is how a client that waits for many servers at once (httpx with asyncio) says that one of them cannot be reached: it names none.
const nowhere = "All connection attempts failed"

// numbered is how aiohttp names a server that it was given by number, which a store rarely is.
var numbered = pattern.New(`Cannot connect to host \d{1,3}(?:\.\d{1,3}){3}:\d`)

// AsksEngine says that what a client of some server tells is about an engine of the job itself and not about a store.
func AsksEngine(text string) bool { return engineURL.MatchString(text) }

// AsksSomebody says that what a client tells does not tell a store from a server of the job.
func AsksSomebody(text string) bool { return text == nowhere || numbered.MatchString(text) }
