package sim

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// collection is a collection of the snapshot with its changes.
type collection struct {
	initial *catalog.CollectionState
	entry   catalog.Collection
	changed bool
	// revision increases with every change that the engine can see.
	revision uint64

	chunks *catalog.Draft

	// ownedBytes and ownedDocs are the owned amounts of each shard; shards that have reported nothing are
	// missing. stored includes orphans.
	ownedBytes, ownedDocs map[catalog.ShardID]int64
	stored                map[catalog.ShardID]Amount
	// reportedBytes is ownedBytes as shards report it: the number of documents times the average
	// document size rounded down.
	reportedBytes map[catalog.ShardID]int64
	extents       *extents
	// mergeableShards are the shards that may have chunks to merge; nil before the first use.
	mergeableShards map[catalog.ShardID]bool
	// oldEnough are the shards that had a chunk old enough to merge at the revision oldEnoughRevision.
	// As long as nothing changes, they still have it.
	oldEnough         map[catalog.ShardID]bool
	oldEnoughRevision uint64

	deletions map[catalog.ShardID]*deletions

	computedBounds computedBounds
}

func newCollection(
	s *catalog.Snapshot, state *catalog.CollectionState, contents ContentsModel, chunkSize int64,
) *collection {
	coll := &collection{
		initial: state, entry: state.Collection, chunks: catalog.NewDraft(state.Table),
		ownedBytes: map[catalog.ShardID]int64{}, ownedDocs: map[catalog.ShardID]int64{},
		stored: map[catalog.ShardID]Amount{}, reportedBytes: map[catalog.ShardID]int64{},
		extents:   newExtents(state, contents(state, chunkSize)),
		deletions: map[catalog.ShardID]*deletions{}, computedBounds: computedBounds{},
	}
	for _, shard := range s.Shards() {
		if data, known := s.OwnedData(state, shard); known {
			coll.ownedBytes[shard.ID], coll.ownedDocs[shard.ID], coll.reportedBytes[shard.ID] = data.Bytes, data.Documents,
				data.Bytes
			coll.stored[shard.ID] = Amount{data.Documents + data.Orphans, data.Bytes + data.OrphanBytes}
		}
	}
	return coll
}

// put writes changed chunks.
func (coll *collection) put(changed ...catalog.Chunk) error {
	if err := coll.chunks.Put(changed...); err != nil {
		return err
	}
	coll.markChanged()
	for _, chunk := range changed {
		coll.noteMayMerge(chunk.Shard)
	}
	return nil
}

// markChanged marks the collection as changed.
func (coll *collection) markChanged() {
	coll.changed = true
	coll.revision++
}

// mayHaveMergeable reports whether a shard may have chunks to merge. The first call determines this for
// all shards, which avoids a search for each. Later only shards with changed chunks can gain such
// chunks.
func (coll *collection) mayHaveMergeable(id catalog.ShardID) bool {
	if coll.isOutlineOnly() {
		return false
	}
	if coll.mergeableShards == nil {
		coll.mergeableShards = coll.chunks.Table().ShardsWithMergeableChunks()
	}
	return coll.mergeableShards[id]
}

// ownsChunkOlderThan reports whether a shard has a chunk that arrived before cutoff, which must not decrease
// from call to call.
func (coll *collection) ownsChunkOlderThan(id catalog.ShardID, cutoff bson.Timestamp) bool {
	if coll.isOutlineOnly() {
		oldest, known := coll.initial.Outline.Oldest[id]
		return known && oldest.Before(cutoff)
	}
	if coll.oldEnough == nil || coll.oldEnoughRevision != coll.revision {
		coll.oldEnough, coll.oldEnoughRevision = map[catalog.ShardID]bool{}, coll.revision
	}
	if !coll.oldEnough[id] && policy.OwnsChunkOlderThan(coll.chunks.Table(), id, cutoff) {
		coll.oldEnough[id] = true
	}
	return coll.oldEnough[id]
}

// noteMayMerge records that a shard may have chunks to merge from now on.
func (coll *collection) noteMayMerge(id catalog.ShardID) {
	if coll.mergeableShards != nil {
		coll.mergeableShards[id] = true
	}
}

// contents returns the contents of a chunk in the table.
func (coll *collection) contents(chunk catalog.Chunk) Amount {
	return coll.extents.sum(chunk.Min, chunk.Max)
}

// measuredSize returns the size of a chunk as its shard measures it: the number of documents times the
// shard's average document size.
func (coll *collection) measuredSize(chunk catalog.Chunk) int64 {
	amount, local := coll.contents(chunk), coll.stored[chunk.Shard]
	if local.Documents == 0 {
		return amount.Bytes
	}
	return amount.Documents * (local.Bytes / local.Documents)
}

// transfer moves the contents of a chunk, which already has its new owner, away from a donor. A donor's
// last chunk takes all that remains on the donor, including the remainders of divisions.
func (coll *collection) transfer(chunk catalog.Chunk, from catalog.ShardID) Amount {
	amount := coll.contents(chunk)
	if coll.chunks.CountOn(from) == 0 {
		if bytes, ok := coll.ownedBytes[from]; ok {
			amount = Amount{coll.ownedDocs[from], bytes}
		}
	}
	coll.addOwned(from, Amount{-amount.Documents, -amount.Bytes})
	coll.addOwned(chunk.Shard, amount)
	local := coll.stored[chunk.Shard]
	coll.stored[chunk.Shard] = local.plus(amount)
	return amount
}

// addOwned adds to what a shard owns, if the shard has reported its size.
func (coll *collection) addOwned(id catalog.ShardID, amount Amount) {
	if _, told := coll.ownedBytes[id]; !told {
		return
	}
	coll.ownedBytes[id] = max(0, coll.ownedBytes[id]+amount.Bytes)
	coll.ownedDocs[id] = max(0, coll.ownedDocs[id]+amount.Documents)
	coll.reportedBytes[id] = coll.ownedBytes[id]
	if documents := coll.ownedDocs[id]; documents > 0 {
		coll.reportedBytes[id] = coll.ownedBytes[id] / documents * documents
	}
}
