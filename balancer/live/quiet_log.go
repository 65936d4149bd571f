package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// LogPosition is a place in one of the cluster's logs: the _id of its newest entry. Entries are
// in the order in which the config server wrote them, whatever their times say.
type LogPosition struct {
	log string
	id  bson.RawValue // zero in an empty log
}

// MarkOf returns the end of the change log or the action log.
func (q *Quiet) MarkOf(ctx context.Context, log string) (LogPosition, error) {
	docs, err := q.newest(ctx, log, bson.D{}, 1)
	if err != nil || len(docs) == 0 {
		return LogPosition{log: log}, err
	}
	return LogPosition{log, cloneValue(docs[0].Lookup("_id"))}, nil
}

// cloneValue returns a value that does not share memory with its document.
func cloneValue(v bson.RawValue) bson.RawValue {
	v.Value = slices.Clone(v.Value)
	return v
}

// Text returns the _id, to be stored.
func (m LogPosition) Text() string {
	text, _ := m.id.StringValueOK()
	return text
}

// MarkAt returns the mark whose Text is text.
func MarkAt(log, text string) LogPosition {
	if text == "" {
		return LogPosition{log: log}
	}
	kind, data, _ := bson.MarshalValue(text)
	return LogPosition{log, bson.RawValue{Type: kind, Value: data}}
}

// markRead is how many entries are read back at most to find a mark.
const markRead = 20_000

// After returns the entries after a mark, the oldest first. It reports whether the mark
// was found: a capped log may have lost it.
func (q *Quiet) After(ctx context.Context, m LogPosition) (list []catalog.LogEntry, found bool, err error) {
	docs, err := q.newest(ctx, m.log, bson.D{}, 100)
	if err != nil {
		return nil, false, err
	}
	for limit := int64(1000); ; limit *= 20 {
		list = list[:0]
		for _, doc := range docs {
			if doc.Lookup("_id").Equal(m.id) {
				slices.Reverse(list)
				return list, true, nil
			}
			list = append(list, catalog.ParseLogEntry(doc))
		}
		if int64(len(docs)) < 100 || limit > markRead {
			break
		}
		if docs, err = q.newest(ctx, m.log, bson.D{}, limit); err != nil {
			return nil, false, err
		}
	}
	slices.Reverse(list)
	return list, m.id.IsZero(), nil
}

// newest reads a log from its end, in one batch.
func (q *Quiet) newest(ctx context.Context, log string, filter bson.D, limit int64) ([]bson.Raw, error) {
	return q.find(ctx, append(newestFirst(log, filter, limit), bson.E{Key: "batchSize", Value: limit}))
}

// DescribeMoves returns what entries of the change log say about data that has moved or begun to,
// and chunks that were merged.
func DescribeMoves(entries []catalog.LogEntry) (list []string) {
	for _, e := range entries {
		switch e.What {
		case "moveChunk.start", catalog.MigrationCommitted, "merge", "autoMerge", "movePrimary.start", "movePrimary.commit":
			list = append(list, fmt.Sprintf("%s %s at %s", e.What, e.Namespace, e.Time.UTC().Format(time.RFC3339)))
		}
	}
	return list
}

// CleanupDelay returns how long shards wait by default until they delete what they gave away.
func (q *Quiet) CleanupDelay(ctx context.Context) time.Duration {
	d, err := newExecutor(ctx, q.Commands)
	if err != nil {
		return catalog.Release{}.CleanupDelay()
	}
	return d.release.CleanupDelay()
}

// MedianMigrationTime returns how long the newest migrations took, as a median; 0 if the log has
// none.
func (q *Quiet) MedianMigrationTime(ctx context.Context) time.Duration {
	docs, err := q.newest(ctx, "changelog", bson.D{{Key: "what", Value: catalog.MigrationEnded}}, 20)
	if err != nil {
		return 0
	}
	var took []time.Duration
	for _, doc := range docs {
		if m, ended := catalog.ParseLogEntry(doc).Migration(); ended && m.Error == "" {
			all, _, _ := m.Took()
			took = append(took, all)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}
