package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// DescribeMoves returns descriptions of the entries of the change log about data that was moved or
// began to move, and chunks that were merged.
func DescribeMoves(entries []catalog.LogEntry) (list []string) {
	for _, e := range entries {
		switch e.What {
		case "moveChunk.start", catalog.MigrationCommitted, "merge", "autoMerge", "movePrimary.start", "movePrimary.commit":
			list = append(list, fmt.Sprintf("%s %s at %s", e.What, e.Namespace, e.Time.UTC().Format(time.RFC3339)))
		}
	}
	return list
}

// ReadCleanupDelay returns how long a shard keeps orphans before it deletes them: the shard's setting
// if it can be read, else the default of the release.
func (ar *ActivityReader) ReadCleanupDelay(ctx context.Context, id catalog.ShardID) time.Duration {
	if ar.Members != nil && ar.membersErr == nil {
		if d, err := ar.Members.readCleanupDelay(ctx, id); err == nil && d > 0 {
			return d
		}
	}
	d, err := NewExecutor(ctx, ar.Commands)
	if err != nil {
		return catalog.Release{}.CleanupDelay()
	}
	return d.routerRelease.CleanupDelay()
}

// ReadMedianMigrationTime returns the median duration of the newest migrations; 0 if the log has none.
func (ar *ActivityReader) ReadMedianMigrationTime(ctx context.Context) time.Duration {
	docs, err := ar.findInConfig(ctx,
		newestFirstCommand("changelog", bson.D{{Key: "what", Value: catalog.MigrationEnded}}, 20))
	if err != nil {
		return 0
	}
	var took []time.Duration
	for _, doc := range docs {
		if m, ended := catalog.ParseLogEntry(doc).Migration(); ended && m.Error == "" {
			all, _, _ := m.Durations()
			took = append(took, all)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}
