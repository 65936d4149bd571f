package live

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

// logs reads the last day of config.changelog and config.actionlog.
func (r *reading) logs(ctx context.Context) error {
	if r.options.SkipLogs {
		return nil
	}
	var old catalog.SnapshotParts
	if r.old != nil {
		old = r.old.Parts()
	}
	for _, log := range []struct {
		name string
		old  []catalog.LogEntry
		to   *[]catalog.LogEntry
	}{
		{"changelog", old.Changes, &r.parts.Changes},
		{"actionlog", old.Actions, &r.parts.Actions},
	} {
		entries, err := r.log(ctx, log.name, log.old)
		if err := r.part(ctx, catalog.Gap{What: log.name}, err); err != nil {
			return err
		}
		*log.to = entries
	}
	return nil
}

// log reads a log: what is newer than the entries of an older Snapshot, and
// those of its entries that are not too old by now. A log has no index on the
// time but its own order, so the newest come first and a limit ends it.
func (r *reading) log(ctx context.Context, name string, old []catalog.LogEntry) ([]catalog.LogEntry, error) {
	since := r.parts.Time.Add(-catalog.LogSpan)
	old = slices.Clone(old)
	old = slices.DeleteFunc(old, func(e catalog.LogEntry) bool { return !e.Time.After(since) })
	from := since
	if len(old) > 0 {
		// Entries of the last moment may not all have been written then.
		from = old[len(old)-1].Time
		old = slices.DeleteFunc(old, func(e catalog.LogEntry) bool { return !e.Time.Before(from) })
		from = from.Add(-1)
	}
	docs, err := r.documents(ctx, name, bson.D{{Key: "time", Value: bson.D{{Key: "$gt", Value: from}}}},
		options.Find().SetSort(bson.D{{Key: "$natural", Value: -1}}).SetLimit(int64(r.options.LogEntries)+1))
	if err != nil {
		return nil, err
	}
	if len(docs) > r.options.LogEntries {
		docs, old = docs[:r.options.LogEntries], nil
		r.gap(catalog.Gap{What: name}, fmt.Errorf("there are more than %d entries: older ones are missing",
			r.options.LogEntries))
	}
	entries := make([]catalog.LogEntry, len(docs))
	for i, doc := range docs {
		entries[len(docs)-1-i] = catalog.ParseLogEntry(doc)
	}
	return append(old, entries...), nil
}
