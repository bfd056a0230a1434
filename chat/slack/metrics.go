package slack

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the numbers of this package. Times are in seconds.
type Metrics struct {
	Inbound      *prometheus.CounterVec // by kind; "ignored" for what nobody handles
	Duplicates   prometheus.Counter     // deliveries of acts that are stored already
	Refused      *prometheus.CounterVec // HTTP requests refused, by reason
	BadMessages  prometheus.Counter     // payloads that are not as documented
	Overflow     prometheus.Counter     // envelopes dropped, unacknowledged, because too many waited
	StoreErrors  prometheus.Counter     // acts that could not be stored
	Ack          *prometheus.HistogramVec
	LastInbound  prometheus.Gauge // Unix time
	Sockets      prometheus.Gauge // open now
	Connections  prometheus.Gauge // of the whole app, as Slack last said
	Recycled     *prometheus.CounterVec
	Panics       prometheus.Counter
	Posts        *prometheus.CounterVec // by kind and outcome
	Calls        *prometheus.CounterVec // Web API calls by method and outcome
	RateLimited  *prometheus.CounterVec // seconds that Slack made us wait, by method
	PostDegraded *prometheus.CounterVec // by how much was lost: "fit", "lines", "plain", "no files"
}

// NewMetrics makes and registers them. A nil registerer registers nowhere.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	const ns, sub = "faultline", "slack"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
	}
	m := &Metrics{
		Inbound:     counters("inbound_total", "What people did, by kind.", "kind"),
		Duplicates:  counter("inbound_duplicates_total", "Deliveries of something that was stored before."),
		Refused:     counters("http_refused_total", "Requests that were refused, by reason.", "reason"),
		BadMessages: counter("bad_messages_total", "Payloads that are not as Slack documents them."),
		Overflow:    counter("inbound_overflow_total", "Envelopes that were left to Slack to repeat because too many waited."),
		StoreErrors: counter("inbound_store_errors_total", "Acts that could not be stored; they were not acknowledged as done."),
		Ack: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "ack_seconds",
			Help:    "Time from receiving a payload to acknowledging it; Slack gives up after 3.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3}}, []string{"kind"}),
		LastInbound:  gauge("last_inbound_timestamp_seconds", "When Slack last delivered anything."),
		Sockets:      gauge("sockets_open", "Socket Mode connections that are open."),
		Connections:  gauge("app_connections", "Connections of the app, of all replicas, as Slack counted at the last hello."),
		Recycled:     counters("sockets_recycled_total", "Connections that were replaced on purpose, by reason.", "reason"),
		Panics:       counter("panics_total", "Handlers that panicked and were stopped."),
		Posts:        counters("posts_total", "Rows of the outbox that were worked on, by kind and outcome.", "kind", "outcome"),
		Calls:        counters("api_calls_total", "Calls of Slack's Web API by method and outcome.", "method", "outcome"),
		RateLimited:  counters("rate_limited_seconds_total", "Time that Slack asked to wait, by method.", "method"),
		PostDegraded: counters("posts_degraded_total", "Messages that had to be made simpler, by how.", "how"),
	}
	if reg != nil {
		reg.MustRegister(m.Inbound, m.Duplicates, m.Refused, m.BadMessages, m.Overflow, m.StoreErrors, m.Ack, m.LastInbound, m.Sockets,
			m.Connections, m.Recycled, m.Panics, m.Posts, m.Calls, m.RateLimited, m.PostDegraded)
	}
	return m
}
