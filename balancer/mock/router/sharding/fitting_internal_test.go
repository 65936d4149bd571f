package sharding

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The lists of a draining shard are cut where the reply would be larger than a document may be.
func TestListsOfADrainFit(t *testing.T) {
	var names []string
	for i := range 100_000 {
		names = append(names, fmt.Sprintf("db.%0200d", i))
	}
	dbs, colls, truncated := truncateLists(names[:10], names, maxDrainListBytes)
	doc, err := bson.Marshal(bson.D{{Key: "dbsToMove", Value: dbs}, {Key: "collectionsToMove", Value: colls}})
	if err != nil {
		t.Fatal(err)
	}
	if !truncated || len(dbs) != 10 || len(doc) > 16<<20 || len(doc) < 15<<20 || !slices.Equal(colls, names[:len(colls)]) {
		t.Errorf("%d bytes, %d and %d names, truncated: %v", len(doc), len(dbs), len(colls), truncated)
	}
	if dbs, colls, truncated = truncateLists(names[:3], names[:5], maxDrainListBytes); truncated || len(dbs) != 3 || len(colls) != 5 {
		t.Errorf("%d and %d names, truncated: %v", len(dbs), len(colls), truncated)
	}
}
