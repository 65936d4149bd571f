package mock

import (
	"context"
	"iter"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/secondary"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
)

// locator finds where documents lie: on the config server, on a database's
// primary shard, or on the shards that own chunks.
type locator struct {
	config       *ConfigDB
	configChunks *ConfigChunks
	shards       shardSet
	addresses    *addresses
}

func (lo *locator) captured(t target) Read {
	r := Read{Shard: configShard, target: t, live: t.docs}
	if t.shard != nil {
		r.Shard = t.shard.id
	}
	if t.local != nil {
		t.local.reads++
	}
	r.Host = lo.addresses.hostOf(r.Shard)
	r.target.docs, r.rules = t.docs.Snapshot(), t.rules()
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
			reads = append(reads, lo.captured(t))
		}
	}
	return func(yield func(bson.Raw) bool) {
		reads, err := Planned(reads, store.Query{Filter: filter})
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
	if lo.config.holds(ns) {
		docs := lo.config.held(ns)
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
	}
	t.docs, t.table = has.Docs, has.Table
	if t.table != nil {
		t.coll.Pattern = t.table.Pattern()
	}
	return t, routing.Fits(known, has.Table, id) && !homeless
}

// current finds a document again that may have been changed, or moved, since.
func (lo *locator) current(ns string, p documentChange) (documentChange, bool) {
	if ns == chunksNamespace {
		doc, there := lo.configChunks.current(p.doc)
		p.doc = doc
		return p, there
	}
	if lo.lies(ns, p) {
		if doc, there := p.docs.Get(p.record); there {
			p.doc = doc
			return p, true
		}
	}
	id := p.doc.Lookup("_id")
	for _, t := range lo.targets(ns, nil) {
		record, doc, there := t.docs.ByID(id)
		if there && t.owns(doc) {
			return documentChange{docs: t.docs, shard: t.shard, table: t.table, rules: t.rules(), record: record, doc: doc}, true
		}
	}
	return p, false
}

// lies reports whether a place is still one that the namespace's documents are
// read from, and its shard owns what it did.
func (lo *locator) lies(ns string, p documentChange) bool {
	if p.shard == nil {
		return lo.config.held(ns) == p.docs
	}
	local := lo.shards.member(p.shard.id, ns)
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
