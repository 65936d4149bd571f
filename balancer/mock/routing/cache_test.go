package routing

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// empty is a catalog in which nothing is tracked.
type empty struct{}

func (empty) Table(string) *catalog.RoutingTable    { return nil }
func (empty) DatabaseEntry(string) (bson.Raw, bool) { return nil, true }
func (empty) DatabaseEntryWrites() uint64           { return 0 }

// A router knows so many names, and no more, however many are asked for.
func TestCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range 3*maxCacheEntries + 1 {
		c.Table(fmt.Sprintf("db%d.c", i), empty{})
		c.Database(fmt.Sprint("db", i), empty{})
		if s := c.Stats(); s.Collections > maxCacheEntries || s.Databases > maxCacheEntries {
			t.Fatalf("%d collections and %d databases are known", s.Collections, s.Databases)
		}
	}
	if s := c.Stats(); s.Collections != 1 || s.Databases != 1 || s.Full != 3*maxCacheEntries+1 || s.Failed != s.Full {
		t.Errorf("%+v", s)
	}
}
