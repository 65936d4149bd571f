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
	ProvenanceReshard Provenance = "reshardCollection"
	ProvenanceMove    Provenance = "moveCollection"
	ProvenanceUnshard Provenance = "unshardCollection"
	// ProvenanceBalancer is not a command: the balancer moves an unsharded collection.
	ProvenanceBalancer Provenance = "balancerMoveCollection"
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
	*clusterSettings
	changes     *ChangeFeed
	clock       *clock.Clock
	collections *Collections
	config      *ConfigDB
	zones       *Zones
	databases   *Databases
	faults      *Faults
	ids         *ids.Source
	locator     *locator
	log         *configLogs
	membership  *ShardMembership
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
		if db == "" || coll == "" && catalog.DatabaseOf(ns) == db || ns == db+"."+coll {
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
	request   parsedReshardRequest
	before    catalog.Collection
	entryUUID bson.Binary // UUID in the collection's entry; an entry with another UUID belongs to a new collection
	donors    []catalog.ShardID
	state     reshardState
	started   time.Time
	// cloneDuration is the duration of the clone, cloneEnds its end.
	cloneDuration time.Duration
	cloneEnds     time.Time
	bytes         int64
	// donorStats are the sizes on the donors at the start, cloneStartedAt is the cluster time at the
	// start of the clone.
	donorStats      map[catalog.ShardID]LocalStats
	cloneStartedAt  bson.Timestamp
	commitRequested bool  // enter the critical section
	abortReason     error // nil unless aborted
	waiters         []func(error)
	// resume ends a wait at a fail point.
	resume func()
}

// parsedReshardRequest is a checked resharding request.
type parsedReshardRequest struct {
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
	// UserUUID is the user-defined UUID of the operation under which its result is kept; nil if there is
	// none.
	UserUUID *bson.Binary
}

// start starts an operation, or joins a running one with the same request. An event calls done once.
func (rs *Reshardings) start(plan parsedReshardRequest, done func(error)) {
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
	coll, _, err := rs.config.TrackedEntry(plan.Namespace)
	if err != nil {
		rs.clock.After(0, func() { done(err) })
		return
	}
	op := &resharding{
		rs:         rs,
		id:         rs.ids.NewUUID(),
		request:    plan,
		before:     coll,
		entryUUID:  coll.UUID,
		donors:     rs.config.Table(plan.Namespace).Owners(),
		state:      reshardUnused,
		started:    rs.clock.Now(),
		waiters:    []func(error){done},
		donorStats: map[catalog.ShardID]LocalStats{},
	}
	for _, part := range rs.stats.Collection(plan.Namespace) {
		op.bytes += part.Bytes
		op.donorStats[part.Shard] = part
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
func (r *resharding) pause(point string, then func()) {
	gone := false
	r.resume = func() {
		if gone || r.rs.active[r.request.Namespace] != r {
			return
		}
		gone = true
		r.rs.clock.Attempt("a resharding", then, r.failAfterPanic)
	}
	r.rs.failPoints.pass(point, configShard, r.resume)
}

// after schedules the next step in d. The step waits until the coordinator (the config server) and all
// shards are available, but the waiters of the operation do not.
func (r *resharding) after(d time.Duration, step func()) {
	run := func() {
		if r.rs.active[r.request.Namespace] != r {
			return // an earlier step has panicked
		}
		if err := r.rs.faults.checkReachesShards(configShard); err != nil {
			r.notifyWaiters(err)
			r.after(time.Second, step)
			return
		}
		step()
	}
	r.rs.clock.After(d, func() { r.rs.clock.Attempt("a resharding", run, r.failAfterPanic) })
}

// failAfterPanic ends an operation after a panic.
func (r *resharding) failAfterPanic(err error) {
	rs, ns := r.rs, r.request.Namespace
	if rs.active[ns] != r {
		return
	}
	r.abortReason = err
	r.rs.clock.Attempt("the end of a resharding", r.abandon, func(error) {
		if rs.active[ns] == r {
			delete(rs.active, ns)
		}
		r.notifyWaiters(err)
	})
}

// notifyWaiters calls the waiters with the result.
func (r *resharding) notifyWaiters(err error) {
	waiting := r.waiters
	r.waiters = nil
	for _, done := range waiting {
		done(err)
	}
}

// prepare waits until no migration of the collection is running.
func (r *resharding) prepare() {
	if r.endIfAborted() {
		return
	}
	for m := range r.rs.migrations.active {
		if m.req.Namespace == r.request.Namespace {
			r.after(reshardStepTime, r.prepare)
			return
		}
	}
	r.enterState(reshardPreparing)
	r.noteParticipants(append(r.recipients(), r.donors...)...)
	r.pause(pauseBeforeCloning, func() { r.after(reshardStepTime, r.clone) })
}

// copyDuration returns the duration of the clone. All shards send and receive concurrently; the one with
// the most data for its bandwidth determines the duration. It assumes new chunks of equal size.
func (r *resharding) copyDuration() (takes time.Duration) {
	counts := map[catalog.ShardID]int64{}
	for _, chunk := range r.request.Chunks {
		counts[chunk.Shard]++
	}
	for id, n := range counts {
		takes = max(takes, r.rs.faults.transferTime(r.bytes/int64(len(r.request.Chunks))*n, id))
	}
	for _, part := range r.rs.stats.Collection(r.request.Namespace) {
		takes = max(takes, r.rs.faults.transferTime(part.Bytes, part.Shard))
	}
	return takes
}

func (r *resharding) clone() {
	if r.endIfAborted() {
		return
	}
	takes := reshardStepTime + r.copyDuration()
	r.cloneDuration, r.cloneEnds, r.cloneStartedAt = takes, r.rs.clock.Now().Add(takes), r.rs.ids.Tick()
	r.enterState(reshardCloning)
	r.after(takes, r.apply)
}

// apply continues until the minimum duration has passed or a commit is requested.
func (r *resharding) apply() {
	if r.endIfAborted() {
		return
	}
	if r.state == reshardCloning {
		r.enterState(reshardApplying)
	}
	least := r.started.Add(r.rs.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"))
	if wait := least.Sub(r.rs.clock.Now()); wait > 0 && !r.commitRequested {
		r.after(min(wait, time.Second), r.apply)
		return
	}
	r.pause(pauseInSteadyState, func() { r.pause(pauseBeforeBlockingWrites, r.blockWrites) })
}

func (r *resharding) blockWrites() {
	if r.endIfAborted() {
		return
	}
	r.enterState(reshardBlocking)
	r.pause(pauseBeforeDecision, func() { r.after(reshardStepTime, r.commitAndComplete) })
}

// endIfAborted ends an operation that was aborted or whose collection was dropped, and reports whether
// it did.
func (r *resharding) endIfAborted() bool {
	coll, ok, err := r.rs.config.TrackedEntry(r.request.Namespace)
	switch {
	case r.abortReason != nil:
	case err != nil:
		r.abortReason = err
	case !ok || !coll.UUID.Equal(r.before.UUID):
		r.abortReason = mongoerr.New(mongoerr.ReshardCollectionAborted, "collection %s was dropped", r.request.Namespace)
	default:
		return false
	}
	r.abandon()
	return true
}

func (r *resharding) abandon() {
	r.enterState(reshardAborting)
	r.complete(r.abortReason)
}

// commitAndComplete moves every document to its new location.
func (r *resharding) commitAndComplete() {
	if r.endIfAborted() {
		return
	}
	if err := r.commit(); err != nil {
		r.abortReason = err
		r.abandon()
		return
	}
	r.complete(nil)
}

func (r *resharding) commit() error {
	plan := r.request
	if err := r.checkShards(); err != nil {
		return err
	}
	if plan.Provenance == ProvenanceReshard { // indexes may have been created meanwhile
		if err := r.rs.checkUniqueIndexes(plan.Namespace, plan.Pattern); err != nil {
			return err
		}
	}
	at, epoch, uuid := r.rs.ids.Tick(), r.rs.ids.NewObjectID(), r.rs.ids.NewUUID()
	table, err := r.rs.config.newTable(plan.Pattern, plan.Chunks, epoch, at)
	if err != nil {
		return err
	}
	moved, err := r.rs.redistribute(r.before, table, uuid)
	if err != nil {
		return err
	}
	r.enterState(reshardCommitting)
	ns := plan.Namespace
	r.rs.rewriteCounts[ns]++
	for id, s := range r.rs.shards {
		was := s.colls[ns]
		delete(s.colls, ns)
		s.dropDeletions(ns)
		switch l := moved[id]; {
		case l != nil:
			s.colls[ns] = l
		case was != nil && r.rs.bugs.UnshardKeepsUUIDs && plan.Provenance == ProvenanceUnshard:
			s.colls[ns] = newLocal(was.docs.Language, r.before.UUID, nil, ns)
		}
	}
	r.rs.config.setTable(ns, table)
	if err := r.rs.zones.replaceRanges(ns, plan.Zones); err != nil {
		return err
	}
	err = r.changeEntry(func(doc *bson.D) {
		r.rs.config.setEntryVersion(doc, epoch, at)
		setDocField(doc, "uuid", uuid)
		setDocField(doc, "key", plan.Pattern.Doc())
		setDocField(doc, "unique", false)
		unsetDocField(doc, "unsplittable")
		if plan.Provenance != ProvenanceReshard {
			setDocField(doc, "unsplittable", true)
		}
	})
	if err != nil {
		return err
	}
	r.entryUUID = uuid
	r.rs.log.writePlacement(ns, &uuid, at, table.Owners())
	if plan.Provenance == ProvenanceReshard {
		r.rs.changes.note(Change{Kind: ChangeReshard, Namespace: ns, UUID: &r.before.UUID, Operation: bson.D{
			{Key: "reshardUUID", Value: uuid}, {Key: "shardKey", Value: plan.Pattern.Doc()},
			{Key: "oldShardKey", Value: r.before.Pattern.Doc()}, {Key: "unique", Value: false}}})
	}
	return nil
}

// checkShards fails if a future owner is missing in config.shards, from which a user may have removed it
// by hand.
func (r *resharding) checkShards() error {
	for _, chunk := range r.request.Chunks {
		if _, err := r.rs.config.ShardByID(string(chunk.Shard)); err != nil {
			return err
		}
		if r.rs.shards[chunk.Shard] == nil {
			return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", chunk.Shard)
		}
	}
	return nil
}

// complete ends the operation and notifies the waiters.
func (r *resharding) complete(err error) {
	delete(r.rs.active, r.request.Namespace)
	r.count(err)
	if r.request.UserUUID != nil {
		r.enterState(reshardQuiesced)
		r.clearEntry()
		r.keepResult(err)
	} else {
		r.enterState(reshardDone)
		r.deleteRecord()
	}
	r.notifyWaiters(err)
}
