package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/report"
)

// shop is a cluster of three shards with something of everything.
func shop(t testing.TB) *world {
	w := newWorld(t, "a", "b", "c")
	w.collection("shop.orders", []string{"a", "a", "!a", "b"}, map[catalog.ShardID]catalog.ShardData{
		"a": {Bytes: 900 * mib, Documents: 900, Orphans: 10, OrphanBytes: 10 * mib}, "b": has(100), "c": {},
	})
	w.collection("shop.even", []string{"a", "b", "c"}, map[catalog.ShardID]catalog.ShardData{
		"a": has(50), "b": has(50), "c": has(50),
	})
	w.collection("shop.held", []string{"a", "a"}, map[catalog.ShardID]catalog.ShardData{
		"a": has(2000), "b": {}, "c": {},
	},
		func(c *catalog.CollectionState) { c.NoBalance = true })
	w.move(5*time.Minute, "shop.orders", "a", "b", 0, 60*mib, 10, "")
	w.move(3*time.Hour, "shop.orders", "a", "b", 1, 30*mib, 20, "")
	w.move(2*time.Hour, "shop.even", "a", "c", 1, 0, 2, "no space left")
	w.move(time.Minute, "shop.even", "a", "c", 1, 0, 2, "no space left")
	w.log(time.Hour, "split", "shop.even", nil)
	w.log(time.Hour, "multi-split", "shop.even", bson.D{{Key: "number", Value: int32(1)}})
	w.log(time.Hour, "multi-split", "shop.even", bson.D{{Key: "number", Value: int32(2)}})
	w.log(time.Hour, "autoMerge", "shop.even", nil)
	w.action(time.Hour, "balancer.round", bson.D{{Key: "errorOccurred", Value: false}})
	w.action(30*time.Minute, "balancer.round", bson.D{
		{Key: "errorOccurred", Value: true}, {Key: "errmsg", Value: "boom"},
	})
	w.action(20*time.Minute, "balancer.round", bson.D{{Key: "errorOccured", Value: true}})
	w.action(10*time.Minute, "balancer.start", nil)
	w.Migrations = []catalog.ActiveMigration{
		{Namespace: "shop.orders", From: "a", To: "b", Since: noon.Add(-4 * time.Second)},
	}
	w.Deletions, w.DeletionsKnown = []catalog.RangeDeletion{
		{Shard: "a", Namespace: "shop.orders", Orphans: 4},
		{Shard: "a", Namespace: "shop.orders", Orphans: 6, Processing: true},
		{Shard: "b", Namespace: "shop.even", Orphans: 1},
	}, true
	return w
}

func TestOverview(t *testing.T) {
	o := report.NewOverview(shop(t).snapshot())
	if want := (report.Totals{
		Holding: report.Holding{Bytes: 3150 * mib, Documents: 900 + 100*1024 + 150*1024 + 2000*1024, Chunks: 9, Jumbo: 1,
			Orphans: 10, OrphanBytes: 10 * mib},
		Shards: 3, Collections: 3, NotBalanced: 2,
	}); o.Totals != want {
		t.Errorf("totals %+v, want %+v", o.Totals, want)
	}
	var collections, shards []string
	for _, c := range o.Collections {
		collections = append(collections, fmt.Sprintf("%s %s %d", c.Namespace, c.State, c.MisplacedBytes/mib))
	}
	// A third of 1000 MiB is 333.3 MiB, a has 566 more; of shop.held 1333 more.
	want := "shop.orders notBalanced 566, shop.held held 1333, shop.even balanced 0"
	if got := strings.Join(collections, ", "); got != want {
		t.Error(got)
	}
	for _, s := range o.Shards {
		shards = append(shards, fmt.Sprintf("%s %d %d %d %+.2f", s.ID, s.Bytes/mib, s.Chunks, s.Collections, s.Deviation))
	}
	if got := strings.Join(shards, ", "); got != "a 2950 6 3 +1.81, b 150 2 2 -0.86, c 50 1 1 -0.95" {
		t.Error(got)
	}
	if got := report.ByteSpreadOf(o.Shards); got != (report.ByteSpread{Least: 50 * mib, Mean: 1050 * mib, Most: 2950 * mib}) {
		t.Errorf("spread %+v", got)
	}
	first := report.Deletion{Shard: "a", Namespace: "shop.orders", Ranges: 2, Orphans: 10, Running: 1}
	if d := o.Deletions; len(d) != 2 || d[0] != first {
		t.Errorf("deletions %+v", d)
	}
}

// Shards that do not answer or drain come first, and those that drain are not part
// of the mean.
func TestShardsInNeedComeFirst(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d")
	w.Shards[2].Draining, w.Shards[3].Unreachable = true, "connection refused"
	w.collection("x.y", []string{"a", "b", "c", "gone"}, map[catalog.ShardID]catalog.ShardData{
		"a": has(100), "b": has(300), "c": has(1000), "d": has(200),
	})
	var got []string
	for _, s := range report.NewOverview(w.snapshot()).Shards {
		got = append(got, fmt.Sprintf("%s %+.2f", s.ID, s.Deviation))
	}
	// "gone" is not in config.shards, has a chunk and no bytes: (100+300+200+0)/4.
	if text := strings.Join(got, ", "); text != "d +0.33, gone -1.00, c +0.00, b +1.00, a -0.33" {
		t.Error(text)
	}
}

func TestHistory(t *testing.T) {
	h := report.NewDayHistory(shop(t).snapshot())
	if h.Moves != 2 || h.Failed != 2 || h.Bytes != 90*mib || h.Splits != 2 || h.Merges != 1 {
		t.Errorf("%d moves with %d bytes, %d failed, %d splits, %d merges", h.Moves, h.Bytes, h.Failed, h.Splits, h.Merges)
	}
	if h.Recent != (report.RecentMoves{Moves: 1, Failed: 1, Bytes: 60 * mib}) || h.Recent.Rate() != 60*mib/600 {
		t.Errorf("recent %+v", h.Recent)
	}
	if len(h.Failures) != 1 || h.Failures[0] != (report.Failure{
		Error: "no space left", From: "a", To: "c", Count: 2,
		First: noon.Add(-2*time.Hour + 2*time.Second), Last: noon.Add(-time.Minute + 2*time.Second),
	}) {
		t.Errorf("failures %+v", h.Failures)
	}
	var events []string
	for _, e := range h.Events {
		text := fmt.Sprintf("%s %s %s %d %s %s", e.Kind, e.What, e.Min, e.Bytes/mib, e.Took, e.Error)
		events = append(events, strings.TrimSpace(text))
	}
	if got := strings.Join(events, "\n"); got != `moveFailed moveChunk.from {"k": 1} 0 2s no space left
moved moveChunk.from {"k": 0} 60 10s
change balancer.start  0 0s
roundFailed balancer.round  0 0s no error recorded
roundFailed balancer.round  0 0s boom
moveFailed moveChunk.from {"k": 1} 0 2s no space left
moved moveChunk.from {"k": 1} 30 20s` {
		t.Error(got)
	}
	moved, failed := 0, 0
	for i, s := range h.Slots {
		moved, failed = moved+s.Moves, failed+s.Failed
		// 9:00:20 is in the slot of 9:00, of which there are 15 minutes from noon to noon.
		if want := s.Begin.Equal(noon.Add(-3 * time.Hour)); s.Moves > 0 && s.Begin.Before(noon.Add(-time.Hour)) != want {
			t.Errorf("slot %d at %s has %d moves", i, s.Begin, s.Moves)
		}
	}
	if moved != 2 || failed != 2 {
		t.Errorf("slots have %d moves, %d failed", moved, failed)
	}
	if h.MedianDuration("shop.orders") != 20*time.Second || h.MedianDuration("other") != 20*time.Second {
		t.Errorf("a move usually takes %s", h.MedianDuration("shop.orders"))
	}
}

// What moves now has a time to go: what a move usually takes, less what it has
// taken so far.
func TestUnderWay(t *testing.T) {
	o := report.NewOverview(shop(t).snapshot())
	if len(o.UnderWay) != 1 || o.UnderWay[0].Remaining != 16*time.Second {
		t.Errorf("under way %+v", o.UnderWay)
	}
}

// Whatever the logs hold, nothing panics, and what is odd is left out.
func TestHistoryOfOddEntries(t *testing.T) {
	w := newWorld(t, "a")
	for _, details := range []any{
		nil, "text", int32(5), bson.A{1}, bson.D{{Key: "counts", Value: "x"}, {Key: "min", Value: 5}},
	} {
		raw, err := bson.Marshal(bson.D{
			{Key: "time", Value: noon}, {Key: "what", Value: "moveChunk.from"}, {Key: "details", Value: details},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Changes = append(w.Changes, catalog.ParseLogEntry(raw), catalog.LogEntry{What: "moveChunk.commit", Raw: raw})
	}
	if h := report.NewDayHistory(w.snapshot()); h.Failed != 5 || h.Moves != 0 {
		t.Errorf("%+v", h)
	}
}
