package catalog

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestParseSmallDocuments(t *testing.T) { // rules/03-catalog-and-keys §3.2, §3.7, §3.8
	ping := time.UnixMilli(1_700_000_000_000).UTC()
	if d, err := ParseDatabase(doc(t,
		bson.D{e("_id", "shop"), e("primary", "a"), e("version", bson.D{})})); err != nil || d != (Database{"shop", "a"}) {
		t.Errorf("database %+v: %v", d, err)
	}
	router := bson.D{e("_id", "h:1"), e("mongoVersion", "8.0.1"), e("ping", bson.NewDateTimeFromTime(ping)),
		e("up", int64(5))}
	if r, err := ParseRouter(doc(t, router)); err != nil || r != (Router{"h:1", "8.0.1", ping}) {
		t.Errorf("router %+v: %v", r, err)
	}
	for _, bad := range []bson.D{{}, {e("_id", 5)}, {e("_id", "")}} {
		if _, err := ParseDatabase(doc(t, bad)); err == nil {
			t.Errorf("database %v has no error", bad)
		}
		if _, err := ParseRouter(doc(t, bad)); err == nil {
			t.Errorf("router %v has no error", bad)
		}
	}
	raw := doc(t, bson.D{e("time", bson.NewDateTimeFromTime(ping)), e("what", "split"), e("ns", "a.b"), e("shard", "s"),
		e("details", bson.D{e("n", 5)})})
	entry := ParseLogEntry(raw)
	if entry.Time != ping || entry.What != "split" || entry.Namespace != "a.b" || entry.Shard != "s" ||
		entry.Detail("n").Int32() != 5 {
		t.Errorf("entry %+v", entry)
	}
	if odd := ParseLogEntry(doc(t, bson.D{e("time", "today"), e("ns", "a.b")})); odd.Namespace != "a.b" ||
		!odd.Time.IsZero() {
		t.Errorf("entry %+v", odd)
	}
}

// Up to 4.4 chunks carry the namespace and the epoch of their collection.
func TestChunkDocumentOfOldReleases(t *testing.T) { // rules/03-catalog-and-keys §3.4
	p := keyOf(t, "x")
	c := Collection{Namespace: "a.b", UUID: uuid, Epoch: bson.ObjectID{5}, Pattern: p}
	chunk := Chunk{ID: bson.ObjectID{1}, Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "s", Version: ChunkVersion{3, 4},
		Jumbo: JumboTrue}
	want := bson.D{
		e("_id", chunk.ID), e("ns", "a.b"), e("min", bson.D{e("x", bson.MinKey{})}), e("max",
			bson.D{e("x", bson.MaxKey{})}), e("shard", "s"),
		e("lastmod", bson.Timestamp{T: 3, I: 4}), e("lastmodEpoch", c.Epoch), e("jumbo", true),
	}
	if got := doc(t, c.ChunkDoc(chunk)); got.String() != doc(t, want).String() {
		t.Errorf("%s, want %s", got, doc(t, want))
	}
	if again, err := ParseChunk(p, doc(t, c.ChunkDoc(chunk))); err != nil || !sameChunk(again, chunk) {
		t.Errorf("%+v comes back as %+v: %v", chunk, again, err)
	}
	c.Timestamp = bson.Timestamp{T: 1}
	if got := doc(t, c.ChunkDoc(chunk)); got.String() != doc(t, chunk.Doc(p, uuid)).String() {
		t.Errorf("%s", got)
	}
}
