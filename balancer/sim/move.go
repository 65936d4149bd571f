package sim

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// StartMove starts a migration, which the donor may still reject.
func (c *cluster) StartMove(m policy.Migration, done func(error)) {
	c.sawActivity = true
	if m.From == m.To { // the chunks that a defragmentation joins may be there already
		c.queue.After(0, func() { done(nil) })
		return
	}
	c.activeOps++
	c.donatingNamespace[m.From] = m.Namespace
	x := &move{Migration: m, cluster: c, began: c.queue.Now(), done: done}
	c.queue.After(c.costs.Prepare, func() {
		took, err := x.prepare()
		c.queue.After(max(0, took-c.costs.Prepare), func() { x.finish(err) })
	})
}

// move is a migration in progress.
type move struct {
	policy.Migration
	cluster        *cluster
	coll           *collection
	lower, upper   catalog.Key // of the range that the donor moves
	initialVersion catalog.ChunkVersion
	reservedBytes  int64 // bytes reserved on the recipient's volume
	began          time.Time
	done           func(error)
}

// prepare returns the duration of the migration, or the time after which it fails and the error.
func (m *move) prepare() (time.Duration, error) {
	c := m.cluster
	var err error
	if m.coll, err = c.find(m.Namespace); err != nil {
		return c.costs.Refused, err
	}
	chunk := m.coll.chunks.Find(m.Min)
	if chunk.Shard != m.From {
		return c.costs.Refused, mongoerr.New(mongoerr.StaleConfig, "the range belongs to shard %s", chunk.Shard)
	}
	lower, upper, amount := c.rangeToMove(m.coll, chunk, m.Migration)
	local := m.coll.stored[m.From]
	limit := policy.MaxDocuments(c.initial.Release(), local.Documents, local.Bytes, m.MaxChunkSizeBytes)
	if amount.Documents > limit && m.Force == policy.ForceNone {
		return c.costs.Refused, mongoerr.New(mongoerr.ChunkTooBig,
			"Cannot move chunk: the maximum number of documents for a chunk is %d, the range holds %d", limit, amount.Documents)
	}
	if lacks := c.missingBytes(m.coll, m.To, amount.Bytes); lacks > 0 {
		return c.costs.Refused, mongoerr.New(mongoerr.OutOfDiskSpace, "shard %s lacks %d bytes of disk", m.To, lacks)
	}
	wait, err := c.deletionWait(m.coll, m.Migration, lower, upper)
	if err != nil {
		return wait, err
	}
	m.lower, m.upper, m.initialVersion = lower, upper, chunk.Version
	m.reserve(amount.Bytes)
	took, err := c.moveTime(m.From, m.To, amount.Bytes)
	if took += wait; err != nil {
		return took, err
	}
	if c.settings.WaitForDelete {
		took += c.costs.transferTime(amount.Bytes, c.costs.DeleteBytesPerSecond)
	}
	return took, nil
}

// finish commits the migration, unless it has failed, and records the event.
func (m *move) finish(err error) {
	c := m.cluster
	c.activeOps--
	delete(c.donatingNamespace, m.From)
	e := Event{
		Kind: Moved, Began: m.began, Namespace: m.Namespace, From: m.From, To: m.To,
		Min: m.lower, Max: m.upper, Reason: m.Reason, Force: m.Force, Err: err,
	}
	if err == nil {
		var moved Amount
		moved, e.RemainingPieces, e.Err = c.commitMove(m)
		e.Bytes, e.Documents = moved.Bytes, moved.Documents
	}
	if e.Err != nil {
		m.deleteReceived()
		e.Kind, e.Min, e.Max = MoveFailed, m.Min, m.Max
	}
	c.recordEvent(e)
	if e.Kind == Moved {
		c.committedMoves++
		c.clearShortages()
	}
	m.done(e.Err)
}

// rangeToMove returns the range that the donor moves. Since 6.0 it is about one chunk size of a larger
// chunk, before 6.0 the whole chunk (rules/01-selection §6.8).
func (c *cluster) rangeToMove(
	coll *collection, chunk catalog.Chunk, m policy.Migration,
) (lower, upper catalog.Key, amount Amount) {
	lower, upper = chunk.Min, chunk.Max
	if !m.Max.IsZero() {
		lower, upper = m.Min, m.Max
	} else if c.initial.Release().BalancesBySize() {
		if point, ok := c.splitPoint(coll, chunk, m.MaxChunkSizeBytes); ok {
			coll.computedBounds.add(point, chunk)
			upper = point
		}
	}
	return lower, upper, coll.extents.sum(lower, upper)
}

// splitPoint returns the first point that splits off about one chunk size (rules/01-selection §6.8).
func (c *cluster) splitPoint(coll *collection, chunk catalog.Chunk, chunkSize int64) (catalog.Key, bool) {
	local := coll.stored[chunk.Shard]
	if local.Documents == 0 || local.Bytes < chunkSize || local.Bytes/local.Documents == 0 {
		return catalog.Key{}, false
	}
	perPiece := chunkSize / (local.Bytes / local.Documents)
	documents := coll.contents(chunk).Documents
	n, ok := policy.AmountToCut(documents, perPiece)
	if !ok {
		return catalog.Key{}, false
	}
	return coll.extents.keyAfterDocuments(chunk.Min, chunk.Max, n)
}

// commitMove changes the owner of the range. It returns the moved amount and the number of pieces of the
// chunk that stay. It does not change the versions of the donor's other chunks, because a run has no
// routers with stale tables.
func (c *cluster) commitMove(m *move) (amount Amount, remainingPieces int, err error) {
	coll, lower, upper := m.coll, m.lower, m.upper
	chunk := coll.chunks.Find(lower)
	if chunk.Shard != m.From || chunk.Max.Less(upper) || m.initialVersion.Compare(chunk.Version) < 0 {
		return Amount{}, 0, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"the chunk has changed since the migration began")
	}
	if remainingPieces, err = c.splitOff(coll, chunk, lower, upper); err != nil {
		return Amount{}, 0, err
	}
	coll.extents.cutAt(lower)
	coll.extents.cutAt(upper)
	at := bson.Timestamp{T: uint32(c.queue.Now().Unix()), I: 1}
	moved := chunk
	moved.Min, moved.Max, moved.Shard = lower, upper, m.To
	moved.Version = catalog.ChunkVersion{Major: coll.chunks.Version().Major + 1}
	moved.OnCurrentShardSince, moved.History = at, []catalog.ChunkHistory{{ValidAfter: at, Shard: m.To}}
	if err := coll.put(moved); err != nil {
		return Amount{}, 0, err
	}
	amount = coll.transfer(moved, m.From)
	m.reserve(amount.Bytes) // the last chunk includes the remainders of divisions
	c.leaveOrphans(coll, m.Migration, lower, upper, amount)
	return amount, remainingPieces, nil
}

// splitOff splits a chunk so that the range becomes a chunk. It returns the number of other chunks that
// result.
func (c *cluster) splitOff(coll *collection, chunk catalog.Chunk, lower, upper catalog.Key) (others int, err error) {
	var points []catalog.Key
	if chunk.Min.Less(lower) {
		points = append(points, lower)
	}
	if upper.Less(chunk.Max) {
		points = append(points, upper)
	}
	if len(points) == 0 {
		return 0, nil
	}
	pieces := c.commitRules().Split(coll.chunks, chunk, points)
	for i := range pieces {
		pieces[i].Jumbo = chunk.Jumbo // the pieces that stay keep the jumbo flag
	}
	return len(points), coll.put(pieces...)
}
