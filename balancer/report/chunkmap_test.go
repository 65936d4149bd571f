package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/report"
)

// laid is a collection whose chunks begin at 0, 1, 2 and so on but for the first
// one, on the shards that owners name; jumbo ones with a "!".
func laid(t testing.TB, owners []string, sizes map[catalog.ShardID]int64) *catalog.CollectionState {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "k", Value: int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	bound := func(i int) any {
		switch i {
		case 0:
			return bson.MinKey{}
		case len(owners):
			return bson.MaxKey{}
		}
		return int32(i - 1)
	}
	b := catalog.NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
	for i, owner := range owners {
		shard, jumbo := strings.CutPrefix(owner, "!")
		doc := bson.D{
			{Key: "min", Value: bson.D{{Key: "k", Value: bound(i)}}},
			{Key: "max", Value: bson.D{{Key: "k", Value: bound(i + 1)}}},
			{Key: "shard", Value: shard}, {Key: "lastmod", Value: bson.Timestamp{T: 1, I: uint32(i)}},
		}
		if jumbo {
			doc = append(doc, bson.E{Key: "jumbo", Value: true})
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(raw); err != nil {
			t.Fatal(err)
		}
	}
	table, err := b.Table()
	if err != nil {
		t.Fatal(err)
	}
	c := &catalog.CollectionState{Collection: catalog.Collection{Namespace: "x.y", Pattern: p}, Table: table}
	for id, bytes := range sizes {
		c = c.WithSize(id, catalog.ShardData{Bytes: bytes})
	}
	return c
}

func key(t testing.TB, c *catalog.CollectionState, n int) catalog.Key {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "k", Value: int32(n)}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := c.Pattern.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// wideAndNarrow writes a map as the shards of its cells, the last letter of each; chunks
// that begin are in capitals, and a cell of several shards has all of them in
// brackets.
func wideAndNarrow(m report.ChunkMap) string {
	var b strings.Builder
	for _, c := range m.Cells {
		text := ""
		for _, p := range c.Owners {
			id := string(m.Shards[p.Shard].ID)
			text += id[len(id)-1:]
		}
		if c.ChunkStarts > 0 {
			text = strings.ToUpper(text)
		}
		if len(c.Owners) > 1 {
			text = "(" + text + ")"
		}
		b.WriteString(text + strings.Repeat("!", c.Jumbo))
	}
	return b.String()
}

func TestCells(t *testing.T) {
	words := strings.Fields
	for _, tt := range []struct {
		name   string
		owners string
		sizes  map[catalog.ShardID]int64
		width  int
		basis  report.WidthBasis
		want   string
	}{
		{"one chunk", "a", nil, 4, report.ByCount, "Aaaa"},
		{"as many cells as chunks", "a b a", nil, 3, report.ByCount, "ABA"},
		{"all alike without sizes", "a b a", nil, 9, report.ByCount, "AaaBbbAaa"},
		// One cell each, and the other seven as the bytes are: 30, 10, 30.
		{"by bytes", "a b a", map[catalog.ShardID]int64{"a": 60, "b": 10}, 10, report.ByShard, "AaaaBbAaaa"},
		{"an empty chunk has its cell", "a b a", map[catalog.ShardID]int64{"a": 60, "b": 0}, 9, report.ByShard,
			"AaaaBAaaa"},
		{"no data at all", "a b", map[catalog.ShardID]int64{"a": 0, "b": 0}, 4, report.ByCount, "AaBb"},
		// b, which did not tell, is taken for half a chunk size of 20 bytes.
		{"a shard that did not tell", "a b", map[catalog.ShardID]int64{"a": 30}, 6, report.ByShard, "AaaaBb"},
		{"jumbo", "a !b a", nil, 6, report.ByCount, "AaB!b!Aa"},
		{"several chunks a cell", "a a b b", nil, 2, report.ByCount, "AB"},
		{"several shards a cell", "a b b b", nil, 2, report.ByCount, "(AB)B"},
		{"a chunk over several cells", "a b a a a", map[catalog.ShardID]int64{"a": 4, "b": 12}, 4, report.ByShard,
			"(BA)bb(AB)"},
		{"jumbo among others", "a !a b !b", nil, 2, report.ByCount, "A!B!"},
		{"one cell", "a b !a", nil, 1, report.ByCount, "(AB)!"},
		{"no cell is one", "a", nil, 0, report.ByCount, "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := report.NewChunkMap(laid(t, words(tt.owners), tt.sizes), 20, tt.width)
			if got := wideAndNarrow(m); got != tt.want || m.Widths != tt.basis {
				t.Errorf("%s by %s, want %s by %s", got, m.Widths, tt.want, tt.basis)
			}
		})
	}
}

func TestMeasuredChunks(t *testing.T) {
	c := laid(t, []string{"a", "a", "a"}, map[catalog.ShardID]int64{"a": 100})
	c.ChunkSizes = []catalog.ChunkSize{{Min: key(t, c, 0), Bytes: 80}}
	m := report.NewChunkMap(c, 1, 13)
	if got, want := wideAndNarrow(m), "AaAaaaaaaaaAa"; got != want || m.Widths != report.ByShard {
		t.Errorf("%s by %s, want %s", got, m.Widths, want)
	}
	c.ChunkSizes = append(c.ChunkSizes, catalog.ChunkSize{Min: c.Pattern.GlobalMin()},
		catalog.ChunkSize{Min: key(t, c, 1), Bytes: 20})
	if m := report.NewChunkMap(c, 1, 13); wideAndNarrow(m) != "AAaaaaaaaaAaa" || m.Widths != report.ByChunk {
		t.Errorf("%s by %s", wideAndNarrow(m), m.Widths)
	}
}

func TestLegend(t *testing.T) {
	c := laid(t, []string{"a", "!b", "a", "b"}, map[catalog.ShardID]int64{"a": 60})
	m := report.NewChunkMap(c, 128<<20, 8)
	want := []report.MapShard{{ID: "a", Chunks: 2, Bytes: 60}, {ID: "b", Chunks: 2, Jumbo: 1, Bytes: -1}}
	if fmt.Sprint(m.Shards) != fmt.Sprint(want) || m.Chunks != 4 || m.Jumbo != 1 || m.Bytes != 60 ||
		m.ChunkSize != 128<<20 || m.Namespace != "x.y" {
		t.Errorf("%+v", m)
	}
	counted := &catalog.CollectionState{Counts: map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 7, Jumbo: 2}}}
	if m := report.NewChunkMap(counted, 1, 8); m.Cells != nil || m.Chunks != 7 || m.Jumbo != 2 || m.Bytes != -1 {
		t.Errorf("without a routing table: %+v", m)
	}
}

func TestZonesOnTheMap(t *testing.T) {
	c := laid(t, []string{"a", "a", "b", "b"}, nil) // bounds at 0, 1, 2
	c.Zones = catalog.NewZoneSet(c.Pattern)
	for _, z := range []catalog.ZoneRange{
		{Min: c.Pattern.GlobalMin(), Max: key(t, c, 0), Zone: "W"},
		{Min: key(t, c, 0), Max: key(t, c, 2), Zone: "X"},
		{Min: key(t, c, 5), Max: c.Pattern.GlobalMax(), Zone: "Y"}, // begins within the last chunk
	} {
		if err := c.Zones.Add(z); err != nil {
			t.Fatal(err)
		}
	}
	for width, want := range map[int]string{
		8: "[{W 0 2} {X 2 6} {Y 6 8}]",
		2: "[{W 0 1} {X 0 2} {Y 1 2}]",
	} {
		if got := fmt.Sprint(report.NewChunkMap(c, 1, width).Zones); got != want {
			t.Errorf("on %d cells %s, want %s", width, got, want)
		}
	}
}

// Cells show every chunk, in order, and are full.
func TestAllChunksAreOnTheMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snaptest.Draw(t)
		width := rapid.IntRange(1, 40).Draw(t, "width")
		for _, c := range s.Collections() {
			if c.Table != nil {
				checkCells(t, c, report.NewChunkMap(c, 1<<20, width), width)
			}
		}
	})
}

func checkCells(t *rapid.T, c *catalog.CollectionState, m report.ChunkMap, width int) {
	t.Helper()
	if len(m.Cells) != width {
		t.Fatalf("%d cells, want %d", len(m.Cells), width)
	}
	begun, next := 0, 0
	for i, cell := range m.Cells {
		share := 0.0
		for _, p := range cell.Owners {
			share += p.Share
		}
		if math.Abs(share-1) > 1e-6 {
			t.Fatalf("cell %d is full by %g", i, share)
		}
		if cell.First > next || cell.First < next-1 || cell.Last < cell.First {
			t.Fatalf("cell %d has chunks %d to %d, and those before are up to %d", i, cell.First, cell.Last, next)
		}
		if !cell.From.Equal(c.Table.At(cell.First).Min) {
			t.Fatalf("cell %d begins at %s", i, cell.From)
		}
		begun, next = begun+cell.ChunkStarts, cell.Last+1
	}
	if begun != c.Table.Len() || next != c.Table.Len() {
		t.Fatalf("%d chunks begin and the last one is %d of %d", begun, next-1, c.Table.Len())
	}
	for _, z := range m.Zones {
		if z.FromCell >= z.ToCell || z.ToCell > width {
			t.Fatalf("zone %+v on %d cells", z, width)
		}
	}
}

func BenchmarkMillionChunks(b *testing.B) {
	owners := make([]string, 1_000_000)
	sizes := map[catalog.ShardID]int64{}
	for i := range owners {
		owners[i] = fmt.Sprintf("s%02d", i*7919%100)
		sizes[catalog.ShardID(owners[i])] = 1 << 40
	}
	c := laid(b, owners, sizes)
	for b.Loop() {
		if m := report.NewChunkMap(c, 128<<20, 600); len(m.Cells) != 600 || len(m.Shards) != 100 {
			b.Fatalf("%d cells, %d shards", len(m.Cells), len(m.Shards))
		}
	}
}
