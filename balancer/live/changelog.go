package live

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ChangeLog and ActionLog are the logs of config that are read from a position on.
const (
	ChangeLog = "changelog"
	ActionLog = "actionlog"
)

// LogPosition is a position between two entries of one of config's logs. Entries are in the order in
// which the config server wrote them, because their times come from the clocks of many shards.
type LogPosition struct {
	log  string
	id   bson.RawValue // _id of the entry before the position; zero at the beginning
	time time.Time     // time of that entry; zero if it is not known
}

// StartOfLog returns the beginning of a log.
func StartOfLog(log string) LogPosition { return LogPosition{log: log} }

// Text returns the _id of the entry before the position, for storage.
func (p LogPosition) Text() string {
	text, _ := p.id.StringValueOK()
	return text
}

// ParseLogPosition returns the position for a stored Text.
func ParseLogPosition(log, text string) LogPosition {
	if text == "" {
		return StartOfLog(log)
	}
	kind, data, _ := bson.MarshalValue(text)
	return LogPosition{log: log, id: bson.RawValue{Type: kind, Value: data}}
}

// ReadEndOfLog returns the end of a log.
func ReadEndOfLog(ctx context.Context, a CommandRunner, log string) (LogPosition, error) {
	return readEndOfLog(ctx, a, log, activityTimeLimit)
}

// quickEndOfLogTimeout limits ReadEndOfLogQuickly.
const quickEndOfLogTimeout = 2 * time.Second

// ReadEndOfLogQuickly is like ReadEndOfLog, with a limit of two seconds, for callers that should not wait for a slow
// answer.
func ReadEndOfLogQuickly(ctx context.Context, a CommandRunner, log string) (LogPosition, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(quickEndOfLogTimeout, cancel).Stop()
	return readEndOfLog(ctx, a, log, bson.E{Key: "maxTimeMS", Value: quickEndOfLogTimeout.Milliseconds()})
}

func readEndOfLog(ctx context.Context, a CommandRunner, log string, limit bson.E) (LogPosition, error) {
	docs, err := a.RunCursorCommand(ctx, "config", append(newestFirstCommand(log, bson.D{}, 1), limit))
	return StartOfLog(log).afterNewest(docs), ServerError(err)
}

// ReadEntriesAfter returns the entries after a position, the oldest first, and the new end of the log.
// found says whether the entry before the position is still in the log. If the capped log has dropped
// it, the entries are those newer than the dropped one, or all if its time is not known.
func ReadEntriesAfter(ctx context.Context, a CommandRunner, from LogPosition) (
	list []catalog.LogEntry, end LogPosition, found bool, err error,
) {
	const firstPage, growth = 100, 20
	for limit := firstPage; ; limit *= growth {
		docs, err := a.RunCursorCommand(ctx, "config",
			append(newestFirstCommand(from.log, bson.D{}, int64(limit)), bson.E{Key: "batchSize", Value: int32(limit)},
				activityTimeLimit))
		if err != nil {
			return nil, from, false, ServerError(err)
		}
		at := slices.IndexFunc(docs, func(doc bson.Raw) bool { return doc.Lookup("_id").Equal(from.id) })
		if at < 0 && len(docs) == limit {
			continue
		}
		end = from.afterNewest(docs)
		if at >= 0 {
			docs = docs[:at]
		}
		for _, doc := range slices.Backward(docs) {
			entry := catalog.ParseLogEntry(doc)
			if at >= 0 || from.time.IsZero() || entry.Time.After(from.time) {
				list = append(list, entry)
			}
		}
		return list, end, at >= 0 || from.id.IsZero(), nil
	}
}

// newestFirstCommand returns the command that reads a log of config from its end.
func newestFirstCommand(log string, filter bson.D, limit int64) bson.D {
	return bson.D{
		{Key: "find", Value: log}, {Key: "filter", Value: filter},
		sortBy("$natural", -1), {Key: "limit", Value: limit},
	}
}

// afterNewest returns the position after the newest of some entries.
func (p LogPosition) afterNewest(newestFirst []bson.Raw) LogPosition {
	if len(newestFirst) == 0 {
		return p
	}
	id := newestFirst[0].Lookup("_id")
	id.Value = slices.Clone(id.Value) // do not keep the whole batch in memory
	at, _ := newestFirst[0].Lookup("time").TimeOK()
	return LogPosition{p.log, id, at}
}
