//go:build unix

package suite

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// ends are how long runs took to end, and must have taken.
type ends struct {
	after string
	free  time.Duration // for which they are allowed to hang

	mu   sync.Mutex
	took []time.Duration
}

// newEnds tells at the end of the test how long all took.
func newEnds(t *testing.T, after string, free time.Duration) *ends {
	e := &ends{after: after, free: free}
	t.Cleanup(func() {
		if n := len(e.took); n > 0 {
			slices.Sort(e.took)
			t.Logf("%d runs ended after %s, half of them within %v, 95%% within %v, all within %v",
				n, after, e.took[n/2], e.took[n*95/100], e.took[n-1])
		}
	})
	return e
}

// soon is how soon after --timeout or SIGTERM a run has to end.
func (e *ends) soon() time.Duration {
	if e.free > 0 {
		return time.Second
	}
	return 2 * time.Second
}

// note keeps how long a run took. What a run on nothing takes at the same time is what
// the machine adds, which may have much else to do.
func (e *ends) note(t *testing.T, run string, took time.Duration) {
	t.Helper()
	took = max(0, took-e.free)
	e.mu.Lock()
	e.took = append(e.took, took)
	e.mu.Unlock()
	if took <= e.soon() {
		return
	}
	began := time.Now()
	well(t, "--nodb", "--quiet", "--eval", "1")
	if adds := time.Since(began); took > e.soon()+adds {
		t.Errorf("%s: it ends %v after %s; a run on nothing takes %v", run, took, e.after, adds)
	}
}
