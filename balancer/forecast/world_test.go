package forecast_test

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
)

const mib = 1 << 20

var noon = snaptest.SnapshotTime()

// measured returns a snapshot whose change log has n migrations of 128 MiB that
// took so long.
func measured(s *catalog.Snapshot, n int, took time.Duration) *catalog.Snapshot {
	return logged(s, n, 128*mib, took)
}

// logged returns a snapshot whose change log has n migrations of so many bytes.
func logged(s *catalog.Snapshot, n int, bytes int64, took time.Duration) *catalog.Snapshot {
	parts := s.Parts()
	for i := range n {
		at := s.Time().Add(-time.Duration(n-i) * 2 * took)
		parts.Changes = append(parts.Changes, entry(at, "moveChunk.commit", bson.D{
			{Key: "min", Value: bson.D{{Key: "x", Value: int32(i)}}}, {Key: "from", Value: "s00"}, {Key: "to", Value: "s01"},
			{Key: "counts", Value: bson.D{{Key: "clonedBytes", Value: bytes}}},
		}), entry(at.Add(time.Millisecond), "moveChunk.from", bson.D{
			{Key: "step 3 of 6", Value: int32(200)}, {Key: "step 4 of 6", Value: int32(took.Milliseconds() - 200)},
			{Key: "min", Value: bson.D{{Key: "x", Value: int32(i)}}}, {Key: "to", Value: "s01"}, {Key: "from", Value: "s00"},
			{Key: "note", Value: "success"},
		}))
	}
	return catalog.NewSnapshot(parts)
}

func entry(at time.Time, what string, details bson.D) catalog.LogEntry {
	raw, err := bson.Marshal(bson.D{
		{Key: "time", Value: at}, {Key: "what", Value: what}, {Key: "ns", Value: "db.c"}, {Key: "details", Value: details},
	})
	if err != nil {
		panic(err)
	}
	return catalog.LogEntry{Time: at, What: what, Namespace: "db.c", Raw: raw}
}
