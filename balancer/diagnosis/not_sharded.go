package diagnosis

import (
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
)

// WhyNotSharded answers Why for an unsharded collection, which the balancer does not move. It reports
// false if the collection is not known to exist: the catalog has the unsharded collections that were
// moved since 8.0; for others the caller has to say in exists whether they exist.
func WhyNotSharded(s *catalog.Snapshot, ns string, exists bool) (a Answer, ok bool) {
	database := catalog.DatabaseOf(ns)
	on, where := catalog.ShardID(""), ""
	if c := s.Collection(ns); c != nil && c.Unsplittable && len(c.Owners()) > 0 {
		on = c.Owners()[0]
	} else if exists {
		for _, d := range s.Parts().Databases {
			if d.Name == database {
				on, where = d.Primary, ", the primary shard of "+database
			}
		}
	}
	if on == "" {
		return a, false
	}
	f := finding(UnshardedData, Scope{Namespace: ns, Shard: on}, fmt.Sprintf(
		"%s is not sharded: all of it is on shard %s%s, and the balancer does not move it", ns, on, where))
	other := slices.IndexFunc(s.Shards(), func(o catalog.ShardState) bool { return o.ID != on && !o.Draining })
	switch {
	case other < 0:
	case s.Release().MovesCollections():
		f.Commands = []string{fmt.Sprintf("sh.moveCollection(%q, %q)", ns, string(s.Shards()[other].ID))}
	case where != "":
		f.Commands = []string{fmt.Sprintf("sh.movePrimary(%q, %q)", database, string(s.Shards()[other].ID))}
	}
	return Answer{About: Scope{Namespace: ns}, Time: s.Time(), Notes: []Finding{f}}, true
}
