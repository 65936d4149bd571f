package mock

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/filter"
)

// known is what the router of a request knows of the catalog. The zero value is
// that of the cluster's own requests, which always know the newest.
type known struct {
	cache  *routing.Cache
	config knownCatalog
	shards shardSet
}

// knownCatalog is what a router reads of the catalog.
type knownCatalog interface {
	routing.Catalog
	holds(ns string) bool
}

// fresh reports whether the router knows the newest of a collection.
func (k known) fresh(ns string) bool { return k.cache == nil || k.cache.Fresh(ns, k.config) }

// route sends a request by what its router knows of a collection: if a shard
// refuses it, the router knows the newest. What was not refused has gone to the
// shards that it concerns. A write of many documents on several shards is sent to
// all there are, and none refuses it.
func (k known) route(ns string, filter *filter.Filter, many bool) {
	if k.fresh(ns) {
		return
	}
	k.send(ns, func(table *catalog.RoutingTable) []catalog.ShardID {
		ids := routing.Owners(table, filter)
		if many && len(ids) > 1 {
			return nil
		}
		return ids
	})
}

// routeKey is route for a new document, whose shard key has these comparable bytes.
func (k known) routeKey(ns string, key []byte) {
	if k.fresh(ns) {
		return
	}
	k.send(ns, func(table *catalog.RoutingTable) []catalog.ShardID {
		return []catalog.ShardID{table.OwnerOf(key)}
	})
}

// send sends a request by what the router knows; a shard that refuses it makes the
// router read the newest.
func (k known) send(ns string, to routing.Targets) {
	if k.config.holds(ns) {
		return
	}
	by, refused := k.cache.Send(ns, k.config, to)
	if s := k.shards[by]; refused && s != nil {
		s.counters.stale++
	}
}

// routed returns the shards that the router sends a read to, and the table by which it
// does; nil for a collection that it knows as not tracked.
func (k known) routed(ns string, filter *filter.Filter) ([]catalog.ShardID, *catalog.RoutingTable) {
	if table := k.cache.Table(ns, k.config); table != nil {
		return routing.Owners(table, filter), table
	}
	if primary, there := k.cache.PrimaryOf(ns, k.config); there {
		return []catalog.ShardID{primary}, nil
	}
	return nil, nil
}

// refuses lets the router read the routing table again if it does not know the newest.
func (k known) refuses(id catalog.ShardID, ns string) bool {
	if k.fresh(ns) {
		return false
	}
	k.cache.Refused(ns, k.config)
	k.shards[id].counters.stale++
	return true
}
