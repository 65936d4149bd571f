package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Move sends moveRange, before 6.0 moveChunk, and waits for its end. An unsharded collection moves with
// moveCollection, from 8.0 on. Move does not force migrations that the balancer would force: a mongos
// can't mark a migration as the balancer's, and a forced manual migration blocks writes.
func (d *Executor) Move(ctx context.Context, m policy.Migration) error {
	if m.Reason == policy.ReasonUnsharded {
		return d.moveCollection(ctx, m)
	}
	coll, err := d.readCollectionWithUUID(ctx, m.Namespace, m.UUID)
	if err != nil {
		return err
	}
	chunk, err := d.readOwnedChunkAt(ctx, coll, m.Min, m.From)
	if err != nil {
		return err
	}
	settings, err := d.readSettings(ctx)
	if err != nil {
		return err
	}
	command := moveRangeCommand(coll.Pattern, m.Namespace, m.To, m.Min, m.Max)
	if !d.routerRelease.FCVAtLeast(catalog.Release60) {
		if !chunk.Min.Equal(m.Min) || !m.Max.IsZero() && !chunk.Max.Equal(m.Max) {
			return staleError("no chunk of %s with these bounds", m.Namespace)
		}
		command = moveChunkCommand(coll.Pattern, m.Namespace, m.To, chunk.Min, chunk.Max)
	}
	return d.sendMove(ctx, d.withMoveOptions(command, settings, m.Force == policy.ForceManual))
}

// sendMove calls beforeMove, and then sends the command of a move.
func (d *Executor) sendMove(ctx context.Context, command bson.D) error {
	if d.beforeMove != nil {
		if err := d.beforeMove(ctx); err != nil {
			return err
		}
	}
	_, err := d.runCommand(ctx, "admin", command)
	return err
}

// withComment adds the comment by which a move can be found among the operations of the servers.
func (d *Executor) withComment(command bson.D) bson.D {
	if d.comment != "" && d.routerRelease.FCVAtLeast(catalog.Release44) {
		command = append(command, bson.E{Key: "comment", Value: d.comment})
	}
	return command
}

// withMoveOptions adds the comment of a move, and the options that the cluster's settings require.
func (d *Executor) withMoveOptions(command bson.D, settings catalog.Settings, force bool) bson.D {
	command = d.withComment(command)
	if force {
		command = append(command, bson.E{Key: "forceJumbo", Value: true})
	}
	if settings.WaitForDelete {
		command = append(command, bson.E{Key: "waitForDelete", Value: true})
	}
	if throttled, concern := settings.SecondaryThrottle.CommandFields(); throttled && concern != nil {
		command = append(command, bson.E{Key: "secondaryThrottle", Value: true}, bson.E{Key: "writeConcern", Value: concern})
	}
	return command
}

// moveRangeCommand returns the command that moves a range. If upper is zero, the donor chooses the end.
func moveRangeCommand(p catalog.KeyPattern, ns string, to catalog.ShardID, lower, upper catalog.Key) bson.D {
	command := bson.D{
		{Key: "moveRange", Value: ns}, {Key: "toShard", Value: string(to)}, {Key: "min", Value: p.Bound(lower)},
	}
	if !upper.IsZero() {
		command = append(command, bson.E{Key: "max", Value: p.Bound(upper)})
	}
	return command
}

func moveChunkCommand(p catalog.KeyPattern, ns string, to catalog.ShardID, lower, upper catalog.Key) bson.D {
	return bson.D{
		{Key: "moveChunk", Value: ns}, {Key: "to", Value: string(to)},
		{Key: "bounds", Value: bson.A{p.Bound(lower), p.Bound(upper)}},
	}
}

func (d *Executor) moveCollection(ctx context.Context, m policy.Migration) error {
	if !d.routerRelease.MovesCollections() {
		return &UnsupportedError{"moving an unsharded collection", "moveCollection requires 8.0 or newer"}
	}
	command := bson.D{{Key: "moveCollection", Value: m.Namespace}, {Key: "toShard", Value: string(m.To)}}
	return d.sendMove(ctx, d.withComment(command))
}

// Act runs a merge or a measurement to its end.
func (d *Executor) Act(ctx context.Context, a policy.StreamAction) policy.StreamActionResult {
	if a.Kind == policy.MergeAll {
		return d.mergeAll(ctx, a)
	}
	coll, err := d.readCollectionWithUUID(ctx, a.Namespace, a.UUID)
	if err == nil {
		_, err = d.readOwnedChunkAt(ctx, coll, a.Min, a.Shard)
	}
	if err != nil {
		return policy.StreamActionResult{Err: err}
	}
	if a.Kind == policy.MeasureRange {
		return d.measure(ctx, coll, a)
	}
	_, err = d.runCommand(ctx, "admin", mergeChunksCommand(coll.Pattern, a.Namespace, a.Min, a.Max))
	return policy.StreamActionResult{Err: err}
}

func mergeChunksCommand(p catalog.KeyPattern, ns string, lower, upper catalog.Key) bson.D {
	return bson.D{
		{Key: "mergeChunks", Value: ns}, {Key: "bounds", Value: bson.A{p.Bound(lower), p.Bound(upper)}},
	}
}

// measure runs dataSize with an estimate. In contrast to a shard, a mongos before 8.0 does not return
// maxReached; a size above the limit has the same meaning.
func (d *Executor) measure(ctx context.Context, coll catalog.Collection,
	a policy.StreamAction) policy.StreamActionResult {
	db, _, err := catalog.SplitNamespace(a.Namespace)
	if err != nil {
		return policy.StreamActionResult{Err: err}
	}
	reply, err := d.runCommand(ctx, db,
		dataSizeCommand(a.Namespace, coll.Pattern, a.Min, a.Max, bson.E{Key: "maxSize", Value: a.MaxBytes}))
	if err != nil {
		return policy.StreamActionResult{Err: err}
	}
	size := integer(reply, "size")
	return policy.StreamActionResult{MeasuredBytes: size, MaxReached: size > a.MaxBytes ||
		catalog.IsTruthyInJS(reply.Lookup("maxReached"))}
}

// mergeAll sends mergeAllChunksOnShard. A mongos does not say how many chunks were merged:
// the chunks are counted before and after, which other changes may disturb.
func (d *Executor) mergeAll(ctx context.Context, a policy.StreamAction) (result policy.StreamActionResult) {
	if !d.routerRelease.AutoMerges() {
		result.Err = &UnsupportedError{"merging all chunks of a shard", "mergeAllChunksOnShard requires 7.0 or newer"}
		return result
	}
	coll, err := d.readCollection(ctx, a.Namespace)
	if err != nil {
		if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
			err = mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", a.Namespace)
		}
		result.Err = err
		return result
	}
	before, err := d.countChunks(ctx, coll, a.Shard)
	if err == nil {
		_, err = d.runCommand(ctx, "admin", bson.D{
			{Key: "mergeAllChunksOnShard", Value: a.Namespace}, {Key: "shard", Value: string(a.Shard)},
			{Key: "maxNumberOfChunksToMerge", Value: int32(policy.AutoMergeMaxChunks)},
		})
	}
	if err != nil {
		result.Err = err
		return result
	}
	after, err := d.countChunks(ctx, coll, a.Shard)
	result.Err = err
	if gone := before - after; gone > 0 {
		result.MergedChunks = int(gone) + 1 // a lower limit: each merged chunk adds one
	}
	return result
}

func (d *Executor) countChunks(ctx context.Context, coll catalog.Collection, shard catalog.ShardID) (int64, error) {
	reply, err := d.runCommand(ctx, "config", bson.D{
		{Key: "count", Value: "chunks"},
		{Key: "query", Value: bson.D{coll.ChunkFilter(), {Key: "shard", Value: string(shard)}}},
		ReadConcernMajority,
	})
	return integer(reply, "n"), err
}
