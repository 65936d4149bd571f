package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

// What the action log calls the commands that switch the balancer.
const (
	whatStart = "balancer.start"
	whatStop  = "balancer.stop"
)

// switched learns when the balancer was switched on or off last: mostly from the
// entries that were read, else from an older one.
func (r *reading) switched(ctx context.Context) error {
	unread := func(g catalog.Gap) bool { return g.What == "actionlog" }
	if r.options.SkipLogs || slices.ContainsFunc(r.gaps, unread) {
		return nil
	}
	for _, e := range slices.Backward(r.parts.Actions) {
		if e.What == whatStart || e.What == whatStop {
			r.parts.Balancer.Switched = switchOf(e)
			return nil
		}
	}
	docs, err := r.documents(ctx, "actionlog",
		bson.D{{Key: "what", Value: bson.D{{Key: "$in", Value: bson.A{whatStart, whatStop}}}}},
		options.Find().SetSort(bson.D{{Key: "$natural", Value: -1}}).SetLimit(1))
	if err := r.part(ctx, catalog.Gap{What: "actionlog"}, err); err != nil || len(docs) == 0 {
		return err
	}
	r.parts.Balancer.Switched = switchOf(catalog.ParseLogEntry(docs[0]))
	return nil
}

func switchOf(e catalog.LogEntry) *catalog.Switch {
	return &catalog.Switch{Time: e.Time, On: e.What == whatStart, Client: text(e.Raw, "clientAddr")}
}
