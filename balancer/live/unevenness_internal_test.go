package live

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// A collection is most uneven if another shard could have half of it and has nothing.
func TestUnevenness(t *testing.T) {
	p, err := catalog.ParseKeyPattern(encoded(t, bson.D{{Key: "a", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	chunk := catalog.Chunk{ID: bson.NewObjectID(), Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "a",
		Version: catalog.ChunkVersion{Major: 1}}
	table, err := catalog.NewRoutingTable(p, bson.NewObjectID(), bson.Timestamp{T: 1},
		slices.Values([]catalog.Chunk{chunk}))
	if err != nil {
		t.Fatal(err)
	}
	zones := catalog.NewZoneSet(p)
	if err := zones.Add(catalog.ZoneRange{Zone: "Z", Min: p.GlobalMin(), Max: p.GlobalMax()}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		draining bool
		zones    *catalog.ZoneSet
		want     int64
	}{"all on one shard": {false, nil, 700}, "the other one drains": {true, nil, 0}, "zones": {false, zones, 0}} {
		r := causeReader{&reading{parts: catalog.SnapshotParts{Shards: []catalog.ShardState{
			{Shard: catalog.Shard{ID: "a"}}, {Shard: catalog.Shard{ID: "b", Draining: tt.draining}}}}}}
		c := &catalog.CollectionState{Table: table, Sizes: map[catalog.ShardID]catalog.ShardData{"a": {Bytes: 700}}}
		c.Zones = tt.zones
		if got := r.unevenness(c); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
