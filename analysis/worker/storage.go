package worker

import (
	"math/bits"
	"slices"

	"faultline/analysis/line"
)

// What loaders and storage clients print of reads and writes that did not go as asked. A line here proves little alone:
// most retries recover. Whether one did, and what it led to, is resolve's business.

// IO is a line in which a loader or a storage client tells of a read or write that did not go as asked, other than the
// final line of a traceback. Integers are line.Unknown where the line does not state them.
// Observations hold it as KeptIO.
type IO struct {
	At
	Kind    string // see the IO constants
	Form    string // whose wording it is: urllib3, tenacity, ais-resume, hadoop, lhotse, …
	Attempt int    // which retry this is, from 1
	Limit   int    // how many there will be at most
	Left    int    // how many are left after this one (urllib3 counts down)
	Fault   string // what went wrong: reset, refused, timeout, broken, dns, throttled, missing, server; "" not told
	Target  string // host, bucket and object, or path, as far as named; bounded
	Access  Access // whether it was to be read or written, where that is said
	// Fallback says that the items of a batch are now read one by one: from here on the rank is slow.
	Fallback bool
	// More is how many alike lines of a loader right before it this one stands for.
	More int
}

// IO kinds.
const (
	IORetry  = "retry"   // tried again
	IOGaveUp = "gave-up" // not tried again
	IOLoader = "loader"  // a batch or an item of one did not come
)

// Reset is a line that names a connection which the other side closed or reset: of a loader, a storage client or plain
// HTTP, never of NCCL, Gloo or the job's own stores.
type Reset struct {
	At
	Word string // the first of ResetWords that it holds
	More int    // how many such lines right before it this one stands for
}

// ioRule is one wording.
type ioRule struct {
	form     string
	kind     string
	literals []string // any of them; the first that occurs is enough
	shape    shape    // reads the wording; nil: the literal is enough
	not      []string
	fallback bool
	// needs: the line must also speak of reading or writing something.
	needs bool
}

// ioRules, from the particular to the general: the first that reads a line wins. Sources: urllib3 util/retry.py and
// connectionpool.py; tenacity before_sleep.py; AIStore Python SDK (request_client.py, obj/obj_file); Lhotse
// ais/batch_loader.py of all generations; huggingface_hub utils/_http.py; datasets file_utils.py; google-api-core retry;
// backoff _common.py; gcsfs retry.py; botocore exceptions.py; Hadoop ipc/Client.java.
var ioRules = []ioRule{
	{form: "lhotse", kind: IOLoader, literals: []string{"AIStore batch.get() failed: "}, fallback: true},
	{form: "lhotse", kind: IOLoader, literals: []string{"Batch stream truncated at index "}, fallback: true, not: []string{"AISBatchLoaderError: ", "cannot recover"}},
	{form: "lhotse", kind: IOLoader, literals: []string{"Timeout while fetching batch result at index "}, fallback: true},
	{form: "lhotse", kind: IOLoader, literals: []string{"Retrying with direct AIStore API call", "Trying to get the object using AIStore API"}, fallback: true,
		shape: shapeEmptyObject},
	{form: "lhotse", kind: IOLoader, literals: []string{"ValueError during batch.get(): "}},
	{form: "lhotse", kind: IOLoader, literals: []string{"AISBatchLoader dropping "}},
	{form: "lhotse", kind: IOLoader, literals: []string{"Failed to fetch object "}, shape: shapeFailedFetch},
	{form: "lhotse", kind: IOLoader, literals: []string{"AISBatchLoaderError: ", "AISObjectLoaderError: "}, not: []string{": Caught "}},
	{form: "dataloader", kind: IOLoader, literals: []string{" in DataLoader worker process "}, not: []string{"AISBatchLoaderError", "AISObjectLoaderError"},
		shape: shapeCaught},

	{form: "ais", kind: IOGaveUp, literals: []string{"All retries exhausted; request failed"}},
	{form: "ais-resume", kind: IOGaveUp, literals: []string{"exceeded max number of stream resumptions"}},
	{form: "backoff", kind: IOGaveUp, literals: []string{"Giving up "}, shape: shapeGivingUp},
	{form: "gcsfs", kind: IOGaveUp, literals: []string{" out of retries on exception"}},
	{form: "botocore", kind: IOGaveUp, literals: []string{"(reached max retries: "}, not: []string{"etrying in", "etrying ("}, shape: shapeReached},

	{form: "urllib3", kind: IORetry, literals: []string{retryTotal}, shape: shapeBroken},
	{form: "urllib3", kind: IORetry, literals: []string{retryTotal}, shape: shapeLeft},
	{form: "urllib3", kind: IOGaveUp, literals: []string{"Max retries exceeded with url"}, not: []string{"Retrying ", "etrying in", " thrown while requesting "},
		shape: shapeHost},
	{form: "tenacity", kind: IORetry, literals: []string{" seconds as it raised ", " seconds as it returned "},
		shape: shapeTenacity},
	{form: "ais-resume", kind: IORetry, literals: []string{"Resuming '"}, shape: shapeResuming},
	{form: "hadoop", kind: IORetry, literals: []string{"Already tried "}, shape: shapeAlreadyTried},
	{form: "backoff", kind: IORetry, literals: []string{"Backing off "}, shape: shapeBackingOff},
	{form: "google", kind: IORetry, literals: []string{"Retrying due to "}, shape: shapeSleeping},
	// "Retrying in 5sec [1/20]", "retrying 2/5", "Retry 3 of 5", "(retry 1/3)".
	{form: "count", kind: IORetry, literals: []string{"etrying", "etry ", "RETRY"},
		shape: shapeRetry},
	{form: "count", kind: IORetry, literals: []string{"ttempt "}, needs: true, not: []string{"ucceeded"},
		shape: shapeAttempt},
	{form: "count", kind: IOGaveUp, literals: []string{" retries", " attempts", " tries"}, needs: true, not: []string{"attempts left"},
		shape: shapeGaveUp},
}

// Foreign are words of lines about other things than data: NCCL's and PyTorch's own sockets, launchers, telemetry. They
// retry and reset, too.
var Foreign = []string{
	"NCCL", "nccl", "TCPStore", "c10d", "socket.cpp", "ProcessGroup", "gloo", "Gloo", "UCX", "endezvous", "torch/distributed/elastic",
	"torch.distributed.elastic", "orker group", "wandb", "mlflow", "MLflow", "comet_ml", "COMET", "neptune", "clearml", "srun:", "slurmstepd:", "out of memory",
	// What NCCL and PyTorch say of their sockets in the lines below their name.
	"Call to recv", "Call to send", "Call to connect", "socketProgress", "socketPollConnect", "SocketImpl", "recvBytes", "sendBytes",
}

// faults tell what went wrong from words of the line, the particular ones first.
var faults = []struct {
	fault string
	words []string
}{
	{"refused", []string{"onnection refused", "ConnectionRefusedError"}},
	{"dns", []string{"name resolution", "Name or service not known", "NameResolutionError"}},
	{"throttled", []string{"SlowDown", "Too Many Requests", "STATUS:429", " 429 ", "ErrTooManyRequests"}},
	{"missing", []string{"NotFound", "does not exist", "NoSuchKey", "STATUS:404", " 404 ", "No such file"}},
	{"server", []string{"STATUS:50", " 500 ", " 502 ", " 503 ", " 504 ", "too many 50", "Service Unavailable", "Bad Gateway", "InternalError"}},
	{"timeout", []string{"imed out", "imeout"}},
	{"reset", []string{"onnection reset", "ConnectionResetError", "RemoteDisconnected", "Remote end closed connection", "ServerDisconnected", "onnection aborted"}},
	{"broken", []string{"IncompleteRead", "onnection broken", "ChunkedEncodingError", "roken pipe", "isconnected"}},
}

// faultWords are the words of all faults in their order.
func faultWords() []string {
	var list []string
	for _, f := range faults {
		list = append(list, f.words...)
	}
	return list
}

// Access is what a client wanted of its store, by the words of its line.
type Access uint8

// What a client wanted. Most clients print only the name of the object: then it is not said.
const (
	Unsaid Access = iota
	Reads
	Writes
	Saves // writes a checkpoint
)

// Words of lines about requests that read and that write: methods of HTTP, operations of S3 and of the clients of stores. "read" alone
// stands in the errors of sockets, whatever they were used for.
var (
	readWords  = []string{"GET /", "GET http", "GetObject", "get_object", "batch.get", "ownload", "etching ", "o fetch", "reading ", "read of "}
	writeWords = []string{"PUT /", "PUT http", "PutObject", "put_object", "UploadPart", "MultipartUpload", "pload", "writing ", "o write", "rite to", "saving "}
	saveWords  = []string{"heckpoint", "ckpt", ".distcp"}
)

// ioWords are those of Foreign, those of faults and those of what was wanted: lines of this business are asked for all.
var (
	ioWords = newWords(slices.Concat(Foreign, faultWords(), readWords, writeWords, saveWords)...)
	foreign = ioWords.part(0, len(Foreign))
	fault   = ioWords.part(len(Foreign), len(faultWords()))
	reads   = ioWords.part(len(Foreign)+len(faultWords()), len(readWords))
	writes  = ioWords.part(len(Foreign)+len(faultWords())+len(readWords), len(writeWords))
	saves   = ioWords.part(len(ioWords.list)-len(saveWords), len(saveWords))
)

// accessOf is what was wanted by the words that the text holds. A word for both says nothing.
func accessOf(f wordSet) Access {
	switch read, write := f.within(reads), f.within(writes); {
	case read && !write:
		return Reads
	case write && !read && f.within(saves):
		return Saves
	case write && !read:
		return Writes
	}
	return Unsaid
}

func isForeign(text []byte) bool { return ioWords.in(text).within(foreign) }

// faultOf is what went wrong by the words that the text holds; 0 if they do not tell, else its place in faults + 1.
func faultOf(f wordSet) uint8 {
	n := f.first(fault)
	if n < 0 {
		return 0
	}
	n -= len(Foreign)
	for i := range faults {
		if n < len(faults[i].words) {
			return uint8(i + 1)
		}
		n -= len(faults[i].words)
	}
	return 0
}

// ResetWords name a connection that the other side closed. A line counts once, whichever it holds.
var ResetWords = []string{"onnection reset by peer", "ConnectionResetError", "RemoteDisconnected", "Remote end closed connection", "ServerDisconnectedError"}

// storageHandlers read what loaders and storage clients print: retries, resets, short batches.
func storageHandlers() []handler {
	var literals []string
	for _, r := range ioRules {
		literals = append(literals, r.literals...)
	}
	return []handler{
		{"storage", literals, readIO},
		{"connection reset", ResetWords, readReset},
		{"doing", doingLiterals(), readDoing},
	}
}

// maxIOText bounds what is looked at of one line: an exception may carry a whole response.
const maxIOText = 8 << 10

func readIO(r *reader, rec *record) bool {
	if rec.foreign() {
		return false
	}
	text := rec.Text[:min(len(rec.Text), maxIOText)]
	for due := dueRules(r.table.rules, rec.ids); due != 0; due &= due - 1 {
		n := bits.TrailingZeros64(due)
		rule := &ioRules[n]
		if len(text) < len(rec.Text) && !containsAny(text, rule.literals) {
			continue
		}
		if v := &r.io; rule.tell(v, text, rec.said()) {
			v.At = rec.At
			if v.Kind == IOGaveUp && endured(text) {
				v.Kind, v.Fallback = IOLoader, true
			}
			r.keepIO(rec, n, v)
			return v.Kind == IORetry // what did not come, or was given up, may still be a failure that nobody knows
		}
	}
	return false
}

// ruleSets gives each of all literals the set of the rules that ask for it.
func ruleSets[T any](all []string, rules []T, asks func(*T) []string) []uint64 {
	sets := make([]uint64, len(all))
	for i := range rules {
		for _, l := range asks(&rules[i]) {
			if id, known := slices.BinarySearch(all, l); known {
				sets[id] |= 1 << i
			}
		}
	}
	return sets
}

// dueRules is the set of the rules that the literals of a record ask for.
func dueRules(sets []uint64, ids []uint16) (due uint64) {
	for _, id := range ids {
		due |= sets[id]
	}
	return due
}

// tell fills in what the rule reads in a text that holds one of its literals, and these of ioWords.
func (rule *ioRule) tell(v *IO, text []byte, said wordSet) bool {
	*v = IO{Kind: rule.kind, Form: rule.form, Attempt: line.Unknown, Limit: line.Unknown, Left: line.Unknown, Fallback: rule.fallback}
	switch {
	case containsAny(text, rule.not), rule.shape != nil && !rule.shape(v, text), rule.needs && !ofData(text):
		return false
	case v.Attempt != line.Unknown && v.Limit != line.Unknown && (v.Attempt > v.Limit+1 || v.Limit == 0):
		return false // no ladder counts like that
	}
	if n := faultOf(said); n > 0 {
		v.Fault = faults[n-1].fault
	}
	v.Access = accessOf(said)
	return true
}

func readReset(r *reader, rec *record) bool {
	if rec.foreign() {
		return false
	}
	n := len(ResetWords)
	for _, id := range rec.ids {
		if i := r.table.resets[id]; i > 0 {
			n = min(n, int(i)-1)
		}
	}
	if n == len(ResetWords) {
		return false
	}
	r.does |= other
	a := again(&rec.writer.resets, n)
	if a.at >= 0 {
		if last := &r.obs.Resets[a.at]; r.standsFor(a, &rec.At, &last.At, last.More) {
			last.At = rec.At
			last.More++
			return false
		}
	}
	keepStandIn(r, a, &r.obs.Resets, Reset{At: rec.At, Word: ResetWords[n]})
	return false
}

// keepIO keeps what rule n read.
func (r *reader) keepIO(rec *record, n int, v *IO) {
	r.does |= other
	if r.ios == nil {
		r.ios = ioLists.Get().(*[]KeptIO)
	}
	w := rec.writer
	kept := keptIO(v, n, w.whose(&rec.Who))
	if v.Kind != IOLoader {
		emit(r, r.ios, kept)
		w.lastIO = len(*r.ios)
		return
	}
	a := again(&w.loads, n)
	if a.at >= 0 && w.lastIO == a.at+1 {
		last := &(*r.ios)[a.at]
		if at := last.At(); r.standsFor(a, &rec.At, &at, last.More()) {
			kept.more = last.more + 1
			*last = kept
			return
		}
	}
	keepStandIn(r, a, r.ios, kept)
	w.lastIO = len(*r.ios)
}
