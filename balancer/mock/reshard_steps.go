package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mongoerr"
)

// Provenance is the command that started a resharding (rules/03-catalog-and-keys §3.11).
type Provenance string

// The commands that start a resharding.
const (
	ByReshard Provenance = "reshardCollection"
	ByMove    Provenance = "moveCollection"
	ByUnshard Provenance = "unshardCollection"
	// ByBalancer is not a command: the balancer moves an unsharded collection.
	ByBalancer Provenance = "balancerMoveCollection"
)

// reshardState is a state of the coordinator in the change log (rules/03-commands §1.4).
type reshardState string

// The states in order.
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

// reshardStepTime is the time to enter a state, and the minimum duration of a clone.
const reshardStepTime = 50 * time.Millisecond

// configReshardings is the collection of the operations in progress.
const configReshardings = "reshardingOperations"

// Reshardings are the operations that reshard, move or unshard collections.
type Reshardings struct {
	*setup
	changes     *ChangeFeed
	clock       *clock.Clock
	collections *Collections
	config      *ConfigDB
	zones       *Zones
	databases   *Databases
	faults      *Faults
	ids         *ids.Source
	locator     *locator
	log         *changeLog
	membership  *Membership
	migrations  *Migrations
	failPoints  *FailPoints
	shards      shardSet
	stats       *Statistics

	active map[string]*resharding // by namespace
	// results holds, by namespace, the results that are kept after the end of an operation.
	results map[string]finishedReshard
	counts  map[Provenance]ReshardingCounts
	// tookPart holds the nodes that were coordinator, donor or recipient since the process start.
	tookPart map[Provenance]map[catalog.ShardID]bool
	// rewriteCounts holds the number of committed operations by namespace.
	rewriteCounts map[string]int
}

// ReshardingCounts are the config server's counters of operations since its start.
type ReshardingCounts struct{ Started, Succeeded, Failed, Canceled int64 }

// reset removes all operations in progress and all results.
func (rs *Reshardings) reset() {
	rs.active, rs.results = map[string]*resharding{}, map[string]finishedReshard{}
	rs.counts, rs.rewriteCounts = map[Provenance]ReshardingCounts{}, map[string]int{}
	rs.tookPart = map[Provenance]map[catalog.ShardID]bool{}
}

// RewriteCount returns how often the collection was rewritten by a resharding or a move since the
// process start.
func (rs *Reshardings) RewriteCount(ns string) int { return rs.rewriteCounts[ns] }

// Reshardings returns the Reshardings of the cluster.
func (c *Cluster) Reshardings() *Reshardings { return c.reshardings }

// HoldsLock reports whether an operation holds the lock of a collection, of any collection of the
// database if coll is empty, or of any collection if db is empty.
func (rs *Reshardings) HoldsLock(db, coll string) bool {
	for ns := range rs.active {
		if db == "" || coll == "" && databaseOf(ns) == db || ns == db+"."+coll {
			return true
		}
	}
	return false
}

// resharding is an operation that changes the key or the location of a collection, or unshards it. The
// documents move at the end, all at once. Until then the collection can be used as before, including
// writes.
type resharding struct {
	rs *Reshardings

	id        bson.Binary
	request   reshardPlan
	before    catalog.Collection
	entryUUID bson.Binary // UUID in the collection's entry; an entry with another UUID belongs to a new collection
	donors    []catalog.ShardID
	state     reshardState
	started   time.Time
	// cloneDuration is the duration of the clone, cloneEnds its end.
	cloneDuration time.Duration
	cloneEnds     time.Time
	bytes         int64
	// parts are the sizes on the donors at the start, clonedAt is the cluster time at the start of the
	// clone.
	parts           map[catalog.ShardID]LocalStats
	clonedAt        bson.Timestamp
	commitRequested bool  // enter the critical section
	aborted         error // the reason of an abort
	waiters         []func(error)
	// resume ends a wait at a fail point.
	resume func()
}

// reshardPlan is a checked resharding request.
type reshardPlan struct {
	Namespace  string
	Provenance Provenance
	Pattern    catalog.KeyPattern
	Zones      *catalog.ZoneSet
	// Chunks are the future chunks of the collection. They are determined when the operation begins;
	// their shards cannot be removed from then on.
	Chunks []catalog.Chunk
	// InitialChunks and Force are options of the command.
	InitialChunks int64
	Force         bool
	// requestKey identifies repeated requests.
	requestKey string
	// UserID is the user-defined UUID of the operation under which its result is kept; nil if there is
	// none.
	UserID *bson.Binary
}

// start starts an operation, or joins a running one with the same request. An event calls done once.
func (rs *Reshardings) start(plan reshardPlan, done func(error)) {
	if err := rs.faults.checkReachesShards(configShard); err != nil {
		rs.clock.After(0, func() { done(err) })
		return
	}
	if kept, ended := rs.finishedResult(plan); ended {
		rs.clock.After(0, func() { done(kept.err) })
		return
	}
	if running := rs.active[plan.Namespace]; running != nil {
		if running.request.requestKey == plan.requestKey {
			running.waiters = append(running.waiters, done)
			return
		}
		err := mongoerr.New(mongoerr.ReshardCollectionInProgress,
			"Only one resharding operation is allowed to be active at a time, aborting resharding op for %s", plan.Namespace)
		rs.clock.After(0, func() { done(err) })
		return
	}
	coll, _, err := rs.config.Tracked(plan.Namespace)
	if err != nil {
		rs.clock.After(0, func() { done(err) })
		return
	}
	op := &resharding{
		rs:        rs,
		id:        rs.ids.NewUUID(),
		request:   plan,
		before:    coll,
		entryUUID: coll.UUID,
		donors:    rs.config.table(plan.Namespace).Owners(),
		state:     reshardUnused,
		started:   rs.clock.Now(),
		waiters:   []func(error){done},
		parts:     map[catalog.ShardID]LocalStats{},
	}
	for _, part := range rs.stats.Collection(plan.Namespace) {
		op.bytes += part.Bytes
		op.parts[part.Shard] = part
	}
	rs.dropResult(plan.Namespace)
	rs.active[plan.Namespace] = op
	counts := rs.counts[plan.Provenance]
	counts.Started++
	rs.counts[plan.Provenance] = counts
	op.noteParticipants(configShard)
	if err := rs.config.insert(configReshardings, op.doc()); err != nil {
		rs.logger.Warn("resharding operation not written", "error", err)
	}
	op.pause(pauseBeforeInitializing, func() {
		op.enterState(reshardInitializing)
		op.after(reshardStepTime, op.prepare)
	})
}

// pause continues with then after a fail point of the coordinator. An abort ends the wait, too.
func (op *resharding) pause(point string, then func()) {
	gone := false
	op.resume = func() {
		if gone || op.rs.active[op.request.Namespace] != op {
			return
		}
		gone = true
		op.rs.clock.Attempt("a resharding", then, op.failAfterPanic)
	}
	op.rs.failPoints.pass(point, configShard, op.resume)
}

// after schedules the next step in d. The step waits until the coordinator (the config server) and all
// shards are available, but the waiters of the operation do not.
func (op *resharding) after(d time.Duration, step func()) {
	run := func() {
		if op.rs.active[op.request.Namespace] != op {
			return // an earlier step has panicked
		}
		if err := op.rs.faults.checkReachesShards(configShard); err != nil {
			op.notifyWaiters(err)
			op.after(time.Second, step)
			return
		}
		step()
	}
	op.rs.clock.After(d, func() { op.rs.clock.Attempt("a resharding", run, op.failAfterPanic) })
}

// failAfterPanic ends an operation after a panic.
func (op *resharding) failAfterPanic(err error) {
	rs, ns := op.rs, op.request.Namespace
	if rs.active[ns] != op {
		return
	}
	op.aborted = err
	op.rs.clock.Attempt("the end of a resharding", op.abandon, func(error) {
		if rs.active[ns] == op {
			delete(rs.active, ns)
		}
		op.notifyWaiters(err)
	})
}

// notifyWaiters calls the waiters with the result.
func (op *resharding) notifyWaiters(err error) {
	waiting := op.waiters
	op.waiters = nil
	for _, done := range waiting {
		done(err)
	}
}

// prepare waits until no migration of the collection is running.
func (op *resharding) prepare() {
	if op.endIfAborted() {
		return
	}
	for m := range op.rs.migrations.active {
		if m.req.Namespace == op.request.Namespace {
			op.after(reshardStepTime, op.prepare)
			return
		}
	}
	op.enterState(reshardPreparing)
	op.noteParticipants(append(op.recipients(), op.donors...)...)
	op.pause(pauseBeforeCloning, func() { op.after(reshardStepTime, op.clone) })
}

// copyDuration returns the duration of the clone. All shards send and receive concurrently; the one with
// the most data for its bandwidth determines the duration. It assumes new chunks of equal size.
func (op *resharding) copyDuration() (takes time.Duration) {
	counts := map[catalog.ShardID]int64{}
	for _, chunk := range op.request.Chunks {
		counts[chunk.Shard]++
	}
	for id, n := range counts {
		takes = max(takes, op.rs.faults.transferTime(op.bytes/int64(len(op.request.Chunks))*n, id))
	}
	for _, part := range op.rs.stats.Collection(op.request.Namespace) {
		takes = max(takes, op.rs.faults.transferTime(part.Bytes, part.Shard))
	}
	return takes
}

func (op *resharding) clone() {
	if op.endIfAborted() {
		return
	}
	takes := reshardStepTime + op.copyDuration()
	op.cloneDuration, op.cloneEnds, op.clonedAt = takes, op.rs.clock.Now().Add(takes), op.rs.ids.Tick()
	op.enterState(reshardCloning)
	op.after(takes, op.apply)
}

// apply continues until the minimum duration has passed or a commit is requested.
func (op *resharding) apply() {
	if op.endIfAborted() {
		return
	}
	if op.state == reshardCloning {
		op.enterState(reshardApplying)
	}
	least := op.started.Add(op.rs.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"))
	if wait := least.Sub(op.rs.clock.Now()); wait > 0 && !op.commitRequested {
		op.after(min(wait, time.Second), op.apply)
		return
	}
	op.pause(pauseInSteadyState, func() { op.pause(pauseBeforeBlockingWrites, op.blockWrites) })
}

func (op *resharding) blockWrites() {
	if op.endIfAborted() {
		return
	}
	op.enterState(reshardBlocking)
	op.pause(pauseBeforeDecision, func() { op.after(reshardStepTime, op.finish) })
}

// endIfAborted ends an operation that was aborted or whose collection was dropped, and reports whether
// it did.
func (op *resharding) endIfAborted() bool {
	coll, ok, err := op.rs.config.Tracked(op.request.Namespace)
	switch {
	case op.aborted != nil:
	case err != nil:
		op.aborted = err
	case !ok || !coll.UUID.Equal(op.before.UUID):
		op.aborted = mongoerr.New(mongoerr.ReshardCollectionAborted, "collection %s was dropped", op.request.Namespace)
	default:
		return false
	}
	op.abandon()
	return true
}

func (op *resharding) abandon() {
	op.enterState(reshardAborting)
	op.complete(op.aborted)
}

// finish moves every document to its new location.
func (op *resharding) finish() {
	if op.endIfAborted() {
		return
	}
	if err := op.commit(); err != nil {
		op.aborted = err
		op.abandon()
		return
	}
	op.complete(nil)
}

func (op *resharding) commit() error {
	plan := op.request
	if err := op.checkShards(); err != nil {
		return err
	}
	if plan.Provenance == ByReshard { // indexes may have been created meanwhile
		if err := op.rs.checkUniqueIndexes(plan.Namespace, plan.Pattern); err != nil {
			return err
		}
	}
	at, epoch, uuid := op.rs.ids.Tick(), op.rs.ids.NewObjectID(), op.rs.ids.NewUUID()
	table, err := op.rs.config.newTable(plan.Pattern, plan.Chunks, epoch, at)
	if err != nil {
		return err
	}
	moved, err := op.rs.redistribute(op.before, table, uuid)
	if err != nil {
		return err
	}
	op.enterState(reshardCommitting)
	ns := plan.Namespace
	op.rs.rewriteCounts[ns]++
	for id, s := range op.rs.shards {
		was := s.colls[ns]
		delete(s.colls, ns)
		s.dropDeletions(ns)
		switch l := moved[id]; {
		case l != nil:
			s.colls[ns] = l
		case was != nil && op.rs.bugs.UnshardKeepsUUIDs && plan.Provenance == ByUnshard:
			s.colls[ns] = newLocal(was.docs.Language, op.before.UUID, nil, ns)
		}
	}
	op.rs.config.setTable(ns, table)
	if err := op.rs.zones.replaceRanges(ns, plan.Zones); err != nil {
		return err
	}
	err = op.changeEntry(func(doc *bson.D) {
		op.rs.config.setEntryVersion(doc, epoch, at)
		setDocField(doc, "uuid", uuid)
		setDocField(doc, "key", plan.Pattern.Doc())
		setDocField(doc, "unique", false)
		unsetDocField(doc, "unsplittable")
		if plan.Provenance != ByReshard {
			setDocField(doc, "unsplittable", true)
		}
	})
	if err != nil {
		return err
	}
	op.entryUUID = uuid
	op.rs.log.writePlacement(ns, &uuid, at, table.Owners())
	if plan.Provenance == ByReshard {
		op.rs.changes.note(Change{Kind: ChangeReshard, Namespace: ns, UUID: &op.before.UUID, Operation: bson.D{
			{Key: "reshardUUID", Value: uuid}, {Key: "shardKey", Value: plan.Pattern.Doc()},
			{Key: "oldShardKey", Value: op.before.Pattern.Doc()}, {Key: "unique", Value: false}}})
	}
	return nil
}

// checkShards fails if a future owner is missing in config.shards, from which a user may have removed it
// by hand.
func (op *resharding) checkShards() error {
	for _, chunk := range op.request.Chunks {
		if _, err := op.rs.config.ShardByID(string(chunk.Shard)); err != nil {
			return err
		}
		if op.rs.shards[chunk.Shard] == nil {
			return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", chunk.Shard)
		}
	}
	return nil
}

// complete ends the operation and notifies the waiters.
func (op *resharding) complete(err error) {
	delete(op.rs.active, op.request.Namespace)
	op.count(err)
	if op.request.UserID != nil {
		op.enterState(reshardQuiesced)
		op.clearEntry()
		op.keepResult(err)
	} else {
		op.enterState(reshardDone)
		op.deleteRecord()
	}
	op.notifyWaiters(err)
}
