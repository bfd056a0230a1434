package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

// inLoader is an exception of a data loader's worker as the process of a rank prints it.
func inLoader(rank int, typ, message string) string {
	var b strings.Builder
	text := fmt.Sprintf("Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    for batch in loader:\n%s: Caught %s in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n  File \"/a/data.py\", line 31, in __getitem__\n    x = read(p)\n%s: %s\n",
		typ, typ[strings.LastIndexByte(typ, '.')+1:], typ, message)
	for l := range strings.Lines(text) {
		fmt.Fprintf(&b, "[rank%d]: %s", rank, l)
	}
	return b.String()
}

// What clients of stores say when they give up, are refused, or find no such thing.
func TestFieldStores(t *testing.T) {
	const missing = "ClientError('Object s3://b/train/index.json not found! Either check the bucket path or the bucket permission. If the bucket is a requester pays bucket, say so.')"
	for _, c := range []fieldCase{
		{"an index that is not there", one(raisedBy(0, "RuntimeError: Failed to download s3://b/train/index.json -> /tmp/a/index.json. Got errors:\n["+missing+", "+missing+"]")), []string{"config-error"}, "rank 0"},
		{"a shard that does not come", one(fieldSteps + raisedBy(0, "RuntimeError: Failed to download s3://b/train/7.mds -> /tmp/a/7.mds. Got errors:\n[ReadTimeoutError('timed out'), ReadTimeoutError('timed out')]")), []string{"storage-retries-exhausted"}, "rank 0"},
		{"TensorFlow's client of S3", one("2025-01-02 01:13:58.307000: E tensorflow/core/platform/s3/aws_logging.cc:60] Curl returned error code 28\n" + raisedBy(1, "tensorflow.python.framework.errors_impl.UnknownError: : Unable to connect to endpoint")), []string{"storage-retries-exhausted"}, ""},
		{"Amazon's connector gives up", one(fieldSteps + inLoader(2, "s3torchconnectorclient._mountpoint_s3_client.S3Exception", "Client error: Internal S3 client error: Response headers are missing")), []string{"storage-retries-exhausted"}, "rank 2"},
		{"Amazon's connector is refused", one(raisedBy(2, "s3torchconnectorclient._mountpoint_s3_client.S3Exception: Client error: Forbidden: Access Denied")), []string{"config-error"}, ""},
		{"the hub has had enough", one(raisedBy(5, "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/a/tree/main")), []string{"storage-retries-exhausted"}, ""},
		{"the hub could not be asked", one(raisedBy(5, "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache. Please check your connection and try again.")), []string{"storage-retries-exhausted"}, "rank 5"},
		{"it was not to be asked", one(raisedBy(5, "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.")), []string{"config-error"}, "rank 5"},
		{"the hub knows no such model", one(raisedBy(5, "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. (Request ID: Root=1-66;9d)\n\nRepository Not Found for url: https://huggingface.co/api/models/a/b.")), []string{"config-error"}, "rank 5"},
		{"Google's credentials have run out", one(fieldSteps + raisedBy(5, "google.auth.exceptions.RefreshError: ('invalid_grant: Bad Request', {'error': 'invalid_grant'})")), []string{"config-error"}, "rank 5"},
		{"OSS does not answer", one(fieldSteps + inLoader(2, "oss2.exceptions.RequestError", "{'status': -2, 'x-oss-request-id': '', 'details': \"RequestError: HTTPConnectionPool(host='b.oss.example.com', port=80): Read timed out.\"}")), []string{"storage-retries-exhausted"}, "rank 2"},
		{"TOS does not answer", one(fieldSteps + inLoader(2, "tos.exceptions.TosClientError", "{'message': 'http request timeout', 'case': \"HTTPConnectionPool(host='b.tos.example.com', port=80): Read timed out. (read timeout=30)\"}")), []string{"storage-retries-exhausted"}, "rank 2"},
		{"a store that a client in Rust asked", one(fieldSteps + raisedBy(2, "OSError: LanceError(IO): Generic S3 error: Error after 10 retries in 182.331s, max_retries:10, retry_timeout:180s, source:error sending request for url (http://minio:9000/b/x.lance)")), []string{"storage-retries-exhausted"}, "rank 2"},
		{"what it asks for again", one(fieldSteps + "[2025-09-03T11:20:11Z WARN  object_store::client::retry] Encountered a transport error: error sending request, retry 2/10\n" + "step 4 loss 2.12\nstep 5 loss 2.11\nstep 6 loss 2.10\nstep 7 loss 2.09\n"), []string{"completed"}, "-"},
		{"a pipe, as WebDataset told it first", one(fieldSteps + raisedBy(2, "Exception: (\"((' aws s3 cp s3://b/312.tar -',), {'shell': True, 'bufsize': 8192}): exit 1 (read) {}\", <webdataset.gopen.Pipe object at 0x7f>, 's3://b/312.tar')")), []string{"exception", "storage-retries-exhausted"}, "rank 2"},
		{"OSS has no such object", one(fieldSteps + inLoader(2, "oss2.exceptions.NoSuchKey", "{'status': 404, 'Code': 'NoSuchKey'}")), []string{"bad-sample"}, "rank 2"},
		{"HDFS fails a read", one(fieldSteps + raisedBy(0, "OSError: HDFS file read failed, errno: 255 (Unknown error 255) Please check that you are connecting to the correct HDFS RPC port")), []string{"storage-unresponsive"}, "rank 0"},
		{"HDFS has no such file", one(raisedBy(0, "OSError: HDFS Open file failed, errno: 2 (No such file or directory)")), []string{"exception", "unknown"}, "rank 0"},
		{"gcsfs gives up", one(fieldSteps + raisedBy(0, "gcsfs.retry.HttpError: Error 503: We encountered an internal error. Please try again., 503")), []string{"storage-retries-exhausted"}, ""},
		{"gcsfs is refused", one(raisedBy(0, "gcsfs.retry.HttpError: Anonymous caller does not have storage.objects.get access, 401")), []string{"exception"}, ""},
		{"a loader's process is gone for the thread that pins memory", one(fieldSteps + "Exception in thread Thread-8:\nTraceback (most recent call last):\n  File \"/usr/lib/python3.10/threading.py\", line 1016, in _bootstrap_inner\n    self.run()\n" +
			"  File \"/opt/torch/utils/data/_utils/pin_memory.py\", line 54, in _pin_memory_loop\n    do_one_step()\nConnectionResetError: [Errno 104] Connection reset by peer\n"), []string{"unknown"}, "-"},
		{"fsspec's own clock", one(fieldSteps + strings.ReplaceAll(inLoader(1, "fsspec.exceptions.FSTimeoutError", "x"), "Error: x", "Error")), []string{"storage-retries-exhausted"}, "rank 1"},
		{"HDFS takes no writes", one(fieldSteps + "org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.hdfs.server.namenode.SafeModeException): Cannot create file/ckpt/5. Name node is in safe mode.\n" + raisedBy(0, "OSError: [Errno 255] Unknown error 255. Detail: [errno 255] Unknown error 255")), []string{"storage-unresponsive"}, ""},
		{"a quota of HDFS", one(fieldSteps + "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /user/a is exceeded: quota = 10 B but diskspace consumed = 11 B\n"), []string{"storage-full"}, ""},
		{"no room for what is not written yet", one(raisedBy(2, "OSError: Not enough disk space. Needed: 41.20 GiB (download: 12.00 GiB, generated: 29.20 GiB, post-processed: Unknown size)")), []string{"storage-full"}, ""},
		{"a mount whose server is gone", one(fieldSteps + raisedBy(0, "OSError: [Errno 112] Host is down: '/mnt/data/a.bin'")), []string{"storage-unresponsive"}, ""},
		{"a connection is no mount", one(fieldSteps + raisedBy(0, "OSError: [Errno 113] No route to host")), []string{"exception", "peer-lost", "unknown"}, ""},
		{"a disk that the kernel wrote to no more, perhaps", one(fieldSteps + raisedBy(2, "OSError: [Errno 30] Read-only file system: '/scratch/cache/a'")), []string{"config-error", "storage-unresponsive"}, "rank 2"},
		{"AIStore has no targets", one(fieldSteps + inLoader(2, "RuntimeError", "No available targets in the cluster map. Total nodes: 3")), []string{"storage-retries-exhausted"}, ""},
		{"a folder of the image", one(raisedBy(0, "OSError: [Errno 30] Read-only file system: '/root/.triton'")), []string{"config-error"}, ""},
	} {
		c.check(t)
	}
}

// Items that cannot be read, in the words of those that decode them, and limits that look like them.
func TestFieldItems(t *testing.T) {
	for _, c := range []fieldCase{
		{"compressed", one(fieldSteps + inLoader(3, "zlib.error", "Error -3 while decompressing data: invalid block type")), []string{"bad-sample"}, "rank 3"},
		{"a video", one(fieldSteps + inLoader(3, "decord._ffi.base.DECORDError", "[10:00:00] /w/src/video/video_reader.cc:151: (/d/1.mp4) Check failed: st_nb >= 0 (-1381258232 vs. 0)")), []string{"bad-sample"}, "rank 3"},
		{"a record", one(fieldSteps + inLoader(3, "tensorflow.python.framework.errors_impl.DataLossError", "truncated record at 900' failed with Read less bytes than requested")), []string{"bad-sample"}, "rank 3"},
		{"a record, behind the function that met it", one(fieldSteps + raisedBy(3, "tensorflow.python.framework.errors_impl.DataLossError: {{function_node __wrapped__IteratorGetNext_output_types_3_device_/job:localhost/replica:0}} corrupted record at 221908112 [Op:IteratorGetNext] name: ")), []string{"bad-sample"}, "rank 3"},
		{"TensorFlow's image", one(fieldSteps + raisedBy(3, "tensorflow.python.framework.errors_impl.InvalidArgumentError: Invalid JPEG data, size 82243")), []string{"bad-sample"}, "rank 3"},
		{"another argument of TensorFlow's", one(fieldSteps + raisedBy(3, "tensorflow.python.framework.errors_impl.InvalidArgumentError: Incompatible shapes: [8,128] vs. [8,129]")), []string{"exception"}, "rank 3"},
		{"DALI's image", one(fieldSteps + raisedBy(3, "RuntimeError: Critical error in pipeline:\nError in MIXED operator `nvidia.dali.fn.decoders.image`,\nencountered:\n\n[/opt/dali/dali/operators/imgcodec/image_decoder.h:1036] Failed to parse a.JPEG\nCurrent pipeline object is no longer valid.")), []string{"bad-sample"}, "rank 3"},
		{"DALI's memory", one(fieldSteps + raisedBy(3, "RuntimeError: Critical error in pipeline:\nError when executing Mixed operator ImageDecoder encountered:\nCUDA allocation failed\nCurrent pipeline object is no longer valid.")), []string{"gpu-oom"}, "rank 3"},
		{"another error of DALI's", one(fieldSteps + raisedBy(3, "RuntimeError: Critical error in pipeline:\nError in CPU operator `nvidia.dali.fn.reshape`,\nencountered:\n\nThe element count does not match\nCurrent pipeline object is no longer valid.")), []string{"exception", "unknown"}, "rank 3"},
		{"a size that is none", one(fieldSteps + raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.")), []string{"exception"}, "rank 3"},
		{"a size beyond any GPU", one(fieldSteps + raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1228800.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 70.11 GiB is free.")), []string{"exception"}, "rank 3"},
		{"a size that one GPU may lack", one(fieldSteps + raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 90.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 70.11 GiB is free.")), []string{"gpu-oom"}, "rank 3"},
		{"a size beyond any host", one(fieldSteps + raisedBy(3, "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4398046511104 bytes. Error code 12 (Cannot allocate memory)")), []string{"exception"}, "rank 3"},
		{"a size that a host may lack", one(fieldSteps + raisedBy(3, "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 439804651110 bytes. Error code 12 (Cannot allocate memory)")), []string{"host-oom"}, "rank 3"},
		{"an array beyond any host", one(fieldSteps + raisedBy(3, "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 3.64 TiB for an array with shape (1000000, 1000000) and data type float32")), []string{"exception"}, "rank 3"},
		{"JSON of which nothing tells what it is", one("loading /ck/index.json\njson.decoder.JSONDecodeError: Unterminated string starting at: line 391 column 7 (char 24570)\n"), []string{"exception"}, "-"},
		{"LMDB", one(fieldSteps + inLoader(3, "lmdb.CorruptedError", "mdb_get: MDB_CORRUPTED: Located page was wrong type")), []string{"bad-sample"}, "rank 3"},
		{"an index longer than its data", one(raisedBy(3, "ValueError: mmap length is greater than file size")), []string{"bad-sample"}, "rank 3"},
		{"a recording", one(fieldSteps + inLoader(3, "ValueError", "The number of declared samples in the recording diverged from the one obtained when loading audio (offset=0.0, duration=12.5).")), []string{"bad-sample"}, "rank 3"},
		{"memory maps", one(fieldSteps + raisedBy(1, "RuntimeError: unable to mmap 2048 bytes from file <filename not specified>: Cannot allocate memory (12)")), []string{"resource-limit"}, ""},
		{"OpenCV was given nothing", one(fieldSteps + inLoader(3, "cv2.error", "OpenCV(4.8.0) /io/opencv/modules/imgproc/src/color.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'")), []string{"bad-sample"}, "rank 3"},
		{"an image", one(fieldSteps + inLoader(3, "SyntaxError", "broken PNG file (chunk b'\\x00\\x00')")), []string{"bad-sample"}, "rank 3"},
		{"an archive", one(fieldSteps + inLoader(3, "zipfile.BadZipFile", "File is not a zip file")), []string{"bad-sample"}, "rank 3"},
		{"compressed by HDF5", one(fieldSteps + inLoader(3, "OSError", "Can't synchronously read data (inflate() failed)")), []string{"bad-sample"}, "rank 3"},
		{"a file that Arrow cached", one(fieldSteps + inLoader(3, "pyarrow.lib.ArrowInvalid", "Expected to read 1330795073 metadata bytes, but only read 1117")), []string{"bad-sample"}, "rank 3"},
		{"an archive of the program's own", one(fieldSteps + raisedBy(3, "zipfile.BadZipFile: File is not a zip file")), []string{"exception"}, "rank 3"},
		{"a line of JSON", one(raisedBy(0, "pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' after an object member. in row 1213")), []string{"bad-sample"}, ""},
		{"an index beyond the end", one(fieldSteps + inLoader(3, "IndexError", "index 50257 is out of bounds for axis 0 with size 50257")), []string{"exception"}, "rank 3"},
		{"semaphores", one("Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    for batch in loader:\n  File \"/usr/lib/python3.10/multiprocessing/synchronize.py\", line 57, in __init__\n    sl = self._semlock = _multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device\n"), []string{"resource-limit"}, ""},
		{"a file that is locked is no limit of processes", one(fieldSteps + inLoader(3, "BlockingIOError", "[Errno 11] Unable to open file (unable to lock file, errno = 11, error message = 'Resource temporarily unavailable')")), []string{"exception", "unknown"}, ""},
	} {
		c.check(t)
	}
}

// Numbers that are none, images and limits, in words that are not PyTorch's own.
func TestFieldOtherWords(t *testing.T) {
	for _, c := range []fieldCase{
		{"the norm of the gradients", one(fieldSteps + raisedBy(2, "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error set error_if_nonfinite=False")), []string{"non-finite-loss"}, "-"},
		{"an infinite loss", one(fieldSteps + raisedBy(3, "AssertionError: Rank 3: found Inf in local forward loss calculation. Device: 3, node: gpu-1")), []string{"non-finite-loss"}, ""},
		{"a loss that is met", one(fieldSteps + raisedBy(3, "ValueError: nan loss encountered")), []string{"non-finite-loss"}, ""},
		{"Composer's watch", one(fieldSteps + raisedBy(3, "RuntimeError: Train loss contains a NaN.")), []string{"non-finite-loss"}, ""},
		{"Lightning's watch", one(fieldSteps + raisedBy(3, "ValueError: Detected nan and/or inf values in `layers.0.weight`. Check your forward pass for numerically unstable operations.")), []string{"non-finite-loss"}, ""},
		{"Keras' watch", one(fieldSteps + "Batch 12: Invalid loss, terminating training\n"), []string{"non-finite-loss"}, "-"},
		{"the optimizer of another number of ranks", one(raisedBy(0, "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current world size is 16. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported.")), []string{"config-error"}, ""},
		{"the optimizer of other parameters", one(raisedBy(0, "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group")), []string{"config-error"}, ""},
		{"nothing to go on from", one(raisedBy(0, "ValueError: Can't find a valid checkpoint at /out/checkpoint-500")), []string{"config-error"}, ""},
		{"PyTorch without CUDA", one(raisedBy(0, "AssertionError: Torch not compiled with CUDA enabled")), []string{"version-mismatch"}, ""},
		{"a model that is too new", one(raisedBy(0, "ValueError: The checkpoint you are trying to load has model type `m9` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.")), []string{"version-mismatch"}, ""},
		{"a flag of Abseil's", one("FATAL Flags parsing error: Unknown command line flag 'lrr'. Did you mean: lr ?\nPass --helpshort to see help on flags.\n"), []string{"config-error"}, ""},
		{"an option of Fire's", one("ERROR: Could not consume arg: --max_steps=10\nUsage: train.py main <flags>\n"), []string{"config-error"}, ""},
		{"a part that Hydra does not find", one("In 'config': Could not find 'model/llama_9b'\n\nAvailable options in 'model':\n\tllama_1b\n"), []string{"config-error"}, ""},
		{"no compiler", one(raisedBy(0, "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.")), []string{"config-error"}, ""},
		{"Paddle's memory, of which no traceback tells", one(fieldSteps + "ResourceExhaustedError: \n\nOut of memory error on GPU 3. Cannot allocate 512.000000MB memory on GPU 3, 31.7GB memory has been allocated and available memory is only 100.25MB.\n"), []string{"gpu-oom"}, ""},
		{"Ray's store", one(fieldSteps + raisedBy(0, "ray.exceptions.ObjectStoreFullError: Failed to put object in object store because it is full. Object size is 1024 bytes.")), []string{"resource-limit"}, ""},
		{"Ray's disk", one(fieldSteps + raisedBy(0, "ray.exceptions.OutOfDiskError: Local disk is full")), []string{"storage-full"}, ""},
		{"the heap", one(fieldSteps + "python3: malloc.c:2617: sysmalloc: Assertion `(old_top == initial_top (av) && old_size == 0)' failed.\n"), []string{"native-crash"}, ""},
	} {
		c.check(t)
	}
}

// Who meets the end of its loader's workers because the launcher ends everybody, or waits in vain for what another process downloads,
// follows from what that other process met.
func TestFieldLoadersThatFollow(t *testing.T) {
	const (
		closing = "W0617 03:17:51.687000 140319081027392 torch/distributed/elastic/multiprocessing/api.py:858] Sending process 44 closing signal SIGTERM\n"
		ended   = "RuntimeError: DataLoader worker (pid(s) 8864) exited unexpectedly"
		awaited = "RuntimeError: Index file /tmp/mds/train/index.json took too long to download, bailing out: 60.000 < 60.003 sec."
	)
	for _, c := range []fieldCase{
		{"below the launcher's signal", one(fieldSteps + raisedBy(2, "KeyError: 'labels'") + closing + raisedBy(0, ended)), []string{"exception"}, "rank 2"},
		{"above it", one(fieldSteps + raisedBy(0, ended) + closing + raisedBy(1, ended)), []string{"dataloader-worker-killed"}, "rank 0"},
		{"who downloads was refused", one(raisedBy(1, awaited) + raisedBy(0, "botocore.exceptions.NoCredentialsError: Unable to locate credentials") + raisedBy(2, awaited)), []string{"config-error"}, "rank 0"},
		{"who downloads says nothing", one(raisedBy(1, awaited) + raisedBy(2, awaited)), []string{"exception", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// What Python or a launcher prints while it cleans up, and goes on, breaks nothing.
func TestFieldCleaningUp(t *testing.T) {
	const finalizer = `Traceback (most recent call last):
  File "/usr/lib/python3.10/multiprocessing/util.py", line 300, in _run_finalizers
    finalizer()
  File "/usr/lib/python3.10/multiprocessing/util.py", line 133, in _remove_temp_dir
    rmtree(tempdir)
  File "/usr/lib/python3.10/shutil.py", line 681, in _rmtree_safe_fd
    os.unlink(entry.name, dir_fd=topfd)
OSError: [Errno 16] Device or resource busy: '.nfs000000000a8b4e1a00000052'
`
	const serve = `Traceback (most recent call last):
  File "/usr/lib/python3.10/multiprocessing/resource_sharer.py", line 138, in _serve
    with self._listener.accept() as conn:
  File "/usr/lib/python3.10/multiprocessing/connection.py", line 465, in accept
    deliver_challenge(c, self._authkey)
ConnectionResetError: [Errno 104] Connection reset by peer
`
	// A real job of PyTorch 2.6: the node that keeps the store was gone before this one had asked who is still there.
	var barrier strings.Builder
	for l := range strings.Lines(`Error waiting on exit barrier. Elapsed: 0.0079 seconds
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/torch/distributed/elastic/agent/server/api.py", line 940, in _exit_barrier
    store_util.barrier(
    ~~~~~~~~~~~~~~~~~~^
        store=self._store,
        ^^^^^^^^^^^^^^^^^^
    ...<2 lines>...
        barrier_timeout=self._exit_barrier_timeout,
    )
    ^
  File "/usr/lib/python3/dist-packages/torch/distributed/elastic/utils/store.py", line 200, in barrier
    store.wait([last_member_key])
    ~~~~~~~~~~^^^^^^^^^^^^^^^^^^^
torch.distributed.DistNetworkError: Connection reset by peer
`) {
		barrier.WriteString("E1123 15:34:30.231000 5 torch/distributed/elastic/agent/server/api.py:954] " + l)
	}
	for _, c := range []fieldCase{
		{"of a launcher whose peer left first", one(fieldSteps + "Training completed in 2:31:08\n" + barrier.String()), []string{"completed"}, "-"},
		{"of a launcher whose workers failed", one(fieldSteps + raisedBy(0, "KeyError: 'eval_loss'") + barrier.String()), []string{"exception"}, "rank 0"},
		{"after the end", one(fieldSteps + "Training completed in 2:31:08\n" + finalizer), []string{"completed"}, "-"},
		{"of the thread that hands out descriptors", one(fieldSteps + serve + "step 4 loss 2.12\nstep 5 loss 2.11\nTraining completed in 2:31:08\n"), []string{"completed"}, "-"},
		{"before the error that ended it", one(fieldSteps + finalizer + raisedBy(0, "KeyError: 'eval_loss'")), []string{"exception"}, "rank 0"},
	} {
		c.check(t)
	}
}

// Whoever reads what a loader's worker raised learns nothing from the line that says that it was caught.
func TestWhatALoadersWorkerRaisedIsSaid(t *testing.T) {
	text := fieldSteps + inLoader(3, "KeyError", "'text'")
	r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0))
	quoted := slices.ContainsFunc(r.Hypotheses, func(h incident.Hypothesis) bool {
		return len(h.For) > 0 && len(h.For[0].Evidence) > 0 && h.For[0].Evidence[0].Line == int64(strings.Count(text, "\n"))
	})
	if !strings.Contains(r.Verdict.Summary, "KeyError: 'text'") || !quoted {
		t.Errorf("%s, by %+v", r.Verdict.Summary, r.Hypotheses)
	}
}
