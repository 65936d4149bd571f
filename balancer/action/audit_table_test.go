package action

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/holdings"
)

// A table that changes whenever its chunks are read is given up after as many reads as the error says.
func TestAuditGivesUpTables(t *testing.T) {
	w := newAudited(t, catalog.Release80, 7)
	reads := 0
	watched, err := mongo.Connect(options.MergeClientOptions(w.settings).SetMonitor(&event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "find" && e.Command.Lookup("sort", "min").Type != 0 {
				reads++
				w.must(w.client.Database("admin").RunCommand(ctx, bson.D{
					{Key: "split", Value: "db.c"}, {Key: "middle", Value: bson.D{{Key: "x", Value: 1000 + reads}}},
				}).Err())
			}
		},
	}))
	w.must(err)
	shards, err := holdings.Open(t.Context(), watched, w.settings)
	w.must(err)
	t.Cleanup(func() {
		shards.Close(context.Background())
		_ = watched.Disconnect(context.Background())
	})
	_, err = (&auditRun{shards: shards}).readTableOnce(t.Context(), "db.c", nil)
	const want = "the routing table of db.c changed during the read, 10 times in a row"
	if err == nil || err.Error() != want || reads != 10 {
		t.Errorf("after %d reads: %v, want %s", reads, err, want)
	}
}
