package live

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Position is a place between two entries of config.changelog, in the log's own order: the
// times of entries come from the clocks of many shards. The zero Position is the beginning.
type Position struct {
	after bson.RawValue // _id of the entry before it
	time  time.Time
}

// endPatience is how long the end of the change log may take to be read.
const endPatience = 2 * time.Second

// EndOfChanges returns the end of config.changelog, without waiting long for it.
func EndOfChanges(ctx context.Context, a CommandRunner) (Position, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(endPatience, cancel).Stop()
	docs, err := a.RunCursorCommand(ctx, "config", append(newestFirst("changelog", bson.D{}, 1),
		bson.E{Key: "maxTimeMS", Value: endPatience.Milliseconds()}))
	return Position{}.behind(docs), ServerError(err)
}

// ChangesSince returns the entries after a position, the oldest first, and the new end of
// the log. If the capped log has lost the position, it returns the entries that are newer
// than the lost one.
func ChangesSince(ctx context.Context, a CommandRunner, from Position) ([]catalog.LogEntry, Position, error) {
	const page = 100
	for limit := page; ; limit *= page {
		docs, err := a.RunCursorCommand(ctx, "config", newestFirst("changelog", bson.D{}, int64(limit)))
		if err != nil {
			return nil, from, err
		}
		at := slices.IndexFunc(docs, func(doc bson.Raw) bool { return doc.Lookup("_id").Equal(from.after) })
		if at < 0 && len(docs) == limit {
			continue
		}
		var entries []catalog.LogEntry
		for i, doc := range slices.Backward(docs) {
			entry := catalog.ParseLogEntry(doc)
			if at >= 0 && i >= at || at < 0 && !entry.Time.After(from.time) {
				continue
			}
			entries = append(entries, entry)
		}
		return entries, from.behind(docs), nil
	}
}

// newestFirst returns the command that reads a log of config from its end.
func newestFirst(log string, filter bson.D, limit int64) bson.D {
	return bson.D{
		{Key: "find", Value: log}, {Key: "filter", Value: filter},
		sorted("$natural", -1), {Key: "limit", Value: limit},
	}
}

// behind returns the position after the newest of some entries.
func (p Position) behind(newestFirst []bson.Raw) Position {
	if len(newestFirst) == 0 {
		return p
	}
	at, _ := newestFirst[0].Lookup("time").TimeOK()
	return Position{newestFirst[0].Lookup("_id"), at}
}
