package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// checkWait bounds one look at whether all is well.
const checkWait = 5 * time.Second

// opsHandler serves /healthz (the process answers), /readyz (everything it needs works; each check by name) and /metrics.
func opsHandler(registry *prometheus.Registry, checks map[string]func(context.Context) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkWait)
		defer cancel()
		text, well := readiness(ctx, checks)
		if !well {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, text)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// readiness is a line for each check, in the order of their names.
func readiness(ctx context.Context, checks map[string]func(context.Context) error) (text string, well bool) {
	var lines []string
	well = true
	for name, check := range checks {
		line := name + ": ok"
		if err := check(ctx); err != nil {
			line, well = name+": "+err.Error(), false
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", well
}
