package live

import (
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// What several operations and documents tell of one migration, or of one
// resharding, is one (rules/03-commands §1.7, rules/03-catalog-and-keys §3.11).
func TestActivity(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000).UTC()
	raw := func(d bson.D) bson.Raw {
		raw, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	e := func(key string, value any) bson.E { return bson.E{Key: key, Value: value} }
	bound := raw(bson.D{e("k", int32(1))})
	var a activity
	a.addOperation(raw(bson.D{e("desc", "conn1"), e("secs_running", int64(60)), e("command", bson.D{
		e("_shardsvrMoveRange", "x.y"), e("fromShard", "a"), e("toShard", "b"), e("min", bound)})}), now)
	a.addOperation(raw(bson.D{e("desc", "MoveChunk"), e("ns", "x.y"), e("secs_running", int64(59)),
		e("command", bson.D{})}), now)
	a.addOperation(raw(bson.D{e("desc", "migrateThread"), e("ns", "x.z"), e("command", bson.D{})}), now)
	a.addMigration(catalog.ActiveMigration{Namespace: "x.y", From: "a"})
	a.addMigration(catalog.ActiveMigration{Namespace: "x.y", From: "c"})
	want := []catalog.ActiveMigration{
		{Namespace: "x.y", From: "a", To: "b", Min: bound, Since: now.Add(-time.Minute)},
		{Namespace: "x.z", Since: now}, {Namespace: "x.y", From: "c"},
	}
	if !reflect.DeepEqual(a.migrations, want) {
		t.Errorf("migrations %+v, want %+v", a.migrations, want)
	}

	started := now.Add(-time.Hour)
	a.addOperation(raw(bson.D{e("desc", "ReshardingMetricsRecipientService"), e("ns", "x.y"), e("recipientState", "cloning"),
		e("totalOperationTimeElapsedSecs", int64(30)), e("bytesCopied", int64(50)), e("approxBytesToCopy",
			int64(100))}), now)
	a.addOperation(raw(bson.D{e("desc", "ReshardingMetricsRecipientService"), e("ns", "x.y"), e("recipientState", "cloning"),
		e("remainingOperationTimeEstimatedSecs", int64(7)), e("bytesCopied", int64(20)), e("approxBytesToCopy",
			int64(30))}), now)
	a.addOperation(raw(bson.D{e("desc", "ReshardingMetricsCoordinatorService"), e("ns", "x.y"),
		e("coordinatorState", "cloning"),
		e("remainingOperationTimeEstimatedSecs", int64(5)), e("provenance", "moveCollection")}), now)
	a.addReshardingEntry(raw(bson.D{e("ns", "x.y"), e("state", "older"), e("startTime", bson.NewDateTimeFromTime(started))}))
	a.addReshardingEntry(raw(bson.D{e("ns", "x.old"), e("state", "quiesced")}))
	a.addReshardingEntry(raw(bson.D{e("ns", "x.new"), e("state", "initializing")}))
	reshardings := []catalog.ActiveResharding{
		{Namespace: "x.y", Kind: "moveCollection", State: "cloning", Since: started, CopiedBytes: 70, TotalBytes: 130,
			Remaining: 7 * time.Second},
		{Namespace: "x.new", Kind: "reshardCollection", State: "initializing"},
	}
	if !reflect.DeepEqual(a.reshardings, reshardings) {
		t.Errorf("reshardings %+v, want %+v", a.reshardings, reshardings)
	}
}
