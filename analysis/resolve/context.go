package resolve

import (
	"slices"
	"strings"

	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/pattern"
)

// contexts are what the frames of a traceback say that the process was about.
type contexts struct {
	loading, checkpoint, store, telemetry bool
	frames                                int
}

func contextsOf(x *worker.Exception) contexts {
	var c contexts
	c.loading = x.LoaderWorker >= 0
	visit := func(frames []worker.Frame) {
		for _, f := range frames {
			c.frames++
			c.telemetry = c.telemetry || knowledge.Telemetry(f.File)
			switch knowledge.Context(f.File, f.Func) {
			case knowledge.LoadingData:
				c.loading = true
			case knowledge.SavingCheckpoint, knowledge.LoadingCheckpoint:
				c.checkpoint = true
			case knowledge.AskingStore:
				c.store = true
			}
		}
	}
	visit(x.Frames)
	c.store = c.store || ofClient(x.Type)
	for i := range x.Cause {
		visit(x.Cause[i].Frames)
		c.loading = c.loading || x.Cause[i].LoaderWorker >= 0
	}
	return c
}

// ofClient says that an exception's class is one of a client of stores.
func ofClient(class string) bool {
	pack, _, _ := strings.Cut(class, ".")
	switch pack {
	case "requests", "urllib3", "aiohttp", "httpx", "botocore", "huggingface_hub", "gcsfs", "s3fs", "aistore", "oss2", "tos", "qcloud_cos":
		return true
	}
	return false
}

// netErrors are classes by which clients of stores say that a server or the way to it failed. Sources: requests, urllib3,
// aiohttp, httpx, http.client, botocore, fsspec, google-api-core, huggingface_hub, AIStore Python SDK.
var netErrors = map[string]bool{
	"ConnectionError": true, "ReadTimeout": true, "ConnectTimeout": true, "Timeout": true, "ChunkedEncodingError": true, "ProtocolError": true,
	"IncompleteRead": true, "ReadTimeoutError": true, "ConnectTimeoutError": true, "MaxRetryError": true, "NewConnectionError": true,
	"RemoteDisconnected": true, "ConnectionResetError": true, "ConnectionRefusedError": true, "ClientPayloadError": true,
	"ServerDisconnectedError": true, "ClientOSError": true, "ClientConnectorError": true, "ClientConnectorDNSError": true, "ServerTimeoutError": true,
	"FSTimeoutError": true, "TimeoutError": true, "RetryError": true, "ServiceUnavailable": true, "RemoteProtocolError": true, "ReadError": true,
	"ConnectError": true, "AISRetryableError": true, "ObjectFileReaderStreamError": true, "gaierror": true,
}

// inContext is classify, held against what the process was about when it raised.
func inContext(x *worker.Exception) (mech knowledge.Slug, role knowledge.Role, direct bool, sign knowledge.ID) {
	mech, role, direct, sign = classify(x)
	c := contextsOf(x)
	if c.telemetry {
		if mech.Is(knowledge.ReadsOrWrites) {
			return knowledge.Exception, knowledge.CauseRole, false, ""
		}
		return mech, role, direct, sign
	}
	class := x.Type[strings.LastIndexAny(x.Type, ".:")+1:]
	plain := sign == "" && (mech == knowledge.Exception || role == knowledge.ConsequenceRole || role == knowledge.SymptomRole)
	switch {
	case c.store && netErrors[class] && !c.checkpoint && (knowledge.AsksEngine(x.Message) || !c.loading && knowledge.AsksSomebody(x.Message)):
		return "", knowledge.SymptomRole, false, "" // the server failed before, or stood still
	case betweenProcesses(x, class) && (plain || sign == knowledge.IDStorageConnectionReset || sign == knowledge.IDCheckpointPickle):
		return "", knowledge.ConsequenceRole, false, ""
	case sign == knowledge.IDCheckpointPickle && received(x):
		return knowledge.CollectiveMismatch, knowledge.CauseRole, false, knowledge.IDCollectiveUnpickle
	case role == knowledge.SymptomRole && (mech == knowledge.PeerLost || mech == "") && onTheWayOut(x) && !holds(rootOf(x), sign):
		return classify(rootOf(x))
	case shortByStopIteration(x):
		return knowledge.AISBatchObjectLoss, knowledge.CauseRole, false, ""
	case sign == knowledge.IDConfigFileMissing && ofShard(x):
		return knowledge.CheckpointIO, knowledge.CauseRole, direct, sign
	case sign == knowledge.IDStorageFull && inSharedMemory(x):
		return knowledge.ResourceLimit, knowledge.CauseRole, direct, sign
	case sign.Says(knowledge.Damaged) && c.checkpoint && !c.loading:
		return knowledge.CheckpointIO, knowledge.CauseRole, direct, sign
	case sign.Says(knowledge.Damaged) && c.loading:
		return knowledge.BadSample, knowledge.CauseRole, direct, sign
	case sign.Says(knowledge.DamagedText) && c.frames > 0:
		return knowledge.Exception, knowledge.CauseRole, true, sign
	case sign.Says(knowledge.FileOperation) && c.checkpoint && !c.loading:
		return knowledge.CheckpointIO, knowledge.CauseRole, direct, sign
	case role == knowledge.SymptomRole && (mech == knowledge.StorageRetriesExhausted || sign == knowledge.IDStorageConnectionReset || sign == knowledge.IDStorageIncomplete) && (c.store || c.loading):
		// Tried again it would be a retry; raised it ends the read.
		return knowledge.StorageRetriesExhausted, knowledge.CauseRole, false, sign
	case plain && c.checkpoint && !c.loading && (class == "OSError" || class == "IOError" || class == "EOFError" || class == "BadZipFile"):
		return knowledge.CheckpointIO, knowledge.CauseRole, false, ""
	case plain && class == "EOFError" && fileEnds[x.Message] && c.loading:
		return knowledge.BadSample, knowledge.CauseRole, false, ""
	case plain && c.loading && (damaged.MatchString(x.Message) || slices.ContainsFunc(x.Cause, func(e worker.Exception) bool { return damaged.MatchString(e.Message) })):
		return knowledge.BadSample, knowledge.CauseRole, false, ""
	case plain && class == "EOFError" && (fileEnds[x.Message] || x.Message == inputEnds):
		return knowledge.Exception, knowledge.CauseRole, true, ""
	case plain && netErrors[class] && c.store:
		return knowledge.StorageRetriesExhausted, knowledge.CauseRole, false, ""
	}
	return mech, role, direct, sign
}

// shardOfCheckpoint is a file of torch.distributed.checkpoint: its name stands in the checkpoint's own table, so that the rest of it is there.
var shardOfCheckpoint = pattern.New(`/__\d+_\d+\.distcp\b`)

// ofShard says that an exception, or the one of another process that it tells, names such a file.
func ofShard(x *worker.Exception) bool {
	return shardOfCheckpoint.MatchString(x.Message) || slices.ContainsFunc(x.Cause, func(c worker.Exception) bool { return shardOfCheckpoint.MatchString(c.Message) })
}

// fileEnds is what Python (pickle, marshal) and numpy say of a file that is empty or cut short, inputEnds what input() says where
// nobody can answer: no process has to do with it. Of a pipe whose other end is gone an EOFError says nothing.
var fileEnds = map[string]bool{"Ran out of input": true, "No data left in file": true, "marshal data too short": true}

const inputEnds = "EOF when reading a line"

// damaged is what decoders say of an item that they cannot read, where data are being loaded; elsewhere it may be any file. Sources: Pillow,
// OpenCV, torchvision, CPython zipfile, HDF5 and its h5py, Snappy and Arrow.
var damaged = pattern.New(`^broken (?:PNG file|data stream when reading image file)|^Unsupported image file\.|Assertion failed\) !(?:_src|buf|ssize)\.empty\(\)|` +
	`^(?:File is not a zip file|Bad (?:CRC-32|magic number) for )|^Can't (?:synchronously )?read data \(|^Corrupt (?:snappy|Lz4|ZSTD)|metadata bytes, but (?:only )?(?:read|got) \d`)

// betweenProcesses says that a pipe or socket to another process of the same machine broke inside Python's multiprocessing: the
// process at its other end is gone, and no store or server has to do with it.
func betweenProcesses(x *worker.Exception, class string) bool {
	switch class {
	case "ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError", "BrokenPipeError", "EOFError", "FileNotFoundError",
		"UnpicklingError": // of a child whose parent was gone before it had told it everything
		if len(x.Frames) == 0 {
			return false
		}
		in := x.Frames[len(x.Frames)-1].File
		return strings.Contains(in, "/multiprocessing/") || strings.HasSuffix(in, "/torch/utils/data/_utils/pin_memory.py")
	}
	return false
}

// received says that what could not be unpickled had come from another rank: in PyTorch's collectives of objects, and in fairseq's.
func received(x *worker.Exception) bool {
	frames := rootOf(x).Frames
	if len(frames) == 0 {
		return false
	}
	in := frames[len(frames)-1]
	return in.Func == "all_gather_list" || in.Func == "_tensor_to_object" && strings.HasSuffix(in.File, "torch/distributed/distributed_c10d.py")
}

// inSharedMemory says that what had no room was made by a part of Python's multiprocessing that names no file: semaphores and
// shared memory are kept in /dev/shm.
func inSharedMemory(x *worker.Exception) bool {
	if len(x.Frames) == 0 {
		return false
	}
	file := x.Frames[len(x.Frames)-1].File
	return strings.HasSuffix(file, "/multiprocessing/synchronize.py") || strings.HasSuffix(file, "/multiprocessing/shared_memory.py")
}

// onTheWayOut says that a process that was already handling an exception of its own then met the others' absence: what it tells
// first is the cause. What programs catch all the time, and what PyTorch's own functions raise first, is none.
func onTheWayOut(x *worker.Exception) bool {
	root := rootOf(x)
	if root == x {
		return false
	}
	_, role, _, sign := classify(root)
	if role != knowledge.CauseRole {
		return false
	}
	if sign != "" {
		return true
	}
	if len(root.Frames) == 0 || strings.Contains(root.Frames[len(root.Frames)-1].File, "torch/distributed/") {
		return false
	}
	switch root.Type[strings.LastIndexAny(root.Type, ".:")+1:] {
	case "KeyError", "AttributeError", "IndexError", "ImportError", "ModuleNotFoundError", "FileNotFoundError", "StopIteration", "Empty", "Full", "TimeoutError":
		return false
	}
	return true
}

// shortByStopIteration says that Lhotse's first batch loader ran out of objects: it let StopIteration through.
func shortByStopIteration(x *worker.Exception) bool {
	root := rootOf(x)
	if root.Type != "StopIteration" && !strings.HasPrefix(x.Message, "generator raised StopIteration") {
		return false
	}
	for _, e := range []*worker.Exception{x, root} {
		if strings.HasSuffix(e.Type, "AISBatchLoaderError") {
			return false
		}
	}
	for _, f := range root.Frames {
		if strings.Contains(f.File, "lhotse/ais/") {
			return true
		}
	}
	return false
}
