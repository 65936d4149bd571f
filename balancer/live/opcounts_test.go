package live_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// Reads and writes count for the shards that they go to.
func TestOperations(t *testing.T) {
	for _, release := range testedReleases() {
		c := served(t, release, variety, asItIs)
		steps, err := live.NewStepExecutor(t.Context(), live.NewCommandRunner(c.client))
		if err != nil {
			t.Fatal(err)
		}
		count := func() map[catalog.ShardID]int64 {
			t.Helper()
			counted, err := steps.OperationCounts(t.Context(), []string{"shop.mixed"})
			if err != nil {
				t.Fatal(err)
			}
			return counted["shop.mixed"]
		}
		before := count()
		early, late := bson.DateTime(0), bson.DateTime(2e12) // on b, and on c
		c.ok(t, "shop", e("insert", "mixed"), e("documents", bson.A{
			bson.D{e("_id", 1), e("day", early), e("k", 1)}, bson.D{e("_id", 2), e("day", late), e("k", 1)},
		}))
		for range 3 {
			c.ok(t, "shop", e("find", "mixed"), e("filter", bson.D{e("day", late), e("k", 1)}))
		}
		after := count()
		if b, c := after["b"]-before["b"], after["c"]-before["c"]; b != 1 || c != 4 || len(after) != 2 {
			t.Errorf("%s: %d on b and %d on c, of %v", release, b, c, after)
		}
	}
}
