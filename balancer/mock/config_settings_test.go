package mock_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mock"
)

// rules/01-rounds-and-settings §2.2: what config.settings takes, by release; up to 5.0 everything.
// A line names the releases that take the document, out of 6.0, 8.0 and 8.3.
func TestSettingsValidator(t *testing.T) {
	clusters := map[string]*model{}
	for _, release := range []catalog.Release{catalog.Release50, catalog.Release60, catalog.Release80, catalog.Release83} {
		clusters[release.String()] = newCluster(t, `{"shards":[{"id":"a"}]}`, mock.Config{Release: release})
	}
	type settingsCase struct {
		ID  string
		Doc json.RawMessage
		OK  []string
	}
	for _, line := range examples.Read[settingsCase](t, "testdata/settings.jsonl") {
		var doc bson.D
		if err := bson.UnmarshalExtJSON(line.Doc, false, &doc); err != nil {
			t.Fatal(err)
		}
		t.Run(line.ID, func(t *testing.T) {
			for release, m := range clusters {
				m.ok(t, "config", d("delete", "settings", "deletes", bson.A{d("q", d(), "limit", 0)}))
				want := int64(0)
				if release != "5.0" && !slices.Contains(line.OK, release) {
					want = 121
				}
				reply, _ := m.run("config", d("insert", "settings", "documents", bson.A{doc}))
				if code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); code != want {
					t.Errorf("%s: %s, want code %d", release, reply, want)
				}
				kept := m.count(t, "settings", d())
				if kept != map[bool]int64{true: 1, false: 0}[want == 0] {
					t.Errorf("%s: %d documents afterwards", release, kept)
				}
			}
		})
	}
}

// rules/01-rounds-and-settings §3.1: a shard's document that does not parse fails every round.
func TestBadShardDocumentFailsTheRound(t *testing.T) {
	for name, change := range map[string]bson.D{"draining": d("draining", "yes"), "tags": d("tags", bson.A{"A", 1}),
		"host": d("host", "")} {
		t.Run(name, func(t *testing.T) {
			m := newCluster(t, topologyOf(t, 3, 12, "200MB", 1000), mock.Config{})
			m.ok(t, "admin", d("balancerStop", 1))
			m.ok(t, "config", d("update", "shards", "updates", bson.A{d("q", d("_id", "s02"), "u", d("$set", change))}))
			moved := m.count(t, "changelog", d("what", "moveChunk.commit"))
			m.sleep(21 * time.Second)
			if n := m.count(t, "actionlog", d("details.errorOccurred", true)); n < 2 {
				t.Errorf("%d failed rounds, want one every ten seconds, also while the balancer is off", n)
			}
			if got := m.count(t, "changelog", d("what", "moveChunk.commit")); got != moved {
				t.Errorf("%d migrations", got-moved)
			}
		})
	}
}

// rules/01-selection §10.2: nothing else clears the flag of a chunk.
func TestJumboFlagStays(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"databases":[{"name":"db","primary":"a"}],"settings":{"chunkSizeMB":1},"collections":[{"ns":"db.c","key":{"k":1},
		"chunks":[{"shard":"a","jumbo":true},{"min":{"k":0},"shard":"b"}]}]}`, mock.Config{})
	flagged := func(after string) {
		t.Helper()
		if chunk := m.cluster.ConfigDB().Table(ns).At(0); chunk.Jumbo != catalog.JumboTrue {
			t.Errorf("the flag is gone after %s", after)
		}
	}
	m.ok(t, "config", m.setting("chunksize", d("value", 1024)))
	m.sleep(time.Minute)
	flagged("a larger chunk size")
	m.ok(t, "db", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
	m.sleep(24 * time.Hour)
	flagged("a day with an empty chunk")
	m.ok(t, "admin", d("mockStepDown", 1))
	m.sleep(time.Minute)
	flagged("a new primary")
	m.ok(t, "admin", d("mergeAllChunksOnShard", ns, "shard", "a"))
	flagged("a merge of all chunks")
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1, "more", 1), "name", "k_1_more_1")}))
	m.ok(t, "admin", d("refineCollectionShardKey", ns, "key", d("k", 1, "more", 1)))
	if chunk := m.cluster.ConfigDB().Table(ns).At(0); chunk.Jumbo == catalog.JumboTrue {
		t.Error("a refined shard key keeps the flag")
	}
}
