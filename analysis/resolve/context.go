package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/knowledge/stated"
	"faultline/pattern"
)

// contexts are what the frames of a traceback say that the process was about.
type contexts struct {
	loading, checkpoint, store, joining, telemetry bool
	frames                                         int
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
			case knowledge.JoiningGroup:
				c.joining = true
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

// unreachable is what the system and its libraries say where a process on the network was not reached. Sources: glibc strerror, gRPC status codes.
var unreachable = pattern.New(`(?i)\b(?:connect(?:ion|ing)? (?:timed out|refused|reset)|timed out|no route to host|(?:network|host) is unreachable|deadline[ _]exceeded|` +
	`(?:temporary failure in )?name resolution|name or service not known|cannot assign requested address)\b`)

// setting is an exception with what its words mean by themselves, and what its process was about.
type setting struct {
	known *knowledge.Catalogue
	Meaning
	contexts
	x     *worker.Exception
	class string
	plain bool // no line of knowledge says what it is
	heard heard
	said  stated.Statement  // what its message states, see hear
	by    *worker.Exception // whose message that is: its own, or that of a cause
}

func settingOf(known *knowledge.Catalogue, x *worker.Exception) *setting {
	s := &setting{known: known, Meaning: classify(known, x), contexts: contextsOf(x), x: x, class: className(x.Type)}
	s.plain = s.Sign == "" && (s.Mechanism == knowledge.Exception || s.Role == knowledge.ConsequenceRole || s.Role == knowledge.SymptomRole)
	return s
}

// saves says that the process saved or loaded a checkpoint, and no data.
func (s *setting) saves() bool { return s.checkpoint && !s.loading }

// contextRule says what an exception means in a context.
type contextRule struct {
	holds func(s *setting) bool
	is    func(s *setting) Meaning
	why   string
}

// always is a meaning that does not depend on the exception.
func always(m Meaning) func(*setting) Meaning { return func(*setting) Meaning { return m } }

// caused is the meaning of what a mechanism may have caused.
func caused(m knowledge.Slug) func(*setting) Meaning {
	return always(Meaning{Mechanism: m, Role: knowledge.CauseRole})
}

// contextFirst are asked in order before the cases of the entry; the first that holds decides.
var contextFirst = []contextRule{
	{(*setting).askedInVain, always(Meaning{Role: knowledge.SymptomRole}), "a server it called had already failed or stalled"},
	{(*setting).brokenPipe, always(Meaning{Role: knowledge.ConsequenceRole}), "the process at the other end of its pipe was gone"},
	{(*setting).leaving, func(s *setting) Meaning { return classify(s.known, rootOf(s.x)) }, "it was handling its own error when it noticed that other ranks were gone"},
	{func(s *setting) bool { return shortByStopIteration(s.x) }, caused(knowledge.AISBatchObjectLoss), "the batch loader ran out of objects"},
}

// contextLast are asked where the entry has no case that holds.
var contextLast = []contextRule{
	{(*setting).triedBefore, func(s *setting) Meaning {
		return Meaning{Mechanism: knowledge.StorageRetriesExhausted, Role: knowledge.CauseRole, Sign: s.Sign}
	}, "it was raised and not retried, so the read failed"},
	{func(s *setting) bool { return s.plain && s.saves() && fileErrors[s.class] }, caused(knowledge.CheckpointIO), "it was saving or loading a checkpoint"},
	{func(s *setting) bool { return s.plain && s.class == "EOFError" && fileEnds[s.x.Message] && s.loading }, caused(knowledge.BadSample), "a data file is truncated"},
	{func(s *setting) bool { return s.plain && s.loading && undecodable(s.x) }, caused(knowledge.BadSample), "a decoder couldn't read a data item"},
	{func(s *setting) bool {
		return s.plain && s.class == "EOFError" && (fileEnds[s.x.Message] || s.x.Message == inputEnds)
	}, always(unexplained), "a file or the input ended; no other process was involved"},
	{func(s *setting) bool { return s.plain && s.joining && unreachable.MatchString(s.x.Message) }, caused(knowledge.InitUnreachable), "it was joining a group of processes"},
	{func(s *setting) bool { return s.plain && netErrors[s.class] && s.store }, caused(knowledge.StorageRetriesExhausted), "it was accessing a store"},
	{func(s *setting) bool { return s.plain && s.class == "Empty" && s.loading }, caused(knowledge.DataloaderStall), "its loader's queue stayed empty for as long as it waited"},
	{(*setting).speaks, (*setting).asStated, "its message states the cause"},
}

// inContext is what the exception means where its process was about something, and why; no reason where that changes nothing.
func (s *setting) inContext() (Meaning, string) {
	if s.telemetry {
		if s.Mechanism.Is(knowledge.ReadsOrWrites) {
			return Meaning{Mechanism: knowledge.Exception, Role: knowledge.CauseRole}, "it was reporting to a monitoring service"
		}
		return s.Meaning, ""
	}
	if r := s.first(contextFirst); r != nil {
		return r.is(s), r.why
	}
	for _, c := range s.known.Entry(s.Sign).Cases {
		if c.In != 0 && s.about()&c.In != 0 {
			return s.Meaning.in(&c), c.Why
		}
	}
	if r := s.first(contextLast); r != nil {
		return r.is(s), r.why
	}
	return s.Meaning, ""
}

// first returns the first rule that holds, nil where none does.
func (s *setting) first(rules []contextRule) *contextRule {
	for i := range rules {
		if rules[i].holds(s) {
			return &rules[i]
		}
	}
	return nil
}

// about is what the process was about, as cases ask for it.
func (s *setting) about() (all knowledge.Situation) {
	for _, p := range []struct {
		is    knowledge.Situation
		holds bool
	}{
		{knowledge.WithCheckpoint, s.saves()},
		{knowledge.WithData, s.loading},
		{knowledge.WithStore, s.store},
		{knowledge.InTraceback, s.frames > 0},
		{knowledge.FromRank, received(s.x)},
		{knowledge.OfShard, ofShard(s.x)},
		{knowledge.InSharedMemory, inSharedMemory(s.x)},
		{knowledge.OfAbsurdSize, absurd(s.x.Message)},
	} {
		if p.holds {
			all |= p.is
		}
	}
	return all
}

// askedFor is the memory that an allocator could not get, as PyTorch, NumPy and XLA state it.
var askedFor = pattern.New(`(?:[Tt]ried to allocate|[Uu]nable to allocate|trying to allocate) (?:(more than 1EB)|([\d.]{1,30}) ?(bytes|[KMGTPE]i?B))`)

// absurd says that a process asked for more memory at once than machines have: 3 TiB on the host, 1 TiB on a GPU.
func absurd(message string) bool {
	const tera = 1 << 40
	m := askedFor.FindStringSubmatch(message)
	if m == nil {
		return false
	}
	if m[1] != "" {
		return true
	}
	n, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return false
	}
	for _, unit := range "KMGTPE" {
		if m[3][0] == 'b' {
			break
		}
		if n *= 1024; m[3][0] == byte(unit) {
			break
		}
	}
	if strings.Contains(message, "out of memory. Tried") {
		return n >= tera
	}
	return n >= 3*tera
}

// askedInVain says that a server of the job or an engine did not answer.
func (s *setting) askedInVain() bool {
	if !s.store || !netErrors[s.class] || s.checkpoint {
		return false
	}
	return knowledge.AsksEngine(s.x.Message) || !s.loading && knowledge.AsksSomebody(s.x.Message)
}

// brokenPipe says that a connection to another process of the machine broke, and nothing more is known of it.
func (s *setting) brokenPipe() bool {
	return betweenProcesses(s.x, s.class) && (s.plain || s.known.Entry(s.Sign).Says&knowledge.OverPipe != 0)
}

// leaving says that a process lost its peers while it was on its way out.
func (s *setting) leaving() bool {
	lost := s.Role == knowledge.SymptomRole && (s.Mechanism.Is(knowledge.PeerGone) || s.Mechanism == "")
	return lost && onTheWayOut(s.known, s.x) && !holds(s.known, rootOf(s.x), s.Sign)
}

// triedBefore says that what clients of stores try again was raised instead.
func (s *setting) triedBefore() bool {
	return s.Role == knowledge.SymptomRole && s.Mechanism.Is(knowledge.TriedAgain) && (s.store || s.loading)
}

// undecodable says that the words of an exception, or of one beneath it, are a decoder's.
func undecodable(x *worker.Exception) bool {
	return damaged.MatchString(x.Message) || slices.ContainsFunc(x.Cause, func(e worker.Exception) bool { return damaged.MatchString(e.Message) })
}

// fileErrors are classes by which Python says that a file could not be read or written.
var fileErrors = map[string]bool{"OSError": true, "IOError": true, "EOFError": true, "BadZipFile": true}

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

// hear finds what the message of an exception states; where that says nothing, the message of what it was raised from, or of what a loader's
// process raised, the nearest first.
func (s *setting) hear() {
	codes := s.known.Reads(stated.Codes)
	if s.said, s.by = s.heard.states(s.class, s.x, codes), s.x; s.said.Cause != "" || !s.x.From && !s.loading {
		return
	}
	for i := len(s.x.Cause) - 1; i >= 0; i-- {
		if st := s.heard.states(className(s.x.Cause[i].Type), &s.x.Cause[i], codes); st.Cause != "" {
			s.said, s.by = st, &s.x.Cause[i]
			return
		}
	}
}

// speaks says that nothing else is known of an exception, and that its message states a cause.
func (s *setting) speaks() bool {
	if s.Meaning != unexplained {
		return false
	}
	s.hear()
	return s.said.Cause != ""
}

// asStated is what such an exception means: the entry of the cause, in the case of it that the traceback or the names in its words tell.
func (s *setting) asStated() Meaning {
	return meaningOf(s.known, &s.said, s.about()|aboutOf(s.by.Message))
}

// onTheWayOut says that a process that was already handling an exception of its own then met the others' absence: what it tells
// first is the cause. What programs catch all the time, and what PyTorch's own functions raise first, is none.
func onTheWayOut(known *knowledge.Catalogue, x *worker.Exception) bool {
	root := rootOf(x)
	if root == x {
		return false
	}
	m := classify(known, root)
	if m.Role != knowledge.CauseRole {
		return false
	}
	if m.Sign != "" {
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
