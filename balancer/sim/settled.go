package sim

import "shardsh/balancer/catalog"

// addSettled adds a collection of which the snapshot has only the outline: the engine knows
// that it is there, and finds nothing to do in it.
func (c *cluster) addSettled(state *catalog.CollectionState) {
	coll := &collection{first: state, entry: state.Collection}
	c.order = append(c.order, coll)
	c.collections[state.Namespace] = coll
}

// settled reports whether there is nothing to do in the collection for the whole run.
func (coll *collection) settled() bool { return coll.chunks == nil }

// count returns how many chunks a shard has.
func (coll *collection) count(id catalog.ShardID) int {
	if coll.settled() {
		return int(coll.first.CountOn(id).Chunks)
	}
	return coll.chunks.Count(id)
}
