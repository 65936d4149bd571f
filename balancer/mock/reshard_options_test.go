package mock_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// Options of reshardCollection that the servers' own tests refuse or take (reshard_collection_basic.js,
// resharding_util_test.cpp, initial_split_policy.cpp of 8.0).
func TestReshardingOptions(t *testing.T) {
	min, max := bson.MinKey{}, bson.MaxKey{}
	zone := func(name string, lower, upper any) bson.D { return d("zone", name, "min", lower, "max", upper) }
	part := func(shard string, lower, upper any) bson.D {
		return d("shard", shard, "min", d("b", lower), "max", d("b", upper))
	}
	preset := func(shard string, lower, upper any) bson.D {
		return d("recipientShardId", shard, "min", d("b", lower), "max", d("b", upper))
	}
	for name, c := range map[string]struct {
		key     bson.D
		options bson.D
		code    int64
	}{
		"a zone that no shard is in":      {d("b", 1), d("zones", bson.A{zone("X", d("b", 5), d("b", 10))}), 405},
		"bounds that can't be stored":     {d("b", 1), d("zones", bson.A{zone("Z", d("b", d("$minKey", 1)), d("b", d("$maxKey", 1)))}), 2},
		"zones that overlap":              {d("b", 1), d("zones", bson.A{zone("Z", d("b", 0), d("b", 5)), zone("Z", d("b", 4), d("b", 9))}), 2},
		"bounds of another field":         {d("b", 1), d("zones", bson.A{zone("Z", d("x", 0), d("x", 5))}), 16634},
		"bounds of too many fields":       {d("b", 1), d("zones", bson.A{zone("Z", d("b", 0, "c", 0), d("b", 5, "c", 0))}), 16649},
		"bounds of the first field":       {d("b", 1, "a", 1), d("zones", bson.A{zone("Z", d("b", 0), d("b", 5))}), 0},
		"no zones":                        {d("b", 1), d("zones", bson.A{}), 0},
		"no shards":                       {d("b", 1), d("shardDistribution", bson.A{}), 72},
		"a shard twice":                   {d("b", 1), d("shardDistribution", bson.A{d("shard", "shard0"), d("shard", "shard0")}), 72},
		"one with and one without bounds": {d("b", 1), d("shardDistribution", bson.A{part("shard0", min, 0), d("shard", "shard1")}), 72},
		"ranges in another order":         {d("b", 1), d("shardDistribution", bson.A{part("shard0", 9, max), part("shard1", min, 9)}), 0},
		"ranges with a gap":               {d("b", 1), d("shardDistribution", bson.A{part("shard0", min, 0), part("shard1", 9, max)}), 72},
		"a range outside of its zone": {d("b", 1), d("zones", bson.A{zone("Z", d("b", min), d("b", 9))},
			"shardDistribution", bson.A{part("shard1", min, 9), part("shard1", 9, max)}), 72},
		"chunks":                   {d("b", 1), d("_presetReshardedChunks", bson.A{preset("shard1", min, 3), preset("shard2", 3, max)}), 0},
		"chunks and their number":  {d("b", 1), d("_presetReshardedChunks", bson.A{preset("shard1", min, max)}, "numInitialChunks", 2), 2},
		"chunks with a gap":        {d("b", 1), d("_presetReshardedChunks", bson.A{preset("shard1", min, 0), preset("shard1", 20, max)}), 2},
		"chunks that overlap":      {d("b", 1), d("_presetReshardedChunks", bson.A{preset("shard1", min, 10), preset("shard1", 5, max)}), 2},
		"chunks of the other keys": {d("b", 1), d("_presetReshardedChunks", bson.A{preset("shard1", 0, max)}), 2},
		"chunks of a shard that is not there": {d("b", 1),
			d("_presetReshardedChunks", bson.A{preset("nowhere", min, max)}), 70},
	} {
		m := orders(t, func(cfg *mock.Config) { cfg.Parameters["enableTestCommands"] = true })
		m.ok(t, "admin", d("addShardToZone", "shard0", "zone", "Z"))
		command := append(d("reshardCollection", ns, "key", c.key), c.options...)
		if _, given := find(c.options, "_presetReshardedChunks"); !given {
			command = append(command, d("numInitialChunks", 3)...)
		}
		t.Run(name, func(t *testing.T) {
			if c.code != 0 {
				m.refused(t, "admin", command, c.code)
				return
			}
			m.ok(t, "admin", command)
		})
	}
}

func find(doc bson.D, key string) (any, bool) {
	for _, e := range doc {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// A zone of the first fields of a key covers all values of the others: a bound that is left out is MinKey.
func TestReshardedZonesAreExtended(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("addShardToZone", "shard0", "zone", "Z"))
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("b", 1, "a", 1), "numInitialChunks", 3,
		"zones", bson.A{d("zone", "Z", "min", d("b", 0), "max", d("b", 5))}))
	if n := m.count(t, "tags", d("min", d("b", 0, "a", bson.MinKey{}), "max", d("b", 5, "a", bson.MinKey{}))); n != 1 {
		t.Errorf("%d zones like that, want one", n)
	}
}

// A collection with zones is not resharded without a word about them, unless it is spread again.
func TestReshardingAsksForZones(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("addShardToZone", "shard0", "zone", "Z"))
	m.ok(t, "admin", d("updateZoneKeyRange", ns, "min", d("a", 0), "max", d("a", 5), "zone", "Z"))
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 2), 2)
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("a", 1), "numInitialChunks", 2), 2)
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("a", 1), "numInitialChunks", 2, "forceRedistribution", true))
	if n := m.count(t, "tags", d("ns", ns)); n != 1 {
		t.Errorf("%d zones, want the one that was there", n)
	}
}

// Too few documents make too few chunks, whatever the key; the last one of a sample counts as a tenth.
func TestReshardingCutsWhatThereIs(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{Parameters: map[string]any{"reshardingMinimumOperationDurationMillis": 0}})
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", 1)))
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", "hashed"), "numInitialChunks", 2), 4952606)
	m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1, "a", 1, "b", 7), d("_id", 2, "a", 2, "b", 8)}))
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3), 4952606)
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 2))
	if n := m.count(t, "chunks", d("min", d("b", 8))); n != 1 {
		t.Errorf("%d chunks begin with the last key, want one", n)
	}
}

// A collection with the name of one that a resharding makes takes no documents.
func TestTemporaryCollectionsTakeNoDocuments(t *testing.T) {
	m := orders(t)
	reply, _ := m.run("db", d("insert", "system.resharding.x", "documents", bson.A{d("_id", 1)}))
	if code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); code != 118 {
		t.Errorf("answered %s, want code 118", reply)
	}
}
