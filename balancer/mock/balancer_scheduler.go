package mock

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The commands scheduler of the config server sends each command to one shard,
// once, and waits for the answer as long as it takes: it keeps no two commands
// apart, tries nothing again and has no timeout (rules/02-defragmentation-and-merging §4.1).

// schedulerState is the scheduler's life cycle (rules/02-defragmentation-and-merging §4.5).
type schedulerState uint8

const (
	// schedulerStopped: the config server is down; what comes is refused.
	schedulerStopped schedulerState = iota
	// schedulerRecovering: the migrations of the term before have not ended;
	// what comes waits.
	schedulerRecovering
	schedulerRunning
)

// The commands that the balancer sends to shards, by their names.
const (
	sendsMove     = "_shardsvrMoveRange"
	sendsMergeAll = "_shardsvrMergeAllChunksOnShard"
	sendsMerge    = "mergeChunks"
	sendsMeasure  = "dataSize"
	sendsSplit    = "splitChunk"
	sendsPoints   = "autoSplitVector"
)

// commitsMigration is what a donor sends to the config server.
const commitsMigration = "_configsvrCommitChunkMigration"

// BetweenNodes reports whether the balancer or a shard sends a command of this
// name to another node, so that it can be made to fail there.
func BetweenNodes(name string) bool {
	return slices.Contains([]string{sendsMove, sendsMergeAll, sendsMerge, sendsMeasure, sendsSplit, sendsPoints,
		commitsMigration}, name)
}

// send brings a command of the balancer to a shard. It is ShardNotFound for a
// shard that nobody knows, an error of the network, or what the command was
// made to fail with.
func (b *Balancer) send(to catalog.ShardID, name string, document func() bson.D) error {
	if b.shards[to] == nil {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", to)
	}
	if err := b.faults.reach(configShard, to); err != nil {
		return err
	}
	switch f := b.faults.takeFailureOf(name, to); {
	case f == nil || f.WriteConcernError != nil: // the command was applied
	case f.CloseConnection:
		return b.faults.connectionLost(to)
	default:
		return f.Err()
	}
	if b.logger.Enabled(context.Background(), slog.LevelDebug) {
		text, err := bson.MarshalExtJSON(document(), false, false)
		b.logger.Debug("the balancer sends a command", "shard", to, "command", string(text), "error", err)
	}
	return nil
}

func (fs *Faults) connectionLost(to catalog.ShardID) error {
	return mongoerr.New(mongoerr.HostUnreachable,
		"Error connecting to %s :: caused by :: Connection reset by peer", cmp.Or(fs.addresses.hostOf(to), string(to)))
}

// sendMove is send for a request to a donor.
func (b *Balancer) sendMove(req MoveRequest) error {
	return b.send(req.From, sendsMove, func() bson.D {
		coll, _, err := b.config.Tracked(req.Namespace)
		if err != nil {
			return bson.D{{Key: sendsMove, Value: req.Namespace}}
		}
		return moveCommand(req, coll.Epoch, coll.Timestamp)
	})
}

// takeFailureOf counts a command between nodes against the failures armed
// for it on this shard, or on any. A name that routers know too is meant for
// them unless a shard is named.
func (fs *Faults) takeFailureOf(name string, to catalog.ShardID) *Failure {
	if len(fs.failures) == 0 {
		return nil
	}
	if f := fs.takeFailure(name, to); f != nil || name == sendsMerge || name == sendsMeasure {
		return f
	}
	return fs.takeFailure(name, "")
}

// awaitScheduler waits until the scheduler takes commands. One that comes while
// the config server is down, or waits when it steps down, is interrupted.
func (b *Balancer) awaitScheduler(ctx context.Context, deadline time.Time) error {
	term := b.term
	err := b.clock.Await(ctx, deadline, func() bool { return b.scheduler != schedulerRecovering || b.term != term })
	if err == nil && (b.scheduler != schedulerRunning || b.term != term) {
		return mongoerr.New(mongoerr.BalancerInterrupted, "Request rejected - the balancer's commands scheduler is stopped")
	}
	return err
}

// moveCommand returns what a donor is sent (rules/02-defragmentation-and-merging §4.2).
func moveCommand(req MoveRequest, epoch bson.ObjectID, timestamp bson.Timestamp) bson.D {
	doc := bson.D{{Key: sendsMove, Value: req.Namespace}, {Key: "toShard", Value: string(req.To)}}
	if req.Min != nil {
		doc = append(doc, bson.E{Key: "min", Value: req.Min})
	}
	if req.Max != nil {
		doc = append(doc, bson.E{Key: "max", Value: req.Max})
	}
	concern := req.WriteConcern
	if concern == nil {
		concern = encode(bson.D{{Key: "w", Value: int32(1)}, {Key: "wtimeout", Value: int32(0)}})
	}
	return append(doc,
		bson.E{Key: "waitForDelete", Value: req.WaitForDelete},
		bson.E{Key: "epoch", Value: epoch},
		bson.E{Key: "collectionTimestamp", Value: timestamp},
		bson.E{Key: "fromShard", Value: string(req.From)},
		bson.E{Key: "maxChunkSizeBytes", Value: req.MaxChunkSizeBytes},
		bson.E{Key: "forceJumbo", Value: int32(req.Force)},
		bson.E{Key: "secondaryThrottle", Value: req.SecondaryThrottle},
		bson.E{Key: "writeConcern", Value: concern})
}

// actionCommand returns what a shard is sent for a streaming action.
func (b *Balancer) actionCommand(a policy.Action) bson.D {
	if a.Kind == policy.MergeAll {
		return bson.D{
			{Key: sendsMergeAll, Value: a.Namespace},
			{Key: "shard", Value: string(a.Shard)},
			{Key: "maxNumberOfChunksToMerge", Value: int32(autoMergeMost)},
			{Key: "maxTimeProcessingChunksMS", Value: int32(b.parameters.Int("autoMergerMaxTimeProcessingChunksMS"))},
		}
	}
	table := b.config.table(a.Namespace)
	if table == nil {
		return bson.D{{Key: actionNames[a.Kind], Value: a.Namespace}}
	}
	p := table.Pattern()
	version := bson.E{Key: "shardVersion", Value: versionDoc(table, table.ShardVersion(a.Shard))}
	if a.Kind == policy.MergeRange {
		return bson.D{
			{Key: sendsMerge, Value: a.Namespace},
			{Key: "bounds", Value: bson.A{p.Bound(a.Min), p.Bound(a.Max)}},
			{Key: "shardName", Value: string(a.Shard)},
			{Key: "epoch", Value: table.Epoch()},
			{Key: "timestamp", Value: table.Timestamp()},
			version,
		}
	}
	return bson.D{
		{Key: sendsMeasure, Value: a.Namespace},
		{Key: "keyPattern", Value: p.Doc()},
		{Key: "min", Value: p.Bound(a.Min)},
		{Key: "max", Value: p.Bound(a.Max)},
		{Key: "estimate", Value: true},
		{Key: "maxSize", Value: a.MaxBytes},
		version,
	}
}

var actionNames = map[policy.ActionKind]string{
	policy.MergeRange: sendsMerge, policy.MeasureRange: sendsMeasure, policy.MergeAll: sendsMergeAll,
}

// splitCommand returns what the owner of a chunk is sent to split it, around
// the scheduler (rules/02-defragmentation-and-merging §4.3).
func splitCommand(coll catalog.Collection, s policy.Split) bson.D {
	return bson.D{
		{Key: sendsSplit, Value: s.Namespace},
		{Key: "from", Value: string(s.Shard)},
		{Key: "keyPattern", Value: coll.Pattern.Doc()},
		{Key: "epoch", Value: coll.Epoch},
		{Key: "timestamp", Value: coll.Timestamp},
		{Key: "min", Value: coll.Pattern.Bound(s.Min)},
		{Key: "max", Value: coll.Pattern.Bound(s.Max)},
		{Key: "splitKeys", Value: boundsOf(coll, s.Points)},
	}
}

// pointsCommand asks the owner of a chunk that was too large to move where to
// split it (rules/02-defragmentation-and-merging §4.3).
func pointsCommand(coll catalog.Collection, s policy.Split, maxChunkSizeBytes int64) bson.D {
	_, name, _ := strings.Cut(s.Namespace, ".")
	return bson.D{
		{Key: sendsPoints, Value: name},
		{Key: "keyPattern", Value: coll.Pattern.Doc()},
		{Key: "min", Value: coll.Pattern.Bound(s.Min)},
		{Key: "max", Value: coll.Pattern.Bound(s.Max)},
		{Key: "maxChunkSizeBytes", Value: maxChunkSizeBytes},
		{Key: "limit", Value: int32(1)},
	}
}

func boundsOf(coll catalog.Collection, keys []catalog.Key) bson.A {
	bounds := make(bson.A, len(keys))
	for i, key := range keys {
		bounds[i] = coll.Pattern.Bound(key)
	}
	return bounds
}
