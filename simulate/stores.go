package simulate

import (
	"fmt"
	"slices"
	"time"
)

// stores lists the mechanisms of stop-line 3: data and storage, as the workers see them.
func stores() []mechanism {
	return []mechanism{
		{name: "store-retries", line: 3, ablations: []string{"message"}, run: playRetriesExhausted},
		{name: "disk-full", line: 3, ablations: []string{"message"}, run: playDiskFull},
		{name: "mount-lost", line: 3, ablations: []string{"message"}, run: playMountLost},
		{name: "checkpoint-broken", line: 3, ablations: []string{"message"}, run: playCheckpointBroken},
		{name: "bad-sample", line: 3, ablations: []string{"message"}, run: playBadSample},
		{name: "short-batch", line: 3, ablations: []string{"message"}, run: playShortBatch},
		{name: "data-ran-out", line: 3, run: playRanOut},
		{name: "loader-stall", line: 3, ablations: []string{"message", "silent-root"}, fit: fitTimed, run: playHeld("dataloader-stall", loaderWords)},
		{name: "save-outlives", line: 3, ablations: []string{"message", "no-dump"}, fit: fitTimed, run: playHeld("checkpoint-io", saveWords)},
		{name: "rank-busy", line: 3, ablations: []string{"message"}, fit: fitTimed, run: playHeld("rank-busy", busyWords)},
		{name: "epoch-ended", line: 3, ablations: []string{"message"}, fit: fitTimed, run: playHeld("uneven-data", endWords)},
		{name: "retries-then-crash", line: 3, run: playRetriesThenCrash},
		{name: "resets-and-stall", line: 3, fit: fitOneGroup, run: playResetsAndStall},
		{name: "retries-and-healthy", line: 3, run: playRetriesHealthy},
	}
}

// logger writes a line of a Python logger with its time, in the layout that most scripts configure. Where nothing else
// labels the lines of a file with several ranks, the script's formatter puts the rank in front, unless bare.
func (s *scene) logger(r int, t time.Duration, level, name, msg string, bare bool) {
	text := fmt.Sprintf("%s - %s - %s - %s", s.stamp(r, t, commaMillis), name, level, msg)
	f := says(0)
	if !bare && !s.labelled() {
		text, f = fmt.Sprintf("[rank%d]: %s", r, text), saysRank
	}
	s.said(r, t, f, text)
}

// labelled: every line of a rank is tied to it, by its own file or by a label.
func (s *scene) labelled() bool {
	return s.ownFiles() || s.spec.FileMode == "single" || slices.Contains(s.spec.Prefixes, "ray")
}

// object is the name of an object or a shard, as training jobs name them.
func (s *scene) object() string { return fmt.Sprintf("train/shard-%06d.tar", s.rng.IntN(100000)) }

const tenacityReset = "Retrying aistore.sdk.request_client.RequestClient._request_with_retry in %.2f seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))."

// retry writes one retry of a client that recovers, n-th of at most m.
func (s *scene) retry(r int, t time.Duration, client string, n, m int, object string, bare bool) {
	switch client {
	case "urllib3":
		s.logger(r, t, "WARNING", "urllib3.connectionpool", fmt.Sprintf("Retrying (Retry(total=%d, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))': /v1/objects/speech/%s?provider=ais", m-n, object), bare)
	case "tenacity":
		s.logger(r, t, "WARNING", "root", fmt.Sprintf(tenacityReset, 1+s.rng.Float64()*4), bare)
	case "ais-resume":
		s.logger(r, t, "WARNING", "aistore.sdk.obj.obj_file.object_file", fmt.Sprintf("Resuming 'speech/%s' after ChunkedEncodingError (%d/%d)", object, n, m), bare)
	case "hub":
		s.logger(r, t, "WARNING", "huggingface_hub.utils._http", fmt.Sprintf("Retrying in %ds [Retry %d/%d].", 1<<min(n-1, 3), n, m), bare)
	case "datasets":
		s.logger(r, t, "WARNING", "datasets.download.streaming_download_manager", fmt.Sprintf("Got disconnected from remote data host. Retrying in 5sec [%d/%d]", n, m), bare)
	default:
		s.logger(r, t, "WARNING", "loader", fmt.Sprintf("reading %s failed: timed out, retrying %d/%d", object, n, m), bare)
	}
}

var retryClients = []string{"urllib3", "tenacity", "ais-resume", "hub", "datasets", "script"}

// storeFault is the death of a rank whose read the store did not answer: the ladder before it, and what is raised.
type storeFault struct {
	client string
	tries  int
	trace  func(s *scene, object string) []string
}

var storeFaults = []storeFault{
	{"urllib3", 5, func(_ *scene, o string) []string {
		pool := "HTTPConnectionPool(host='ais-proxy.storage', port=51080): Max retries exceeded with url: /v1/objects/speech/" + o + "?provider=ais (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f3a2c>: Failed to establish a new connection: [Errno 111] Connection refused'))"
		return pyChain(pyDuringAnother, pyTraceback([]pyFrame{{File: pySite + "urllib3/connectionpool.py", Line: 844, Func: "urlopen", Code: "retries = retries.increment("},
			{File: pySite + "urllib3/util/retry.py", Line: 515, Func: "increment", Code: "raise MaxRetryError(_pool, url, reason) from reason"}}, "urllib3.exceptions.MaxRetryError: "+pool),
			pyTraceback(loaderFrames(pyFrame{File: pySite + "requests/adapters.py", Line: 519, Func: "send", Code: "raise ConnectionError(e, request=request)"}), "requests.exceptions.ConnectionError: "+pool))
	}},
	{"tenacity", 7, func(_ *scene, o string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: pySite + "aistore/sdk/request_client.py", Line: 289, Func: "_request_with_retry", Code: "return self._send(request)"},
			pyFrame{File: pySite + "requests/adapters.py", Line: 501, Func: "send", Code: "raise ConnectionError(err, request=request)"}),
			"requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))")
	}},
	{"ais-resume", 5, func(_ *scene, _ string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: pySite + "aistore/sdk/obj/obj_file/object_file.py", Line: 201, Func: "read", Code: "raise ObjectFileReaderMaxResumeError(err, self._max_resume) from err"}),
			"aistore.sdk.obj.obj_file.errors.ObjectFileReaderMaxResumeError: ObjectFileReader exceeded max number of stream resumptions: 5")
	}},
	{"hub", 5, func(_ *scene, o string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: pySite + "huggingface_hub/utils/_http.py", Line: 325, Func: "http_backoff", Code: "raise err"},
			pyFrame{File: pySite + "requests/adapters.py", Line: 532, Func: "send", Code: "raise ReadTimeout(e, request=request)"}),
			"requests.exceptions.ReadTimeout: (ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), '(Request ID: 1f2e3d)')")
	}},
	{"datasets", 20, func(_ *scene, _ string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: pySite + "datasets/utils/file_utils.py", Line: 1379, Func: "read_with_retries", Code: "raise ConnectionError(\"Server Disconnected\") from disconnect_err"},
			pyFrame{File: pySite + "fsspec/asyn.py", Line: 103, Func: "sync", Code: "raise return_result"}), "ConnectionError: Server Disconnected")
	}},
	{"", 0, func(_ *scene, _ string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: pySite + "botocore/client.py", Line: 1009, Func: "_make_api_call", Code: "raise error_class(parsed_response, operation_name)"}),
			"botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate.")
	}},
	{"", 0, func(_ *scene, o string) []string {
		return pyTraceback(loaderFrames(pyFrame{File: "pyarrow/error.pxi", Line: 92, Func: "pyarrow.lib.check_status"}),
			"OSError: When reading information for key '"+o+"' in bucket 'speech': AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 28, Timeout was reached")
	}},
	{"", 0, func(_ *scene, o string) []string {
		return pyChain(pyDirectCause, pyTraceback([]pyFrame{{File: pySite + "lhotse/ais/batch_loader.py", Line: 151, Func: "sequential_get", Code: "content = self._get_object_from_moss_in(moss_in)"},
			{File: pySite + "aistore/sdk/request_client.py", Line: 289, Func: "_request_with_retry", Code: "return self._send(request)"}},
			"aistore.sdk.errors.AISError: STATUS:503, MESSAGE:t[ais-target-2]: not ready yet, REQ_URL:http://ais-proxy.storage:51080/v1/objects/speech/"+o),
			pyTraceback(loaderFrames(pyFrame{File: pySite + "lhotse/ais/batch_loader.py", Line: 158, Func: "sequential_get", Code: "raise AISBatchLoaderError("}),
				"lhotse.ais.batch_loader.AISBatchLoaderError: Sequential GET fallback failed for "+o))
	}},
}

// loaderFrames are the frames from the script into its data loader.
func loaderFrames(tail ...pyFrame) []pyFrame {
	return append([]pyFrame{{File: pyTrain, Line: 412, Func: "<module>", Code: "main()"},
		{File: pyTrain, Line: 388, Func: "main", Code: "trainer.fit(model, train_loader)"},
		{File: pySite + "torch/utils/data/dataloader.py", Line: 630, Func: "__next__", Code: "data = self._next_data()"},
		{File: pyDataset, Line: 88, Func: "__getitem__", Code: "item = self.read(key)"}}, tail...)
}

// oneDies plays the death of one rank of a training run by an exception of its own.
func (s *scene) oneDies(world, slug string, lines func(r int, t time.Duration)) {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
	s.faultLines("message", func() { lines(r, t) })
	s.falls(d)
	s.killed(fmt.Sprintf(world, r), slug, "after-fix", d)
}

func playRetriesExhausted(s *scene) error {
	f := storeFaults[s.rng.IntN(len(storeFaults))]
	o := s.object()
	s.oneDies("the store did not answer rank %d, which gave up", "storage-retries-exhausted", func(r int, t time.Duration) {
		for n := 1; n <= f.tries; n++ {
			s.retry(r, t-sec(3*(f.tries-n)+2), f.client, n, f.tries, o, false)
		}
		if f.client == "tenacity" {
			s.logger(r, t-ms(100), "ERROR", "aistore.sdk.request_client", "All retries exhausted; request failed", false)
		}
		s.python(r, t, f.trace(s, o)...)
	})
	return nil
}

func playDiskFull(s *scene) error {
	what := pick(s.rng, "No space left on device: '/tmp/torchinductor_u/x.so'", "No space left on device: '/lustre/ckpt/step_100.pt'", "Disk quota exceeded: '/home/u/.cache/huggingface/x.arrow'")
	errno := 28
	if what[0] == 'D' {
		errno = 122
	}
	chained := s.rng.IntN(2) == 0
	s.oneDies("rank %d could not write: no space", "storage-full", func(r int, t time.Duration) {
		first := pyTraceback(saveFrames(), fmt.Sprintf("OSError: [Errno %d] %s", errno, what))
		if chained { // torch.save notices a second time when it closes the file
			first = pyChain(pyDuringAnother, first, pyTraceback(saveFrames(pyFrame{File: pySite + "torch/serialization.py", Line: 466, Func: "__exit__", Code: "self.file_like.write_end_of_file()"}),
				"RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 576 vs 470"))
		}
		s.python(r, t, first...)
	})
	return nil
}

// saveFrames are the frames from the script into torch.save.
func saveFrames(tail ...pyFrame) []pyFrame {
	return append(loopFrames(pyFrame{File: "/opt/train/engine/checkpointing.py", Line: 61, Func: "save_checkpoint", Code: "torch.save(state, path)"},
		pyFrame{File: pySite + "torch/serialization.py", Line: 628, Func: "save", Code: "_save(obj, opened_zipfile, pickle_module, pickle_protocol)"}), tail...)
}

func playMountLost(s *scene) error {
	exc := pick(s.rng, "OSError: [Errno 116] Stale file handle: '/nfs/data/%s'", "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/fuse/%s'",
		"OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/data/%s'", "TimeoutError: [Errno 110] Connection timed out: '/nfs/data/%s'", "OSError: [Errno 121] Remote I/O error: '/nfs/data/%s'")
	s.oneDies("a file system stopped answering rank %d", "storage-unresponsive", func(r int, t time.Duration) {
		s.python(r, t, pyTraceback(loaderFrames(), fmt.Sprintf(exc, s.object()))...)
	})
	return nil
}

func playCheckpointBroken(s *scene) error {
	saving := s.rng.IntN(2) == 0
	exc := pick(s.rng, "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", "EOFError: Ran out of input",
		"safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", "_pickle.UnpicklingError: pickle data was truncated",
		"RuntimeError: unexpected EOF, expected 1048576 more bytes. The file might be corrupted.")
	frames := loopFrames(pyFrame{File: "/opt/train/engine/checkpointing.py", Line: 92, Func: "load_checkpoint", Code: "state = torch.load(path, map_location=\"cpu\")"},
		pyFrame{File: pySite + "torch/serialization.py", Line: 1005, Func: "load", Code: "return _load(opened_zipfile, map_location, pickle_module)"})
	if saving {
		exc = pick(s.rng, "RuntimeError: PytorchStreamWriter failed writing file data/17: file write failed", "RuntimeError: write(): fd 29 failed with Input/output error",
			"OSError: [Errno 5] Input/output error: '/lustre/ckpt/step_100.pt'")
		frames = saveFrames()
	}
	s.oneDies("a checkpoint of rank %d could not be saved or loaded", "checkpoint-io", func(r int, t time.Duration) { s.python(r, t, pyTraceback(frames, exc)...) })
	if exc[:7] == "OSError" {
		s.also("storage-unresponsive")
	}
	return nil
}

// also widens the set of a killed's truth where the culprit's own words leave another mechanism standing, too.
func (s *scene) also(slug string) {
	inner := s.judge
	s.judge = func(v *view) Truth {
		t := inner(v)
		if s.remains().survive(saysFault) {
			t.Candidates, t.Action = append(slices.Clone(t.Candidates), slug), ""
		}
		return t
	}
}

func playBadSample(s *scene) error {
	o := s.object()
	exc := pick(s.rng, "PIL.UnidentifiedImageError: cannot identify image file '/data/train/000%s.jpg'", "OSError: image file is truncated (7 bytes not processed)",
		"json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte",
		"tarfile.ReadError: unexpected end of data", "soundfile.LibsndfileError: Error opening '/data/train/a.flac': Format not recognised.",
		"pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.", "gzip.BadGzipFile: Not a gzipped file (b'<h')")
	if exc[:3] == "PIL" {
		exc = fmt.Sprintf(exc, o[len(o)-6:len(o)-4])
	}
	s.oneDies("rank %d met an item that cannot be read", "bad-sample", func(r int, t time.Duration) { s.python(r, t, loaderFault(s.rng.IntN(8), exc)...) })
	return nil
}

func playShortBatch(s *scene) error {
	ais := pySite + "lhotse/ais/batch_loader.py"
	stop := pyTraceback([]pyFrame{{File: ais, Line: 170, Func: "__call__", Code: "info, content = next(batch_result)"}}, "StopIteration")
	var trace []string
	switch s.rng.IntN(4) {
	case 0: // the first generation
		trace = pyTraceback(loaderFrames(pyFrame{File: ais, Line: 102, Func: "__call__", Code: "info, content = next(batch_result)"}), "StopIteration")
	case 1:
		trace = pyChain(pyDirectCause, stop, pyTraceback(loaderFrames(), "RuntimeError: generator raised StopIteration"))
	case 2:
		trace = pyChain(pyDuringAnother, stop, pyTraceback(loaderFrames(pyFrame{File: ais, Line: 172, Func: "__call__", Code: "raise AISBatchLoaderError("}),
			"lhotse.ais.batch_loader.AISBatchLoaderError: Batch result iterator exhausted prematurely. Expected more objects for manifests with URLs."))
	default: // PR #1566 and later
		trace = pyTraceback(loaderFrames(pyFrame{File: ais, Line: 240, Func: "__call__", Code: "raise AISBatchLoaderError("}),
			"lhotse.ais.batch_loader.AISBatchLoaderError: Batch stream truncated at index 17, but cannot recover: index out of range for saved_requests_list (len=16)")
	}
	s.oneDies("AIStore sent rank %d fewer objects than it had asked for", "ais-batch-object-loss", func(r int, t time.Duration) { s.python(r, t, trace...) })
	s.also("exception")
	return nil
}

// playRanOut is a rank whose iterator ends before the others': it raises StopIteration, or DistributedDataParallel's join
// lets all of them raise.
func playRanOut(s *scene) error {
	if s.rng.IntN(2) == 0 || s.world < 4 || !s.attributable() {
		t := s.begin()
		d := death{at: t + ms(300), code: 1, peers: "killed"}
		for r := range s.world {
			d.ranks = append(d.ranks, r)
		}
		s.faultLines("", func() {
			for r := range s.world {
				s.python(r, t+ms(r%50), pyTraceback(loopFrames(pyFrame{File: pySite + "torch/nn/parallel/distributed.py", Line: 1510, Func: "forward", Code: "inputs, kwargs = self._pre_forward(*inputs, **kwargs)"}),
					"RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.")...)
			}
		})
		s.falls(d)
		s.killed("one rank ran out of batches, and join ended all", "uneven-data", "after-fix", d)
		return nil
	}
	s.oneDies("rank %d ran out of batches before the others", "uneven-data", func(r int, t time.Duration) {
		s.python(r, t, pyTraceback(loopFrames(pyFrame{File: pyLoop, Line: 131, Func: "next_batch", Code: "return next(self.iterator)"},
			pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 630, Func: "__next__", Code: "data = self._next_data()"},
			pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1324, Func: "_next_data", Code: "raise StopIteration"}), "StopIteration")...)
	})
	return nil
}
