package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Split sends one split for each point, the last point first. After a failure, the points above the
// failed one are split. Split fails if the chunk differs from the caller's.
func (d *Executor) Split(ctx context.Context, s policy.Split) error {
	coll, err := d.readCollection(ctx, s.Namespace)
	switch {
	case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", s.Namespace)
	case err != nil:
		return err
	case coll.Epoch != s.Version.Epoch:
		return mongoerr.New(mongoerr.StaleEpoch, "The epoch of collection %s has changed", s.Namespace)
	}
	chunk, err := d.readOwnedChunkAt(ctx, coll, s.Min, s.Shard)
	if err != nil {
		return err
	}
	if !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) {
		return staleError("no chunk of %s with these bounds", s.Namespace)
	}
	if s.Halve {
		_, err := d.runCommand(ctx, "admin", halveCommand(coll.Pattern, s.Namespace, s.Min, s.Max))
		return err
	}
	for i := len(s.Points) - 1; i >= 0; i-- {
		if _, err := d.runCommand(ctx, "admin", splitCommand(coll.Pattern, s.Namespace, s.Points[i])); err != nil {
			return err
		}
	}
	return nil
}

func splitCommand(p catalog.KeyPattern, ns string, point catalog.Key) bson.D {
	return bson.D{{Key: "split", Value: ns}, {Key: "middle", Value: p.Bound(point)}}
}

// halveCommand returns the split command that lets the donor choose the point, about the median.
func halveCommand(p catalog.KeyPattern, ns string, lower, upper catalog.Key) bson.D {
	return bson.D{{Key: "split", Value: ns}, {Key: "bounds", Value: bson.A{p.Bound(lower), p.Bound(upper)}}}
}

// SplitPoint uses splitVector, which returns points for pieces of half the size. The shards'
// autoSplitVector returns other points, but clients of a mongos can't use it. With routers up to 5.0,
// which have neither, the result is to split in half.
func (d *Executor) SplitPoint(ctx context.Context, m policy.Migration) (split policy.Split, err error) {
	coll, err := d.readCollectionWithUUID(ctx, m.Namespace, m.UUID)
	if err != nil {
		return split, err
	}
	chunk, err := d.readChunkAt(ctx, coll, m.Min)
	if err != nil {
		return split, err
	}
	newest, err := d.readNewestChunk(ctx, coll)
	if err != nil {
		return split, err
	}
	split = policy.Split{
		Namespace: m.Namespace, Shard: chunk.Shard, ChunkVersion: chunk.Version, Min: chunk.Min, Max: chunk.Max,
		Version: catalog.Version{Epoch: coll.Epoch, Timestamp: coll.Timestamp, ChunkVersion: newest.Version},
	}
	if split.Halve = !d.routerRelease.ShowsSplitPoints(); split.Halve {
		return split, nil
	}
	var limit []bson.E
	if d.routerRelease.BalancesBySize() {
		limit = []bson.E{{Key: "maxSplitPoints", Value: 1}}
	}
	split.Points, err = splitVector(ctx, d.runCommand, coll.Pattern, m.Namespace, chunk.Min, chunk.Max,
		m.MaxChunkSizeBytes, limit...)
	return split, err
}

// splitVector returns where the owner of a range would cut it into pieces of half a size; none where
// it is empty.
func splitVector(ctx context.Context, run func(context.Context, string, bson.D) (bson.Raw, error),
	p catalog.KeyPattern, ns string, lower, upper catalog.Key, size int64, more ...bson.E,
) ([]catalog.Key, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	reply, err := run(ctx, db, append(bson.D{
		{Key: "splitVector", Value: ns}, {Key: "keyPattern", Value: p.Doc()},
		{Key: "min", Value: p.Bound(lower)}, {Key: "max", Value: p.Bound(upper)},
		{Key: "maxChunkSizeBytes", Value: size},
	}, more...))
	if mongoerr.Is(ServerError(err), mongoerr.OperationFailed) { // there is nothing to cut
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSplitKeys(p, reply)
}

func parseSplitKeys(p catalog.KeyPattern, reply bson.Raw) (points []catalog.Key, err error) {
	keys, _ := reply.Lookup("splitKeys").ArrayOK()
	values, err := keys.Values()
	for _, v := range values {
		doc, _ := v.DocumentOK()
		point, err := p.ParseKey(doc)
		if err != nil {
			return nil, err
		}
		points = append(points, point)
	}
	return points, err
}

func (d *Executor) readNewestChunk(ctx context.Context, coll catalog.Collection) (catalog.Chunk, error) {
	docs, err := d.findInConfig(ctx, "chunks", bson.D{coll.ChunkFilter()}, sortBy("lastmod", -1),
		bson.E{Key: "limit", Value: 1})
	if err != nil || len(docs) == 0 {
		return catalog.Chunk{}, err
	}
	return catalog.ParseChunk(coll.Pattern, docs[0])
}

// MarkJumbo returns an UnsupportedError.
func (d *Executor) MarkJumbo(context.Context, string, catalog.Key) error {
	return &UnsupportedError{"flagging a chunk jumbo", noCommand}
}

// SwitchOffBalancing disables the balancing of a collection.
func (d *Executor) SwitchOffBalancing(ctx context.Context, ns string) error {
	_, err := d.setBalancing(ctx, []string{ns}, false)
	return err
}

// LogAction returns an UnsupportedError: the engine has its own journal.
func (d *Executor) LogAction(context.Context, string, bson.D) error {
	return &UnsupportedError{"writing the action log", noCommand}
}

// LogChange returns an UnsupportedError: the engine has its own journal.
func (d *Executor) LogChange(context.Context, string) error {
	return &UnsupportedError{"writing the change log", noCommand}
}

// SetEstimate returns an UnsupportedError.
func (d *Executor) SetEstimate(context.Context, string, bson.Binary, policy.Measurement) error {
	return &UnsupportedError{"storing the size of a chunk", noCommand}
}

// SetDefragmentationPhase returns an UnsupportedError.
func (d *Executor) SetDefragmentationPhase(context.Context, string, bson.Binary, policy.PhaseName) error {
	return &UnsupportedError{"storing the phase of a defragmentation", noCommand}
}

// EndDefragmentation returns an UnsupportedError: configureCollectionBalancing only asks the cluster's own
// balancer to end it.
func (d *Executor) EndDefragmentation(context.Context, string, bson.Binary) error {
	return &UnsupportedError{"ending a defragmentation", noCommand}
}
