package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// These constants limit the waits for shards. A mongos and a config server wait 20 s for a shard that
// is down, and wait for a lock as long as it is held (recordings 20-live, 03, 04 and 10).
const (
	firstShardTimeout = 3 * time.Second    // until a command has timed out
	nextShardTimeout  = time.Second        // after that
	totalShardTimeout = 6 * time.Second    // in total, and for the sizes of all collections if no shard is unreachable
	configTimeout     = 30 * time.Second   // for documents of config
	tableTimeout      = 20 * configTimeout // for routing tables
)

// shardTimeouts limits how long the commands of a Reader wait for shards.
type shardTimeouts struct {
	maxTotal time.Duration // for all commands together

	mu     sync.Mutex
	wasted time.Duration // by commands that got no answer
}

// nextLimit returns the time limit of the next command; 0 if the total is used up.
func (s *shardTimeouts) nextLimit(first time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wasted == 0:
		return min(max(first, s.maxTotal/4), s.maxTotal)
	case s.wasted+nextShardTimeout > s.maxTotal:
		return 0
	}
	return nextShardTimeout
}

// recordShardDown records that a shard is known to be down.
func (s *shardTimeouts) recordShardDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wasted = max(s.wasted, time.Millisecond)
}

// recordEnd records the end of a command.
func (s *shardTimeouts) recordEnd(limit, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isTimeExpired(err):
		s.wasted += max(limit, took)
	case isShardDown(err):
		s.wasted += max(took, time.Millisecond)
	}
}

// isTimeExpired reports whether a command ended because of its time limit.
func isTimeExpired(err error) bool {
	if errors.As(err, new(topology.ServerSelectionError)) {
		return false // the router itself is unreachable
	}
	return mongoerr.Is(ServerError(err), mongoerr.MaxTimeMSExpired) || err != nil && mongo.IsTimeout(err)
}

// ShardTimeoutError says that shards did not answer a command in time, or that the command was not sent
// because the shards have not answered earlier commands.
type ShardTimeoutError struct {
	Limit time.Duration // zero: it was not sent
	Why   string        // such as "shard b: …"; empty if it is not known
}

// Error names the shards, if they are known.
func (e *ShardTimeoutError) Error() string {
	text := "not asked, because shards have not answered other commands"
	if e.Limit > 0 {
		text = fmt.Sprintf("no answer in %s", e.Limit)
	}
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

// askShards sends a command that needs answers of shards.
func (r *reading) askShards(ctx context.Context, database string, command bson.D) (reply bson.Raw, err error) {
	err = r.runWithinLimit(ctx, firstShardTimeout, func(ctx context.Context) error {
		reply, err = r.source.run(ctx, database, command)
		return err
	})
	return reply, err
}

// listFromShards returns the documents of a query that needs answers of shards.
func (r *reading) listFromShards(ctx context.Context, first time.Duration, q query) (docs []bson.Raw, err error) {
	err = r.runWithinLimit(ctx, first, func(ctx context.Context) error {
		docs, err = r.source.list(ctx, q)
		return err
	})
	return docs, err
}

// runWithinLimit calls send with the time limit of a command, which the driver sends as maxTimeMS. It
// does not wait longer for a server that ignores the limit.
func (r *reading) runWithinLimit(ctx context.Context, first time.Duration, send func(context.Context) error) error {
	limit := r.shardTimeouts.nextLimit(first)
	if limit == 0 {
		return &ShardTimeoutError{Why: r.unreachableText()}
	}
	waits, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	err := send(waits)
	if ctx.Err() != nil {
		return err
	}
	r.shardTimeouts.recordEnd(limit, time.Since(began), err)
	if isTimeExpired(err) {
		return &ShardTimeoutError{Limit: limit, Why: r.unreachableText()}
	}
	return err
}

// unreachableText names the shards that the router can't reach; empty if none is known.
func (r *reading) unreachableText() string {
	for _, s := range r.parts.Shards {
		if s.Unreachable != "" {
			return fmt.Sprintf("shard %s: %s", s.ID, s.Unreachable)
		}
	}
	return ""
}

// unreachableShards returns the shards that the router can't reach.
func (r *reading) unreachableShards() map[catalog.ShardID]bool {
	list := map[catalog.ShardID]bool{}
	for _, s := range r.parts.Shards {
		if s.Unreachable != "" {
			list[s.ID] = true
		}
	}
	return list
}
