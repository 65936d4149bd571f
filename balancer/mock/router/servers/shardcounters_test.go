package servers_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// rules/02-migration-and-metadata §8: what the shards count of migrations.
func TestShardsCountMigrations(t *testing.T) {
	x := routertest.NewS0(t)
	shard := func(id string) bson.Raw {
		member := &tester{T: t, Router: router.Member{Shard: catalog.ShardID(id), Set: "rs", Address: "h:1"}.NewNode(x.Router), Cluster: x.Cluster}
		return member.OK("admin", d("serverStatus", 1)).Lookup("shardingStatistics").Document()
	}
	for i := range 10 {
		x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", i)}))
	}
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardB"))
	x.Code("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "nowhere"))
	x.OK("admin", d("setAllowMigrations", "shop.orders", "allowMigrations", false))
	x.OK("admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", 1)) // shards hear of it with a version
	x.Code("admin", d("moveChunk", "shop.orders", "find", d("a", -5), "to", "shardB"))
	x.Sleep(time.Hour)
	donor, recipient := shard("shardA"), shard("shardB")
	for name, want := range map[string]int64{"countDonorMoveChunkStarted": 1, "countDonorMoveChunkCommitted": 1, "countDonorMoveChunkAborted": 0,
		"countDocsClonedOnDonor": 10, "countDocsDeletedByRangeDeleter": 10, "countRecipientMoveChunkStarted": 0} {
		if got := donor.Lookup(name).Int64(); got != want {
			t.Errorf("donor: %s is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]int64{"countRecipientMoveChunkStarted": 1, "countDocsClonedOnRecipient": 10, "countDonorMoveChunkStarted": 0} {
		if got := recipient.Lookup(name).Int64(); got != want {
			t.Errorf("recipient: %s is %d, want %d", name, got, want)
		}
	}
	if donor.Lookup("totalDonorMoveChunkTimeMillis").Int64() <= 0 || donor.Lookup("countBytesClonedOnDonor").Int64() != recipient.Lookup("countBytesClonedOnRecipient").Int64() {
		t.Errorf("donor %s\nrecipient %s", donor, recipient)
	}
}
