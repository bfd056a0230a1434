package worker

import (
	"bytes"
	"testing"

	"faultline/analysis/line"
)

const none = line.Unknown

func TestRetriesOfEveryClient(t *testing.T) {
	tests := []struct {
		name, text string
		want       IO
	}{
		{"urllib3 counts down", "2025-06-03 17:48:01,123 - urllib3.connectionpool - WARNING - Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))': /v1/objects/train/shard-000123.tar?provider=ais",
			IO{Kind: IORetry, Form: "urllib3", Attempt: none, Limit: none, Left: 4, Fault: "reset", Target: "/v1/objects/train/shard-000123.tar?provider=ais"}},
		{"tenacity, AIStore SDK", "WARNING:root:Retrying aistore.sdk.request_client.RequestClient._request_with_retry in 3.2 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')).",
			IO{Kind: IORetry, Form: "tenacity", Attempt: none, Limit: none, Left: none, Fault: "reset", Target: "aistore.sdk.request_client.RequestClient._request_with_retry"}},
		{"AIStore ObjectFileReader", "[rank3]: WARNING Resuming 'ais://train/a.tar' after ChunkedEncodingError (2/5)",
			IO{Kind: IORetry, Form: "ais-resume", Attempt: 2, Limit: 5, Left: none, Fault: "broken", Target: "ais://train/a.tar"}},
		{"Hugging Face Hub", "Retrying in 2s [Retry 2/5].", IO{Kind: IORetry, Form: "count", Attempt: 2, Limit: 5, Left: none}},
		{"Hugging Face datasets", "Got disconnected from remote data host. Retrying in 5sec [1/20]", IO{Kind: IORetry, Form: "count", Attempt: 1, Limit: 20, Left: none, Fault: "broken"}},
		{"a script", "connection reset while reading batch, retrying 3/5", IO{Kind: IORetry, Form: "count", Attempt: 3, Limit: 5, Left: none, Fault: "reset"}},
		{"a script, in words", "read of shard 000123 failed (attempt 4 of 4): timed out", IO{Kind: IORetry, Form: "count", Attempt: 4, Limit: 4, Left: none, Fault: "timeout"}},
		{"Hadoop counts from 0", "INFO ipc.Client: Retrying connect to server: nn1.example/10.0.0.5:8020. Already tried 9 time(s); retry policy is RetryUpToMaximumCountWithFixedSleep(maxRetries=10, sleepTime=1000 MILLISECONDS)",
			IO{Kind: IORetry, Form: "hadoop", Attempt: 10, Limit: 10, Left: none, Target: "nn1.example/10.0.0.5:8020"}},
		{"backoff", "Backing off fetch(...) for 0.8s (requests.exceptions.ReadTimeout: timed out)", IO{Kind: IORetry, Form: "backoff", Attempt: none, Limit: none, Left: none, Fault: "timeout", Target: "fetch"}},
		{"google-api-core", "Retrying due to 503 GET https://storage.googleapis.com/download: Service Unavailable, sleeping 1.3s ...", IO{Kind: IORetry, Form: "google", Attempt: none, Limit: none, Left: none, Fault: "server"}},
		{"AIStore SDK gives up", "ERROR - All retries exhausted; request failed", IO{Kind: IOGaveUp, Form: "ais", Attempt: none, Limit: none, Left: none}},
		{"backoff gives up", "Giving up fetch(...) after 5 tries (requests.exceptions.ReadTimeout: timed out)", IO{Kind: IOGaveUp, Form: "backoff", Attempt: none, Limit: 5, Left: none, Fault: "timeout", Target: "fetch"}},
		{"urllib3 gives up", "requests.exceptions.ConnectionError: HTTPConnectionPool(host='ais', port=51080): Max retries exceeded with url: /v1/objects/b/o (Caused by NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused'))",
			IO{Kind: IOGaveUp, Form: "urllib3", Attempt: none, Limit: none, Left: none, Fault: "refused", Target: "ais"}},
		{"botocore gives up", "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate.",
			IO{Kind: IOGaveUp, Form: "botocore", Attempt: none, Limit: 4, Left: none, Fault: "throttled"}},
		{"a script gives up", "download failed after 5 attempts", IO{Kind: IOGaveUp, Form: "count", Attempt: none, Limit: 5, Left: none}},
		// Lhotse, first generations to PR #1566 and later.
		{"batch failed", "AIStore batch.get() failed: STATUS:503, MESSAGE:busy. Falling back to sequential GET requests.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Fault: "server", Fallback: true}},
		{"stream truncated", "Batch stream truncated at index 17/64. Falling back to direct AIStore API calls for remaining objects.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Fallback: true}},
		{"timeout in a batch", "Timeout while fetching batch result at index 3: timed out. Falling back to direct AIStore API call.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Fault: "timeout", Fallback: true}},
		{"empty content, new", "Object a/b.flac/x.flac from bucket ais://speech returned empty content. Retrying with direct AIStore API call.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Target: "a/b.flac/x.flac", Fallback: true}},
		{"empty content, old", "Object a/b.flac from bucket speech is empty. Trying to get the object using AIStore API.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Target: "a/b.flac", Fallback: true}},
		{"fetch failed", "Failed to fetch object a/b.tar archpath=x.flac from bucket ais://train: Connection refused", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none, Fault: "refused", Target: "a/b.tar"}},
		{"cuts dropped", "AISBatchLoader dropping 3/64 cuts due to per-object fetch failures (skip_failed_fetches=True).", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none}},
		{"short batch", "lhotse.ais.batch_loader.AISBatchLoaderError: Batch result iterator exhausted prematurely. Expected more objects for manifests with URLs.", IO{Kind: IOLoader, Form: "lhotse", Attempt: none, Limit: none, Left: none}},
		{"in a loader's process", "ConnectionError: Caught ConnectionError in DataLoader worker process 8.", IO{Kind: IOLoader, Form: "dataloader", Attempt: none, Limit: none, Left: none}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, "\n"+tt.text+"\n")
			if len(obs.IOs) != 1 || len(obs.IOs[0]) != 1 {
				t.Fatalf("%s\ngot %d lines: %+v", tt.text, len(obs.IOs), obs.IOs)
			}
			got := obs.IOs[0][0].IO()
			got.At, got.Access = At{}, Unsaid
			if got != tt.want {
				t.Errorf("%s\ngot  %+v\nwant %+v", tt.text, got, tt.want)
			}
		})
	}
}

func TestWhatIsNoRetryOfData(t *testing.T) {
	for _, text := range []string{
		"[rank0]:[W603 17:48:01.005271823 socket.cpp:697] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused), retrying 3/5",
		"[default] Worker group FAILED. 2/3 attempts left; will restart worker group",
		"ERROR:root:wandb: Network error (ReadTimeout), entering retry loop. retrying 1/5",
		"node-7:4242:4300 [0] misc/socket.cc:49 NCCL WARN socketPollConnect: connect to 10.0.0.2<40001> returned Connection refused, exceeded error retry count after 35 attempts",
		"2025/06/03 Retrying GET /v1/objects/3/5",
		"attempt 2 of 3 to allocate",
		"iteration 3/5, retry disabled",
		"lhotse.ais.batch_loader.AISBatchLoaderError: Caught AISBatchLoaderError in DataLoader worker process 3.",
	} {
		if obs := observe(t, "\n"+text+"\n"); len(obs.IOs) != 0 {
			t.Errorf("%s\nread as %+v", text, obs.IOs)
		}
	}
}

func TestResetsAreCountedByLineAndOnlyOfData(t *testing.T) {
	obs := observe(t, `
requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))
urllib3.exceptions.ProtocolError: ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))
node-7:4242:4300 [0] misc/socket.cc:49 NCCL WARN socketProgressOpt: Call to recv from 10.0.0.2<34567> failed : Connection reset by peer
[rank2]:[W603 17:48:01.005271823 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=30): Connection reset by peer
RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:1234: Connection reset by peer
nothing here
`)
	if len(obs.Resets) != 2 {
		t.Errorf("got %d resets, want 2: %+v", len(obs.Resets), obs.Resets)
	}
}

func TestWhatAProcessSaysItIsAbout(t *testing.T) {
	tests := []struct{ text, kind string }{
		{"> building indices for blendable datasets ...", DoingWork},
		{" > WARNING: could not find index map files, building the indices on rank 0 ...", DoingWork},
		{"INFO:megatron.core.datasets.gpt_dataset:Build and save the GPTDataset train indices", DoingWork},
		{"Running tokenizer on dataset (num_proc=8):  41%|████      | 41000/100000 [02:11<03:10, 310.22 examples/s]", DoingWork},
		{"[rank0]: Evaluating:  60%|██████    | 3000/5000 [30:00<20:00,  1.6it/s]", DoingEval},
		{"2025-05-12 03:40:00 - INFO - eval batch 100/400", DoingEval},
		{"Map:  45%|████▌     | 450/1000 [00:10<00:12]", DoingWork},
		{"Loading checkpoint shards:  33%|███▎      | 1/3 [00:07<00:14,  7.21s/it]", DoingWork},
		{"[rank2]: Loading checkpoint shards:   0%|          | 0/30 [00:00<?, ?it/s]", DoingWork},
		{"Loading safetensors checkpoint shards:  99% Completed | 161/163 [01:15<00:00,  2.24it/s]", DoingWork},
		{"Loading pipeline components...:  57%|█████▋    | 4/7 [00:02<00:01,  1.75it/s]", DoingWork},
		{"Fetching 30 files:  10%|█         | 3/30 [02:41<24:10, 53.73s/it]", DoingWork},
		{"Skipping the first batches:  12%|█▏        | 1200/10000 [10:02<1:13:35,  1.99it/s]", DoingWork},
		{"Applying chat template to train dataset (num_proc=8):  41%|████      | 41000/100000 [02:11<03:10, 310.22 examples/s]", DoingWork},
		{"Packing train dataset:  41%|████      | 41000/100000 [02:11<03:10, 310.22 examples/s]", DoingWork},
		{"Converting the model to half precision", ""},
		{"Loading weights of the teacher", ""},
		{"Emitting ninja build file /home/u/.cache/torch_extensions/py310_cu121/fused_adam/build.ninja...", DoingWork},
		{"[rank3]: Consolidating checkpoint shards into /ckpt/final", DoingWork},
		{"2025-06-03 17:48:01,123 - loader - INFO - waiting for next batch (30 s)", DoingLoad},
		{"fetching batch 812 from shard-000123.tar", DoingLoad},
		{" 35%|███▌      | 73811210851/208140108456 [30:01<57:14, 39115047.81MB/s]", DoingWork},
		{" 35%|███▌      | 738/2081 [30:01<57:14,  2.81it/s]", ""},
		{"Epoch 3 finished", DoingEnd},
		{"[rank5]: finished epoch 2 after 1187 batches", DoingEnd},
		{"rank 5: data iterator exhausted after 1187 batches", DoingEnd},
		{"loading checkpoint from /ckpt/gpt", ""},
		{"waiting for everyone at the barrier", ""},
		{"Epoch 0:  2%|█▌        | 812/50000 [00:12<09:11:02,  1.02s/it, v_num=3, reduced_train_loss=2.1]", ""},
		{"Compiling is disabled", ""},
		{"the retries were exhausted", ""},
		{"gradients of this epoch are done", ""},
	}
	for _, tt := range tests {
		obs := observe(t, "\n"+tt.text+"\n")
		got := ""
		if len(obs.Doings) > 0 {
			got = obs.Doings[0].Kind
		}
		if got != tt.kind {
			t.Errorf("%s\ngot %q, want %q", tt.text, got, tt.kind)
		}
		if got == DoingWork && len(obs.Progress) > 0 {
			t.Errorf("%s\nis no step: %+v", tt.text, obs.Progress)
		}
	}
}

func TestWhatWasWantedIsSaid(t *testing.T) {
	for text, want := range map[string]Access{
		"Retrying due to 503 GET https://storage.googleapis.com/download: Service Unavailable, sleeping 1.3s ...":        Reads,
		"Retrying due to 503 PUT https://storage.googleapis.com/o/ckpt/20.pt: Service Unavailable, sleeping 1.3s ...":    Saves,
		"loading checkpoint 20 failed, retrying 3/5":                                                                     Unsaid,
		"Retrying due to 503 PUT https://storage.googleapis.com/o/step_100: Service Unavailable, sleeping 1.3s ...":      Writes,
		"WARNING: got an error while uploading; retrying (attempt 1/3): (SlowDown) when calling the PutObject operation": Writes,
		"download failed, retrying 3/5":                         Reads,
		"Retrying in 2s [Retry 2/5].":                           Unsaid,
		"connection reset while reading batch, retrying 3/5":    Reads,
		"upload of part 3 failed: Read timed out, retrying 3/5": Writes,
		"download and upload of part 3 failed, retrying 3/5":    Unsaid,
		"Retrying aistore.sdk.request_client.RequestClient._request_with_retry in 3.2 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')).": Unsaid,
	} {
		obs := observe(t, "\n"+text+"\n")
		if len(obs.IOs) != 1 || len(obs.IOs[0]) != 1 {
			t.Errorf("%s: %+v", text, obs.IOs)
		} else if got := obs.IOs[0][0].Access(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func FuzzIO(f *testing.F) {
	for _, s := range []string{"Retrying (Retry(total=99999999999999999999", "retrying 3/5", "attempt 0 of 0 read", "Already tried 5 time(s); maxRetries=", "Epoch 3 finished",
		"Max retries exceeded with url", " seconds as it raised ", "Resuming '' after (9/0)"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i := range ioRules {
			var v IO
			ok := containsAny(b, ioRules[i].literals) && ioRules[i].tell(&v, b, ioWords.in(b))
			if ok && (v.Attempt < none || v.Limit < none || v.Left < none || len(v.Target) > maxLastText || v.Kind == "") {
				t.Fatalf("%q gives %+v", b, v)
			}
		}
		if bytes.IndexByte(b, '\n') < 0 {
			for _, d := range observe(t, "\n"+string(b)+"\n").Doings {
				if len(d.What) > maxLastText {
					t.Fatalf("%d bytes kept", len(d.What))
				}
			}
		}
	})
}
