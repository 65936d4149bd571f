package router_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router"
)

// rules/02-migration-and-metadata §8: what the shards count of migrations.
func TestShardsCountMigrations(t *testing.T) {
	x := newS0(t)
	shard := func(id string) bson.Raw {
		member := &tester{t: t, router: router.Member{ID: catalog.ShardID(id), Set: "rs", Address: "h:1"}.Of(x.router), cluster: x.cluster}
		return member.ok("admin", d("serverStatus", 1)).Lookup("shardingStatistics").Document()
	}
	for i := range 10 {
		x.ok("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", i)}))
	}
	x.ok("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardB"))
	x.code("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "nowhere"))
	x.ok("admin", d("setAllowMigrations", "shop.orders", "allowMigrations", false))
	x.ok("admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", 1)) // shards hear of it with a version
	x.code("admin", d("moveChunk", "shop.orders", "find", d("a", -5), "to", "shardB"))
	x.sleep(time.Hour)
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
