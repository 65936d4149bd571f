package applying_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/bindings/applying"
)

// The numbers of a run are there for who asks on this machine, and for nobody after
// its end.
func TestMetrics(t *testing.T) {
	stats := pace.Stats{
		Done: pace.Done{Moves: 3, Bytes: 4096}, Failures: map[policy.Failure]int{policy.AgainLater: 2},
		Waited: map[pace.Reason]time.Duration{pace.Busy: 90 * time.Second},
	}
	at, stop, err := applying.ServeMetrics(t.Context(), "0", func() pace.Stats { return stats })
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
		`shardsh_run_waited_seconds_total{reason="condition"} 90`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, page)
		}
	}
	if code, _, _ := ask("/"); code != http.StatusNotFound {
		t.Errorf("another page answers %d", code)
	}
	if _, _, err := applying.ServeMetrics(t.Context(), at, nil); err == nil || !strings.HasPrefix(err.Error(), "--metrics: ") {
		t.Errorf("a port that is taken: %v", err)
	}
	stop()
	if _, _, err := ask("/metrics"); err == nil {
		t.Error("it answers after its end")
	}
}
