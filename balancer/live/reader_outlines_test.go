package live_test

import (
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// Of settled collections a read keeps outlines that say what their tables say, also of one that
// is too large to be read with others; of the rest it keeps the tables.
func TestOutlinesOfARead(t *testing.T) {
	const small, large = 40, 25_000
	var list []string
	for i := range small {
		list = append(list, fmt.Sprintf(
			`{"ns": "x.c%02d", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]}`, i))
	}
	var chunks strings.Builder
	for i := range large - 1 {
		fmt.Fprintf(&chunks, `{"shard": %q, "max": {"k": %d}},`, "ab"[i%2:i%2+1], i)
	}
	list = append(list, `{"ns": "x.large", "key": {"k": 1}, "chunks": [`+chunks.String()+`{"shard": "b"}]}`,
		`{"ns": "x.merge", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "a"}]}`)
	client := clientOfMock(t, catalog.Release80, `{"shards": [{"id": "a"}, {"id": "b"}],
		"settings": {"balancer": {"mode": "off"}}, "collections": [`+strings.Join(list, ",")+`]}`)
	whole := readBy(t, live.NewReader(client, live.ReaderOptions{}))
	less := readBy(t, live.NewReader(client, live.ReaderOptions{
		Parts:      live.DefaultParts | live.ChunkCounts,
		WantsTable: func(*catalog.Snapshot, *catalog.CollectionState) bool { return true }, WantsOutline: diagnosis.IsSettled,
	}))
	tables := 0
	for _, c := range less.Collections() {
		want := whole.Collection(c.Namespace)
		if c.Table != nil {
			tables++
			continue
		}
		got, read := c.Version()
		if !read || got != want.Table.Version() || c.Count() != want.Count() || len(c.Outline.Oldest) != 2 {
			t.Errorf("%s: %v %v, %+v, outline %+v; want %v %+v", c.Namespace, got, read, c.Count(), c.Outline,
				want.Table.Version(), want.Count())
		}
	}
	// x.merge, and x.large, which ends with two chunks of b: large-2 is odd.
	if tables != 1+large%2 || less.Collection("x.merge").Table == nil {
		t.Errorf("%d collections have tables", tables)
	}
}
