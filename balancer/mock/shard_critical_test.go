package mock

import (
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

// A donor is in the critical section between the end of the clone and the commit; a recipient never is.
func TestCriticalSectionOfDonors(t *testing.T) {
	c := newInconsistent(t, catalog.Release90)
	donor, receiver := c.shards["a"], c.shards["b"]
	m := &migration{ms: c.Migrations(), donor: donor, recipient: receiver, steps: stepTimes{donorStepEnded: c.clock.Now().Add(-3 * time.Second)}}
	for steps, want := range []time.Duration{0, 0, 0, 0, 3 * time.Second, 0} {
		m.steps.donor = make([]time.Duration, steps)
		donor.migration, receiver.migration = m, m
		lasts, held := c.Migrations().CriticalSection("a")
		if lasts != want || held != (want > 0) {
			t.Errorf("after %d steps: %s, %t, not %s", steps, lasts, held, want)
		}
		if _, held := c.Migrations().CriticalSection("b"); held {
			t.Errorf("after %d steps the recipient is in a critical section", steps)
		}
	}
	donor.migration, receiver.migration = nil, nil
}
