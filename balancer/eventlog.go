package balancer

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// EventLog receives the log entries of the engine.
type EventLog interface {
	// LogAction writes one entry of config.actionlog.
	LogAction(ctx context.Context, what string, details bson.D) error

	// LogChange writes one entry of config.changelog about the balancer itself,
	// with an empty namespace and empty details.
	LogChange(ctx context.Context, what string) error
}

// roundDetails is the record of one round (rules/01-rounds-and-settings §1.7).
type roundDetails struct {
	started           time.Time
	candidates        int
	moved             int
	unsharded         struct{ candidates, moved int }
	cachedCollections int
	selection         time.Duration
	throttle          time.Duration
	migration         time.Duration
}

func (l *Loop) logRound(details bson.D) {
	if !l.cfg.Release.HasConfigServerBalancer() {
		return // there is no action log yet
	}
	err := callWithoutValue(&l.thread, "actionlog", func(ctx context.Context, c Cluster) error {
		return c.LogAction(ctx, "balancer.round", details)
	})
	if err != nil && !errors.Is(err, errTerminated) {
		l.cfg.Logger.Warn("action log entry not written", "error", err)
	}
}

// errorOccurredField returns the field name, which was misspelled (errorOccured) up to 6.0.
func errorOccurredField(r catalog.Release) string {
	if r.FCVAtLeast(catalog.Release70) {
		return "errorOccurred"
	}
	return "errorOccured"
}

func (d roundDetails) successDoc(now time.Time, r catalog.Release) bson.D {
	doc := bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: errorOccurredField(r), Value: false},
		{Key: "candidateChunks", Value: int32(d.candidates)},
		{Key: "chunksMoved", Value: int32(d.moved)},
	}
	if !r.MovesCollections() {
		return doc
	}
	return append(doc,
		bson.E{Key: "candidateUnshardedCollections", Value: int32(d.unsharded.candidates)},
		bson.E{Key: "unshardedCollectionsMoved", Value: int32(d.unsharded.moved)},
		bson.E{Key: "imbalancedCachedCollections", Value: int32(d.cachedCollections)},
		bson.E{Key: "times", Value: bson.D{
			{Key: "selectionTimeMillis", Value: d.selection.Milliseconds()},
			{Key: "throttleTimeMillis", Value: d.throttle.Milliseconds()},
			{Key: "migrationTimeMillis", Value: d.migration.Milliseconds()},
		}},
	)
}

func (d roundDetails) failureDoc(now time.Time, err error, r catalog.Release) bson.D {
	return bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: errorOccurredField(r), Value: true},
		{Key: "errmsg", Value: err.Error()},
	}
}

// logMerger writes the auto-merger's events to config.changelog. If a write fails, logMerger logs a
// warning.
func (l *Loop) logMerger(t *thread, events []policy.MergerEvent) {
	for _, e := range events {
		if e == policy.MergerStarts {
			l.streams.wake()
		}
		err := callWithoutValue(t, "changelog", func(ctx context.Context, c Cluster) error {
			return c.LogChange(ctx, string(e))
		})
		if err != nil && !errors.Is(err, errTerminated) {
			l.cfg.Logger.Warn("change log entry not written", "what", e, "error", err)
		}
	}
}
