package mock

import (
	"maps"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// ConfigServerID is the config server among the members of the cluster.
const ConfigServerID = configShard

// MemberReads plans a query on what one shard holds itself, orphans included:
// what a client sees that connects to the shard and not to a router. The config
// server holds the config and admin databases.
func (rq *Request) MemberReads(id catalog.ShardID, ns string, q store.Query) ([]Read, error) {
	if id == configShard && rq.c.config.holds(ns) {
		return rq.Reads(ns, q)
	}
	l := rq.c.member(id, ns)
	if l == nil {
		return nil, nil
	}
	plan, err := l.docs.Plan(q)
	if err != nil {
		return nil, err
	}
	return []Read{{Shard: id, Host: rq.c.hostOf(id), Plan: plan, target: target{docs: l.docs, shard: rq.c.shards[id]}}}, nil
}

// member is a collection on a shard; nil when either is missing.
func (c *Cluster) member(id catalog.ShardID, ns string) *localCollection {
	if s := c.shards[id]; s != nil {
		return s.colls[ns]
	}
	return nil
}

// OnMember are the counters of a collection on one shard, whether it owns
// chunks or not. It is false when the shard has no such collection.
func (st Statistics) OnMember(id catalog.ShardID, ns string) (LocalStats, bool) {
	if id == configShard && st.c.config.holds(ns) {
		if stats := st.onConfigServer(ns); len(stats) > 0 {
			return stats[0], true
		}
		return LocalStats{}, false
	}
	return st.onShard(id, ns)
}

// MemberNamespaces lists the collections of one shard in order.
func (st Statistics) MemberNamespaces(id catalog.ShardID) []string {
	var own []string
	if id == configShard {
		own = slices.Concat(st.c.config.namespaces("admin"), st.c.config.namespaces("config"))
	}
	if s := st.c.shards[id]; s != nil {
		own = append(own, slices.Sorted(maps.Keys(s.colls))...)
	}
	return own
}

// MemberIndexes are the indexes of a collection on one shard. It is false when
// the shard has no such collection.
func (st Statistics) MemberIndexes(id catalog.ShardID, ns string) ([]store.IndexSpec, bool) {
	if id == configShard && st.c.config.holds(ns) {
		return st.c.Indexes().List(ns)
	}
	l := st.c.member(id, ns)
	if l == nil {
		return nil, false
	}
	return l.docs.Indexes(), true
}

// RangeDeletions counts the ranges that a shard has still to delete.
func (st Statistics) RangeDeletions(id catalog.ShardID) int {
	if s := st.c.shards[id]; s != nil {
		return len(s.deletions)
	}
	return 0
}
