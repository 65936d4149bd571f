package mock

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// engine is the cluster as the balancer sees it, for a caller that holds the
// lock: the event driver, and the status command.
type engine struct{ c *Cluster }

var _ balancer.EventCluster = engine{}

func (e engine) Setting(_ context.Context, id string) (bson.Raw, error) {
	raw, _ := e.c.configDoc(configSettings, id)
	return raw, nil
}

func (e engine) Shards(context.Context) ([]catalog.Shard, error) {
	shards, err := e.c.ReadShards()
	if e.c.release.LimitsShards() {
		e.c.markFull(shards)
	}
	return shards, err
}

func (e engine) Collections(context.Context) ([]catalog.Collection, error) {
	return e.c.ShardedCollections()
}

func (e engine) Routing(_ context.Context, ns string) (balancer.Routing, error) {
	coll, ok, err := e.c.Tracked(ns)
	if err != nil {
		return balancer.Routing{}, err
	}
	if !ok {
		return balancer.Routing{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	zones, err := e.c.zonesOf(coll)
	return balancer.Routing{Collection: coll, Table: e.c.tables[ns], Zones: zones}, err
}

func (e engine) DataSizes(_ context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	if err := e.c.reachShards(configShard); err != nil {
		return nil, err
	}
	sizes := make(map[string]map[catalog.ShardID]int64, len(colls))
	for _, coll := range colls {
		sizes[coll.Namespace] = e.c.ownedBytes(coll)
	}
	return sizes, nil
}

func (e engine) Split(_ context.Context, s policy.Split) error {
	coll, ok, err := e.c.Tracked(s.Namespace)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", s.Namespace)
	}
	if coll.Epoch != s.Version.Epoch {
		return mongoerr.New(mongoerr.StaleEpoch, "The epoch of collection %s has changed", s.Namespace)
	}
	chunk := e.c.tables[s.Namespace].Find(s.Min)
	if chunk.Shard != s.Shard || !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) {
		return e.c.staleConfig(s.Namespace, s.Shard, "no chunk with these bounds")
	}
	if err := e.c.send(s.Shard, sendsSplit, func() bson.D { return splitCommand(coll, s) }); err != nil {
		return err
	}
	return e.c.SplitOnShard(coll, chunk, s.Points)
}

func (e engine) StartMove(m policy.Migration, done func(error)) {
	if m.Reason == policy.ReasonUnsharded {
		e.c.startMoveUnsharded(m, done)
		return
	}
	coll, err := e.chosen(m)
	if err != nil {
		done(err)
		return
	}
	settings := e.c.loop.Settings()
	req := MoveRequest{
		Namespace: m.Namespace, From: m.From, To: m.To, Min: coll.Pattern.Bound(m.Min),
		Force: m.Force, MaxChunkSizeBytes: m.MaxChunkSizeBytes, WaitForDelete: settings.WaitForDelete,
	}
	req.SecondaryThrottle, req.WriteConcern = settings.SecondaryThrottle.Sent()
	if !m.Max.IsZero() {
		req.Max = coll.Pattern.Bound(m.Max)
	}
	e.c.StartMove(req, done)
}

// chosen is the collection that a migration was chosen for. It may have been
// dropped since, and another one made under its name.
func (e engine) chosen(m policy.Migration) (catalog.Collection, error) {
	coll, ok, err := e.c.Tracked(m.Namespace)
	if err != nil {
		return coll, err
	}
	if !ok || !coll.UUID.Equal(m.UUID) {
		return coll, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", m.Namespace)
	}
	if len(m.Min.Values()) != coll.Pattern.Len() {
		return coll, e.c.staleConfig(m.Namespace, m.From, "the shard key of %s has changed", m.Namespace)
	}
	return coll, nil
}

// Move is for a caller that may wait; the event driver uses StartMove.
func (e engine) Move(ctx context.Context, m policy.Migration) error {
	var result error
	ended := false
	e.StartMove(m, func(err error) { result, ended = err, true })
	if err := e.c.Await(ctx, time.Time{}, func() bool { return ended }); err != nil {
		return err
	}
	return result
}

func (e engine) SplitPoint(_ context.Context, m policy.Migration) (policy.Split, error) {
	coll, err := e.chosen(m)
	if err != nil {
		return policy.Split{}, err
	}
	table := e.c.tables[m.Namespace]
	chunk := table.Find(m.Min)
	split := policy.Split{
		Namespace: m.Namespace, Shard: chunk.Shard, Version: table.Version(),
		ChunkVersion: chunk.Version, Min: chunk.Min, Max: chunk.Max,
	}
	points := func() bson.D { return pointsCommand(coll, split, m.MaxChunkSizeBytes) }
	if err := e.c.send(chunk.Shard, sendsPoints, points); err != nil {
		return split, err
	}
	if !e.c.release.BalancesBySize() {
		split.Points = e.c.halvesOfChunks(coll, chunk, m.MaxChunkSizeBytes)
		return split, nil
	}
	local := e.c.shards[chunk.Shard].colls[m.Namespace]
	if point, ok := local.splitPoint(coll.Pattern, chunk.Min, chunk.Max, m.MaxChunkSizeBytes, forward); ok {
		split.Points = []catalog.Key{point}
	}
	return split, nil
}

func (e engine) MarkJumbo(_ context.Context, ns string, min catalog.Key) error {
	return e.c.setJumbo(ns, min, catalog.JumboTrue)
}

func (e engine) SwitchOffBalancing(_ context.Context, ns string) error {
	_, err := e.c.configModify(configCollections, ns, func(doc *bson.D) { set(doc, "noBalance", true) })
	return err
}

func (e engine) LogAction(_ context.Context, what string, details bson.D) error {
	e.c.LogAction(what, details)
	return nil
}

// lockedEngine takes the lock for every call: the goroutine driver's view.
type lockedEngine struct{ c *Cluster }

var _ balancer.Cluster = lockedEngine{}

func locked[T any](c *Cluster, do func(engine) (T, error)) (T, error) {
	c.Lock()
	defer c.Unlock()
	return do(engine{c})
}

func (l lockedEngine) Setting(ctx context.Context, id string) (bson.Raw, error) {
	return locked(l.c, func(e engine) (bson.Raw, error) { return e.Setting(ctx, id) })
}

func (l lockedEngine) Shards(ctx context.Context) ([]catalog.Shard, error) {
	return locked(l.c, func(e engine) ([]catalog.Shard, error) { return e.Shards(ctx) })
}

func (l lockedEngine) Collections(ctx context.Context) ([]catalog.Collection, error) {
	return locked(l.c, func(e engine) ([]catalog.Collection, error) { return e.Collections(ctx) })
}

func (l lockedEngine) Routing(ctx context.Context, ns string) (balancer.Routing, error) {
	return locked(l.c, func(e engine) (balancer.Routing, error) { return e.Routing(ctx, ns) })
}

func (l lockedEngine) DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	return locked(l.c, func(e engine) (map[string]map[catalog.ShardID]int64, error) { return e.DataSizes(ctx, colls) })
}

func (l lockedEngine) SplitPoint(ctx context.Context, m policy.Migration) (policy.Split, error) {
	return locked(l.c, func(e engine) (policy.Split, error) { return e.SplitPoint(ctx, m) })
}

func (l lockedEngine) Split(ctx context.Context, s policy.Split) error {
	return l.do(func(e engine) error {
		if err := e.c.AwaitDonation(ctx, time.Time{}, s.Namespace, s.Shard); err != nil {
			return err
		}
		return e.Split(ctx, s)
	})
}

func (l lockedEngine) Move(ctx context.Context, m policy.Migration) error {
	return l.do(func(e engine) error { return e.Move(ctx, m) })
}

func (l lockedEngine) MarkJumbo(ctx context.Context, ns string, min catalog.Key) error {
	return l.do(func(e engine) error { return e.MarkJumbo(ctx, ns, min) })
}

func (l lockedEngine) SwitchOffBalancing(ctx context.Context, ns string) error {
	return l.do(func(e engine) error { return e.SwitchOffBalancing(ctx, ns) })
}

func (l lockedEngine) LogAction(ctx context.Context, what string, details bson.D) error {
	return l.do(func(e engine) error { return e.LogAction(ctx, what, details) })
}

func (l lockedEngine) do(run func(engine) error) error {
	l.c.Lock()
	defer l.c.Unlock()
	defer l.c.persist()
	return run(engine(l))
}
