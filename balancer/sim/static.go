package sim

import "shardsh/balancer/catalog"

// addStatic adds a collection of which the snapshot has only an outline: the engine knows
// that it exists, and finds nothing to do in it.
func (c *cluster) addStatic(state *catalog.CollectionState) {
	coll := &collection{initial: state, entry: state.Collection}
	c.order = append(c.order, coll)
	c.collections[state.Namespace] = coll
}

// isStatic reports whether there is nothing to do in the collection for the whole run.
func (coll *collection) isStatic() bool { return coll.chunks == nil }

// count returns how many chunks a shard has.
func (coll *collection) count(id catalog.ShardID) int {
	if coll.isStatic() {
		return int(coll.initial.CountOn(id).Chunks)
	}
	return coll.chunks.Count(id)
}
