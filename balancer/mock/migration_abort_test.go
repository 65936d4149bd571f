package mock_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// What changes a collection's indexes ends a migration that copies documents:
// the recipient would miss the change (rules/02-migration-and-metadata §8).
func TestIndexOperationsAbortMigrations(t *testing.T) {
	const interrupted = 11601
	index := func(name string) bson.D {
		return d("createIndexes", "c", "indexes", bson.A{d("key", d(name, 1), "name", name)})
	}
	tests := []struct {
		name, db string
		command  bson.D
		aborts   bool
	}{
		{"createIndexes", "db", index("new"), true},
		{"createIndexes of an index there is", "db", index("old"), false},
		{"dropIndexes", "db", d("dropIndexes", "c", "index", "old"), true},
		{"collMod", "db", d("collMod", "c", "index", d("name", "old", "hidden", true)), true},
		{"createIndexes of another collection", "db", d("createIndexes", "other", "indexes",
			bson.A{d("key", d("x", 1), "name", "x")}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newMeeting(t, nil)
			x.ok(t, "db", index("old"))
			x.start(mock.MoveRequest{Namespace: ns, From: "a", To: "c", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
				MaxChunkSizeBytes: 1 << 20})
			x.copying()
			x.ok(t, tt.db, tt.command)
			x.sleep(time.Minute)
			if !x.ended {
				t.Fatal("the migration has not ended")
			}
			if aborted := x.errs[0] != nil; aborted != tt.aborts {
				t.Fatalf("the migration ended with %v", x.errs[0])
			}
			if tt.aborts && codeOf(t, x.errs[0]) != interrupted {
				t.Errorf("the migration ended with %v", x.errs[0])
			}
			if owner := x.owner(); (owner == "a") != tt.aborts {
				t.Errorf("the chunk is on %s", owner)
			}
			reply := x.ok(t, "admin", d("checkMetadataConsistency", 1, "checkIndexes", true))
			if found, err := reply.Lookup("cursor", "firstBatch").Array().Values(); err != nil || len(found) > 0 {
				t.Errorf("inconsistent: %v", found)
			}
		})
	}
}

// Nothing is told of a migration that has failed but that it has, whenever that was.
func TestNothingIsToldAfterAFailure(t *testing.T) {
	failed := false
	for wait := time.Duration(0); wait < 150*time.Millisecond; wait += 5 * time.Millisecond {
		x := newMeeting(t, nil)
		var told []string
		x.cluster.Lock()
		x.cluster.Migrations().Watch(func(e mock.MigrationEvent) { told = append(told, e.Name) })
		x.cluster.Unlock()
		x.start(mock.MoveRequest{Namespace: ns, From: "a", To: "c", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
			MaxChunkSizeBytes: 1 << 20})
		x.sleep(wait)
		x.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("new", 1), "name", "new")}))
		x.sleep(time.Minute)
		x.cluster.Lock()
		at := slices.Index(told, "failed")
		failed = failed || at >= 0
		want := mock.MigrationEvents()[:5] // up to committed
		if at >= 0 {
			want = want[:min(at, 4)]
		}
		if end := told[len(told)-1]; end != "done" && end != "failed" || !slices.Equal(told[:len(told)-1], want) {
			t.Errorf("aborted after %v: %v", wait, told)
		}
		x.cluster.Unlock()
	}
	if !failed {
		t.Error("none has failed")
	}
}
