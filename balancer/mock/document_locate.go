package mock

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/secondary"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// locator determines where documents are: on the config server, on a database's primary shard, or on the
// shards that own chunks.
type locator struct {
	config       *ConfigDB
	configChunks *ConfigChunks
	shards       shardSet
	addresses    *Addresses
}

func (lo *locator) capture(t target) Read {
	r := Read{Shard: configShard, target: t, liveDocs: t.docs}
	if t.shard != nil {
		r.Shard = t.shard.id
	}
	if t.local != nil {
		t.local.queries++
	}
	r.Host = lo.addresses.HostOf(r.Shard)
	r.target.docs, r.rules = t.docs.Snapshot(), t.validation()
	return r
}

// documents returns the documents of a namespace as a router returns them: each from the shard that owns
// it, without orphans. A nil filter matches all documents. It contacts no node.
func (lo *locator) documents(ns string, filter *filter.Filter) iter.Seq[bson.Raw] {
	var reads []Read
	if ns == chunksNamespace {
		reads = []Read{{chunks: lo.configChunks.view()}}
	} else {
		for _, t := range lo.targets(ns, filter) {
			reads = append(reads, lo.capture(t))
		}
	}
	return func(yield func(bson.Raw) bool) {
		reads, err := PlanReads(reads, store.Query{Filter: filter})
		if err != nil {
			return // cannot happen without hint and sort
		}
		for _, r := range reads {
			for found, err := range r.Documents(context.Background(), &store.Counts{}) {
				if err == nil && !yield(found.Doc) {
					return
				}
			}
		}
	}
}

// targets routes a request. For a sharded collection it returns the owner of the key if the filter
// contains the whole key, else all owners.
func (lo *locator) targets(ns string, filter *filter.Filter) []target {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil
	}
	if lo.config.holdsCollection(ns) {
		docs := lo.config.existingCollection(ns)
		if docs == nil {
			return nil
		}
		return []target{{docs: docs}}
	}
	coll, tracked, err := lo.config.TrackedEntry(ns)
	if err != nil {
		return nil
	}
	if !tracked {
		primary, ok := lo.config.Primary(db)
		if !ok || lo.shards[primary].colls[ns] == nil {
			return nil
		}
		local := lo.shards[primary].colls[ns]
		return []target{{docs: local.docs, shard: lo.shards[primary], local: local}}
	}
	table := lo.config.Table(ns)
	var targets []target
	for _, id := range routing.Owners(table, filter) {
		if l := lo.shards[id].colls[ns]; l != nil {
			targets = append(targets, target{docs: l.docs, shard: lo.shards[id], local: l, coll: coll, table: table})
		}
	}
	return targets
}

// targetOn returns the data of a collection on a node of a shard, either m or the primary, and reports
// whether the node accepts a request routed by the table known.
func (lo *locator) targetOn(
	id catalog.ShardID, m *secondary.Member, ns string, known *catalog.RoutingTable, now time.Time,
) (t target, fits bool) {
	s := lo.shards[id]
	if s == nil {
		return target{}, true
	}
	has, homeless := lo.stateOf(s, ns), false
	t.shard, t.local = s, s.colls[ns]
	if m != nil {
		has, t.local = m.State(ns, now), nil
		db := catalog.DatabaseOf(ns)
		homeless = known == nil && m.Knows(db) && !m.State(db, now).IsPrimaryShard
		// Of a collection that it has not heard of it learns from its primary, and waits until it has that.
		homeless = homeless || known == nil && has.Docs == nil && s.colls[ns] != nil
	}
	t.docs, t.table = has.Docs, has.Table
	if t.table != nil {
		t.coll.Pattern = t.table.Pattern()
	}
	return t, routing.ShardAccepts(known, has.Table, id) && !homeless
}

// locateAgain finds the current version and location of a document that may have been changed or moved.
func (lo *locator) locateAgain(ns string, p documentChange) (documentChange, bool) {
	if ns == chunksNamespace {
		doc, ok := lo.configChunks.currentChunk(p.doc)
		p.doc = doc
		return p, ok
	}
	if lo.isStillAt(ns, p) {
		if doc, ok := p.docs.Get(p.record); ok {
			p.doc = doc
			return p, true
		}
	}
	id := p.doc.Lookup("_id")
	for _, t := range lo.targets(ns, nil) {
		record, doc, there := t.docs.FindByID(id)
		if there && t.owns(doc) {
			return documentChange{
				docs:   t.docs,
				shard:  t.shard,
				table:  t.table,
				rules:  t.validation(),
				record: record,
				doc:    doc,
			}, true
		}
	}
	return p, false
}

// isStillAt reports whether the location is still read for the namespace and its shard still owns the
// document.
func (lo *locator) isStillAt(ns string, p documentChange) bool {
	if p.shard == nil {
		return lo.config.existingCollection(ns) == p.docs
	}
	local := lo.shards.collection(p.shard.id, ns)
	return local != nil && local.docs == p.docs && lo.config.Table(ns) == p.table
}

// stateOf returns the current state of a collection or database on a shard.
func (lo *locator) stateOf(s *shard, name string) secondary.State {
	if !strings.Contains(name, ".") {
		return secondary.State{IsPrimaryShard: lo.config.isPrimary(name, s.id)}
	}
	state := secondary.State{Table: lo.config.Table(name)}
	if l := s.colls[name]; l != nil {
		state.Docs = l.docs.Snapshot()
	}
	return state
}

// routerView is the possibly stale routing table cache of a request's router. The zero value is for the
// cluster's own requests, which are never stale.
type routerView struct {
	cache  *routing.Cache
	config knownCatalog
	shards shardSet
	// mainCollection is the main collection of a pipeline. A shard requests the data of other collections in the
	// pipeline; it never sends a stale request, but makes the router refresh its table.
	mainCollection string
}

// knownCatalog is the catalog as a router reads it.
type knownCatalog interface {
	routing.Catalog
	holdsCollection(ns string) bool
}

// isFresh reports whether the router's view of a collection is current.
func (r routerView) isFresh(ns string) bool { return r.cache == nil || r.cache.IsFresh(ns, r.config) }

// route routes a request by the router's cache. If a shard rejects the request, the cache is refreshed;
// if none does, the router has targeted the right shards. A write of many documents on several shards is
// sent to all shards and never rejected.
func (r routerView) route(ns string, filter *filter.Filter, many bool) {
	if r.isFresh(ns) {
		return
	}
	r.refreshIfRefused(ns, func(table *catalog.RoutingTable) []catalog.ShardID {
		ids := routing.Owners(table, filter)
		if many && len(ids) > 1 {
			return nil
		}
		return ids
	})
}

// routeKey is route for a new document. key is its encoded shard key.
func (r routerView) routeKey(ns string, key []byte) {
	if r.isFresh(ns) {
		return
	}
	r.refreshIfRefused(ns, func(table *catalog.RoutingTable) []catalog.ShardID {
		return []catalog.ShardID{table.ShardOfBytes(key)}
	})
}

// refreshAfterRefusal refreshes the cache after a shard has rejected a request.
func (r routerView) refreshAfterRefusal(ns string) {
	if r.mainCollection != "" && r.mainCollection != ns {
		r.cache.Refresh(ns, r.config)
		return
	}
	r.cache.RefreshStale(ns, r.config)
}

// countCreation counts the implicit creation of a collection.
func (r routerView) countCreation() {
	if r.cache != nil {
		r.cache.CountStaleOnCreation()
	}
}

// refreshIfRefused sends a request according to the router's cache. If a shard rejects it, the cache is
// refreshed.
func (r routerView) refreshIfRefused(ns string, to routing.Targets) {
	if r.config.holdsCollection(ns) {
		return
	}
	by, refused := r.cache.FirstStaleShard(ns, r.config, to)
	if refused {
		r.refreshAfterRefusal(ns)
	}
	if s := r.shards[by]; refused && s != nil {
		s.counters.staleRequests++
	}
}

// routeRead returns the shards to which the router sends a read, and the routing table that it uses. The
// table is nil if the router regards the collection as untracked.
func (r routerView) routeRead(ns string, filter *filter.Filter) ([]catalog.ShardID, *catalog.RoutingTable) {
	if table := r.cache.Table(ns, r.config); table != nil {
		return routing.Owners(table, filter), table
	}
	if primary, ok := r.cache.PrimaryOf(ns, r.config); ok {
		return []catalog.ShardID{primary}, nil
	}
	return nil, nil
}

// refreshIfStale refreshes the router's routing table if it is stale, and reports whether it was.
func (r routerView) refreshIfStale(id catalog.ShardID, ns string) bool {
	if r.isFresh(ns) {
		return false
	}
	r.refreshAfterRefusal(ns)
	r.shards[id].counters.staleRequests++
	return true
}

// NodeSelection selects the nodes for a read. The zero value selects primaries, which check the shard
// version.
type NodeSelection struct {
	// Secondary reads from lagging secondaries. Secondaries without lag have the same data as their
	// primaries.
	Secondary bool
	// SecondaryOnly makes a read fail if the lag of a shard's secondary exceeds MaxLag (0 means any lag
	// is allowed). Otherwise such a read uses the primary.
	SecondaryOnly bool
	MaxLag        time.Duration
	// ReadPreferenceText is the read preference as errors show it.
	ReadPreferenceText string
	// MinClusterTime is the logical time that a node must have reached: a majority of its set, if Majority.
	MinClusterTime bson.Timestamp
	Majority       bool
	// Linearizable reads are answered by primaries only.
	Linearizable bool
	// Available is the read concern of that name: a read is sent as the router knows the
	// collection, which may be wrong, and no shard checks that. Each gives what it has,
	// orphans included.
	Available bool
}

// waitText returns the error message of a node that waits for a logical time.
func (n NodeSelection) waitText(has bson.Timestamp) string {
	what := "optime"
	if n.Majority {
		what = "snapshot not less than"
	}
	return fmt.Sprintf("Error waiting for %s { ts: Timestamp(%d, %d), t: -1 }, current relevant optime is "+
		"{ ts: Timestamp(%d, %d), t: 1 }.", what, n.MinClusterTime.T, n.MinClusterTime.I, has.T, has.I)
}

// heartbeatAge is the assumed age of a router's last heartbeat from a secondary.
const heartbeatAge = 10 * time.Second

// selectionTimeout is how long a router tries to find a node for a read (server selection).
const selectionTimeout = 20 * time.Second

// CaptureReadsFrom is like CaptureReads, for the selected nodes. It waits for a secondary that does not know the
// routing table of its router yet. Except for "available", a secondary refreshes its metadata through
// its primary (MongoDB manual: Read Concern "available") and must then have replicated it.
func (rq *Request) CaptureReadsFrom(n NodeSelection, ns string, filter *filter.Filter) ([]Read, error) {
	if rq.routerView.cache == nil || rq.env.config.holdsCollection(ns) {
		return rq.CaptureReads(ns, filter)
	}
	for {
		l, err := rq.routeToNodes(n, ns, filter)
		switch {
		case err != nil:
			return nil, err
		case l.retryNow:
		case l.retryAt.IsZero():
			return rq.capture(l.targets), nil
		default:
			if err := rq.AwaitSecondaries(l.retryAt.Sub(rq.env.clock.Now())); err != nil {
				if l.waitsFor != "" {
					err = mongoerr.Wrap(err, l.waitsFor)
				}
				return nil, &NodeError{l.retryOn, err}
			}
		}
	}
}

// NodeError is an error of a shard's node. A router adds to its message from where it comes.
type NodeError struct {
	Shard catalog.ShardID
	Cause error
}

func (e *NodeError) Error() string { return e.Cause.Error() }

// Unwrap returns what the node said.
func (e *NodeError) Unwrap() error { return e.Cause }

// nodeRouting is the routing of a read to nodes: their data of a collection, or when to try again.
type nodeRouting struct {
	targets  []target
	retryAt  time.Time // when nodes that lag may have caught up; zero: none has to
	retryOn  catalog.ShardID
	waitsFor string // what a node says that it waits for, if it does
	retryNow bool   // the router knows better now
}

// routeToNodes routes a read to nodes.
func (rq *Request) routeToNodes(n NodeSelection, ns string, filter *filter.Filter) (l nodeRouting, err error) {
	if !n.Available && rq.routerView.cache.Table(ns, rq.env.config) == nil {
		rq.routerView.route(ns, filter, false)
	}
	ids, known := rq.routerView.routeRead(ns, filter)
	if err := rq.contactAll(ids); err != nil {
		return l, err
	}
	now := rq.env.clock.Now()
	for _, id := range ids {
		m, err := rq.secondaryFor(n, id)
		if err != nil {
			return l, err
		}
		t, fits := rq.env.locator.targetOn(id, m, ns, known, now)
		at, later := m.WhenReplicated(n.MinClusterTime, now)
		waitsFor := ""
		if later {
			waitsFor = n.waitText(m.ClusterTime(now))
		}
		if !fits && !n.Available {
			l.retryNow = l.retryNow || rq.routerView.refreshIfStale(id, ns)
			at, later = m.NextChange(now, ns, catalog.DatabaseOf(ns))
		}
		if later && at.After(l.retryAt) {
			l.retryAt, l.retryOn, l.waitsFor = at, id, waitsFor
		}
		if n.Available {
			t.table = nil
		}
		if t.docs != nil {
			l.targets = append(l.targets, t)
		}
	}
	return l, nil
}

// secondaryFor returns the lagging secondary from which to read a shard. It returns nil if the read uses
// the primary or a secondary without lag.
func (rq *Request) secondaryFor(n NodeSelection, id catalog.ShardID) (*secondary.Member, error) {
	m := rq.env.faults.secondaries[id]
	switch {
	case n.Linearizable && n.SecondaryOnly: // asked again and again, as it says that it is no primary
	case !n.Secondary || m == nil:
		return nil, nil
	case n.MaxLag == 0 || m.CurrentLag(rq.env.clock.Now())+heartbeatAge <= n.MaxLag:
		return m, nil
	case !n.SecondaryOnly:
		return nil, nil
	}
	if err := rq.AwaitSecondaries(selectionTimeout); err != nil {
		return nil, &NodeError{id, err}
	}
	return nil, &NodeError{id, mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference %s for set %s", n.ReadPreferenceText,
		replicaSetName(rq.env.addresses.HostOf(id)))}
}

// CountOn returns the collection's counter on the node of a read. It includes orphans and virtual data.
func (rq *Request) CountOn(r Read, ns string) int64 {
	n := r.target.docs.Count()
	if l := rq.env.shards.collection(r.Shard, ns); l != nil {
		n += l.virtual.docs
	}
	return n
}
