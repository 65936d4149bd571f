package mock

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// engineCluster is the balancer's interface to the cluster, for callers that hold the lock: the event driver,
// the status command, and lockingEngineCluster.
type engineCluster struct {
	b *Balancer
	// sizes is the last result of DataSizes, which the next call reuses. Only the event driver has it:
	// its loop no longer uses the sizes when the next event runs.
	sizes *dataSizes
}

// dataSizes holds the owned bytes by collection and shard.
type dataSizes map[string]map[catalog.ShardID]int64

var _ balancer.EventCluster = engineCluster{}

func (e engineCluster) Setting(_ context.Context, id string) (bson.Raw, error) {
	raw, _ := e.b.config.doc(configSettings, id)
	return raw, nil
}

func (e engineCluster) Shards(context.Context) ([]catalog.Shard, error) {
	shards, err := e.b.config.shardList()
	if e.b.release.HasMaxShardSize() {
		shards = slices.Clone(shards)
		e.b.stats.fillShardSizes(shards)
	}
	return shards, err
}

func (e engineCluster) Collections(context.Context) ([]catalog.Collection, error) {
	return e.b.config.shardedCollections()
}

func (e engineCluster) Routing(_ context.Context, ns string) (balancer.Routing, error) {
	coll, ok, err := e.b.config.TrackedEntry(ns)
	if err != nil {
		return balancer.Routing{}, err
	}
	if !ok {
		return balancer.Routing{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	zones, err := e.b.zones.ranges(coll)
	return balancer.Routing{Collection: coll, Table: e.b.config.Table(ns), Zones: zones}, err
}

func (e engineCluster) DataSizes(_ context.Context,
	colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	if err := e.b.faults.checkReachesShards(configShard); err != nil {
		return nil, err
	}
	var last dataSizes
	sizes := make(dataSizes, len(colls))
	if e.sizes != nil {
		last, *e.sizes = *e.sizes, sizes
	}
	for _, coll := range colls {
		sizes[coll.Namespace] = e.b.stats.ownedBytes(coll, last[coll.Namespace])
	}
	return sizes, nil
}

// Split splits a chunk. On real time it waits until no migration leaves the shard. Events must not wait.
func (e engineCluster) Split(ctx context.Context, s policy.Split) error {
	if e.b.clock.IsRealTime() {
		if err := e.b.migrations.AwaitDonationEnd(ctx, time.Time{}, s.Namespace, s.Shard); err != nil {
			return err
		}
	}
	coll, ok, err := e.b.config.TrackedEntry(s.Namespace)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", s.Namespace)
	}
	if coll.Epoch != s.Version.Epoch {
		return mongoerr.New(mongoerr.StaleEpoch, "The epoch of collection %s has changed", s.Namespace)
	}
	chunk := e.b.config.tables[s.Namespace].Find(s.Min)
	if chunk.Shard != s.Shard || !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) {
		return e.b.config.staleConfigError(s.Namespace, s.Shard, "no chunk with these bounds")
	}
	if err := e.b.send(s.Shard, cmdSplitChunk, func() bson.D { return splitCommand(coll, s) }); err != nil {
		return err
	}
	return e.b.chunks.SplitOnShard(coll, chunk, s.Points)
}

func (e engineCluster) StartMove(m policy.Migration, done func(error)) {
	if m.Reason == policy.ReasonUnsharded {
		e.b.reshardings.startMove(m, done)
		return
	}
	coll, err := e.migrationCollection(m)
	if err != nil {
		done(err)
		return
	}
	settings := e.b.loop.Settings()
	req := MoveRequest{
		Namespace: m.Namespace, From: m.From, To: m.To, Min: coll.Pattern.Bound(m.Min),
		Force: m.Force, MaxChunkSizeBytes: m.MaxChunkSizeBytes, WaitForDelete: settings.WaitForDelete,
		Reason: m.Reason,
	}
	req.SecondaryThrottle, req.WriteConcern = settings.SecondaryThrottle.CommandFields()
	if !m.Max.IsZero() {
		req.Max = coll.Pattern.Bound(m.Max)
	}
	e.b.migrations.start(req, boundKeys{coll.Pattern, m.Min, m.Max}, done)
}

// boundKeys are the bounds of a request, parsed with pattern; zero if the pattern is unknown.
type boundKeys struct {
	pattern  catalog.KeyPattern
	min, max catalog.Key
}

// migrationCollection returns the collection of a migration. It fails if the collection was dropped or
// recreated since.
func (e engineCluster) migrationCollection(m policy.Migration) (catalog.Collection, error) {
	coll, ok, err := e.b.config.TrackedEntry(m.Namespace)
	if err != nil {
		return coll, err
	}
	if !ok || !coll.UUID.Equal(m.UUID) {
		return coll, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", m.Namespace)
	}
	if m.Min.Len() != coll.Pattern.Len() {
		return coll, e.b.config.staleConfigError(m.Namespace, m.From, "the shard key of %s has changed", m.Namespace)
	}
	return coll, nil
}

// Move executes a migration and waits for its end. Events must not wait, so the event driver uses
// StartMove instead.
func (e engineCluster) Move(ctx context.Context, m policy.Migration) error {
	var result error
	ended := false
	e.StartMove(m, func(err error) { result, ended = err, true })
	if err := e.b.clock.Await(ctx, time.Time{}, func() bool { return ended }); err != nil {
		return err
	}
	return result
}

func (e engineCluster) SplitPoint(_ context.Context, m policy.Migration) (policy.Split, error) {
	coll, err := e.migrationCollection(m)
	if err != nil {
		return policy.Split{}, err
	}
	table := e.b.config.tables[m.Namespace]
	chunk := table.Find(m.Min)
	split := policy.Split{
		Namespace: m.Namespace, Shard: chunk.Shard, Version: table.Version(),
		ChunkVersion: chunk.Version, Min: chunk.Min, Max: chunk.Max,
	}
	points := func() bson.D { return splitPointsCommand(coll, split, m.MaxChunkSizeBytes) }
	if err := e.b.send(chunk.Shard, cmdAutoSplitVector, points); err != nil {
		return split, err
	}
	if !e.b.release.BalancesBySize() {
		split.Points = e.b.chunks.halfSizePoints(coll, chunk, m.MaxChunkSizeBytes)
		return split, nil
	}
	local := e.b.shards[chunk.Shard].colls[m.Namespace]
	if local == nil {
		return split, errDropped()
	}
	if point, ok := local.splitPoint(coll.Pattern, chunk.Min, chunk.Max, m.MaxChunkSizeBytes, forward); ok {
		split.Points = []catalog.Key{point}
	}
	return split, nil
}

func (e engineCluster) MarkJumbo(_ context.Context, ns string, min catalog.Key) error {
	return e.b.config.setJumbo(ns, min, catalog.JumboTrue)
}

func (e engineCluster) SwitchOffBalancing(_ context.Context, ns string) error {
	_, err := e.b.config.modify(configCollections, ns, func(doc *bson.D) { setDocField(doc, "noBalance", true) })
	return err
}

func (e engineCluster) LogAction(_ context.Context, what string, details bson.D) error {
	e.b.log.WriteAction(what, details)
	return nil
}

// lockingEngineCluster is the interface to the cluster for the goroutine driver. Every call takes the lock;
// blocking calls release it while they wait.
type lockingEngineCluster struct{ b *Balancer }

var _ balancer.ConcurrentCluster = lockingEngineCluster{}

// ConcurrentCluster returns the interface to the cluster for a balancer with its own goroutines. The caller does
// not hold the lock.
func (b *Balancer) ConcurrentCluster() balancer.ConcurrentCluster { return lockingEngineCluster{b} }

func (s lockingEngineCluster) WithCluster(exchange func(balancer.Cluster)) {
	s.b.clock.Lock()
	defer s.b.clock.Unlock()
	defer func() { s.b.clock.OnEventsRun() }()
	exchange(engineCluster{b: s.b})
}

func (s lockingEngineCluster) Move(ctx context.Context, m policy.Migration) (err error) {
	s.WithCluster(func(balancer.Cluster) { err = engineCluster{b: s.b}.Move(ctx, m) })
	return err
}

func (s lockingEngineCluster) Act(ctx context.Context, a policy.StreamAction) (result policy.StreamActionResult) {
	s.WithCluster(func(balancer.Cluster) { result = engineCluster{b: s.b}.Act(ctx, a) })
	return result
}

var _ balancer.MachineIDs = engineCluster{}

func (e engineCluster) MachineID(_ context.Context, id catalog.ShardID) (number int64, known bool, err error) {
	if e.b.shards[id] == nil {
		return 0, false, nil
	}
	return int64(e.b.machineIDs.IDOf(id)), true, e.b.faults.checkReachable(configShard, id)
}

// MachineIDsKnownUnique reports whether the machine ids of all shards are known and differ. It caches the
// result, because every round calls it.
func (e engineCluster) MachineIDsKnownUnique(context.Context) bool {
	list, err := e.b.config.shardList()
	if err != nil || e.b.faults.checkReachesShards(configShard) != nil {
		return false
	}
	known := &e.b.config.entries.shards
	if known.machineIDsDiffer {
		return true
	}
	numbers := make(map[int32]bool, len(list))
	for _, s := range list {
		if e.b.shards[s.ID] != nil {
			numbers[e.b.machineIDs.IDOf(s.ID)] = true
		}
	}
	known.machineIDsDiffer = len(numbers) == len(list)
	return known.machineIDsDiffer
}

func (e engineCluster) ResetMachineID(_ context.Context, id catalog.ShardID) error {
	if err := e.b.faults.checkReachable(configShard, id); err != nil {
		return err
	}
	e.b.machineIDs.Reset(id)
	return nil
}
