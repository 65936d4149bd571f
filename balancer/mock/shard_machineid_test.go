package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// rules/01-rounds-and-settings §1.4: a shard with the machine id of another one costs one round.
func TestSameMachineIDFailsOneRound(t *testing.T) {
	m := newCluster(t, topologyOf(t, 3, 12, "200MB", 1000), mock.Config{})
	clash := func(times int64) {
		m.ok(t, "admin", d("mockSameMachineId", bson.A{"s01", "s02"}))
		m.sleep(time.Minute)
		if n := m.count(t, "actionlog", d("details.errorOccurred", true, "details.errmsg",
			d("$regex", "same machine id"))); n != times {
			t.Errorf("%d rounds failed, want %d", n, times)
		}
	}
	clash(1)
	if newest, n := m.rounds(t); n < 3 || newest.Lookup("chunksMoved").Int32() == 0 {
		t.Errorf("%d rounds, the newest %s", n, newest)
	}
	clash(2) // now that rounds have seen that all differ
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if a, b := m.cluster.MachineIDs().IDOf("s01"), m.cluster.MachineIDs().IDOf("s02"); a == b {
		t.Errorf("both have %d still", a)
	}
	for _, c := range []struct {
		command bson.D
		code    int64
	}{
		{d("mockSameMachineId", bson.A{"s01"}), 2}, {d("mockSameMachineId", bson.A{"s01", "nope"}),
			70}, {d("mockSameMachineId", 1), 14},
	} {
		m.cluster.Unlock()
		m.refused(t, "admin", c.command, c.code)
		m.cluster.Lock()
	}
}
