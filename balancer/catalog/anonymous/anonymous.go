// Package anonymous removes from a Snapshot the data that identify its cluster: names and key values
// are replaced by random ones. The data that the balancer's decisions depend on are kept: order,
// lengths, types, sizes, times, and which names are equal.
package anonymous

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Snapshot returns a copy with random names and key values. Two strings that were equal are equal in
// the copy, and all strings keep their order and length. Strings on which nothing depends, such as
// error messages, keep their shape. The server's own databases and namespaces, types, numbers that are
// not keys, ids and times are kept. The error says which value can't be replaced.
func Snapshot(s *catalog.Snapshot, random *rand.Rand) (*catalog.Snapshot, error) {
	seen := newCollector()
	if _, err := (walk{seen}).snapshot(s.Parts()); err != nil {
		return nil, err
	}
	parts, err := walk{seen.masks(random)}.snapshot(s.Parts())
	if err != nil {
		return nil, err
	}
	return catalog.NewSnapshot(parts), nil
}

// visitor is called with the values of a Snapshot during a walk. The visitor of the first walk collects
// the values, and the visitor of the second walk replaces them.
type visitor interface {
	// name handles a complete name: of a shard, a host, a zone, a namespace or a field.
	name(string) string
	// value handles a leaf of a key whose type can contain confidential data.
	value(bson.RawValue) (bson.RawValue, error)
	// text handles a string on which nothing depends.
	text(string) string
	// replaces reports whether the result is used.
	replaces() bool
}

// walk visits all values of a Snapshot.
type walk struct{ visitor }

func (w walk) shard(id catalog.ShardID) catalog.ShardID { return catalog.ShardID(w.name(string(id))) }

// host replaces the set and the members of "set/host:port,host:port".
func (w walk) host(list string) string {
	set, members, named := strings.Cut(list, "/")
	if !named {
		return w.members(list)
	}
	return w.name(set) + "/" + w.members(members)
}

func (w walk) members(list string) string {
	hosts := strings.Split(list, ",")
	for i := range hosts {
		hosts[i] = w.name(hosts[i])
	}
	return strings.Join(hosts, ",")
}

func (w walk) snapshot(p catalog.SnapshotParts) (catalog.SnapshotParts, error) {
	p.Source = w.source(p.Source)
	p.SettingsProblem = w.text(p.SettingsProblem)
	p.Shards = each(p.Shards, w.shardState)
	p.Databases = each(p.Databases, func(d catalog.Database) catalog.Database {
		return catalog.Database{Name: w.name(d.Name), Primary: w.shard(d.Primary)}
	})
	p.Routers = each(p.Routers, func(r catalog.Router) catalog.Router {
		r.ID = w.name(r.ID)
		return r
	})
	p.Reshardings = each(p.Reshardings, func(r catalog.ActiveResharding) catalog.ActiveResharding {
		r.Namespace = w.name(r.Namespace)
		return r
	})
	p.Unsharded = each(p.Unsharded, func(u catalog.UnshardedData) catalog.UnshardedData {
		u.Database, u.Shard = w.name(u.Database), w.shard(u.Shard)
		return u
	})
	p.Members = each(p.Members, func(m catalog.Member) catalog.Member {
		m.Shard, m.Host = w.shard(m.Shard), w.members(m.Host)
		if m.Problem != "" {
			m.Problem = "left out"
		}
		return m
	})
	if p.Balancer.Switched != nil {
		switched := *p.Balancer.Switched
		switched.Client = w.members(switched.Client)
		p.Balancer.Switched = &switched
	}
	p.Outcomes = w.outcomes(p.Outcomes)
	if p.Lease != nil {
		lease := *p.Lease
		lease.Doing, lease.Host = w.text(lease.Doing), w.members(lease.Host)
		lease.PausedCollections = slices.Sorted(slices.Values(each(lease.PausedCollections, w.name)))
		p.Lease = &lease
	}
	if p.RunsPause != nil {
		pause := *p.RunsPause
		pause.Reason, pause.User, pause.Login, pause.Host = "left out", "somebody", "", w.members(pause.Host)
		p.RunsPause = &pause
	}
	var err error
	if p.Collections, err = tryEach(p.Collections, w.collection); err != nil {
		return p, err
	}
	if p.Deletions, err = tryEach(p.Deletions, w.deletion); err != nil {
		return p, err
	}
	if p.Migrations, err = tryEach(p.Migrations, w.migration); err != nil {
		return p, err
	}
	if p.Changes, err = tryEach(p.Changes, w.entry); err != nil {
		return p, err
	}
	if p.Actions, err = tryEach(p.Actions, w.entry); err != nil {
		return p, err
	}
	p.Config, err = w.config(p.Config)
	return p, err
}

func (w walk) source(s catalog.Source) catalog.Source {
	s.Name, s.Origin.Name = "redacted", ""
	s.Gaps = each(s.Gaps, func(g catalog.Gap) catalog.Gap {
		g.Shard, g.Namespace, g.Reason = w.shard(g.Shard), w.name(g.Namespace), w.text(g.Reason)
		return g
	})
	return s
}

func (w walk) shardState(s catalog.ShardState) catalog.ShardState {
	s.ID, s.Host, s.Unreachable = w.shard(s.ID), w.host(s.Host), w.text(s.Unreachable)
	s.Zones = each(s.Zones, w.name)
	if s.ReportedDrain != nil {
		reported := *s.ReportedDrain
		reported.Databases, reported.Collections = each(reported.Databases, w.name), each(reported.Collections, w.name)
		s.ReportedDrain = &reported
	}
	return s
}

func (w walk) outcomes(o *catalog.MigrationOutcomes) *catalog.MigrationOutcomes {
	if o == nil {
		return nil
	}
	return &catalog.MigrationOutcomes{Since: o.Since, Counts: each(o.Counts,
		func(c catalog.MigrationOutcome) catalog.MigrationOutcome {
			c.From, c.To, c.Error = w.shard(c.From), w.shard(c.To), w.text(c.Error)
			return c
		})}
}

func (w walk) collection(c *catalog.CollectionState) (*catalog.CollectionState, error) {
	next := *c
	next.Namespace = w.name(c.Namespace)
	var err error
	if next.Pattern, err = w.pattern(c.Pattern); err != nil {
		return nil, err
	}
	next.Counts, next.Sizes = maskShardIDs(w, c.Counts), maskShardIDs(w, c.Sizes)
	if c.Outline != nil {
		next.Outline = &catalog.Outline{Version: c.Outline.Version, Oldest: maskShardIDs(w, c.Outline.Oldest)}
	}
	if next.Table, err = w.table(c.Table, next.Pattern); err != nil {
		return nil, fmt.Errorf("chunks of %s: %w", c.Namespace, err)
	}
	if next.Zones, err = w.zones(c.Zones, next.Pattern); err != nil {
		return nil, fmt.Errorf("zones of %s: %w", c.Namespace, err)
	}
	key := func(k catalog.Key) (catalog.Key, error) { return w.key(c.Pattern, next.Pattern, k) }
	next.ChunkSizes, err = tryEach(c.ChunkSizes, func(s catalog.ChunkSize) (catalog.ChunkSize, error) {
		var err error
		for _, of := range []*catalog.Key{&s.Min, &s.First, &s.Last} {
			if err == nil && !of.IsZero() {
				*of, err = key(*of)
			}
		}
		return s, err
	})
	if err != nil {
		return nil, err
	}
	next.Unindexed = each(c.Unindexed, w.shard)
	if next.EmptyZones, err = tryEach(c.EmptyZones, key); err != nil {
		return nil, err
	}
	next.Sampled, err = tryEach(c.Sampled, key)
	return &next, err
}

func maskShardIDs[T any](w walk, of map[catalog.ShardID]T) map[catalog.ShardID]T {
	if of == nil {
		return nil
	}
	next := make(map[catalog.ShardID]T, len(of))
	for id, value := range of {
		next[w.shard(id)] = value
	}
	return next
}

func (w walk) pattern(p catalog.KeyPattern) (catalog.KeyPattern, error) {
	if p.IsZero() {
		return p, nil
	}
	doc, err := w.patternDoc(p.Doc())
	if err != nil || !w.replaces() {
		return p, err
	}
	return catalog.ParseKeyPattern(doc)
}

func (w walk) key(from, to catalog.KeyPattern, k catalog.Key) (catalog.Key, error) {
	doc, err := w.bound(from.Bound(k))
	if err != nil || !w.replaces() {
		return k, err
	}
	return to.ParseKey(doc)
}

// table replaces the bounds of a table. It passes each bound to the visitor only once, although the
// upper bound of a chunk is the lower bound of the next.
func (w walk) table(t *catalog.RoutingTable, p catalog.KeyPattern) (*catalog.RoutingTable, error) {
	if t == nil {
		return nil, nil
	}
	var failed error
	chunks := w.chunks(t, p, &failed)
	if !w.replaces() {
		for range chunks { // the visitor collects each bound
		}
		return t, failed
	}
	next, err := catalog.NewRoutingTable(p, t.Epoch(), t.Timestamp(), chunks)
	if failed != nil {
		return nil, failed
	}
	return next, err
}

func (w walk) chunks(t *catalog.RoutingTable, p catalog.KeyPattern, failed *error) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		var end, bound catalog.Key // the last upper bound, and its replacement
		for c := range t.All() {
			if c.Min.Equal(end) {
				c.Min = bound
			} else if c.Min, *failed = w.key(t.Pattern(), p, c.Min); *failed != nil {
				return
			}
			end = c.Max
			if c.Max, *failed = w.key(t.Pattern(), p, c.Max); *failed != nil {
				return
			}
			bound = c.Max
			c.Shard = w.shard(c.Shard)
			c.History = each(c.History, func(h catalog.ChunkHistory) catalog.ChunkHistory {
				h.Shard = w.shard(h.Shard)
				return h
			})
			if !yield(c) {
				return
			}
		}
	}
}

func (w walk) zones(z *catalog.ZoneSet, p catalog.KeyPattern) (*catalog.ZoneSet, error) {
	if z == nil {
		return nil, nil
	}
	next := catalog.NewZoneSet(p)
	for _, r := range z.Ranges() {
		var err error
		if r.Min, err = w.key(z.Pattern(), p, r.Min); err != nil {
			return nil, err
		}
		if r.Max, err = w.key(z.Pattern(), p, r.Max); err != nil {
			return nil, err
		}
		r.Zone = w.name(r.Zone)
		if err := next.Add(r); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func (w walk) deletion(d catalog.RangeDeletion) (catalog.RangeDeletion, error) {
	d.Shard, d.Namespace = w.shard(d.Shard), w.name(d.Namespace)
	var err error
	d.Min, d.Max, err = w.bounds(d.Min, d.Max)
	return d, err
}

func (w walk) migration(m catalog.ActiveMigration) (catalog.ActiveMigration, error) {
	m.Namespace, m.From, m.To = w.name(m.Namespace), w.shard(m.From), w.shard(m.To)
	var err error
	m.Min, m.Max, err = w.bounds(m.Min, m.Max)
	return m, err
}

func (w walk) bounds(lower, upper bson.Raw) (bson.Raw, bson.Raw, error) {
	lower, err := w.bound(lower)
	if err != nil {
		return nil, nil, err
	}
	upper, err = w.bound(upper)
	return lower, upper, err
}

func (w walk) entry(e catalog.LogEntry) (catalog.LogEntry, error) {
	e.Namespace, e.Shard = w.name(e.Namespace), w.shard(e.Shard)
	var err error
	e.Raw, err = w.document(e.Raw)
	return e, err
}

func (w walk) config(all map[string][]bson.Raw) (map[string][]bson.Raw, error) {
	if all == nil {
		return nil, nil
	}
	next := make(map[string][]bson.Raw, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		docs, err := tryEach(all[name], w.document)
		if err != nil {
			return nil, fmt.Errorf("config.%s: %w", name, err)
		}
		next[name] = docs
	}
	return next, nil
}

// each returns a slice in which every element is replaced; nil for nil.
func each[T any](list []T, by func(T) T) []T {
	next, _ := tryEach(list, func(e T) (T, error) { return by(e), nil })
	return next
}

func tryEach[T any](list []T, by func(T) (T, error)) ([]T, error) {
	if list == nil {
		return nil, nil
	}
	next := make([]T, len(list))
	for i, e := range list {
		var err error
		if next[i], err = by(e); err != nil {
			return nil, err
		}
	}
	return next, nil
}
