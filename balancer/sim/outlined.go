package sim

import "shardsh/balancer/catalog"

// addOutlined adds a collection of which the snapshot has only an outline. The engine knows the collection
// but finds nothing to do for it.
func (c *cluster) addOutlined(state *catalog.CollectionState) {
	coll := &collection{initial: state, entry: state.Collection}
	c.orderedCollections = append(c.orderedCollections, coll)
	c.collections[state.Namespace] = coll
}

// isOutlineOnly reports whether the run has nothing to do for the collection.
func (coll *collection) isOutlineOnly() bool { return coll.chunks == nil }

// chunkCount returns the number of a shard's chunks.
func (coll *collection) chunkCount(id catalog.ShardID) int {
	if coll.isOutlineOnly() {
		return int(coll.initial.CountOn(id).Chunks)
	}
	return coll.chunks.CountOn(id)
}
