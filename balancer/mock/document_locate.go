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

// locator finds where documents lie: on the config server, on a database's
// primary shard, or on the shards that own chunks.
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
		t.local.reads++
	}
	r.Host = lo.addresses.HostOf(r.Shard)
	r.target.docs, r.rules = t.docs.Snapshot(), t.validation()
	return r
}

// documents yields the documents of a namespace that a router returns, as they
// are now: each from the shard that owns it, orphans never. A nil filter gives
// all. No node is asked for them.
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
			return // there is neither a hint nor a sort that could be wrong
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

// targets routes a request: a sharded collection's go to the owner of the
// key when the filter names the whole key, else to every owner.
func (lo *locator) targets(ns string, filter *filter.Filter) []target {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil
	}
	if lo.config.holdsCollection(ns) {
		docs := lo.config.existing(ns)
		if docs == nil {
			return nil
		}
		return []target{{docs: docs}}
	}
	coll, tracked, err := lo.config.Tracked(ns)
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
	table := lo.config.table(ns)
	var targets []target
	for _, id := range routing.Owners(table, filter) {
		if l := lo.shards[id].colls[ns]; l != nil {
			targets = append(targets, target{docs: l.docs, shard: lo.shards[id], local: l, coll: coll, table: table})
		}
	}
	return targets
}

// targetOn returns what a node of a shard has of a collection, m or the primary, and
// reports whether it takes what is sent by a table.
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
		db := databaseOf(ns)
		homeless = known == nil && m.Knows(db) && !m.State(db, now).Home
		// Of a collection that it has not heard of it learns from its primary, and waits until it has that.
		homeless = homeless || known == nil && has.Docs == nil && s.colls[ns] != nil
	}
	t.docs, t.table = has.Docs, has.Table
	if t.table != nil {
		t.coll.Pattern = t.table.Pattern()
	}
	return t, routing.Fits(known, has.Table, id) && !homeless
}

// relocate finds a document again that may have been changed, or moved, since.
func (lo *locator) relocate(ns string, p documentChange) (documentChange, bool) {
	if ns == chunksNamespace {
		doc, there := lo.configChunks.currentChunk(p.doc)
		p.doc = doc
		return p, there
	}
	if lo.isStillAt(ns, p) {
		if doc, there := p.docs.Get(p.record); there {
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

// isStillAt reports whether a place is still one that the namespace's documents are
// read from, and its shard owns what it did.
func (lo *locator) isStillAt(ns string, p documentChange) bool {
	if p.shard == nil {
		return lo.config.existing(ns) == p.docs
	}
	local := lo.shards.collection(p.shard.id, ns)
	return local != nil && local.docs == p.docs && lo.config.table(ns) == p.table
}

// stateOf returns what a shard has of a collection now, or knows of a database.
func (lo *locator) stateOf(s *shard, name string) secondary.State {
	if !strings.Contains(name, ".") {
		return secondary.State{Home: lo.config.isPrimary(name, s.id)}
	}
	state := secondary.State{Table: lo.config.table(name)}
	if l := s.colls[name]; l != nil {
		state.Docs = l.docs.Snapshot()
	}
	return state
}

// routerView is the (possibly stale) view of the catalog of a request's router. The zero value is
// for the cluster's own requests, which are never stale.
type routerView struct {
	cache  *routing.Cache
	config knownCatalog
	shards shardSet
	// joins is the collection that a pipeline is about. What it reads of others a shard asks for: that one refuses
	// nothing, and lets the router read the newest.
	joins string
}

// knownCatalog is what a router reads of the catalog.
type knownCatalog interface {
	routing.Catalog
	holdsCollection(ns string) bool
}

// isFresh reports whether the router's view of a collection is current.
func (k routerView) isFresh(ns string) bool { return k.cache == nil || k.cache.Fresh(ns, k.config) }

// route sends a request by what its router knows of a collection: if a shard
// refuses it, the router knows the newest. What was not refused has gone to the
// shards that it concerns. A write of many documents on several shards is sent to
// all there are, and none refuses it.
func (k routerView) route(ns string, filter *filter.Filter, many bool) {
	if k.isFresh(ns) {
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
func (k routerView) routeKey(ns string, key []byte) {
	if k.isFresh(ns) {
		return
	}
	k.send(ns, func(table *catalog.RoutingTable) []catalog.ShardID {
		return []catalog.ShardID{table.OwnerOf(key)}
	})
}

// learn lets the router read the newest after a refusal.
func (k routerView) learn(ns string) {
	if k.joins != "" && k.joins != ns {
		k.cache.Read(ns, k.config)
		return
	}
	k.cache.Refused(ns, k.config)
}

// countCreation counts that a collection was made by its first document.
func (k routerView) countCreation() {
	if k.cache != nil {
		k.cache.CountCreation()
	}
}

// send sends a request by what the router knows; a shard that refuses it makes the
// router read the newest.
func (k routerView) send(ns string, to routing.Targets) {
	if k.config.holdsCollection(ns) {
		return
	}
	by, refused := k.cache.Send(ns, k.config, to)
	if refused {
		k.learn(ns)
	}
	if s := k.shards[by]; refused && s != nil {
		s.counters.staleRequests++
	}
}

// routeRead returns the shards that the router sends a read to, and the table by which it
// does; nil for a collection that it knows as not tracked.
func (k routerView) routeRead(ns string, filter *filter.Filter) ([]catalog.ShardID, *catalog.RoutingTable) {
	if table := k.cache.Table(ns, k.config); table != nil {
		return routing.Owners(table, filter), table
	}
	if primary, there := k.cache.PrimaryOf(ns, k.config); there {
		return []catalog.ShardID{primary}, nil
	}
	return nil, nil
}

// refreshIfStale lets the router read the routing table again if it does not know the newest.
func (k routerView) refreshIfStale(id catalog.ShardID, ns string) bool {
	if k.isFresh(ns) {
		return false
	}
	k.learn(ns)
	k.shards[id].counters.staleRequests++
	return true
}

// NodeSelection selects the nodes of the shards that a read goes to, and how. The
// zero value is primaries that check the shard version.
type NodeSelection struct {
	// Secondary reads from the secondaries of shards where those are behind; elsewhere
	// they have what the primaries have.
	Secondary bool
	// SecondaryOnly: a shard whose secondary is behind by more than Most (0 is any lag) has
	// nobody to be asked; otherwise its primary is.
	SecondaryOnly bool
	MaxLag        time.Duration
	// Wanted is the read preference as errors show it.
	Wanted string
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

// waitText is what a node says that waits for a logical time.
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

// ReadsFrom is Reads from certain nodes. A secondary that does not know yet where the
// collection lies, as its router does, is waited for: but for "available", a shard's node
// asks its primary for newer metadata (docs: Read Concern "available"), and has to have
// what that has written of them.
func (rq *Request) ReadsFrom(n NodeSelection, ns string, filter *filter.Filter) ([]Read, error) {
	if rq.routerView.cache == nil || rq.env.config.holdsCollection(ns) {
		return rq.Reads(ns, filter)
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

// NodeError is an error of a shard's node, of which a router says in its own words where it comes from.
type NodeError struct {
	Shard catalog.ShardID
	Cause error
}

func (e *NodeError) Error() string { return e.Cause.Error() }

// Unwrap returns what the node said.
func (e *NodeError) Unwrap() error { return e.Cause }

// nodeRouting is what the nodes have of a collection that a read goes to.
type nodeRouting struct {
	targets  []target
	retryAt  time.Time // when those that are behind may have what the read needs; zero: they have
	retryOn  catalog.ShardID
	waitsFor string // what a node says that it waits for, if it does
	retryNow bool   // the router knows better now
}

// routeToNodes sends a read.
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
		at, later := m.Reaches(n.MinClusterTime, now)
		waitsFor := ""
		if later {
			waitsFor = n.waitText(m.ClusterTime(now))
		}
		if !fits && !n.Available {
			l.retryNow = l.retryNow || rq.routerView.refreshIfStale(id, ns)
			at, later = m.Next(now, ns, databaseOf(ns))
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

// secondaryFor returns the secondary of a shard to read from; nil for its primary, or for a
// secondary that is not behind.
func (rq *Request) secondaryFor(n NodeSelection, id catalog.ShardID) (*secondary.Member, error) {
	m := rq.env.faults.secondaries[id]
	switch {
	case n.Linearizable && n.SecondaryOnly: // asked again and again, as it says that it is no primary
	case !n.Secondary || m == nil:
		return nil, nil
	case n.MaxLag == 0 || m.Behind(rq.env.clock.Now())+heartbeatAge <= n.MaxLag:
		return m, nil
	case !n.SecondaryOnly:
		return nil, nil
	}
	if err := rq.AwaitSecondaries(selectionTimeout); err != nil {
		return nil, &NodeError{id, err}
	}
	return nil, &NodeError{id, mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference %s for set %s", n.Wanted, setName(rq.env.addresses.HostOf(id)))}
}

// CountOn returns the fast count of a collection where a read goes: orphans and virtual
// data are in it.
func (rq *Request) CountOn(r Read, ns string) int64 {
	n := r.target.docs.Count()
	if l := rq.env.shards.collection(r.Shard, ns); l != nil {
		n += l.virtual.docs
	}
	return n
}
