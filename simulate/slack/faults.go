package slack

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// What a fault does.
const (
	RateLimit      = "ratelimit"       // 429 with Retry-After, no effect
	FailBefore     = "fail_before"     // a 5xx, no effect
	FailAfter      = "fail_after"      // the effect takes place, the answer is a 5xx
	Refuse         = "refuse"          // "ok": false with Error, no effect
	HideShares     = "hide_shares"     // files.info does not say yet where a file is shown: Slack shares a moment later
	Slow           = "slow"            // the answer comes after Delay
	Hang           = "hang"            // no answer at all: the connection is cut
	SizeMismatch   = "size_mismatch"   // an upload is refused for its size
	DropAck        = "drop_ack"        // an acknowledgement is not seen
	Cut            = "cut"             // the socket ends instead of delivering
	CutMidFrame    = "cut_mid_frame"   // the socket ends inside the frame
	Deaf           = "deaf"            // a new socket gets PINGs and nothing else
	NoPing         = "no_ping"         // a new socket gets no PINGs
	Twice          = "twice"           // the same envelope or request two times
	BadSignature   = "bad_signature"   // an HTTP delivery signed with another secret
	StaleSignature = "stale_signature" // an HTTP delivery signed Delay ago (6 min)
	Replay         = "replay"          // an HTTP delivery sent again, byte for byte
)

// Fault is a rule for things to go wrong.
type Fault struct {
	// Method is a Web API method, or "upload", "download", "response_url", "socket" (a new one), "deliver" (anything to
	// the app), "ack" (anything from it), or "*" for every Web API method.
	Method  string `json:"method"`
	Channel string `json:"channel,omitempty"` // only calls for this channel
	Skip    int    `json:"skip,omitempty"`    // so many uses pass before
	Times   int    `json:"times,omitempty"`   // so many are hit then; 0 is one, negative is all
	Do      string `json:"do"`

	RetryAfter int           `json:"retry_after,omitempty"` // seconds, 1 unless set
	Status     int           `json:"status,omitempty"`      // 500 unless set
	Error      string        `json:"error,omitempty"`
	Delay      time.Duration `json:"delay,omitempty"`

	hits int
}

// AddFault puts a rule in force. The first rule that fits a use is the one that counts.
func (s *Server) AddFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// ClearFaults takes all rules away.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) fault(method, channel string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faultLocked(method, channel)
}

// faultLocked returns the rule that hits this use, or nil. Methods with a dot are the Web API's.
func (s *Server) faultLocked(method, channel string) *Fault {
	api := methods[method].do != nil
	for _, f := range s.faults {
		if (f.Method != method && (f.Method != "*" || !api)) || (f.Channel != "" && f.Channel != channel) {
			continue
		}
		f.hits++
		times := f.Times
		if times == 0 {
			times = 1
		}
		if f.hits > f.Skip && (times < 0 || f.hits <= f.Skip+times) {
			hit := *f
			return &hit
		}
	}
	return nil
}

func (f *Fault) status() int {
	switch {
	case f == nil:
		return http.StatusOK
	case f.Do == RateLimit:
		return http.StatusTooManyRequests
	case f.Status == 0:
		return http.StatusInternalServerError
	}
	return f.Status
}

func (f *Fault) delay(otherwise time.Duration) time.Duration {
	if f.Delay == 0 {
		return otherwise
	}
	return f.Delay
}

// before does what a fault does ahead of the effect, and says whether that was the whole answer.
func (f *Fault) before(w http.ResponseWriter, r *http.Request, clock Clock) bool {
	if f == nil {
		return false
	}
	switch f.Do {
	case RateLimit:
		tooMany(w, time.Duration(max(1, f.RetryAfter))*time.Second)
	case FailBefore:
		http.Error(w, "injected fault", f.status())
	case Hang:
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	case Slow:
		over := make(chan struct{})
		stop := clock.AfterFunc(f.delay(4*time.Second), func() { close(over) })
		select {
		case <-over:
		case <-r.Context().Done():
			stop()
		}
		return false
	default:
		return false
	}
	return true
}

// tooMany is Slack's answer to somebody who is too fast.
func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	writeJSON(w, http.StatusTooManyRequests, reply{"ok": false, "error": "ratelimited"})
}

// bucket lets calls through at a steady rate, with some in advance.
type bucket struct {
	left float64
	at   time.Time
}

// Slack allows about one message in a second per channel, "with short bursts"; how short is not documented.
const (
	postsPerSecond = 1.0
	postBurst      = 4
)

// limited returns how long the caller has to wait before this call is let through; zero lets it through now.
func (s *Server) limited(name, channel string) time.Duration {
	m, known := methods[name]
	if !s.opts.RateLimits || !known {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, rate, burst := name, float64(m.perMinute)/60, float64(m.perMinute)
	if name == "chat.postMessage" {
		key, rate, burst = name+" "+channel, postsPerSecond, postBurst
	}
	now := s.clock.Now()
	b := s.limits[key]
	if b == nil {
		b = &bucket{left: burst, at: now}
		s.limits[key] = b
	}
	b.left = math.Min(burst, b.left+now.Sub(b.at).Seconds()*rate)
	b.at = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / rate * float64(time.Second))
	}
	b.left--
	return 0
}
