package diff_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
)

// Collections of servers before 3.6 have no UUID, which does not make them the same.
func TestDroppedWithoutUUID(t *testing.T) {
	pattern := mustPattern(t, bson.D{{Key: "x", Value: 1}})
	snapshot := func(names ...string) *catalog.Snapshot {
		var p catalog.SnapshotParts
		for _, ns := range names {
			c := &catalog.CollectionState{}
			c.Namespace, c.Pattern = ns, pattern
			p.Collections = append(p.Collections, c)
		}
		return catalog.NewSnapshot(p)
	}
	changes := diff.Compare(snapshot("a.x", "a.y"), snapshot("a.y")).Changes
	if len(changes) != 1 || changes[0].Kind != diff.Dropped || changes[0].Namespace != "a.x" {
		t.Errorf("%+v", changes)
	}
}
