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

// Limits of the waits for shards. A mongos and a config server wait 20 s for a shard that is
// down, and for a lock as long as it is held (recordings 20-live, 03, 04 and 10).
const (
	firstWait = 3 * time.Second  // until a command has waited in vain
	nextWait  = time.Second      // after that
	wholeWait = 6 * time.Second  // in all
	sizesWait = 15 * time.Second // for the sizes of all collections, if the router reaches all shards
	readWait  = 30 * time.Second // for documents of config
	tableWait = 20 * readWait    // for routing tables
)

// shardTimeouts limits how long the commands of a Reader wait for shards.
type shardTimeouts struct {
	most time.Duration // in all

	mu   sync.Mutex
	lost time.Duration // by commands that waited in vain
}

// limit returns how long the next command may wait; nothing once too much was lost.
func (p *shardTimeouts) limit(first time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.lost == 0:
		return min(max(first, p.most/4), p.most)
	case p.lost+nextWait > p.most:
		return 0
	}
	return nextWait
}

// expect notes that a shard is known to be down.
func (p *shardTimeouts) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = max(p.lost, time.Millisecond)
}

// ended notes how a command has ended.
func (p *shardTimeouts) ended(limit, took time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case expired(err):
		p.lost += max(limit, took)
	case isDown(err):
		p.lost += max(took, time.Millisecond)
	}
}

// expired reports whether a command that a server had ended because its time was up.
func expired(err error) bool {
	if errors.As(err, new(topology.ServerSelectionError)) {
		return false // the router itself is away
	}
	return mongoerr.Is(ServerError(err), mongoerr.MaxTimeMSExpired) || err != nil && mongo.IsTimeout(err)
}

// NoAnswerError says that shards did not answer a command in time, or that it was not sent
// because they have not answered others.
type NoAnswerError struct {
	Within time.Duration // zero: it was not sent
	Why    string        // such as "shard b: …"; empty if it is not known
}

// Error says what is known.
func (e *NoAnswerError) Error() string {
	text := "not asked, because shards have not answered other commands"
	if e.Within > 0 {
		text = fmt.Sprintf("no answer in %s", e.Within)
	}
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

// ask sends a command that shards answer.
func (r *reading) ask(ctx context.Context, database string, command bson.D) (reply bson.Raw, err error) {
	err = r.within(ctx, firstWait, func(ctx context.Context) error {
		reply, err = r.source.run(ctx, database, command)
		return err
	})
	return reply, err
}

// collect returns the documents of a query that shards answer.
func (r *reading) collect(ctx context.Context, first time.Duration, q query) (docs []bson.Raw, err error) {
	err = r.within(ctx, first, func(ctx context.Context) error {
		docs, err = r.source.list(ctx, q)
		return err
	})
	return docs, err
}

// within calls send with the time that a command may take, which the driver sends as
// maxTimeMS. A server that does not keep to it is not waited for either.
func (r *reading) within(ctx context.Context, first time.Duration, send func(context.Context) error) error {
	limit := r.patience.limit(first)
	if limit == 0 {
		return &NoAnswerError{Why: r.away()}
	}
	waits, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	err := send(waits)
	if ctx.Err() != nil {
		return err
	}
	r.patience.ended(limit, time.Since(began), err)
	if expired(err) {
		return &NoAnswerError{Within: limit, Why: r.away()}
	}
	return err
}

// away says which shards the router can't reach; empty if none is known.
func (r *reading) away() string {
	for _, s := range r.parts.Shards {
		if s.Unreachable != "" {
			return fmt.Sprintf("shard %s: %s", s.ID, s.Unreachable)
		}
	}
	return ""
}

// down returns the shards that the router can't reach.
func (r *reading) down() map[catalog.ShardID]bool {
	list := map[catalog.ShardID]bool{}
	for _, s := range r.parts.Shards {
		if s.Unreachable != "" {
			list[s.ID] = true
		}
	}
	return list
}
