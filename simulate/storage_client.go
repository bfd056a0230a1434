package simulate

import (
	"fmt"
	"strings"
	"time"

	"faultline/simulate/aiscluster"
)

// What the job's readers print of answers of the storage: the AIS SDK, urllib3 and requests below it, Lhotse's loader above.

const (
	lhotse    = "lhotse.ais.batch_loader"
	aisSDK    = pySite + "aistore/sdk/"
	aisLoader = pySite + "lhotse/ais/batch_loader.py"
)

// said is an answer as the SDK's exceptions print it.
func said(a aiscluster.Seen) string {
	return fmt.Sprintf("STATUS:%d, MESSAGE:%s, REQ_URL:%s", a.Status, a.Message, a.URL)
}

// exceptionOf is the SDK's class for an answer, and what Python prints of it.
func exceptionOf(a aiscluster.Seen) string {
	switch {
	case a.Status == 0:
		return "requests.exceptions.ConnectionError: " + refusedPool(a)
	case a.Status == 404 && a.Object != "":
		return "aistore.sdk.errors.ErrObjNotFound: " + said(a)
	}
	if a.Status == 409 {
		return "aistore.sdk.errors.ErrGETConflict: " + said(a)
	}
	return "aistore.sdk.errors.AISError: " + said(a)
}

// refusedPool is what urllib3 says of a daemon that takes no connection.
func refusedPool(a aiscluster.Seen) string {
	host, port, path := splitURL(a.URL)
	return fmt.Sprintf("HTTPConnectionPool(host='%s', port=%s): Max retries exceeded with url: %s (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f3a2c51b0d0>: Failed to establish a new connection: [Errno 111] Connection refused'))", host, port, path)
}

func splitURL(url string) (host, port, path string) {
	rest := url[len("http://"):]
	for i := range len(rest) {
		switch rest[i] {
		case ':':
			host = rest[:i]
		case '/':
			return host, rest[len(host)+1 : i], rest[i:]
		}
	}
	return rest, "80", "/"
}

// signed: a line that nothing ties to its rank would leave open whom the storage reached.
const signed = false // the last argument of logger is "bare"

// tenacity is a retry of the SDK.
func (p *storageSide) tenacity(r int, t time.Duration, why string) {
	p.s.logger(r, t, "WARNING", "root", fmt.Sprintf("Retrying aistore.sdk.request_client.RequestClient._request_with_retry in %.2f seconds as it raised %s.", 1+p.s.rng.Float64()*6, why), signed)
}

// hears writes the first that a rank's reader prints of what was answered, and says when.
func (p *storageSide) hears(r int, t time.Duration, seen storageSeen) (time.Duration, aiscluster.Seen) {
	s := p.s
	if len(seen.answers) == 0 {
		return t, aiscluster.Seen{}
	}
	a := seen.answers[0]
	if n := min(3, len(seen.answers)); n > 1 {
		a = seen.answers[s.rng.IntN(n)]
	}
	at := p.since(a.At) + ms(2+s.rng.IntN(60))
	switch {
	case seen.silent:
		url := a.URL
		host, port, _ := splitURL(url)
		early := t - sec(2)
		for i := range 3 { // before a daemon gives a batch up, the reader has asked for it three times
			s.logger(r, early+time.Duration(i*22)*time.Second, "WARNING", lhotse, fmt.Sprintf("Timeout while fetching batch result at index %d: HTTPConnectionPool(host='%s', port=%s): Read timed out. (read timeout=20). Falling back to direct AIStore API call.", 3+i, host, port), signed)
		}
		s.logger(r, at, "WARNING", lhotse, "AIStore batch.get() failed: "+said(a)+". Falling back to sequential GET requests.", signed)
	case a.Object == "" || strings.Contains(a.URL, "/v1/ml/moss/"):
		s.logger(r, at, "WARNING", lhotse, "AIStore batch.get() failed: "+said(a)+". Falling back to sequential GET requests.", signed)
		if seen.short {
			p.short(r, at+ms(900))
		}
	case a.Status == 0:
		p.tenacity(r, at, "ConnectionError: "+refusedPool(a))
	case p.Batches() && (a.Status == 404 || a.Status == 500):
		s.logger(r, at-ms(1), "WARNING", lhotse, fmt.Sprintf("Object %s from bucket %s returned empty content. Retrying with direct AIStore API call.", a.Object, p.Bucket), signed)
		p.tenacity(r, at+ms(20), shortExc(a))
	default:
		p.tenacity(r, at, shortExc(a))
	}
	return at, a
}

// short is a batch that ends before all of its objects came, as Lhotse's generations take it.
func (p *storageSide) short(r int, t time.Duration) {
	if p.spec().Release == "5.0" || p.spec().Release == "4.9" {
		p.s.logger(r, t, "WARNING", lhotse, fmt.Sprintf("Batch stream truncated at index %d/32. Falling back to direct AIStore API calls for remaining objects.", 3+p.s.rng.IntN(28)), signed)
	}
}

func (p *storageSide) spec() *AIS { return &p.s.spec.AIS }

// dies is a rank that gives up: its ladder, its exception, and how the others take it. It returns when it died.
func (p *storageSide) dies(r int, t time.Duration, seen storageSeen) time.Duration {
	s := p.s
	at, a := p.hears(r, t, seen)
	object := a.Object
	if object == "" {
		object = p.Object()
	}
	t = max(t, at) + ms(400)
	for i := range 1 + s.rng.IntN(4) {
		t += time.Duration(1+i)*time.Second + s.jitter(time.Second)
		p.tenacity(r, t, shortExc(a))
	}
	t += sec(2)
	from := s.here()
	if seen.short {
		s.python(r, t, p.shortTrace()...)
		s.mark(from, saysFault)
		s.falls(death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()})
		return t
	}
	s.logger(r, t-ms(300), "ERROR", "aistore.sdk.request_client", "All retries exhausted; request failed", signed)
	if p.Batches() {
		s.logger(r, t-ms(200), "ERROR", lhotse, fmt.Sprintf("Failed to fetch object %s from bucket %s: %s", object, p.Bucket, said(a)), signed)
	}
	s.python(r, t, p.trace(a, object)...)
	s.mark(from, saysFault)
	d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
	s.falls(d)
	return t
}

// shortExc is an exception without its module.
func shortExc(a aiscluster.Seen) string {
	e := exceptionOf(a)
	for i := range len(e) {
		if e[i] == ':' {
			for j := i; j >= 0; j-- {
				if e[j] == '.' {
					return e[j+1:]
				}
			}
			break
		}
	}
	return e
}

// trace is the exception of a reader that gave up.
func (p *storageSide) trace(a aiscluster.Seen, object string) []string {
	sdk := []pyFrame{{File: aisSDK + "obj/object_reader.py", Line: 163, Func: "read_all", Code: "return self._make_request().content"},
		{File: aisSDK + "request_client.py", Line: 289, Func: "_request_with_retry", Code: "return self._send(request)"}}
	if !p.Batches() {
		return pyTraceback(loaderFrames(sdk...), exceptionOf(a))
	}
	return pyChain(pyDirectCause, pyTraceback(append([]pyFrame{{File: aisLoader, Line: 151, Func: "_sequential_get", Code: "content = self._get_object_from_moss_in(moss_in)"}}, sdk...), exceptionOf(a)),
		pyTraceback(loaderFrames(pyFrame{File: aisLoader, Line: 158, Func: "_sequential_get", Code: "raise AISBatchLoaderError("}),
			"lhotse.ais.batch_loader.AISBatchLoaderError: Sequential GET fallback failed for "+object))
}

// shortTrace is the exception of a loader whose batch came short.
func (p *storageSide) shortTrace() []string {
	const own = "lhotse.ais.batch_loader.AISBatchLoaderError: "
	stop := pyTraceback([]pyFrame{{File: aisLoader, Line: 170, Func: "__call__", Code: "info, content = next(batch_result)"}}, "StopIteration")
	switch {
	case p.spec().Release != "4.2":
		return pyTraceback(loaderFrames(pyFrame{File: aisLoader, Line: 240, Func: "__call__", Code: "raise AISBatchLoaderError("}),
			own+"Batch stream truncated at index 17, but cannot recover: index out of range for saved_requests_list (len=16)")
	case p.spec().Variant%2 == 0:
		return pyChain(pyDirectCause, stop, pyTraceback(loaderFrames(), "RuntimeError: generator raised StopIteration"))
	}
	return pyChain(pyDuringAnother, stop, pyTraceback(loaderFrames(pyFrame{File: aisLoader, Line: 172, Func: "__call__", Code: "raise AISBatchLoaderError("}),
		own+"Batch result iterator exhausted prematurely. Expected more objects for manifests with URLs."))
}

// slows is a rank that reads on object by object, and holds the others until their watchdogs end the job. It returns when the
// job stopped reading.
func (p *storageSide) slows(r int, t time.Duration, seen storageSeen) time.Duration {
	s := p.s
	at, a := p.hears(r, t, seen)
	end := t + time.Duration(s.timeoutMS)*time.Millisecond
	for i, next := 0, max(at, t)+sec(5); i < 6 && next < end && !seen.silent; i++ {
		p.tenacity(r, next, shortExc(a))
		next += time.Duration(8*(i+1)) * time.Second
	}
	p.holds(r, t)
	return t + sec(20)
}

// allDie is every rank that is refused at one instant.
func (p *storageSide) allDie(t time.Duration, seen storageSeen) time.Duration {
	s := p.s
	d := death{code: 1, peers: "killed", at: t + ms(900)}
	for r := range s.world {
		a := seen.answers[r%len(seen.answers)]
		at := p.since(a.At) + ms(1+r%40)
		s.logger(r, at, "ERROR", lhotse, fmt.Sprintf("Failed to fetch object %s from bucket %s: %s", p.Object(), p.Bucket, said(a)), signed)
		s.python(r, at+ms(3), p.trace(a, p.Object())...)
		d.ranks = append(d.ranks, r)
		d.at = max(d.at, at+ms(300))
	}
	s.falls(d)
	return d.at
}
