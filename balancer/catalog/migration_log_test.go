package catalog_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// logEntry is one of the change log about the chunk that begins with low.
func logEntry(t *testing.T, what, ns, from, to string, low int, more ...bson.E) catalog.LogEntry {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "time", Value: time.Unix(1_700_000_000, 0)}, {Key: "what", Value: what},
		{Key: "ns", Value: ns}, {Key: "details", Value: append(bson.D{
			{Key: "min", Value: bson.D{{Key: "k", Value: int32(low)}}}, {Key: "from", Value: from}, {Key: "to", Value: to},
		}, more...)}})
	if err != nil {
		t.Fatal(err)
	}
	return catalog.ParseLogEntry(raw)
}

// Two migrations of the same donor, one of which fails, and one between others at
// the same time: each has the counts of its own commit (rules/03-helpers-examples-traps §6.1).
func TestMigrationLog(t *testing.T) {
	counts := func(bytes int64) bson.E {
		return bson.E{Key: "counts", Value: bson.D{{Key: "cloned", Value: bytes / 10}, {Key: "clonedBytes", Value: bytes}}}
	}
	step := func(name string, ms int32) bson.E { return bson.E{Key: name, Value: ms} }
	success := bson.E{Key: "note", Value: "success"}
	var reader catalog.MigrationFinder
	var got []catalog.EndedMigration
	for _, e := range []catalog.LogEntry{
		logEntry(t, "moveChunk.start", "x.y", "a", "b", 1),
		logEntry(t, "moveChunk.commit", "x.y", "a", "b", 1, counts(1000)),
		logEntry(t, "moveChunk.commit", "x.y", "c", "d", 5, counts(5000)),
		logEntry(t, "moveChunk.to", "x.y", "a", "b", 1, success),
		logEntry(t, "moveChunk.from", "x.y", "a", "b", 1, success,
			step("step 1 of 6", 1), step("step 4 of 6", 200), step("step 5 of 6", 30)),
		logEntry(t, "split", "x.y", "", "", 1),
		logEntry(t, "moveChunk.from", "x.y", "c", "d", 5, success),
		logEntry(t, "moveChunk.from", "x.y", "a", "b", 2, bson.E{Key: "note", Value: "aborted"},
			bson.E{Key: "errmsg", Value: "no space"}),
		logEntry(t, "moveChunk.from", "x.y", "a", "b", 3, bson.E{Key: "note", Value: "aborted"}),
		logEntry(t, "moveChunk.from", "x.y", "a", "b", 1, success), // its commit is not in the log
	} {
		if m, ended := reader.ReadEntry(e); ended {
			got = append(got, m)
		}
	}
	want := []struct {
		from, err string
		bytes     int64
		counted   bool
	}{
		{"a", "", 1000, true}, {"c", "", 5000, true}, {"a", "no space", 0, false}, {"a", "aborted", 0, false},
		{"a", "", 0, false},
	}
	if len(got) != len(want) {
		t.Fatalf("%d migrations", len(got))
	}
	for i, w := range want {
		if m := got[i]; string(m.From) != w.from || m.Error != w.err || m.Bytes != w.bytes ||
			m.Documents != w.bytes/10 || m.Counted != w.counted {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if all, cloning, steps := got[0].Durations(); all != 231*time.Millisecond || cloning != 200*time.Millisecond || steps != 3 {
		t.Errorf("took %s, %s of it cloning, in %d steps", all, cloning, steps)
	}
}
