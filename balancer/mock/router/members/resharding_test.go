package members_test

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// reshardingSections are those of a member's shardingStatistics, by the operation that they count.
func reshardingSections(t *testing.T, x *tester, id catalog.ShardID) []string {
	t.Helper()
	member := &tester{T: t, Cluster: x.Cluster,
		Router: router.Member{Shard: id, Set: string(id), Address: "127.0.0.1:27018"}.NewNode(x.Router)}
	elements, err := member.OK("admin", d("serverStatus", 1)).Lookup("shardingStatistics").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range elements {
		if slices.Contains([]string{"resharding", "moveCollection", "balancerMoveCollection", "unshardCollection"}, e.Key()) {
			names = append(names, e.Key())
		}
	}
	return names
}

// A member shows what it counts of an operation once it was the coordinator, a donor or a recipient of one; the
// primary shard of the database is always a recipient (the server's ReshardingCumulativeMetrics and
// calculateParticipantShardsAndChunks).
func TestSectionsOfOperationsThatAMemberTookPartIn(t *testing.T) {
	const config = catalog.ConfigServerID
	x := routertest.New(t, mock.Config{Topology: mock.DefaultTopology(4),
		Parameters: map[string]any{"enableTestCommands": true, "reshardingMinimumOperationDurationMillis": 0}})
	x.OK("admin", d("enableSharding", "a", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "a.c", "key", d("k", 1)))
	x.OK("a", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1)}))
	x.OK("admin", d("moveRange", "a.c", "min", d("k", bson.MinKey{}), "max", d("k", bson.MaxKey{}), "toShard", "shard1"))
	resharded, moved := []string{"resharding"}, []string{"resharding", "moveCollection"}
	for _, step := range []struct {
		what    string
		command bson.D
		want    map[catalog.ShardID][]string // of the others none
	}{
		{"before all", d("ping", 1), nil},
		{"refused by its checks", d("reshardCollection", "a.none", "key", d("l", 1)), nil},
		{"where the chunk is already, which is not the primary shard",
			d("reshardCollection", "a.c", "key", d("_id", 1), "_presetReshardedChunks", bson.A{
				d("recipientShardId", "shard1", "min", d("_id", bson.MinKey{}), "max", d("_id", bson.MaxKey{}))}),
			map[catalog.ShardID][]string{config: resharded, "shard0": resharded, "shard1": resharded}},
		{"to one shard", d("unshardCollection", "a.c", "toShard", "shard2"), map[catalog.ShardID][]string{
			config: {"resharding", "unshardCollection"}, "shard0": {"resharding", "unshardCollection"},
			"shard1": {"resharding", "unshardCollection"}, "shard2": {"unshardCollection"}}},
		{"from there to the primary shard", d("moveCollection", "a.c", "toShard", "shard0"), map[catalog.ShardID][]string{
			config: append(moved, "unshardCollection"), "shard0": append(moved, "unshardCollection"),
			"shard1": {"resharding", "unshardCollection"}, "shard2": {"moveCollection", "unshardCollection"}}},
	} {
		x.Run("admin", step.command)
		for _, id := range []catalog.ShardID{config, "shard0", "shard1", "shard2", "shard3"} {
			if got := reshardingSections(t, x, id); fmt.Sprint(got) != fmt.Sprint(step.want[id]) {
				t.Errorf("%s: %s shows %v, want %v", step.what, id, got, step.want[id])
			}
		}
	}
}
