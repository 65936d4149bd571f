package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/balancer/report/machine"
)

// runMetrics are the metrics of a run in progress.
type runMetrics struct {
	stats func() pace.Stats
	// holder returns the holder of the lease, or false while there is none. It may be nil.
	holder func() (live.Holder, bool)
}

// write writes the metrics in the text format of Prometheus. Unknown values are left out.
func (r runMetrics) write(to io.Writer) error {
	s := r.stats()
	err := errors.Join(writeProgress(to, s), writeRemaining(to, s))
	if r.holder == nil {
		return err
	}
	if h, held := r.holder(); held {
		err = errors.Join(err, writeLease(to, h))
	}
	return err
}

func writeRemaining(to io.Writer, s pace.Stats) (err error) {
	if l := s.Left; l != nil {
		err = errors.Join(
			machine.WriteMetric(to, "shardsh_run_left_bytes", "gauge", "Bytes left to move.",
				[]machine.Sample{{Value: float64(l.Bytes)}}),
			machine.WriteMetric(to, "shardsh_run_left_steps", "gauge", "Steps left to do.",
				[]machine.Sample{{Value: float64(l.Steps)}}))
	}
	if r := s.TimeToGo; r != nil {
		err = errors.Join(err, machine.WriteMetric(to, "shardsh_run_to_go_seconds", "gauge",
			"Estimated minimum and maximum of the remaining time (90 % interval), without the time in which the window "+
				"is closed.",
			[]machine.Sample{
				{Value: r.Low.Seconds(), Labels: []string{"bound", "low"}},
				{Value: r.High.Seconds(), Labels: []string{"bound", "high"}},
			}))
	}
	return err
}

// writeLease writes the metrics of the lease. Times are in the cluster's clock.
func writeLease(to io.Writer, h live.Holder) error {
	unix := func(t time.Time) []machine.Sample { return []machine.Sample{{Value: float64(t.UnixMilli()) / 1000}} }
	return errors.Join(
		machine.WriteMetric(to, "shardsh_run_lease_info", "gauge", machine.LeaseHelp,
			[]machine.Sample{{Value: 1, Labels: []string{"host", h.Host, "pid", strconv.Itoa(h.PID), "doing", h.Doing}}}),
		machine.WriteMetric(to, "shardsh_run_lease_since_seconds", "gauge", machine.LeaseSinceHelp,
			unix(h.Since)),
		machine.WriteMetric(to, "shardsh_run_lease_expires_seconds", "gauge",
			machine.LeaseExpiresHelp, unix(h.Expires)),
	)
}

func writeProgress(to io.Writer, s pace.Stats) error {
	var failures, waits []machine.Sample
	for _, class := range []policy.FailureClass{policy.RetryNow, policy.RetryLater, policy.SkipRange, policy.AskOperator} {
		failures = append(failures, machine.Sample{
			Value: float64(s.Failures[class]), Labels: []string{"class", class.String()},
		})
	}
	for _, reason := range pace.WaitReasons() {
		waits = append(waits, machine.Sample{Value: s.Waited[reason].Seconds(), Labels: []string{"reason", string(reason)}})
	}
	return errors.Join(
		machine.WriteMetric(to, "shardsh_run_moves_total", "counter", "Moves that succeeded.",
			[]machine.Sample{{Value: float64(s.Moves)}}),
		machine.WriteMetric(to, "shardsh_run_bytes_total", "counter", "Bytes that those moves were expected to move.",
			[]machine.Sample{{Value: float64(s.Bytes)}}),
		machine.WriteMetric(to, "shardsh_run_failures_total", "counter", "Moves, splits and merges that failed.", failures),
		machine.WriteMetric(to, "shardsh_run_waited_seconds_total", "counter", "How long the run has waited.", waits),
	)
}

// serveMetrics serves /metrics at an address until stop is called. Without a host in the address, only
// this machine can connect. serveMetrics returns the address at which it listens.
func serveMetrics(ctx context.Context, address string, v runMetrics) (at string, stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var page bytes.Buffer
		_ = v.write(&page) // writing into memory does not fail
		w.Header().Set("Content-Type", plainMetrics)
		_, _ = w.Write(page.Bytes()) // the client has disconnected
	})
	at, stop, err = ListenOptions{Address: address}.Serve(ctx, mux)
	if err != nil {
		err = fmt.Errorf("--metrics: %w", err)
	}
	return at, stop, err
}
