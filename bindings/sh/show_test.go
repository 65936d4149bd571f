package sh

import (
	"fmt"
	"testing"

	"shardsh/balancer/catalog"
)

// As long as all fit a screen they are in the order of the catalog; of more those
// come first that are worth a look.
func TestChunkCountRows(t *testing.T) {
	var list []*catalog.CollectionState
	for i := range 12 {
		list = append(list, &catalog.CollectionState{
			Collection: catalog.Collection{Namespace: fmt.Sprintf("x.c%02d", i)},
			Counts:     map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: int64(i)}, "b": {Chunks: 1, Jumbo: int64(i / 11)}},
		})
	}
	if rows := chunkCountRows(list[1:3]); len(rows) != 4 || rows[0][0] != "x.c01" || rows[3][0] != "x.c02" {
		t.Errorf("%q", rows)
	}
	rows := chunkCountRows(list[1:])
	want := [][]string{{"x.c11", "b", "1", "1"}, {"x.c11", "a", "11", "0"}, {"x.c10", "a", "10", "0"}}
	if got := fmt.Sprint(rows[:3]); got != fmt.Sprint(want) || len(rows) != 22 {
		t.Errorf("%d rows, %s", len(rows), got)
	}
}
