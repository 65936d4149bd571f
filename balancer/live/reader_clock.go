package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// maxClockEntries is the number of the newest entries of each log that are searched for the time zone
// of the config servers. In the change log, most entries are from shards.
const maxClockEntries = 50

// readTimeZone determines the time zone of the balancer's active windows, if there are any:
// from the logs of the last day if they were read, else from the newest entries.
func (r *reading) readTimeZone(ctx context.Context) error {
	if r.options.TimeZone != nil {
		r.parts.Clock = catalog.BalancerClock{Location: r.options.TimeZone}
		return nil
	}
	if !r.parts.Settings.HasWindow() {
		return nil
	}
	r.parts.Clock = catalog.ClockFromLogs(r.parts.Actions, r.parts.Changes)
	for _, log := range []string{"actionlog", "changelog"} {
		if r.parts.Clock.Location != nil && r.parts.Clock.IsKnownAt(r.parts.Time) {
			return nil
		}
		query := findQuery(log, bson.D{}).sortedBy("$natural", -1).withLimit(maxClockEntries)
		query.projection = bson.D{
			{Key: "server", Value: 1}, {Key: "shard", Value: 1}, {Key: "time", Value: 1}, {Key: "what", Value: 1},
		}
		docs, err := r.source.list(ctx, query)
		if err := r.gapOrError(ctx, 0, catalog.Gap{What: log}, err); err != nil {
			return err
		}
		entries := make([]catalog.LogEntry, len(docs))
		for i, doc := range docs {
			entries[len(docs)-1-i] = catalog.ParseLogEntry(doc)
		}
		if seen := catalog.ClockFromLogs(entries); seen.SeenAt.After(r.parts.Clock.SeenAt) {
			r.parts.Clock = seen
		}
	}
	return nil
}
