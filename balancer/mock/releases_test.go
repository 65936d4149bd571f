package mock_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// after80 are releases that differ, from 8.0.10 on.
func after80(t *testing.T) (list []catalog.Release) {
	t.Helper()
	for _, version := range []string{"8.0.10", "8.0.20", "8.1", "8.2.5", "8.2.6", "8.3", "9.0"} {
		r, err := catalog.ParseRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// Rounds compare the machine ids of shards until 8.3.
func TestMachineIDsByRelease(t *testing.T) {
	for _, r := range after80(t) {
		m := newCluster(t, topologyOf(t, 3, 12, "200MB", 1000), mock.Config{Release: r})
		m.ok(t, "admin", d("mockSameMachineId", bson.A{"s01", "s02"}))
		m.sleep(time.Minute)
		failed := m.count(t, "actionlog", d("details.errorOccurred", true))
		if want := int64(1); r.String() == "9.0" && failed != 0 || r.String() != "9.0" && failed != want {
			t.Errorf("%s: %d rounds failed", r, failed)
		}
	}
}

// The fields of a request to a donor: all but the epoch, which 9.0 no longer sends.
func TestRequestsOfMovesByRelease(t *testing.T) {
	const before = "_shardsvrMoveRange toShard min waitForDelete epoch collectionTimestamp fromShard maxChunkSizeBytes " +
		"forceJumbo secondaryThrottle writeConcern"
	for _, r := range after80(t) {
		want := before
		if r.String() == "9.0" {
			want = strings.Replace(before, "epoch ", "", 1)
		}
		request := mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 0))}
		checkFields(t, r.String(), raw(t, mock.MoveCommand(r, request, catalog.Collection{})), want)
	}
}

// What a donor of 9.0 says of a request that does not fit what it owns: StaleConfig.
func TestDonorsThatOwnTheirMetadata(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  mock.MoveRequest
		old  mongoerr.Code
	}{
		{"a bound with more fields", mock.MoveRequest{Namespace: ns, From: "shard0", To: "shard1", Min: raw(t, d("a", 0, "z", 1))},
			mongoerr.KeyPatternShorterThanBound},
		{"a bound of another key", mock.MoveRequest{Namespace: ns, From: "shard0", To: "shard1", Min: raw(t, d("z", 0))},
			mongoerr.BoundFieldMismatch},
		{"a chunk of another shard", mock.MoveRequest{Namespace: ns, From: "shard1", To: "shard0", Min: raw(t, d("a", 100)), Max: raw(t, d("a", 110))},
			mongoerr.StaleConfig},
		{"no such collection", mock.MoveRequest{Namespace: "db.gone", From: "shard0", To: "shard1", Min: raw(t, d("a", 0))},
			mongoerr.StaleConfig},
	} {
		for fcv, want := range map[string]mongoerr.Code{"8.3": tt.old, "9.0": mongoerr.StaleConfig} {
			m := orders(t, func(cfg *mock.Config) { cfg.Release, cfg.FCV = catalog.Release90, fcv })
			m.ok(t, "admin", d("balancerStop", 1))
			var got error
			m.cluster.Lock()
			tt.req.MaxChunkSizeBytes = 1 << 20
			m.cluster.Migrations().Start(tt.req, func(err error) { got = err })
			m.cluster.Unlock()
			m.sleep(time.Minute)
			if !mongoerr.Is(got, want) {
				t.Errorf("%s with %s: %v, want %d", tt.name, fcv, got, want)
			}
		}
	}
}

// A move by hand that fails although the range has arrived succeeds up to 8.3; where shards own
// the metadata it fails, and to repeat it succeeds.
func TestMovesThatArriveAllTheSame(t *testing.T) {
	for _, fcv := range []string{"8.3", "9.0"} {
		m := orders(t, func(cfg *mock.Config) { cfg.Release, cfg.FCV = catalog.Release90, fcv })
		m.ok(t, "admin", d("balancerStop", 1))
		m.cluster.Lock()
		m.cluster.Migrations().Watch(func(e mock.MigrationEvent) {
			if e.Name == "committed" && e.To == "shard1" { // the donor's command is killed, the rest goes on
				m.cluster.Migrations().Kill("shard0", m.cluster.Migrations().List()[0].Op)
			}
		})
		m.cluster.Unlock()
		move := d("moveRange", ns, "min", d("a", 0), "max", d("a", 10), "toShard", "shard1")
		reply, ok := m.run("admin", move)
		owner := m.first(t, "config", d("find", "chunks", "filter", d("min", d("a", 0))))
		if owner == nil || mustString(owner.Lookup("shard")) != "shard1" {
			t.Fatalf("%s: the range has not arrived: %s, %s", fcv, reply, owner)
		}
		if ok != (fcv == "8.3") {
			t.Errorf("%s: answered %s", fcv, reply)
		}
		m.ok(t, "admin", move)
	}
}

// From 8.2 on a range comes back an hour later at the earliest: until then a move of it waits ten
// seconds, and fails.
func TestRangesComeBackLate(t *testing.T) {
	for _, r := range after80(t) {
		m := orders(t, func(cfg *mock.Config) { cfg.Release = r })
		m.ok(t, "admin", d("balancerStop", 1))
		move := func(to string) bson.D {
			return d("moveRange", ns, "min", d("a", 0), "max", d("a", 10), "toShard", to)
		}
		m.ok(t, "admin", move("shard1"))
		m.sleep(16 * time.Minute)
		m.cluster.Lock()
		began := m.cluster.Now()
		m.cluster.Unlock()
		reply, ok := m.run("admin", move("shard0"))
		m.cluster.Lock()
		took := m.cluster.Now().Sub(began)
		m.cluster.Unlock()
		if late := r.CleanupDelay() == time.Hour; ok == late || late && (took < 10*time.Second || took > 15*time.Second) {
			t.Errorf("%s: after 16 minutes and %v: %s", r, took, reply)
		}
		m.sleep(time.Hour)
		if !ok {
			m.ok(t, "admin", move("shard0"))
		}
	}
}
