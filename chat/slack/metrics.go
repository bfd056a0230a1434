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
		Inbound:     counters("inbound_total", "User actions, by kind.", "kind"),
		Duplicates:  counter("inbound_duplicates_total", "Deliveries that were already stored (duplicates)."),
		Refused:     counters("http_refused_total", "Requests refused, by reason.", "reason"),
		BadMessages: counter("bad_messages_total", "Payloads that don't match Slack's documentation."),
		Overflow:    counter("inbound_overflow_total", "Envelopes left for Slack to redeliver because too many were waiting."),
		StoreErrors: counter("inbound_store_errors_total", "User actions that could not be stored and were not acknowledged."),
		Ack: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "ack_seconds",
			Help:    "Time from receiving a payload to acknowledging it; Slack gives up after 3 s.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3}}, []string{"kind"}),
		LastInbound:  gauge("last_inbound_timestamp_seconds", "Time of the last delivery from Slack."),
		Sockets:      gauge("sockets_open", "Open Socket Mode connections."),
		Connections:  gauge("app_connections", "App connections across all replicas, as reported by Slack's last hello."),
		Recycled:     counters("sockets_recycled_total", "Connections replaced on purpose, by reason.", "reason"),
		Panics:       counter("panics_total", "Handlers that panicked."),
		Posts:        counters("posts_total", "Outbox rows processed, by kind and outcome.", "kind", "outcome"),
		Calls:        counters("api_calls_total", "Slack Web API calls, by method and outcome.", "method", "outcome"),
		RateLimited:  counters("rate_limited_seconds_total", "Time Slack asked the bot to wait, by method.", "method"),
		PostDegraded: counters("posts_degraded_total", "Messages simplified to fit Slack's limits, by kind.", "how"),
	}
	if reg != nil {
		reg.MustRegister(m.Inbound, m.Duplicates, m.Refused, m.BadMessages, m.Overflow, m.StoreErrors, m.Ack, m.LastInbound, m.Sockets,
			m.Connections, m.Recycled, m.Panics, m.Posts, m.Calls, m.RateLimited, m.PostDegraded)
	}
	return m
}
