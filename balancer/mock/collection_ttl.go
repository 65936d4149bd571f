package mock

import (
	"cmp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Documents of a collection with a TTL index are deleted when the date in the
// indexed field is older than expireAfterSeconds. Shards look for them every
// ttlMonitorSleepSecs; a cluster without such an index never does.

// ttlMonitor deletes the documents that have expired.
type ttlMonitor struct {
	c *Cluster
	// planned: the next look for expired documents is.
	planned bool
}

// watch begins to look, if there is reason to.
func (tm *ttlMonitor) watch() {
	if tm.planned || len(tm.indexes()) == 0 {
		return
	}
	tm.planned = true
	tm.c.after(tm.c.parameters.Seconds("ttlMonitorSleepSecs"), tm.look)
}

// expiry is one TTL index.
type expiry struct {
	ns    string
	index store.IndexSpec
	after time.Duration
}

// indexes are the TTL indexes of all collections. That of the sessions is left
// out: the mock keeps none there.
func (tm *ttlMonitor) indexes() []expiry {
	var list []expiry
	for _, id := range tm.c.shardIDs() {
		for ns, local := range tm.c.shards[id].colls {
			if ns == sessionsNamespace {
				continue
			}
			for _, spec := range local.docs.Indexes() {
				seconds, isTTL := spec.Options.Lookup("expireAfterSeconds").AsInt64OK()
				known := slices.ContainsFunc(list, func(e expiry) bool { return e.ns == ns && e.index.Name == spec.Name })
				if isTTL && !known {
					list = append(list, expiry{ns, spec, time.Duration(seconds) * time.Second})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b expiry) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.index.Name, b.index.Name))
	})
	return list
}

// look is one look at all TTL indexes.
func (tm *ttlMonitor) look() {
	tm.planned = false
	if tm.c.parameters.Int("ttlMonitorEnabled") != 0 {
		for _, e := range tm.indexes() {
			if err := tm.deleteBy(e); err != nil {
				tm.c.logger.Warn("expired documents not deleted", "collection", e.ns, "index", e.index.Name, "error", err)
			}
		}
	}
	tm.watch()
}

// deleteBy deletes what one index says has expired, on the shards that can be
// reached. Orphans are left to the range deleter.
func (tm *ttlMonitor) deleteBy(e expiry) error {
	filter, err := e.filter(tm.c.now())
	if err != nil {
		return err
	}
	for _, t := range tm.c.targets(e.ns, filter) {
		if t.shard == nil || t.shard.down {
			continue
		}
		var found []place
		for record, doc := range t.docs.Find(filter) {
			if t.owns(doc) {
				found = append(found, place{docs: t.docs, shard: t.shard, record: record, doc: doc})
			}
		}
		for _, p := range found {
			if err := tm.c.Background().remove(e.ns, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// filter matches what has expired: a date, or an array with one, that is old
// enough and in the index.
func (e expiry) filter(now time.Time) (*store.Filter, error) {
	field, err := e.index.Key.IndexErr(0)
	if err != nil {
		return nil, err
	}
	oldest := bson.NewDateTimeFromTime(now.Add(-e.after))
	clauses := bson.A{bson.D{{Key: field.Key(), Value: bson.D{{Key: "$lte", Value: oldest}}}}}
	if partial, isPartial := e.index.Options.Lookup("partialFilterExpression").DocumentOK(); isPartial {
		clauses = append(clauses, partial)
	}
	raw, err := bson.Marshal(bson.D{{Key: "$and", Value: clauses}})
	if err != nil {
		return nil, err
	}
	return store.CompileFilter(raw)
}

// SetExpiry changes how long the documents of an index stay, or makes a
// plain index a TTL index. It gives the seconds it was before; was is false
// where it was none.
func (ix Indexes) SetExpiry(ns, name string, seconds int64) (before int64, was bool, err error) {
	for _, id := range ix.c.Statistics().holders(ns) {
		old, err := ix.c.shards[id].colls[ns].docs.SetIndexOption(name, "expireAfterSeconds", int32(seconds))
		if err != nil {
			return 0, false, err
		}
		before, was = old.AsInt64OK()
	}
	ix.c.Tick()
	ix.c.ttl.watch()
	return before, was, nil
}

// checkExpiry refuses TTL indexes that the server refuses.
func (ix Indexes) checkExpiry(ns string, specs []store.IndexSpec) error {
	for _, spec := range specs {
		if spec.Options.Lookup("expireAfterSeconds").IsZero() {
			continue
		}
		for _, id := range ix.c.Statistics().holders(ns) {
			if ix.c.shards[id].colls[ns].maxBytes > 0 {
				return mongoerr.New(mongoerr.CannotCreateIndex, "Cannot create TTL index on a capped collection")
			}
		}
	}
	return nil
}
