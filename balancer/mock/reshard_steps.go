package mock

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Provenance is the command a resharding came from (spec 03 §3.11).
type Provenance string

// The commands that reshard.
const (
	ByReshard Provenance = "reshardCollection"
	ByMove    Provenance = "moveCollection"
	ByUnshard Provenance = "unshardCollection"

	byBalancer Provenance = "balancerMoveCollection"
)

// reshardState is a state of the coordinator, as the change log has it
// (spec 03 §1.4).
type reshardState string

// The states in their order.
const (
	reshardUnused       reshardState = "unused"
	reshardInitializing reshardState = "initializing"
	reshardPreparing    reshardState = "preparing-to-donate"
	reshardCloning      reshardState = "cloning"
	reshardApplying     reshardState = "applying"
	reshardBlocking     reshardState = "blocking-writes"
	reshardCommitting   reshardState = "committing"
	reshardAborting     reshardState = "aborting"
	reshardQuiesced     reshardState = "quiesced"
	reshardDone         reshardState = "done"
)

// reshardStep is what entering a state and the least of a clone take.
const reshardStep = 50 * time.Millisecond

// configReshardings holds the operations under way.
const configReshardings = "reshardingOperations"

// resharding is an operation that gives a collection a new key, a new place,
// or none. The documents go to their new places at the end, all at once: until
// then the collection serves as before, writes included.
type resharding struct {
	id        bson.Binary
	request   reshardPlan
	before    catalog.Collection
	uuid      bson.Binary // of the collection's entry: another one is not ours
	donors    []catalog.ShardID
	state     reshardState
	started   time.Time
	cloneEnds time.Time
	bytes     int64
	forced    bool  // into the critical section
	aborted   error // why
	done      []func(error)
}

// reshardPlan is a resharding that was checked.
type reshardPlan struct {
	Namespace  string
	Provenance Provenance
	Pattern    catalog.KeyPattern
	Zones      *catalog.ZoneSet
	// Layout makes the chunks of the collection as it will be.
	Layout func() ([]catalog.Chunk, error)
	// same tells repeated requests from others.
	same string
	// UserID is the user's name for the operation, whose result is kept under it;
	// nil without one.
	UserID *bson.Binary
}

// startResharding begins an operation, or joins the one that the same request
// began; done is called once, by an event.
func (c *Cluster) startResharding(plan reshardPlan, done func(error)) {
	if err := c.reachShards(configShard); err != nil {
		c.after(0, func() { done(err) })
		return
	}
	if kept, ended := c.ended(plan); ended {
		c.after(0, func() { done(kept.err) })
		return
	}
	if running := c.reshardings[plan.Namespace]; running != nil {
		if running.request.same == plan.same {
			running.done = append(running.done, done)
			return
		}
		err := mongoerr.New(mongoerr.ReshardCollectionInProgress,
			"Only one resharding operation is allowed to be active at a time, aborting resharding op for %s", plan.Namespace)
		c.after(0, func() { done(err) })
		return
	}
	coll, _, err := c.config.Tracked(plan.Namespace)
	if err != nil {
		c.after(0, func() { done(err) })
		return
	}
	op := &resharding{
		id: c.NewUUID(), request: plan, before: coll, uuid: coll.UUID, donors: c.config.tables[plan.Namespace].Owners(),
		state: reshardUnused, started: c.now(), done: []func(error){done},
	}
	for _, part := range c.Stats(plan.Namespace) {
		op.bytes += part.Bytes
	}
	c.endQuiesce(plan.Namespace)
	c.reshardings[plan.Namespace] = op
	if err := c.config.insert(configReshardings, c.reshardingDoc(op)); err != nil {
		c.logger.Warn("resharding operation not written", "error", err)
	}
	c.enterResharding(op, reshardInitializing)
	c.reshardAfter(reshardStep, op, c.prepareResharding)
}

// reshardAfter takes the next step in d, or as soon as the coordinator, which
// is the config server, and every shard are there to take it. Whoever waits for
// the operation does not wait for them.
func (c *Cluster) reshardAfter(d time.Duration, op *resharding, step func(*resharding)) {
	c.after(d, func() {
		if err := c.reachShards(configShard); err != nil {
			waiting := op.done
			op.done = nil
			for _, done := range waiting {
				done(err)
			}
			c.reshardAfter(time.Second, op, step)
			return
		}
		step(op)
	})
}

// prepareResharding waits until no migration of the collection is under way.
func (c *Cluster) prepareResharding(op *resharding) {
	if c.endReshardingEarly(op) {
		return
	}
	for m := range c.pending {
		if m.req.Namespace == op.request.Namespace {
			c.reshardAfter(reshardStep, op, c.prepareResharding)
			return
		}
	}
	c.enterResharding(op, reshardPreparing)
	c.reshardAfter(reshardStep, op, c.cloneResharding)
}

func (c *Cluster) cloneResharding(op *resharding) {
	if c.endReshardingEarly(op) {
		return
	}
	c.enterResharding(op, reshardCloning)
	takes := reshardStep + c.transferTime(op.bytes, c.shardIDs()...)
	op.cloneEnds = c.now().Add(takes)
	c.reshardAfter(takes, op, c.applyResharding)
}

// applyResharding keeps up with the writes until the least duration is over,
// or somebody forces the end.
func (c *Cluster) applyResharding(op *resharding) {
	if c.endReshardingEarly(op) {
		return
	}
	if op.state == reshardCloning {
		c.enterResharding(op, reshardApplying)
	}
	least := op.started.Add(c.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"))
	if wait := least.Sub(c.now()); wait > 0 && !op.forced {
		c.reshardAfter(min(wait, time.Second), op, c.applyResharding)
		return
	}
	c.enterResharding(op, reshardBlocking)
	c.reshardAfter(reshardStep, op, c.finishResharding)
}

// endReshardingEarly ends an operation that was aborted or whose collection is
// gone.
func (c *Cluster) endReshardingEarly(op *resharding) bool {
	coll, ok, err := c.config.Tracked(op.request.Namespace)
	switch {
	case op.aborted != nil:
	case err != nil:
		op.aborted = err
	case !ok || !coll.UUID.Equal(op.before.UUID):
		op.aborted = mongoerr.New(mongoerr.ReshardCollectionAborted, "collection %s was dropped", op.request.Namespace)
	default:
		return false
	}
	c.abandonResharding(op)
	return true
}

func (c *Cluster) abandonResharding(op *resharding) {
	c.enterResharding(op, reshardAborting)
	c.closeResharding(op, op.aborted)
}

// finishResharding puts every document where it belongs from now on.
func (c *Cluster) finishResharding(op *resharding) {
	if c.endReshardingEarly(op) {
		return
	}
	if err := c.commitResharding(op); err != nil {
		op.aborted = err
		c.abandonResharding(op)
		return
	}
	c.closeResharding(op, nil)
}

func (c *Cluster) commitResharding(op *resharding) error {
	plan := op.request
	chunks, err := plan.Layout()
	if err != nil {
		return err
	}
	at, epoch, uuid := c.Tick(), c.NewObjectID(), c.NewUUID()
	table, err := c.config.tableOf(plan.Pattern, chunks, epoch, at)
	if err != nil {
		return err
	}
	moved, err := c.redistribute(op.before, table, uuid)
	if err != nil {
		return err
	}
	c.enterResharding(op, reshardCommitting)
	ns := plan.Namespace
	for id, s := range c.shards {
		delete(s.colls, ns)
		s.dropDeletions(ns)
		if l := moved[id]; l != nil {
			s.colls[ns] = l
		}
	}
	c.config.tables[ns] = table
	if err := c.config.replaceZones(ns, plan.Zones); err != nil {
		return err
	}
	err = c.changeEntry(op, func(doc *bson.D) {
		set(doc, "lastmodEpoch", epoch)
		set(doc, "lastmod", bson.NewDateTimeFromTime(c.now()))
		set(doc, "timestamp", at)
		set(doc, "uuid", uuid)
		set(doc, "key", plan.Pattern.Doc())
		set(doc, "unique", false)
		unset(doc, "unsplittable")
		if plan.Provenance != ByReshard {
			set(doc, "unsplittable", true)
		}
	})
	if err != nil {
		return err
	}
	op.uuid = uuid
	c.logPlacement(ns, &uuid, at, table.Owners())
	return nil
}

// redistribute makes the collection anew on its new owners, and changes
// nothing that is there.
func (c *Cluster) redistribute(coll catalog.Collection, table *catalog.RoutingTable, uuid bson.Binary) (map[catalog.ShardID]*localCollection, error) {
	var like *localCollection
	for _, id := range c.config.tables[coll.Namespace].Owners() {
		if like = c.shards[id].colls[coll.Namespace]; like != nil {
			break
		}
	}
	if like == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "no shard holds %s", coll.Namespace)
	}
	like = &localCollection{uuid: uuid, options: like.options, docs: like.docs}
	moved := make(map[catalog.ShardID]*localCollection)
	for _, id := range table.Owners() {
		moved[id] = c.emptyLike(coll.Namespace, like, id)
		if _, ok := moved[id].keyIndex(table.Pattern()); !ok {
			if err := moved[id].docs.CreateIndex(keyIndexSpec(table.Pattern(), false)); err != nil {
				return nil, err
			}
		}
	}
	for doc := range c.Documents(coll.Namespace, nil) {
		key, err := table.Pattern().DocumentKey(doc)
		if err != nil {
			return nil, err
		}
		if _, err := moved[table.ShardOf(key)].docs.Insert(doc); err != nil {
			return nil, err
		}
	}
	c.spreadVirtual(coll, table, moved)
	return moved, nil
}

// spreadVirtual lays virtual data evenly over the new chunks: nothing is known
// of its values of another key.
func (c *Cluster) spreadVirtual(coll catalog.Collection, table *catalog.RoutingTable, moved map[catalog.ShardID]*localCollection) {
	var docs, bytes int64
	for _, s := range c.shards {
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
		l.virtual.add(extent{min: chunk.Min, max: chunk.Max, docs: docs / left, bytes: bytes / left})
		docs, bytes, left = docs-docs/left, bytes-bytes/left, left-1
	}
}

// closeResharding tells those who wait.
func (c *Cluster) closeResharding(op *resharding, err error) {
	delete(c.reshardings, op.request.Namespace)
	if op.request.UserID != nil {
		c.enterResharding(op, reshardQuiesced)
		c.leaveEntry(op)
		c.quiesce(op, err)
	} else {
		c.enterResharding(op, reshardDone)
		c.deleteResharding(op)
	}
	for _, done := range op.done {
		done(err)
	}
}

// reshard runs an operation to its end, for a caller who holds the lock.
func (c *Cluster) reshard(ctx context.Context, deadline time.Time, plan reshardPlan) error {
	var result error
	ended := false
	c.startResharding(plan, func(err error) { result, ended = err, true })
	if err := c.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return result
}

// AbortResharding gives an operation up (abortReshardCollection and the like);
// its documents stay where they are.
func (c *Cluster) AbortResharding(ctx context.Context, deadline time.Time, ns string, by Provenance) error {
	op, err := c.runningResharding(ns)
	if err != nil {
		return err
	}
	if op.request.Provenance != by {
		return mongoerr.New(mongoerr.IllegalOperation, "the operation on %s was started by %s", ns, op.request.Provenance)
	}
	if op.state == reshardCommitting {
		return mongoerr.New(mongoerr.ReshardCollectionCommitted, "Can't abort resharding operation after it has been committed")
	}
	if err := c.reachShards(configShard); err != nil {
		return err
	}
	op.aborted = mongoerr.New(mongoerr.ReshardCollectionAborted, "aborted")
	return c.Await(ctx, deadline, func() bool { return c.reshardings[ns] != op })
}

// CommitResharding lets an operation finish as soon as its clone is complete.
func (c *Cluster) CommitResharding(ns string) error {
	op, err := c.runningResharding(ns)
	if err == nil {
		op.forced = true
	}
	return err
}

func (c *Cluster) runningResharding(ns string) (*resharding, error) {
	if _, ok, err := c.config.Tracked(ns); err != nil || !ok {
		if err == nil {
			err = mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
		}
		return nil, err
	}
	op := c.reshardings[ns]
	if op == nil {
		return nil, mongoerr.New(mongoerr.NoSuchReshardCollection, "Could not find resharding-related metadata that matches the given namespace %s", ns)
	}
	return op, nil
}
