package mock

import (
	"iter"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
)

// shard is one shard's local state: what a mongod of its own would hold.
type shard struct {
	id    catalog.ShardID
	colls map[string]*localCollection
	// busy is the migration the shard takes part in, as donor or recipient:
	// at most one, over all collections (spec 02 §5.2).
	busy *migration
	// down: the shard has crashed and answers nothing. What it holds stays.
	down bool
	// deletions are the range deletion tasks, in the order they were made.
	deletions []*rangeDeletion
	byRange   deletionOrder
	// deletionsChanged: tasks came, went or have other bounds since the state
	// was last written.
	deletionsChanged bool
	counters         shardCounters
	// machineID is the one drawn or given; 0 is that of the address.
	machineID int32
}

// localCollection is a collection's data on one shard, orphans included.
type localCollection struct {
	uuid    bson.Binary
	options bson.D
	docs    *store.Collection
	virtual virtualData

	validator *store.Filter // nil without one
	// warnOnly: what the validator does not match is stored all the same.
	// lenient: documents that were bad already may stay so.
	warnOnly, lenient bool
	maxBytes, maxDocs int64 // of a capped collection; zero is no limit

	// written counts the bytes since a shard last looked at a chunk to split it,
	// by the lower bound of the chunk.
	written map[string]int64
}

func newShard(id catalog.ShardID) *shard {
	return &shard{id: id, colls: map[string]*localCollection{}}
}

// orphans counts the documents in ranges that wait for deletion
// (numOrphanDocs of spec 02 §5.4).
func (s *shard) orphans(ns string) int64 {
	var n int64
	for _, task := range s.deletions {
		if task.orphans != 0 && task.coll.Namespace == ns {
			n += task.orphans
		}
	}
	return n
}

// counts are the fast counters of a collection, orphans and virtual data
// included.
func (l *localCollection) counts() (docs, bytes int64) {
	docs, bytes = l.virtual.docs, l.virtual.bytes
	return docs + l.docs.Count(), bytes + l.docs.Bytes()
}

// ownedBytes is the estimate that statistics for balancing use: the truncated
// average document times the documents that are not orphans (spec 01 §3.2).
func (s *shard) ownedBytes(ns string, uuid bson.Binary) int64 {
	l := s.colls[ns]
	if l == nil || !l.uuid.Equal(uuid) {
		return 0
	}
	docs, bytes := l.counts()
	orphans := s.orphans(ns)
	if docs == 0 || bytes == 0 || docs <= orphans {
		return 0
	}
	return bytes / docs * (docs - orphans)
}

// keyIndex finds the index that serves a shard key.
func (l *localCollection) keyIndex(p catalog.KeyPattern) (*store.Index, bool) {
	return l.docs.IndexFor(p.Doc())
}

// newKeyIndex is one that the collection can be sharded by: without arrays.
func (l *localCollection) newKeyIndex(p catalog.KeyPattern) (*store.Index, bool) {
	index, ok := l.keyIndex(p)
	if !ok || index.Multikey() {
		return nil, false
	}
	return index, true
}

// inRange walks the documents whose shard key is in [min, max), with the key and
// in its order, orphans included. The range of the last chunk includes its upper bound.
func (l *localCollection) inRange(p catalog.KeyPattern, min, max catalog.Key) iter.Seq2[store.RecordID, []byte] {
	index, ok := l.keyIndex(p)
	if !ok {
		return l.scanRange(p, min, max)
	}
	to := max.Bytes()
	if max.Equal(p.GlobalMax()) {
		to = nil // the key of all MaxKey belongs to the last chunk
	}
	return shardKeys(l.docs.ScanIndex(index, min.Bytes(), to), p.Len(), index.Width())
}

// shardKeys leaves of the keys of an index the fields of the shard key, which
// the index may go beyond.
func shardKeys(entries iter.Seq2[store.RecordID, []byte], fields, of int) iter.Seq2[store.RecordID, []byte] {
	if fields == of {
		return entries
	}
	return func(yield func(store.RecordID, []byte) bool) {
		for record, key := range entries {
			end := 0
			for range fields {
				end += keyorder.Size(key[end:])
			}
			if !yield(record, key[:end]) {
				return
			}
		}
	}
}

// scanRange is inRange without an index: a shard that owned nothing when the
// key was refined has none for the new key, and orphans all the same.
func (l *localCollection) scanRange(p catalog.KeyPattern, min, max catalog.Key) iter.Seq2[store.RecordID, []byte] {
	last := max.Equal(p.GlobalMax())
	return func(yield func(store.RecordID, []byte) bool) {
		for record, doc := range l.docs.Scan() {
			key, err := p.DocumentKey(doc)
			if err != nil || key.Less(min) || !last && !key.Less(max) {
				continue
			}
			if !yield(record, key.Bytes()) {
				return
			}
		}
	}
}

// shardIDs lists the shards in catalog order.
func (c *Cluster) shardIDs() []catalog.ShardID { return slices.Sorted(maps.Keys(c.shards)) }

// ShardCount is the number of shards. It takes the lock.
func (c *Cluster) ShardCount() int {
	c.Lock()
	defer c.Unlock()
	return len(c.shards)
}
