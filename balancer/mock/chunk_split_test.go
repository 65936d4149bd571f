package mock

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// rules/01-rounds-and-settings §5.3: what the shard checks of a split.
func TestSplitPointsThatAShardTakes(t *testing.T) {
	for _, tt := range []struct {
		name         string
		from, n      int // the points from, from+1, …
		code         mongoerr.Code
		chunks, last int // afterwards, and where the last one begins
	}{
		{"one", 50, 1, 0, 2, 50},
		{"the first is the lower bound", 0, 2, mongoerr.CannotSplit, 1, 0},
		{"the last is the upper bound", 99_999, 2, mongoerr.CannotSplit, 1, 0},
		{"more than 8192", 1, 9000, 0, 8193, 8192},
		{"the last used one counts", 1, 100_000, 0, 8193, 8192},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := exampleCluster(t, 1000, catalog.Release{}, "c1 0 100000 A 1|0 -")
			coll := c.exampleCollection(t)
			var points []catalog.Key
			for i := range tt.n {
				k, err := coll.Pattern.ParseKey(rawDoc(t, bson.D{{Key: "x", Value: int32(tt.from + i)}}))
				if err != nil {
					t.Fatal(err)
				}
				points = append(points, k)
			}
			err := c.Chunks().SplitOnShard(coll, c.config.Table(exampleNS).Find(exampleKey(t, coll.Pattern, "0")), points)
			if code, _ := mongoerr.CodeOf(err); code != tt.code {
				t.Errorf("%v, want code %d", err, tt.code)
			}
			owned := 0
			var last catalog.Chunk
			for chunk := range c.config.Table(exampleNS).OwnedChunks("A", catalog.Key{}, catalog.Key{}) {
				owned, last = owned+1, chunk
			}
			if begin, _ := coll.Pattern.Bound(last.Min).Lookup("x").AsInt64OK(); owned != tt.chunks || begin != int64(tt.last) {
				t.Errorf("%d chunks, the last from %d; want %d, from %d", owned, begin, tt.chunks, tt.last)
			}
		})
	}
}
