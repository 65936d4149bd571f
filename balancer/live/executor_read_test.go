package live

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// passing answers finds of chunks as a cursor does that goes through an index while chunks
// change: what comes to stand before it is not seen.
type passing struct {
	CommandRunner
	coll   bson.D
	chunks []bson.D
	// change happens once, when the first chunks of a read have been passed.
	after  int
	change func([]bson.D) []bson.D
}

func (p *passing) RunCursorCommand(_ context.Context, _ string, command bson.D) ([]bson.Raw, error) {
	raw := func(d bson.D) bson.Raw {
		b, err := bson.Marshal(d)
		if err != nil {
			panic(err)
		}
		return b
	}
	asked := raw(command)
	switch of, _ := asked.Lookup("find").StringValueOK(); of {
	case "collections":
		return []bson.Raw{raw(p.coll)}, nil
	case "chunks":
	default:
		return nil, nil
	}
	sort, err := asked.Lookup("sort").Document().Elements()
	if err != nil {
		return nil, err
	}
	by := sort[len(sort)-1].Key()
	less := func(a, b bson.Raw) int {
		if by == "lastmod" {
			at, ai := a.Lookup(by).Timestamp()
			bt, bi := b.Lookup(by).Timestamp()
			return cmp.Or(cmp.Compare(at, bt), cmp.Compare(ai, bi))
		}
		x := func(d bson.Raw) float64 {
			n, is := d.Lookup(by, "x").AsFloat64OK()
			if !is {
				return math.Inf(-1) // MinKey
			}
			return n
		}
		return cmp.Compare(x(a), x(b))
	}
	var docs []bson.Raw
	list := func() (all []bson.Raw) {
		for _, c := range p.chunks {
			all = append(all, raw(c))
		}
		slices.SortFunc(all, less)
		return all
	}
	docs = append(docs, list()[:p.after]...)
	last := docs[len(docs)-1]
	p.chunks, p.change = p.change(p.chunks), func(same []bson.D) []bson.D { return same }
	for _, doc := range list() {
		if less(doc, last) > 0 && !bytes.Equal(doc, last) {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// A chunk that moves behind a cursor is on its new shard in what was read, or not moved in a
// table that is older as a whole.
func TestChunkMovesBehindTheCursor(t *testing.T) {
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("0123456789abcdef")}
	epoch := bson.NewObjectID()
	chunk := func(minX, maxX float64, shard string, major uint32) bson.D {
		return bson.D{
			{Key: "_id", Value: bson.NewObjectID()}, {Key: "uuid", Value: uuid},
			{Key: "min", Value: bson.D{{Key: "x", Value: minX}}}, {Key: "max", Value: bson.D{{Key: "x", Value: maxX}}},
			{Key: "shard", Value: shard}, {Key: "lastmod", Value: bson.Timestamp{T: major}},
		}
	}
	coll := bson.D{
		{Key: "_id", Value: "db.c"}, {Key: "uuid", Value: uuid}, {Key: "lastmodEpoch", Value: epoch},
		{Key: "timestamp", Value: bson.Timestamp{T: 7}}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}},
		{Key: "unique", Value: false}, {Key: "noBalance", Value: false},
	}
	cluster := func() *passing {
		chunks := []bson.D{chunk(0, 1, "a", 1), chunk(1, 2, "a", 2), chunk(2, 3, "a", 3), chunk(3, 4, "a", 4)}
		chunks[0][2].Value = bson.D{{Key: "x", Value: bson.MinKey{}}}
		chunks[3][3].Value = bson.D{{Key: "x", Value: bson.MaxKey{}}}
		return &passing{coll: coll, chunks: chunks, after: 3, change: func(chunks []bson.D) []bson.D {
			chunks = slices.Clone(chunks)
			chunks[1] = chunk(1, 2, "b", 5)
			return chunks
		}}
	}
	read := func(how string, table *catalog.RoutingTable, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", how, err)
			return
		}
		var shards []catalog.ShardID
		for c := range table.All() {
			shards = append(shards, c.Shard)
		}
		if !slices.Equal(shards, []catalog.ShardID{"a", "b", "a", "a"}) {
			t.Errorf("%s: the chunks are on %s", how, shards)
		}
	}
	d := &Executor{commands: cluster(), routerRelease: catalog.Release80}
	routing, err := d.Routing(t.Context(), "db.c")
	read("one", routing.Table, err)

	d.commands = cluster()
	parsed, err := d.Collections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]*catalog.RoutingTable{}
	err = d.readTables(t.Context(), parsed, tables)
	read("many", tables["db.c"], err)
}
