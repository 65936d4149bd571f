package sharding_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// What a donor answers to a move comes through a mongos with where it came from; what the config server finds
// itself does not (recordings 21, 22 and 23, whose texts these are).
func TestTextsOfMovesThatFail(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	x.OK("admin", d("balancerStop", 1))
	x.OK("admin", d("enableSharding", "conf2", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "conf2.c", "key", d("k", 1)))
	for _, k := range []int{0, 100} {
		x.OK("admin", d("split", "conf2.c", "middle", d("k", k)))
	}
	const donor = "Command request failed on source shard. :: caused by :: "
	move := func(min, max any) bson.D {
		return d("moveRange", "conf2.c", "min", d("k", min), "max", d("k", max), "toShard", "shard1")
	}
	array := bson.A{}
	for _, tt := range []struct {
		command bson.D
		code    int64
		text    string
	}{
		{move(array, 100), 13388, donor + "The range [{ k: [] }, { k: 100 }) is not valid for collection conf2.c with key pattern { k: 1 }"},
		{move(0, array), 13388, donor + "The range [{ k: 0 }, { k: [] }) is not valid for collection conf2.c with key pattern { k: 1 }"},
		{move("x", 100), 9, donor + `min: { k: "x" } should be less than max: { k: 100 }`},
		{move(0, "x"), 13388, donor + `Range with bounds [{ k: 0 }, { k: "x" }) is not contained within a chunk owned by this shard.`},
		{d("moveRange", "conf2.c", "min", d("k", 0), "toShard", "x"), 70, "Could not find destination shard :: caused by :: Shard x not found"},
		{d("mergeChunks", "conf2.c", "bounds", bson.A{d("k", 1), d("k", bson.MaxKey{})}), 13388,
			"Range with bounds [{ k: 1 }, { k: MaxKey }) is not owned by this shard."},
		{d("mergeChunks", "conf2.c", "bounds", bson.A{d("k", 0, "b", 1), d("k", bson.MaxKey{})}), 0,
			"shard key bounds [{ k: 0, b: 1 },{ k: MaxKey }) are not valid for shard key pattern { k: 1 }"},
		{d("split", "conf2.c", "middle", d("k", array)), 0, "new split key { k: [] } is not valid for shard key pattern { k: 1 }"},
		{d("split", "conf2.c", "middle", d("k", 0)), 0, "new split key { k: 0 } is a boundary key of existing chunk [{ k: 0 },{ k: 100 })"},
	} {
		reply := x.Run("admin", tt.command)
		code, _ := reply.Lookup("code").AsInt64OK()
		if text := reply.Lookup("errmsg").StringValue(); code != tt.code || text != tt.text {
			t.Errorf("%v:\n got %d %s\nwant %d %s", tt.command, code, text, tt.code, tt.text)
		}
	}
}

// A shard takes part in one migration at a time, and says in which (recording 22).
func TestTextsOfBusyShards(t *testing.T) {
	x := routertest.New(t, mock.Config{Parameters: map[string]any{"enableTestCommands": true}})
	x.OK("admin", d("balancerStop", 1))
	x.OK("admin", d("enableSharding", "g22", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "g22.c", "key", d("k", 1)))
	x.OK("admin", d("split", "g22.c", "middle", d("k", 10)))
	x.OK("admin", d("moveRange", "g22.c", "min", d("k", 10), "toShard", "shard1"))
	x.OK("admin", d("shardCollection", "g22.t5", "key", d("k", 1)))
	x.OK("admin", d("configureFailPoint", "moveChunkHangAtStep4", "mode", "alwaysOn"))
	x.Run("admin", d("moveRange", "g22.t5", "min", d("k", bson.MinKey{}), "max", d("k", bson.MaxKey{}), "toShard", "shard1", "maxTimeMS", 5000))
	for min, want := range map[any]string{
		bson.MinKey{}: "donating chunk [{ k: MinKey }, { k: MaxKey }) for namespace g22.t5 to shard1",
		10:            "receiving chunk [{ k: MinKey }, { k: MaxKey }) for namespace g22.t5 from shard0",
	} {
		to := "shard1"
		if min == 10 {
			to = "shard0"
		}
		reply := x.Run("admin", d("moveRange", "g22.c", "min", d("k", min), "toShard", to))
		text := "Command request failed on source shard. :: caused by :: Unable to start new balancer operation because this shard is currently " + want
		if reply.Lookup("code").AsInt64() != 117 || reply.Lookup("errmsg").StringValue() != text {
			t.Errorf("%s, want %s", reply, text)
		}
	}
}
