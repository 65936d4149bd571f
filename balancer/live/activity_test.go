package live_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
)

// orphaned answers as a cluster with orphaned documents and no other work.
type orphaned struct{ live.CommandRunner }

func (orphaned) RunCommand(context.Context, string, bson.D) (bson.Raw, error) {
	return bson.Marshal(bson.D{{Key: "ok", Value: 1}})
}

func (orphaned) RunCursorCommand(_ context.Context, _ string, command bson.D) ([]bson.Raw, error) {
	sent, err := bson.Marshal(command)
	if err != nil || !bytes.Contains(sent, []byte("$shardedDataDistribution")) {
		return nil, err
	}
	doc, err := bson.Marshal(bson.D{{Key: "ns", Value: "shop.orders"}, {Key: "shards", Value: bson.A{
		bson.D{{Key: "shardName", Value: "s0"}, {Key: "numOrphanedDocs", Value: int64(700)}}}}})
	return []bson.Raw{doc}, err
}

// Documents to delete are not counted as ranges to delete.
func TestBusyCountsRangesAndDocumentsApart(t *testing.T) {
	found, err := (&live.ActivityReader{Commands: orphaned{}}).ReadActivities(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	ranges := live.Activity{Kind: live.ActivityDeletion, Namespace: "shop.orders", Shard: "s0", Count: 2}
	got := live.MergeActivities([]live.Activity{ranges}, found)
	ranges.Documents = 700
	if !slices.Equal(got, []live.Activity{ranges}) {
		t.Errorf("got %#v, want %#v", got, ranges)
	}
}
