package mock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Move moves an unsharded collection to a shard and waits for the end. The collection is tracked from
// then on (rules/03-commands §1.4).
func (rs *Reshardings) Move(ctx context.Context, deadline time.Time, ns, to string) error {
	if err := rs.awaitMetadataCopy(ctx, deadline); err != nil {
		return err
	}
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	primary, known := rs.config.Primary(db)
	if !known {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	coll, tracked, err := rs.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case tracked && !coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotFound, "moveCollection can only be called on an unsharded collection")
	case !tracked && rs.shards[primary].colls[ns] == nil:
		return mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	case !rs.membership.hadTwoShards:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move a collection in a cluster that has never had two shards")
	}
	target, err := rs.config.ShardByID(to)
	if err != nil {
		return err
	}
	if !tracked {
		if err := rs.collections.trackUnsharded(ns, primary); err != nil {
			return err
		}
	}
	if rs.config.Table(ns).At(0).Shard == target.ID {
		return nil
	}
	return rs.moveToShard(ctx, deadline, ns, ProvenanceMove, target.ID)
}

// Unshard moves all data of a sharded collection to one shard, by default the one with the least data,
// and waits for the end (rules/03-commands §1.4).
func (rs *Reshardings) Unshard(ctx context.Context, deadline time.Time, ns, to string) error {
	if err := rs.awaitMetadataCopy(ctx, deadline); err != nil {
		return err
	}
	coll, ok, err := rs.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case !ok:
		return mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	case !rs.membership.hadTwoShards:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot unshard a collection in a cluster that has never had two "+
			"shards")
	}
	if to != "" {
		if _, err := rs.config.ShardByID(to); err != nil {
			return err // only the id of the shard is accepted, unlike in movePrimary
		}
	}
	target, err := rs.databases.choosePrimary(to)
	if err != nil {
		return err
	}
	if coll.Unsplittable {
		if to == "" || rs.config.Table(ns).At(0).Shard == target {
			return nil
		}
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	}
	return rs.moveToShard(ctx, deadline, ns, ProvenanceUnshard, target)
}

func (rs *Reshardings) moveToShard(ctx context.Context, deadline time.Time, ns string, by Provenance,
	to catalog.ShardID) error {
	plan, err := rs.singleShardPlan(ns, by, to)
	if err != nil {
		return err
	}
	return rs.run(ctx, deadline, plan)
}

// singleShardPlan returns a plan that moves a collection to one shard.
func (rs *Reshardings) singleShardPlan(ns string, by Provenance, to catalog.ShardID) (parsedReshardRequest, error) {
	pattern, err := idKeyPattern()
	if err != nil {
		return parsedReshardRequest{}, err
	}
	return parsedReshardRequest{
		Namespace: ns, Provenance: by, Pattern: pattern, Zones: catalog.NewZoneSet(pattern),
		Chunks:     []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: to}},
		requestKey: fmt.Sprint(by, to),
	}, nil
}

// idKeyPattern returns the key pattern of tracked unsharded collections.
func idKeyPattern() (catalog.KeyPattern, error) {
	key, err := bson.Marshal(bson.D{{Key: "_id", Value: int32(1)}})
	if err != nil {
		return catalog.KeyPattern{}, err
	}
	return catalog.ParseKeyPattern(key)
}

// trackUnsharded adds an unsharded collection to the catalog with its current location.
func (c *Collections) trackUnsharded(ns string, primary catalog.ShardID) error {
	pattern, err := idKeyPattern()
	if err != nil {
		return err
	}
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	table, err := c.config.newTable(pattern, []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(),
		Shard: primary}}, epoch, at)
	if err != nil {
		return err
	}
	local := c.shards[primary].colls[ns]
	c.log.writeChange(primary, "createCollection.start", ns, shardingStartDetails(ns, pattern, primary))
	if err := c.config.writeCollectionEntry(ShardRequest{Namespace: ns}, pattern, local.uuid, epoch, at); err != nil {
		return err
	}
	if _, err = c.config.modify(configCollections, ns,
		func(doc *bson.D) { setDocField(doc, "unsplittable", true) }); err != nil {
		return err
	}
	c.config.setTable(ns, table)
	c.log.writePlacement(ns, &local.uuid, at, table.Owners())
	docs, _ := local.counts()
	c.log.writeChange(primary, "createCollection.end", ns, shardingEndDetails(local.uuid, table, docs == 0))
	return nil
}

// Unsharded returns the unsharded collections: untracked ones on the primary shard of their database,
// and tracked ones.
func (e engineCluster) Unsharded(context.Context) ([]policy.Unsharded, error) {
	var list []policy.Unsharded
	for _, id := range e.b.shards.ids() {
		for ns, local := range e.b.shards[id].colls {
			db := catalog.DatabaseOf(ns)
			coll, tracked, err := e.b.config.TrackedEntry(ns)
			primary, _ := e.b.config.Primary(db)
			switch {
			case err != nil:
				return nil, err
			case tracked && coll.Unsplittable && e.b.config.Table(ns).At(0).Shard == id:
				list = append(list, policy.Unsharded{Namespace: ns, UUID: coll.UUID, Shard: id, Tracked: true,
					NoBalance: !coll.BalanceableIn(e.b.release)})
			case !tracked && primary == id && !onConfigServer(db) && db != "local":
				list = append(list, policy.Unsharded{Namespace: ns, UUID: local.uuid, Shard: id})
			}
		}
	}
	slices.SortFunc(list, func(a, b policy.Unsharded) int { return strings.Compare(a.Namespace, b.Namespace) })
	return list, nil
}

// startMove starts a moveCollection for the balancer.
func (rs *Reshardings) startMove(m policy.Migration, done func(error)) {
	plan, err := rs.planUnsharded(m)
	if err != nil {
		rs.clock.After(batchTime, func() { done(err) })
		return
	}
	rs.start(plan, done)
}

func (rs *Reshardings) planUnsharded(m policy.Migration) (parsedReshardRequest, error) {
	if err := checkChunkOperations(rs.config); err != nil {
		return parsedReshardRequest{}, err
	}
	coll, tracked, err := rs.config.TrackedEntry(m.Namespace)
	if err != nil {
		return parsedReshardRequest{}, err
	}
	var local *localCollection
	if donor := rs.shards[m.From]; donor != nil {
		local = donor.colls[m.Namespace]
	}
	switch {
	case rs.shards[m.To] == nil:
		return parsedReshardRequest{}, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", m.To)
	case local == nil || !local.uuid.Equal(m.UUID) || tracked && !coll.Unsplittable:
		return parsedReshardRequest{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", m.Namespace)
	}
	if !tracked {
		if err := rs.collections.trackUnsharded(m.Namespace, m.From); err != nil {
			return parsedReshardRequest{}, err
		}
	}
	return rs.singleShardPlan(m.Namespace, ProvenanceBalancer, m.To)
}

// incomingChunks returns the number of chunks that a shard will get from the operations in progress.
func (rs *Reshardings) incomingChunks(id catalog.ShardID) (n int64) {
	for _, op := range rs.active {
		for _, chunk := range op.request.Chunks {
			if chunk.Shard == id {
				n++
			}
		}
	}
	return n
}

// redistribute builds the local collections of the new owners. It does not change the existing ones.
func (rs *Reshardings) redistribute(coll catalog.Collection, table *catalog.RoutingTable,
	uuid bson.Binary) (map[catalog.ShardID]*localCollection, error) {
	var like *localCollection
	for _, id := range rs.config.Table(coll.Namespace).Owners() {
		if like = rs.shards[id].colls[coll.Namespace]; like != nil {
			break
		}
	}
	if like == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "no shard holds %s", coll.Namespace)
	}
	like = &localCollection{uuid: uuid, options: like.options, docs: like.docs}
	moved := make(map[catalog.ShardID]*localCollection)
	for _, id := range table.Owners() {
		moved[id] = rs.collections.emptyLike(coll.Namespace, like, id)
		if _, ok := moved[id].shardKeyIndex(table.Pattern()); !ok {
			if err := moved[id].makeKeyIndex(table.Pattern(), false); err != nil {
				return nil, err
			}
		}
	}
	for doc := range rs.locator.documents(coll.Namespace, nil) {
		key, err := table.Pattern().DocumentKey(doc)
		if err != nil {
			return nil, err
		}
		if _, err := moved[table.ShardOf(key)].docs.Insert(doc); err != nil {
			return nil, err
		}
	}
	rs.spreadVirtualData(coll, table, moved)
	return moved, nil
}

// spreadVirtualData distributes virtual data evenly over the new chunks, because its values of the new
// key are unknown.
func (rs *Reshardings) spreadVirtualData(coll catalog.Collection, table *catalog.RoutingTable,
	moved map[catalog.ShardID]*localCollection) {
	var docs, bytes int64
	for _, s := range rs.shards {
		if l := s.colls[coll.Namespace]; l != nil {
			docs, bytes = docs+l.virtual.docs, bytes+l.virtual.bytes
		}
	}
	if docs == 0 && bytes == 0 {
		return
	}
	left := int64(table.Len())
	for chunk := range table.All() {
		l := moved[chunk.Shard]
		l.virtual.add(virtualRange{min: chunk.Min, max: chunk.Max, docs: docs / left, bytes: bytes / left})
		docs, bytes, left = docs-docs/left, bytes-bytes/left, left-1
	}
}
