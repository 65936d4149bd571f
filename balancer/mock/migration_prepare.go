package mock

import (
	"bytes"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Durations of the steps of a migration, in addition to the transfer. They are of the order of magnitude
// of a small idle cluster.
const (
	refuseTime          = 100 * time.Millisecond // until a donor refuses after a refresh
	prepareTime         = 20 * time.Millisecond  // up to the start of the clone
	batchTime           = 5 * time.Millisecond   // round trip of one clone batch
	catchUpTime         = 50 * time.Millisecond  // replication before the critical section
	commitTime          = 100 * time.Millisecond // critical section and commit
	cloneBytesPerSecond = 64 << 20
	cloneBatchBytes     = 16 << 20 // maximum bytes of a clone batch
	donorSteps          = 6
	recipientSteps      = 8
	opIDsPerMigration   = 4           // number of operation ids that a migration uses
	deletionPoll        = time.Second // interval at which a waiting recipient checks range deletions
)

// MoveRequest is a request to a donor for a migration. Bounds are documents as given. One may be
// missing; the donor then computes it (rules/02-migration-and-metadata §5.8).
type MoveRequest struct {
	Namespace     string
	To            catalog.ShardID
	From          catalog.ShardID
	Min, Max      bson.Raw
	Force         policy.ForceJumbo
	WaitForDelete bool
	// MaxChunkSizeBytes is the chunk size by which the donor computes a missing bound.
	MaxChunkSizeBytes int64
	// SecondaryThrottle and WriteConcern determine how each batch of the clone waits for replication
	// (rules/02-migration-and-metadata §5.9). The default write concern is {w: 1}.
	SecondaryThrottle bool
	WriteConcern      bson.Raw
	// Comment is the comment of the command, which the donor's operation shows since 8.0; zero for none.
	Comment bson.RawValue
	// Reason is the balancer's reason for the migration; empty for a manual migration. Only events
	// contain it, not commands.
	Reason policy.Reason
}

// Migrations are the chunk migrations of a cluster, at most one for each shard.
type Migrations struct {
	*clusterSettings
	balancer   *Balancer
	chunks     *Chunks
	clock      *clock.Clock
	config     *ConfigDB
	zones      *Zones
	deleter    *RangeDeleter
	faults     *Faults
	failPoints *FailPoints
	ids        *ids.Source
	log        *configLogs
	membership *ShardMembership
	shards     shardSet
	stats      *Statistics

	active   map[*migration]bool
	lastOpID int32 // id of the newest operation on a shard
	// unfinished are the migrations whose decision is not yet applied on all shards.
	unfinished []*migration
	// onEvent is called for the events of all migrations; it may be nil.
	onEvent func(MigrationEvent)
}

// MigrationEvent reports that a migration has reached a stage. Name is one of MigrationEvents().
type MigrationEvent struct {
	Name      string
	Namespace string
	From, To  catalog.ShardID
	Min, Max  bson.Raw // nil before they are known
	// Reason is the balancer's reason; empty for a manual migration. MaxChunkSizeBytes is the chunk size of the
	// request, ClonedBytes the number of bytes copied so far.
	Reason                         policy.Reason
	MaxChunkSizeBytes, ClonedBytes int64
}

// MigrationEvents returns the names of the events of a migration in order. Either done or failed is the
// last one.
func MigrationEvents() []string {
	return []string{"start", "clone", "catchUp", "commit", "committed", "done", "failed"}
}

// Watch registers a function that is called for each event, with the lock held, before the stage starts.
// It may release the lock (Clock.WithoutLock) and change the cluster.
func (ms *Migrations) Watch(watch func(MigrationEvent)) { ms.onEvent = watch }

// notifyEvent reports an event to the watcher once. The caller must check afterwards whether the
// migration is still running.
func (m *migration) notifyEvent(event string) {
	watch := m.ms.onEvent
	if watch == nil || m.event == event {
		return
	}
	if m.ended && event != "committed" && event != "done" && event != "failed" {
		return // the migration has failed meanwhile
	}
	m.event = event
	watch(MigrationEvent{
		Name: event, Namespace: m.req.Namespace, From: m.req.From, To: m.req.To, Min: m.req.Min, Max: m.req.Max,
		Reason: m.req.Reason, MaxChunkSizeBytes: m.req.MaxChunkSizeBytes, ClonedBytes: m.clonedBytes,
	})
}

// reset removes all migrations in progress or unfinished.
func (ms *Migrations) reset() { ms.active, ms.unfinished = map[*migration]bool{}, nil }

// Migrations returns the Migrations of the cluster.
func (c *Cluster) Migrations() *Migrations { return c.migrations }

// migration is a chunk migration in progress (rules/02-migration-and-metadata §5).
type migration struct {
	ms *Migrations

	// req is the request, with both bounds once they are known. originalMin and originalMax are the
	// bounds as requested.
	req                      MoveRequest
	originalMin, originalMax bson.Raw

	coll           catalog.Collection
	parsedBounds   boundKeys
	min, max       catalog.Key // zero before the collection is read
	donor          *shard
	recipient      *shard
	initialVersion catalog.ChunkVersion // version of the chunk at the start
	indexes        []store.IndexSpec    // of the donor when the recipient was prepared

	// opID is the id of the donor's operation in $currentOp.
	opID      int32
	startedAt bson.Timestamp
	steps     stepTimes

	// The clone: the documents recorded at the start that are still to be copied.
	records                   []store.RecordID
	virtualDocs, virtualBytes int64
	cloning                   bool
	cloneBegan                time.Time // zero before the clone
	// commitRejected reports whether the config server rejected the commit.
	commitRejected bool
	mods           modifications
	// modificationBytes is the memory of the ids of modifications in bytes.
	modificationBytes int64
	// cloneBlocksWrites reports whether writes to the collection wait for the clone.
	cloneBlocksWrites bool
	clonedDocs        int64
	clonedBytes       int64
	donorTask         *rangeDeletion
	recipientTask     *rangeDeletion

	// killed reports whether killOp has killed the donor's worker; the worker may still be running.
	killed bool

	// event is the last reported event.
	event string
	// ended reports whether the shards are released and the waiters notified.
	ended bool
	// decision is the decision about the range. decisionApplied reports whether both shards know it.
	decision        decision
	decisionApplied bool

	// waiters are notified at the end. There are several if the same request was repeated.
	waiters []func(error)
}

// local returns the migrating collection on one of the two shards. It returns nil if the collection was
// dropped or replaced by another one with the same name.
func (m *migration) local(s *shard) *localCollection {
	l := s.colls[m.req.Namespace]
	if l == nil || !l.uuid.Equal(m.coll.UUID) {
		return nil
	}
	return l
}

// modifications are the ids of the donor's writes in the range since the clone began: documents to fetch
// again and documents to delete. The zero value is empty.
type modifications struct {
	upserts map[string]bson.RawValue
	deletes map[string]bson.RawValue
}

func (m *modifications) isEmpty() bool { return len(m.upserts)+len(m.deletes) == 0 }

// equal reports whether two requests are equal in all fields except Comment and Reason.
func (r MoveRequest) equal(o MoveRequest) bool {
	return r.Namespace == o.Namespace && r.From == o.From && r.To == o.To && bytes.Equal(r.Min, o.Min) &&
		bytes.Equal(r.Max, o.Max) &&
		r.Force == o.Force && r.WaitForDelete == o.WaitForDelete && r.MaxChunkSizeBytes == o.MaxChunkSizeBytes &&
		r.SecondaryThrottle == o.SecondaryThrottle && bytes.Equal(r.WriteConcern, o.WriteConcern)
}

// Start starts a migration, or joins a running one with an equal request. An event calls done once, with
// the lock held.
func (ms *Migrations) Start(req MoveRequest, done func(error)) { ms.start(req, boundKeys{}, done) }

func (ms *Migrations) start(req MoveRequest, keys boundKeys, done func(error)) {
	if err := ms.balancer.sendMove(req); err != nil {
		ms.clock.After(batchTime, func() { done(err) })
		return
	}
	if donor := ms.shards[req.From]; donor != nil && donor.migration != nil &&
		donor.migration.originalRequest().equal(req) {
		donor.migration.waiters = append(donor.migration.waiters, done)
		return
	}
	m := &migration{ms: ms, req: req, originalMin: req.Min, originalMax: req.Max, waiters: []func(error){done},
		parsedBounds: keys}
	m.steps.begin(ms.clock.Now())
	m.startedAt = ms.ids.ClusterTime()
	if err := m.checkCanStart(); err != nil {
		// Rejected before registration: nothing is logged.
		ms.clock.After(batchTime, func() { done(err) })
		return
	}
	if req.From == req.To {
		ms.clock.After(0, func() { done(nil) })
		return
	}
	m.donor.migration = m
	ms.active[m] = true
	ms.lastOpID += opIDsPerMigration
	m.opID = ms.lastOpID
	m.steps.endDonorStep(ms.clock.Now()) // step 1: accepted
	m.pauseDonor(1, func(m *migration) { m.after(prepareTime+ms.faults.extraLatency(m.req.From), (*migration).prepare) })
}

// originalRequest returns the request as received.
func (m *migration) originalRequest() MoveRequest {
	req := m.req
	req.Min, req.Max = m.originalMin, m.originalMax
	return req
}

// after schedules the next step in d. If the step panics, the migration ends as if its donor could not
// decide. The recovery then decides by the catalog.
func (m *migration) after(d time.Duration, step func(*migration)) {
	m.ms.clock.After(d, func() { m.ms.clock.Attempt("a migration", func() { step(m) }, m.failAfterPanic) })
}

// pauseDonor continues with then after the fail point of a donor step.
func (m *migration) pauseDonor(step int, then func(*migration)) {
	m.pause(stepFailPoint(hangAtDonorStep, step), m.donor.id, then)
}

// pauseRecipient continues with then after the fail point of a recipient step.
func (m *migration) pauseRecipient(step int, then func(*migration)) {
	m.pause(stepFailPoint(hangAtRecipientStep, step), m.recipient.id, then)
}

func (m *migration) pause(point string, on catalog.ShardID, then func(*migration)) {
	m.ms.failPoints.pass(point, on, func() {
		m.ms.clock.Attempt("a migration", func() { then(m) }, m.failAfterPanic)
	})
}

func (m *migration) failAfterPanic(err error) {
	if m.ended {
		return
	}
	m.ms.clock.Attempt("the end of a migration", func() { m.abandon(err) }, func(error) {
		m.releaseShards()
		m.notifyWaiters(err)
	})
}

// checkCanStart makes the donor's checks before it registers the migration
// (rules/02-migration-and-metadata §5.3 #1-#5).
func (m *migration) checkCanStart() error {
	if !m.ms.membership.hadTwoShards {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move chunks in a cluster that has never had two shards")
	}
	m.donor, m.recipient = m.ms.shards[m.req.From], m.ms.shards[m.req.To]
	if m.donor.migration != nil {
		return busyError(m.donor)
	}
	if m.recipient == nil {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", m.req.To)
	}
	if err := checkChunkOperations(m.ms.config); err != nil {
		return err
	}
	return m.ms.checkRecovered(m.donor)
}

func busyError(s *shard) error {
	req, does, other := s.migration.req, "receiving", "from "+string(s.migration.req.From)
	if req.From == s.id {
		does, other = "donating", "to "+string(req.To)
	}
	return mongoerr.New(mongoerr.ConflictingOperationInProgress, "Unable to start new balancer operation because this "+
		"shard is currently %s chunk [%s, %s) for namespace %s %s", does, req.Min, req.Max, req.Namespace, other)
}

// prepare does the rest of the donor's work before the clone (rules/02-migration-and-metadata §5.3 #6 to
// #12): it checks the identity of the collection, the bounds, range deletions, and the chunk around the
// range.
func (m *migration) prepare() {
	m.notifyEvent("start")
	if m.ended {
		return
	}
	if err := m.resolveCollection(); err != nil {
		m.refuse(m.asStaleConfig(err))
		return
	}
	m.waitForDeletions(m.donor, func(m *migration) {
		if err := m.checkRange(); err != nil {
			m.refuse(m.asStaleConfig(err))
			return
		}
		m.endChecks()
	})
}

// asStaleConfig converts a mismatch with the request to StaleConfig, as returned by a shard that owns
// its metadata.
func (m *migration) asStaleConfig(err error) error {
	for _, code := range []mongoerr.Code{
		mongoerr.NamespaceNotFound, mongoerr.KeyPatternShorterThanBound, mongoerr.BoundFieldMismatch,
	} {
		if mongoerr.Is(err, code) && m.ms.config.shardsOwnMetadata() {
			return m.ms.config.staleConfigError(m.req.Namespace, m.donor.id, "%s", err)
		}
	}
	return err
}

// refuse ends a migration before its clone.
func (m *migration) refuse(err error) {
	m.after(refuseTime, func(m *migration) { m.finish(err) })
}

// resolveCollection reads the collection and resolves both bounds.
func (m *migration) resolveCollection() error {
	coll, err := m.donorCollection()
	if err != nil {
		return err
	}
	m.coll = coll
	if m.local(m.donor) == nil {
		return errDropped()
	}
	bounds := requestedBounds{&m.req, m.parsedBounds, m.coll.Pattern, m.ms.config.tables[m.req.Namespace],
		m.local(m.donor)}
	var wrong boundError
	if m.min, m.max, err = bounds.resolve(); errors.As(err, &wrong) {
		return m.ms.config.staleConfigError(m.req.Namespace, m.donor.id,
			"The range [%s, %s) is not valid for collection %s with key pattern %s", m.req.Min, m.req.Max, m.req.Namespace,
			m.coll.Pattern.Doc())
	}
	return err
}

// donorCollection returns the collection according to the donor. It fails if the donor may not donate
// chunks of it.
func (m *migration) donorCollection() (catalog.Collection, error) {
	ns := m.req.Namespace
	coll, ok, err := m.ms.config.TrackedEntry(ns)
	if err != nil {
		return coll, err
	}
	table := m.ms.config.tables[ns]
	if !ok || table.CountOn(m.donor.id) == 0 {
		return coll, m.ms.config.staleConfigError(ns, m.donor.id, "shard %s owns no chunk of %s", m.donor.id, ns)
	}
	heard := func() bool { return m.ms.config.migrationsForbiddenSince[ns] != table.Version() }
	if !coll.AllowMigrations || !coll.PermitMigrations && heard() {
		return coll, mongoerr.New(mongoerr.ConflictingOperationInProgress, "Collection %s does not allow migrations", ns)
	}
	if coll.ForbidsChunkOperations(m.ms.installed.shardRelease(m.donor.id)) {
		return coll, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"Collection is undergoing changes so moveChunk is not allowed. allowMigrations: %v, allowChunkOperations: false",
			coll.AllowMigrations)
	}
	return coll, nil
}

// checkRange checks that the range is in one chunk of the donor, and records the chunk's version. The
// collection may have changed during the wait for range deletions.
func (m *migration) checkRange() error {
	ns := m.req.Namespace
	coll, err := m.donorCollection()
	if err != nil {
		return err
	}
	if !coll.UUID.Equal(m.coll.UUID) || coll.Epoch != m.coll.Epoch {
		return m.ms.config.staleConfigError(ns, m.donor.id, "collection %s was recreated", ns)
	}
	if m.local(m.donor) == nil {
		return errDropped()
	}
	chunk := m.ms.config.tables[ns].FindWithoutHistory(m.min)
	if chunk.Shard != m.donor.id || m.max.Compare(chunk.Max) > 0 {
		return m.ms.config.staleConfigError(ns, m.donor.id,
			"Range with bounds [%s, %s) is not contained within a chunk owned by this shard.", m.req.Min, m.req.Max)
	}
	m.initialVersion = chunk.Version
	return nil
}

// waitForDeletions waits until no range deletion of the shard overlaps the migration's range, by default
// up to 10 seconds like a server.
func (m *migration) waitForDeletions(s *shard, then func(*migration)) {
	limit := m.ms.parameters.Milliseconds("receiveChunkWaitForRangeDeleterTimeoutMS")
	m.waitForDeletionsUntil(m.ms.clock.Now().Add(limit), limit, s, then)
}

func (m *migration) waitForDeletionsUntil(deadline time.Time, limit time.Duration, s *shard, then func(*migration)) {
	switch {
	case m.ended:
	case s.overlappingDeletion(deletionRange{m.coll.UUID, m.min, m.max}) == nil:
		then(m)
	case m.ms.parameters.Int("disableResumableRangeDeleter") != 0:
		m.failOn(s, mongoerr.New(mongoerr.ResumableRangeDeleterDisabled,
			"an overlapping range deletion on shard %s will not run: disableResumableRangeDeleter is set", s.id))
	case !m.ms.clock.Now().Before(deadline):
		m.failOn(s, mongoerr.New(mongoerr.ExceededTimeLimit,
			policy.OrphansNotCleared))
	default:
		m.after(min(deletionPoll, limit/10+time.Millisecond),
			func(m *migration) { m.waitForDeletionsUntil(deadline, limit, s, then) })
	}
}

// failOn ends a migration that one of its shards has rejected. The donor wraps the recipient's error in
// the message of another error.
func (m *migration) failOn(s *shard, err *mongoerr.ServerError) {
	if s == m.recipient {
		m.fail(recipientError(err.CodeName() + ": " + err.Message))
		return
	}
	m.finish(err)
}

// containsDocument reports whether a document's key is in the migrating range.
func (m *migration) containsDocument(doc bson.Raw) bool {
	key, err := m.coll.Pattern.DocumentKey(doc)
	return err == nil && m.contains(key)
}

func (m *migration) contains(key catalog.Key) bool {
	if key.Compare(m.min) < 0 {
		return false
	}
	return key.Compare(m.max) < 0 || m.max.Equal(m.coll.Pattern.GlobalMax())
}
