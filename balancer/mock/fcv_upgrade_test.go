package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// fcvOf is the document of the compatibility version as a mongos shows it.
func (m *model) fcvOf(t *testing.T) bson.Raw {
	t.Helper()
	reply := m.ok(t, "admin", d("find", "system.version", "filter", d("_id", "featureCompatibilityVersion")))
	docs, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(docs) != 1 {
		t.Fatal(reply, err)
	}
	return docs[0].Document()
}

func upgradable(t *testing.T) *model {
	t.Helper()
	m := orders(t, func(cfg *mock.Config) { cfg.Release, cfg.FCV = catalog.Release90, "8.0" })
	m.ok(t, "admin", d("balancerStop", 1))
	return m
}

// The release notes of 9.0: while the version is set, splits, merges and migrations that run end
// first, new ones are blocked, and movePrimary fails with 117.
func TestChunkOperationsWhileTheVersionIsSet(t *testing.T) {
	m := upgradable(t)
	m.ok(t, "admin", d("mockChangeFCV", "9.0", "takes", "10m"))
	if doc := m.fcvOf(t); doc.Lookup("version").StringValue() != "8.0" || doc.Lookup("targetVersion").StringValue() != "9.0" {
		t.Errorf("meanwhile it is %s", doc)
	}
	blocked := []bson.D{
		d("split", ns, "middle", d("a", 20)),
		d("mergeChunks", ns, "bounds", bson.A{d("a", bson.MinKey{}), d("a", 40)}),
		d("moveRange", ns, "min", d("a", 40), "toShard", "shard2"),
		d("moveChunk", ns, "find", d("a", 40), "to", "shard2"),
		d("mergeAllChunksOnShard", ns, "shard", "shard0"),
		d("movePrimary", "db", "to", "shard1"),
	}
	for _, command := range blocked {
		m.refused(t, "admin", command, 117)
	}
	m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 500, "a", 500)}))
	m.ok(t, "admin", d("mockAdvance", "11m"))
	if doc := m.fcvOf(t); doc.Lookup("version").StringValue() != "9.0" || !doc.Lookup("targetVersion").IsZero() {
		t.Errorf("afterwards it is %s", doc)
	}
	for _, command := range []bson.D{blocked[0], blocked[2], blocked[5]} {
		m.ok(t, "admin", command)
	}
}

// A migration that has begun ends before the version is set; the command waits for that.
func TestTheVersionWaitsForMigrations(t *testing.T) {
	m := upgradable(t)
	m.ok(t, "admin", d("mockSlow", "shard2", "latency", "10s"))
	lower, err := bson.Marshal(d("a", 40))
	if err != nil {
		t.Fatal(err)
	}
	m.cluster.Lock()
	began, committed := m.cluster.Now(), time.Time{}
	m.cluster.Migrations().Watch(func(e mock.MigrationEvent) {
		if e.Name == "committed" {
			committed = m.cluster.Now()
		}
	})
	m.cluster.Migrations().Start(mock.MoveRequest{
		Namespace: ns, From: "shard1", To: "shard2", Min: lower, MaxChunkSizeBytes: 1 << 20,
	}, func(err error) {
		if err != nil {
			t.Error("the migration:", err)
		}
	})
	m.cluster.Unlock()
	m.ok(t, "admin", d("setFeatureCompatibilityVersion", "9.0", "confirm", true))
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if took := m.cluster.Now().Sub(began); committed.IsZero() || took < committed.Sub(began) || committed.Sub(began) < 10*time.Second {
		t.Errorf("committed after %v, the version set after %v", committed.Sub(began), took)
	}
}

// Servers of each line since 3.4 take the version of the line before, and their own again.
func TestOlderVersionsCanBeSet(t *testing.T) {
	for line, older := range map[string]string{"3.4": "3.2", "3.6": "3.4", "4.0": "3.6", "4.2": "4.0", "4.4": "4.2", "5.0": "4.4",
		"6.0": "5.0", "7.0": "6.0", "8.0": "7.0"} {
		release, err := catalog.ParseRelease(line)
		if err != nil {
			t.Fatal(err)
		}
		m := newCluster(t, threeShards, mock.Config{Release: release})
		for _, version := range []string{older, line} {
			m.cluster.Lock()
			if err := m.cluster.ClusterParameters().SetFCV(version); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			m.cluster.Unlock()
			if got := m.fcvOf(t).Lookup("version").StringValue(); got != version {
				t.Errorf("%s has %s, want %s", line, got, version)
			}
		}
	}
}

// Resharding ends with an error, and moves of collections wait.
func TestReshardingsWhileTheVersionIsSet(t *testing.T) {
	m := upgradable(t)
	m.cluster.Lock()
	m.cluster.After(20*time.Millisecond, func() {
		if err := m.cluster.ClusterParameters().StartFCVChange("9.0", time.Minute); err != nil {
			t.Error(err)
		}
	})
	m.cluster.Unlock()
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 9), 341)
	before := m.fcvOf(t)
	m.ok(t, "admin", d("moveCollection", "db.plain", "toShard", "shard1"))
	if after := m.fcvOf(t); before.Lookup("targetVersion").IsZero() || after.Lookup("version").StringValue() != "9.0" {
		t.Errorf("moveCollection did not wait: %s, %s", before, after)
	}
}

// The command takes the longer the more there is to copy, may be repeated, and goes back at once.
func TestSettingTheVersionTakesTime(t *testing.T) {
	took := func(m *model, version string) time.Duration {
		m.cluster.Lock()
		began := m.cluster.Now()
		m.cluster.Unlock()
		m.ok(t, "admin", d("setFeatureCompatibilityVersion", version, "confirm", true))
		m.cluster.Lock()
		defer m.cluster.Unlock()
		return m.cluster.Now().Sub(began)
	}
	small := newCluster(t, topologyOf(t, 2, 2, "1MB", 10), mock.Config{Release: catalog.Release90, FCV: "8.3"})
	large := newCluster(t, topologyOf(t, 2, 60_000, "1MB", 10), mock.Config{Release: catalog.Release90, FCV: "8.3"})
	a, b := took(small, "9.0"), took(large, "9.0")
	if a < time.Second || b <= a+time.Second {
		t.Errorf("%v with 2 chunks, %v with 60,000", a, b)
	}
	if again := took(small, "9.0"); again > 100*time.Millisecond {
		t.Errorf("once more: %v", again)
	}
	if back := took(small, "8.0"); back > 100*time.Millisecond {
		t.Errorf("back: %v", back)
	}
	older := newCluster(t, topologyOf(t, 2, 2, "1MB", 10), mock.Config{Release: catalog.Release80, FCV: "7.0"})
	if d := took(older, "8.0"); d > 100*time.Millisecond {
		t.Errorf("8.0: %v", d)
	}
}
