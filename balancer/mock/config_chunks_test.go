package mock

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// config.chunks shows exactly the document that the catalog describes.
func TestChunkDocument(t *testing.T) {
	key, err := bson.Marshal(bson.D{{Key: "a", Value: 1}, {Key: "b", Value: "hashed"}})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		t.Fatal(err)
	}
	coll := catalog.Collection{Pattern: pattern, UUID: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}}
	since := bson.Timestamp{T: 7, I: 3}
	plain := catalog.Chunk{ID: bson.NewObjectID(), Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: "s",
		Version: catalog.ChunkVersion{Major: 4, Minor: 2}}
	young := plain
	young.OnCurrentShardSince = since
	moved := young
	moved.History = []catalog.ChunkHistory{{ValidAfter: since, Shard: "s"}, {ValidAfter: bson.Timestamp{T: 1, I: 1},
		Shard: "t"}}
	flagged := moved
	flagged.Jumbo, flagged.Estimate = catalog.JumboTrue, catalog.NewEstimate(1<<40)
	split := moved
	split.Jumbo = catalog.JumboFalse
	for name, chunk := range map[string]catalog.Chunk{"plain": plain, "young": young, "moved": moved, "flagged": flagged,
		"split": split} {
		want, err := bson.Marshal(chunk.Doc(coll.Pattern, coll.UUID))
		if err != nil {
			t.Fatal(err)
		}
		if got := chunkDocument(coll, chunk); !bytes.Equal(got, want) {
			t.Errorf("%s: %s, want %s", name, got, bson.Raw(want))
		}
	}
}
