package action

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/placement"
)

// Deletions are read from an hour ago where a beginning is not recorded, whatever the others have recorded.
func TestDeletionsSince(t *testing.T) {
	now := time.Unix(100_000, 0)
	lookback := bson.Timestamp{T: uint32(now.Add(-deletionLookback).Unix())}
	early, late := bson.Timestamp{T: lookback.T - 5, I: 3}, bson.Timestamp{T: lookback.T + 5}
	for _, c := range []struct {
		recorded []bson.Timestamp
		want     bson.Timestamp
	}{
		{[]bson.Timestamp{{}}, lookback}, {[]bson.Timestamp{late}, late}, {[]bson.Timestamp{late, early}, early},
		{[]bson.Timestamp{late, {}}, lookback}, {[]bson.Timestamp{{}, late}, lookback}, {[]bson.Timestamp{{}, early}, early},
	} {
		var pending []*suspectDocument
		for _, since := range c.recorded {
			pending = append(pending, &suspectDocument{verdict: placement.Classification{MigrationBegan: since}})
		}
		for range 2 {
			if got := deletionsSince(pending, now); got != c.want {
				t.Errorf("%v: %v, want %v", c.recorded, got, c.want)
			}
			slices.Reverse(pending)
		}
	}
}

// Where deletions can't be read, only the copies that wait for them are no finding.
func TestUnreadDeletions(t *testing.T) {
	s := &suspectDocument{verdict: placement.Classification{
		States: []placement.CopyState{placement.NoChunk, placement.LoneAwaitingDeletion}}}
	if s.expectDeletion() != 1 || s.verdict.States[0] != placement.NoChunk || s.verdict.IsSound() {
		t.Error(s.verdict)
	}
}
