package applying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/balancer/report/machine"
)

// WriteMetrics writes what a run has done so far in the text format of Prometheus.
func WriteMetrics(to io.Writer, s pace.Stats) error {
	var failures, waits []machine.Sample
	for _, class := range []policy.Failure{policy.AgainNow, policy.AgainLater, policy.SkipRange, policy.Ask} {
		failures = append(failures, machine.Sample{
			Value: float64(s.Failures[class]), Labels: []string{"class", class.String()},
		})
	}
	for _, reason := range []pace.Reason{pace.Pausing, pace.Failing, pace.Shut, pace.NoAnswer, pace.Busy} {
		waits = append(waits, machine.Sample{Value: s.Waited[reason].Seconds(), Labels: []string{"reason", string(reason)}})
	}
	return errors.Join(
		machine.WriteMetric(to, "shardsh_run_moves_total", "counter", "Moves that have ended well.",
			[]machine.Sample{{Value: float64(s.Moves)}}),
		machine.WriteMetric(to, "shardsh_run_bytes_total", "counter", "Bytes that those moves were expected to move.",
			[]machine.Sample{{Value: float64(s.Bytes)}}),
		machine.WriteMetric(to, "shardsh_run_failures_total", "counter", "Moves, splits and merges that failed.", failures),
		machine.WriteMetric(to, "shardsh_run_waited_seconds_total", "counter", "How long nothing could begin.", waits),
	)
}

// ServeMetrics answers who asks an address for /metrics, until stop. Without a host
// only this machine can ask. It returns where it listens.
func ServeMetrics(ctx context.Context, address string, stats func() pace.Stats) (at string, stop func(), err error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var page bytes.Buffer
		_ = WriteMetrics(&page, stats()) // into memory, which never fails
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(page.Bytes()) // who asked has gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with stop
	}()
	return listener.Addr().String(), func() {
		_ = server.Close() // it was only read
		<-done
	}, nil
}
