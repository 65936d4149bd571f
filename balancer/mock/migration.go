package mock

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// What the steps of a migration take, on top of the time for its bytes. The
// figures are of the size a small idle cluster shows.
const (
	refuseTime   = 100 * time.Millisecond // a donor that refuses after a refresh
	prepareTime  = 20 * time.Millisecond  // up to the start of the clone
	batchTime    = 5 * time.Millisecond   // round trip of one clone batch
	catchUpTime  = 50 * time.Millisecond  // replication before the critical section
	commitTime   = 100 * time.Millisecond // critical section and commit
	cloneRate    = 64 << 20               // bytes a second
	cloneBatch   = 16 << 20               // bytes of one clone batch
	donorSteps   = 6
	recvSteps    = 8
	deletionPoll = time.Second // how often a waiting recipient looks at range deletions
)

// MoveRequest asks a donor for a migration. Bounds are documents as they were
// given; one may be missing, then the donor computes it (spec 02 §5.8).
type MoveRequest struct {
	Namespace     string
	To            catalog.ShardID
	From          catalog.ShardID
	Min, Max      bson.Raw
	Force         policy.ForceJumbo
	WaitForDelete bool
	// MaxChunkSizeBytes is the size the donor cuts by.
	MaxChunkSizeBytes int64
}

// migration is one chunk migration under way (spec 02 §5).
type migration struct {
	req      MoveRequest
	coll     catalog.Collection
	min, max catalog.Key
	donor    *shard
	receiver *shard
	before   catalog.ChunkVersion // version of the chunk when the migration began

	started   time.Time
	stepEnd   time.Time
	donorTime []time.Duration // of each finished donor step
	recvTime  []time.Duration

	// Clone: the documents seen at the start, still to be copied.
	records []store.RecordID
	virtual virtualData
	cloning bool
	// committedNothing: the config server refused the commit.
	committedNothing bool
	mods             modifications
	cloned           int64
	clonedSize       int64
	donorTask        *rangeDeletion
	recvTask         *rangeDeletion

	done func(error)
}

// modifications are the writes of the donor in the range since the clone
// began: ids to fetch again and ids to delete.
type modifications struct {
	upserts map[string]bson.RawValue
	deletes map[string]bson.RawValue
}

func newModifications() modifications {
	return modifications{upserts: map[string]bson.RawValue{}, deletes: map[string]bson.RawValue{}}
}

func (m *modifications) empty() bool { return len(m.upserts)+len(m.deletes) == 0 }

// StartMove begins a migration. done is called once, by an event, with the
// lock held.
func (c *Cluster) StartMove(req MoveRequest, done func(error)) {
	m := &migration{req: req, started: c.now(), stepEnd: c.now(), done: done}
	if err := c.admit(m); err != nil {
		c.refuse(m, err)
		return
	}
	if req.From == req.To {
		c.after(0, func() { done(nil) })
		return
	}
	m.donor.busy = m
	c.pending[m] = true
	m.endDonorStep(c.now()) // step 1: accepted
	c.after(prepareTime, func() { c.prepare(m) })
}

// admit is what the donor checks before it registers (spec 02 §5.3 #1-#5).
func (c *Cluster) admit(m *migration) error {
	if !c.hadTwo {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move chunks in a cluster that has never had two shards")
	}
	m.donor, m.receiver = c.shards[m.req.From], c.shards[m.req.To]
	if m.donor == nil {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", m.req.From)
	}
	if m.donor.busy != nil {
		return busyError(m.donor)
	}
	if m.receiver == nil {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", m.req.To)
	}
	return nil
}

func busyError(s *shard) error {
	return mongoerr.New(mongoerr.ConflictingOperationInProgress,
		"Unable to start new balancer operation because shard %s is already taking part in a migration of %s", s.id, s.busy.req.Namespace)
}

// refuse ends a migration that never registered.
func (c *Cluster) refuse(m *migration, err error) {
	c.after(batchTime, func() { m.done(err) })
}

// prepare is the rest of the donor's work before cloning (§5.3 #6-#12): bounds,
// identity, range deletions; then the size rule and the recipient's consent.
func (c *Cluster) prepare(m *migration) {
	if err := c.checkDonor(m); err != nil {
		c.after(refuseTime, func() { c.finish(m, err) })
		return
	}
	if task := m.donor.overlappingDeletion(m.coll, m.min, m.max); task != nil {
		c.waitForDeletions(m, m.donor, func() { c.startClone(m) })
		return
	}
	c.startClone(m)
}

// checkDonor resolves the bounds and demands that the range lies in one chunk
// of the donor; anything else is a stale routing table.
func (c *Cluster) checkDonor(m *migration) error {
	ns := m.req.Namespace
	coll, ok, err := c.Tracked(ns)
	if err != nil {
		return err
	}
	table := c.tables[ns]
	if !ok || table == nil || table.Count(m.donor.id) == 0 {
		return staleConfig(ns, m.donor.id, "shard %s owns no chunk of %s", m.donor.id, ns)
	}
	m.coll = coll
	if !coll.AllowMigrations || !coll.PermitMigrations {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "Collection %s does not allow migrations", ns)
	}
	if m.min, m.max, err = c.resolveBounds(m); err != nil {
		return err
	}
	chunk := table.Find(m.min)
	if chunk.Shard != m.donor.id || m.max.Compare(chunk.Max) > 0 {
		return staleConfig(ns, m.donor.id, "the range is not inside one chunk of shard %s", m.donor.id)
	}
	m.before = chunk.Version
	return nil
}

// resolveBounds gives full keys, and computes the bound that was left out.
func (c *Cluster) resolveBounds(m *migration) (min, max catalog.Key, err error) {
	p, table := m.coll.Pattern, c.tables[m.req.Namespace]
	if m.req.Min != nil {
		if min, err = p.Key(m.req.Min); err != nil {
			return min, max, c.badBound(m, err)
		}
	}
	if m.req.Max != nil {
		if max, err = p.Key(m.req.Max); err != nil {
			return min, max, c.badBound(m, err)
		}
	}
	local := m.donor.colls[m.req.Namespace]
	switch {
	case m.req.Max == nil:
		max = table.Find(min).Max
		if point, ok := local.splitPoint(p, min, max, m.req.MaxChunkSizeBytes, forward); ok {
			max = point
		}
		m.req.Max = p.Bound(max)
	case m.req.Min == nil:
		min = EndingAt(table, max).Min
		if point, ok := local.splitPoint(p, min, max, m.req.MaxChunkSizeBytes, backward); ok {
			min = point
		}
		m.req.Min = p.Bound(min)
	}
	return min, max, nil
}

func (c *Cluster) badBound(m *migration, err error) error {
	return staleConfig(m.req.Namespace, m.donor.id, "%s", err)
}

// staleConfig is a shard's refusal of a request routed by a table it does not
// share; mongos tries again (spec 03 §0.7).
func staleConfig(ns string, id catalog.ShardID, format string, args ...any) error {
	err := mongoerr.New(mongoerr.StaleConfig, "%s", fmt.Sprintf(format, args...))
	err.Extra = bson.D{{Key: "ns", Value: ns}, {Key: "shardId", Value: string(id)}}
	return err
}

// waitForDeletions lets a migration wait until no range deletion of the shard
// overlaps its range, for the server's 10 seconds.
func (c *Cluster) waitForDeletions(m *migration, s *shard, then func()) {
	limit := c.parameters.Milliseconds("receiveChunkWaitForRangeDeleterTimeoutMS")
	deadline := c.now().Add(limit)
	var look func()
	look = func() {
		switch {
		case s.overlappingDeletion(m.coll, m.min, m.max) == nil:
			then()
		case !c.now().Before(deadline):
			err := error(mongoerr.New(mongoerr.ExceededTimeLimit, "Exceeded time limit waiting for an overlapping range deletion on shard %s", s.id))
			if s == m.receiver {
				c.fail(m, mongoerr.New(mongoerr.OperationFailed, "Data transfer error: migrate failed: ExceededTimeLimit: %s", err))
				return
			}
			c.finish(m, err)
		default:
			c.after(min(deletionPoll, limit/10+time.Millisecond), look)
		}
	}
	look()
}

// startClone logs the start, applies the size rule and asks the recipient.
func (c *Cluster) startClone(m *migration) {
	m.endDonorStep(c.now()) // step 2: checks done
	c.logChange(m.donor.id, "moveChunk.start", m.req.Namespace, m.rangeDoc())
	if m.min.Compare(m.max) >= 0 {
		c.fail(m, mongoerr.New(mongoerr.FailedToParse, "min must be less than max"))
		return
	}
	local := m.donor.colls[m.req.Namespace]
	// From here on writes are tracked: the list of records is as of now, however
	// long the recipient takes to begin.
	m.cloning = true
	m.mods = newModifications()
	for record := range local.inRange(m.coll.Pattern, m.min, m.max) {
		m.records = append(m.records, record)
	}
	_, m.virtual = local.virtual.take(m.coll.Pattern, m.min, m.max)
	if err := c.checkSize(m, local); err != nil {
		c.fail(m, err)
		return
	}
	if m.receiver.busy != nil {
		c.fail(m, busyError(m.receiver))
		return
	}
	m.receiver.busy = m
	m.donorTask = m.donor.addDeletion(m, deletionDelayed)
	c.waitForDeletions(m, m.receiver, func() { c.beginCopy(m) })
}

// checkSize is the rule of spec 02 §5.7: at most twice as many documents as a
// chunk of average ones may hold, unless forced.
func (c *Cluster) checkSize(m *migration, local *localCollection) error {
	if m.req.Force != policy.ForceNone {
		return nil
	}
	total, bytes := local.counts()
	limit := int64(250001)
	if total > 0 {
		average := bytes / total
		if average == 0 {
			average = 5
		}
		limit = 2 * max(m.req.MaxChunkSizeBytes/average, 1)
	}
	virtual, _ := m.virtual.totals()
	if n := int64(len(m.records)) + virtual; n > limit {
		return mongoerr.New(mongoerr.ChunkTooBig,
			"Cannot move chunk: the maximum number of documents for a chunk is %d, the range holds %d", limit, n)
	}
	return nil
}

// beginCopy is the recipient's preparation: its collection, its own deletion
// task for what it copies, and then the clone.
func (c *Cluster) beginCopy(m *migration) {
	if err := c.prepareReceiver(m); err != nil {
		c.fail(m, mongoerr.New(mongoerr.OperationFailed, "Data transfer error: migrate failed: %s", err))
		return
	}
	m.recvTask = m.receiver.addDeletion(m, deletionNow)
	m.endRecvStep(c.now(), 3)
	m.endDonorStep(c.now()) // step 3: clone started
	c.after(batchTime, func() { c.copyBatch(m) })
}

// prepareReceiver makes the collection and the donor's indexes where the
// recipient has none.
func (c *Cluster) prepareReceiver(m *migration) error {
	from := m.donor.colls[m.req.Namespace]
	to := m.receiver.colls[m.req.Namespace]
	if to != nil && !to.uuid.Equal(from.uuid) {
		return mongoerr.New(mongoerr.InvalidUUID, "InvalidUUID: shard %s has another collection of that name", m.receiver.id)
	}
	if to == nil {
		to = &localCollection{uuid: from.uuid, options: from.options, docs: store.New()}
		m.receiver.colls[m.req.Namespace] = to
	}
	have := map[string]bool{}
	for _, spec := range to.docs.Indexes() {
		have[spec.Name] = true
	}
	for _, spec := range from.docs.Indexes() {
		if have[spec.Name] {
			continue
		}
		if err := to.docs.CreateIndex(spec); err != nil {
			return err
		}
	}
	return nil
}

// copyBatch copies up to 16 MiB of the documents seen at the start, those
// that are still there and still in the range.
func (c *Cluster) copyBatch(m *migration) {
	if !m.cloning {
		return
	}
	from, to := m.donor.colls[m.req.Namespace], m.receiver.colls[m.req.Namespace]
	if from == nil || to == nil {
		c.fail(m, mongoerr.New(mongoerr.OperationFailed, "Data transfer error: the collection was dropped"))
		return
	}
	var size int64
	for len(m.records) > 0 && size < cloneBatch {
		record := m.records[0]
		m.records = m.records[1:]
		doc, ok := from.docs.Get(record)
		if !ok || !m.holds(doc) {
			continue
		}
		if _, err := to.docs.Insert(doc); err != nil {
			c.fail(m, mongoerr.New(mongoerr.OperationFailed, "Data transfer error: migrate failed: %s", err))
			return
		}
		size += int64(len(doc))
		m.cloned++
		m.recvTask.orphans++
	}
	m.clonedSize += size
	wait := batchTime + transferTime(size)
	if len(m.records) > 0 {
		c.after(wait, func() { c.copyBatch(m) })
		return
	}
	docs, bytes := m.virtual.totals()
	m.cloned += docs
	m.clonedSize += bytes
	c.after(wait+transferTime(bytes), func() {
		m.endRecvStep(c.now(), 4)
		c.catchUp(m)
	})
}

func transferTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / cloneRate * float64(time.Second))
}

// holds tells whether a document's key is in the migrating range.
func (m *migration) holds(doc bson.Raw) bool {
	key, err := m.coll.Pattern.DocumentKey(doc)
	return err == nil && m.contains(key)
}

func (m *migration) contains(key catalog.Key) bool {
	if key.Compare(m.min) < 0 {
		return false
	}
	return key.Compare(m.max) < 0 || m.max.Equal(m.coll.Pattern.GlobalMax())
}

func (m *migration) rangeDoc() bson.D {
	return bson.D{
		{Key: "min", Value: m.req.Min},
		{Key: "max", Value: m.req.Max},
		{Key: "from", Value: string(m.req.From)},
		{Key: "to", Value: string(m.req.To)},
	}
}

func (m *migration) endDonorStep(now time.Time) {
	m.donorTime = append(m.donorTime, now.Sub(m.stepEnd))
	m.stepEnd = now
}

// endRecvStep closes the recipient's steps up to n; those that the mock does
// not tell apart take no time.
func (m *migration) endRecvStep(now time.Time, n int) {
	spent := now.Sub(m.started)
	for _, d := range m.recvTime {
		spent -= d
	}
	for len(m.recvTime) < n-1 {
		m.recvTime = append(m.recvTime, 0)
	}
	m.recvTime = append(m.recvTime, spent)
}
