package action

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// The numbers of a run are there for who asks on this machine, and for nobody after
// its end.
func TestMetrics(t *testing.T) {
	stats := pace.Stats{
		MovedAmount: pace.MovedAmount{Moves: 3, Bytes: 4096}, Failures: map[policy.FailureClass]int{policy.RetryLater: 2},
		Waited: map[pace.Reason]time.Duration{pace.WaitCondition: 90 * time.Second},
	}
	since := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	holder := live.Holder{Host: "h\"1", PID: 42, Doing: "apply", Since: since, Expires: since.Add(time.Minute)}
	held := false
	run := runMetrics{
		stats: func() pace.Stats { return stats }, holder: func() (live.Holder, bool) { return holder, held },
	}
	at, stop, err := serveMetrics(t.Context(), "0", run)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(at, "127.0.0.1:") {
		t.Errorf("it listens at %s", at)
	}
	ask := func(path string) (int, string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = reply.Body.Close() }()
		text, err := io.ReadAll(reply.Body)
		return reply.StatusCode, string(text), err
	}
	code, page, err := ask("/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	for _, line := range []string{
		"# TYPE shardsh_run_moves_total counter", "shardsh_run_moves_total 3", "shardsh_run_bytes_total 4096",
		`shardsh_run_failures_total{class="again later"} 2`, `shardsh_run_failures_total{class="ask"} 0`,
		`shardsh_run_waited_seconds_total{reason="condition"} 90`, `shardsh_run_waited_seconds_total{reason="limit"} 0`,
		`shardsh_run_waited_seconds_total{reason="disk"} 0`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, page)
		}
	}
	for _, unknown := range []string{"shardsh_run_left", "shardsh_run_to_go", "shardsh_run_lease"} {
		if strings.Contains(page, unknown) {
			t.Errorf("%s is told of while nobody knows it:\n%s", unknown, page)
		}
	}
	stats.Left, stats.TimeToGo = &pace.Remaining{Bytes: 9000, Steps: 7}, &pace.DurationRange{Low: time.Minute, High: 90 * time.Second}
	held = true
	if _, page, err = ask("/metrics"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"shardsh_run_left_bytes 9000", "shardsh_run_left_steps 7", `shardsh_run_to_go_seconds{bound="low"} 60`,
		`shardsh_run_to_go_seconds{bound="high"} 90`, `shardsh_run_lease_info{host="h\"1",pid="42",doing="apply"} 1`,
		"shardsh_run_lease_since_seconds 1.7724528e+09", "shardsh_run_lease_expires_seconds 1.77245286e+09",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, page)
		}
	}
	if code, _, _ := ask("/"); code != http.StatusNotFound {
		t.Errorf("another page answers %d", code)
	}
	if _, _, err := serveMetrics(t.Context(), at, run); err == nil || !strings.HasPrefix(err.Error(), "--metrics: ") {
		t.Errorf("a port that is taken: %v", err)
	}
	stop()
	if _, _, err := ask("/metrics"); err == nil {
		t.Error("it answers after its end")
	}
}
