package mock

import (
	"cmp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// ttlMonitor deletes expired documents: those with a date in the field of a TTL index that is older than
// expireAfterSeconds. Shards search for them every ttlMonitorSleepSecs. A cluster without TTL indexes
// never searches.
type ttlMonitor struct {
	*clusterSettings
	clock   *clock.Clock
	env     *environment
	locator *locator
	shards  shardSet

	// scheduled reports whether the next pass is scheduled.
	scheduled bool
}

// schedule schedules the next pass if there are TTL indexes.
func (tm *ttlMonitor) schedule() {
	if tm.scheduled || len(tm.ttlIndexes()) == 0 {
		return
	}
	tm.scheduled = true
	tm.clock.After(tm.parameters.Seconds("ttlMonitorSleepSecs"), tm.runPass)
}

// ttlIndex is a TTL index of a collection.
type ttlIndex struct {
	ns          string
	index       store.IndexSpec
	expireAfter time.Duration

	language expr.Language
}

// ttlIndexes returns the TTL indexes of all collections except the sessions collection, in which the
// mock stores nothing.
func (tm *ttlMonitor) ttlIndexes() []ttlIndex {
	var list []ttlIndex
	for _, id := range tm.shards.ids() {
		for ns, local := range tm.shards[id].colls {
			if ns == policy.SessionsNamespace {
				continue
			}
			for _, spec := range local.docs.Indexes() {
				seconds, isTTL := spec.Options.Lookup("expireAfterSeconds").AsInt64OK()
				known := slices.ContainsFunc(list, func(e ttlIndex) bool { return e.ns == ns && e.index.Name == spec.Name })
				if isTTL && !known {
					list = append(list, ttlIndex{ns, spec, time.Duration(seconds) * time.Second, local.docs.Language})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b ttlIndex) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.index.Name, b.index.Name))
	})
	return list
}

// runPass runs one pass over all TTL indexes.
func (tm *ttlMonitor) runPass() {
	tm.scheduled = false
	defer tm.schedule()
	if tm.parameters.Int("ttlMonitorEnabled") != 0 {
		for _, e := range tm.ttlIndexes() {
			if err := tm.deleteExpired(e); err != nil {
				tm.logger.Warn("expired documents not deleted", "collection", e.ns, "index", e.index.Name, "error", err)
			}
		}
	}
}

// deleteExpired deletes the expired documents of one index on the available shards. It leaves orphans to
// the range deleter.
func (tm *ttlMonitor) deleteExpired(e ttlIndex) error {
	filter, err := e.filter(tm.clock.Now())
	if err != nil {
		return err
	}
	for _, t := range tm.locator.targets(e.ns, filter) {
		if t.shard == nil || t.shard.down {
			continue
		}
		var found []documentChange
		for record, doc := range t.docs.Find(filter) {
			if t.owns(doc) {
				found = append(found, documentChange{docs: t.docs, shard: t.shard, record: record, doc: doc})
			}
		}
		for _, p := range found {
			if err := tm.env.backgroundRequest().removeDocument(e.ns, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// filter returns the query for expired documents: the field has an expired date, or an array with one,
// and the document is in the index.
func (t ttlIndex) filter(now time.Time) (*filter.Filter, error) {
	field, err := t.index.Key.IndexErr(0)
	if err != nil {
		return nil, err
	}
	oldest := bson.NewDateTimeFromTime(now.Add(-t.expireAfter))
	clauses := bson.A{bson.D{{Key: field.Key(), Value: bson.D{{Key: "$lte", Value: oldest}}}}}
	if partial, isPartial := t.index.Options.Lookup("partialFilterExpression").DocumentOK(); isPartial {
		clauses = append(clauses, partial)
	}
	raw, err := bson.Marshal(bson.D{{Key: "$and", Value: clauses}})
	if err != nil {
		return nil, err
	}
	return filter.CompileWith(raw, filter.Options{Language: t.language})
}

// SetExpiry changes the expireAfterSeconds of an index, or makes an index a TTL index. It returns the
// seconds before; wasTTL is false if it was not a TTL index.
func (ix *Indexes) SetExpiry(ns, name string, seconds int64) (before int64, wasTTL bool, err error) {
	for _, id := range ix.stats.shardsWithCollection(ns) {
		old, err := ix.shards[id].colls[ns].docs.SetIndexOption(name, "expireAfterSeconds", int32(seconds))
		if err != nil {
			return 0, false, err
		}
		before, wasTTL = old.AsInt64OK()
	}
	ix.ids.Tick()
	ix.ttl.schedule()
	return before, wasTTL, nil
}

// checkExpiry rejects TTL indexes that a server rejects.
func (ix *Indexes) checkExpiry(ns string, specs []store.IndexSpec) error {
	for _, spec := range specs {
		if spec.Options.Lookup("expireAfterSeconds").IsZero() {
			continue
		}
		for _, id := range ix.stats.shardsWithCollection(ns) {
			if ix.shards[id].colls[ns].maxBytes > 0 {
				return mongoerr.New(mongoerr.CannotCreateIndex, "Cannot create TTL index on a capped collection")
			}
		}
	}
	return nil
}
