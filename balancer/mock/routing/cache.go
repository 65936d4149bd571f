// Package routing implements the routing table cache of a mock router. The cache keeps an entry until a
// shard rejects a request because of a stale routing table (StaleConfig, rules/03-commands §0.7), and
// then refreshes it. The package has no locks: the cluster's lock guards a Cache.
package routing

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Catalog is the current catalog, as the config server would return it.
type Catalog interface {
	// Table returns nil for an untracked collection.
	Table(ns string) *catalog.RoutingTable
	// DatabaseEntry returns the document in config.databases.
	DatabaseEntry(db string) (bson.Raw, bool)
	// DatabaseEntryWrites returns the number of changes of config.databases.
	DatabaseEntryWrites() uint64
}

// Targets returns the shards that a request targets according to a routing table.
type Targets func(*catalog.RoutingTable) []catalog.ShardID

// maxCacheEntries is the maximum number of collections in the cache, as on a server. When it is exceeded, the
// cache drops all tables.
const maxCacheEntries = 10_000

// Cache is a router's cache of the catalog. The zero value is an empty cache. A member has a nil Cache,
// for which only Forget may be called.
type Cache struct {
	// tables holds nil for collections that were untracked when they were read.
	tables    map[string]*catalog.RoutingTable
	databases map[string]database
	// outdated are the collections that the router itself has changed, whose entries it must refresh.
	outdated map[string]bool
	stats    Stats
}

// database is an entry of config.databases, and the value of DatabaseEntryWrites when it was read.
type database struct {
	entry  bson.Raw
	writes uint64
}

// Stats are the counters of the cache since the router's start (catalogCache of serverStatus,
// rules/03-commands §1.8).
type Stats struct {
	Databases, Collections int64 // current number of entries
	// Stale counts stale errors of shards and the router's own changes. A refresh reads the changes if
	// the collection was tracked when it was last read (Incremental), else the whole table (Full).
	// Failed counts the refreshes, of either kind, that found no table.
	Stale, Incremental, Full, Failed int64
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	s := c.stats
	s.Databases, s.Collections = int64(len(c.databases)), int64(len(c.tables))
	return s
}

// IsFresh reports whether the entry of a collection is up to date. Nearly every request calls only this
// method.
func (c *Cache) IsFresh(ns string, now Catalog) bool {
	known, ok := c.tables[ns]
	if !ok || known != now.Table(ns) || c.outdated[ns] {
		return false
	}
	return known != nil || c.databases[catalog.DatabaseOf(ns)].writes == now.DatabaseEntryWrites()
}

// Table returns the cached routing table of a collection, and reads it if it is not cached. It returns
// nil if the collection was untracked.
func (c *Cache) Table(ns string, now Catalog) *catalog.RoutingTable {
	if known, ok := c.tables[ns]; ok && !c.outdated[ns] {
		return known
	}
	return c.Refresh(ns, now)
}

// Refresh refreshes the routing table of a collection. If the database does not exist, it only drops the
// entry.
func (c *Cache) Refresh(ns string, now Catalog) *catalog.RoutingTable {
	known, current := c.tables[ns], now.Table(ns)
	delete(c.outdated, ns)
	if _, ok := c.Database(catalog.DatabaseOf(ns), now); !ok && current == nil {
		delete(c.tables, ns)
		return nil
	}
	if known != nil {
		c.stats.Incremental++
	} else {
		c.stats.Full++
	}
	if current == nil {
		c.stats.Failed++
	}
	if c.tables == nil || len(c.tables) >= maxCacheEntries {
		c.tables = map[string]*catalog.RoutingTable{}
	}
	c.tables[ns] = current
	return current
}

// LookForBuckets reads whether an untracked collection is a time series.
func (c *Cache) LookForBuckets(ns string, now Catalog) {
	if c.Table(ns, now) == nil {
		c.Table(catalog.BucketsNamespace(ns), now)
	}
}

// CountStaleFormerPrimary counts a stale error of the database's former primary for a write to an
// untracked collection.
func (c *Cache) CountStaleFormerPrimary(ns string, now Catalog) {
	db := catalog.DatabaseOf(ns)
	known, ok := c.databases[db]
	if ok && known.writes != now.DatabaseEntryWrites() && known.movedTo(now.DatabaseEntry(db)) && c.Table(ns, now) == nil {
		c.RefreshStale(ns, now)
	}
}

// movedTo reports whether entry is the same database with another primary.
func (d database) movedTo(entry bson.Raw, exists bool) bool {
	return exists && entry.Lookup("version", "uuid").Equal(d.entry.Lookup("version", "uuid")) &&
		!entry.Lookup("primary").Equal(d.entry.Lookup("primary"))
}

// CountStaleOnCreation counts the stale error for a write that implicitly creates its collection.
func (c *Cache) CountStaleOnCreation() { c.stats.Stale++ }

// MarkStale marks the entry of a collection as stale after a change by the router itself. It counts as a
// stale error.
func (c *Cache) MarkStale(ns string) {
	c.stats.Stale++
	if c.tables[ns] != nil {
		if c.outdated == nil {
			c.outdated = map[string]bool{}
		}
		c.outdated[ns] = true
	}
}

// Database returns the cached entry of a database, and reads it if it is not cached. It returns false if
// the database does not exist.
func (c *Cache) Database(db string, now Catalog) (bson.Raw, bool) {
	if known, ok := c.databases[db]; ok {
		return known.entry, true
	}
	entry, ok := now.DatabaseEntry(db)
	if ok {
		if c.databases == nil || len(c.databases) >= maxCacheEntries {
			c.databases = map[string]database{}
		}
		c.databases[db] = database{entry, now.DatabaseEntryWrites()}
	}
	return entry, ok
}

// PrimaryOf returns the primary shard of a collection's database according to the cache.
func (c *Cache) PrimaryOf(ns string, now Catalog) (catalog.ShardID, bool) {
	entry, ok := c.Database(catalog.DatabaseOf(ns), now)
	if !ok {
		return "", false
	}
	primary, _ := entry.Lookup("primary").StringValueOK()
	return catalog.ShardID(primary), true
}

// FirstStaleShard checks a request against the shards that it targets. It returns the first shard that rejects the
// request because of a stale routing table, and whether there is one. The caller then calls RefreshStale.
//
// A shard compares the collection's incarnation and the major version of its newest chunk. So splits and
// merges alone make no request stale.
func (c *Cache) FirstStaleShard(ns string, now Catalog, to Targets) (by catalog.ShardID, refused bool) {
	if known := c.Table(ns, now); known != nil {
		return firstStaleShard(known, now.Table(ns), to)
	}
	return c.unshardedStaleShard(ns, now)
}

// unshardedStaleShard checks a request to the primary of its database, which rejects it if the collection is
// now tracked. If the shard is no longer the primary, the cache refreshes the database entry. That is
// another stale error (StaleDbVersion), which no counter includes.
func (c *Cache) unshardedStaleShard(ns string, now Catalog) (by catalog.ShardID, refused bool) {
	db := catalog.DatabaseOf(ns)
	if known, ok := c.databases[db]; ok && known.writes != now.DatabaseEntryWrites() {
		delete(c.databases, db)
	}
	primary, ok := c.PrimaryOf(ns, now)
	if !ok {
		delete(c.tables, ns)
	}
	return primary, ok && now.Table(ns) != nil
}

// firstStaleShard returns the first shard that rejects a request routed by the table known.
func firstStaleShard(known, now *catalog.RoutingTable, to Targets) (by catalog.ShardID, refused bool) {
	for _, id := range to(known) {
		if !ShardAccepts(known, now, id) {
			return id, true
		}
	}
	return "", false
}

// ShardAccepts reports whether a shard accepts a request that the router has routed by routerTable. A nil
// table stands for an untracked collection.
func ShardAccepts(routerTable, shardTable *catalog.RoutingTable, id catalog.ShardID) bool {
	if routerTable == nil || shardTable == nil {
		return routerTable == shardTable
	}
	return sameIncarnation(routerTable, shardTable) &&
		routerTable.ShardVersion(id).Major == shardTable.ShardVersion(id).Major
}

// RefreshStale counts a stale error and refreshes the routing table.
func (c *Cache) RefreshStale(ns string, now Catalog) {
	c.stats.Stale++
	c.Refresh(ns, now)
}

// sameIncarnation reports whether two tables belong to the same incarnation of a collection.
func sameIncarnation(a, b *catalog.RoutingTable) bool {
	return a.Epoch() == b.Epoch() && a.Timestamp() == b.Timestamp()
}

// Forget drops the entry of a collection, or of a database with all its collections, so that the next
// request reads it again. An empty name drops everything.
func (c *Cache) Forget(name string) {
	switch {
	case c == nil:
	case name == "":
		c.tables, c.databases, c.outdated = nil, nil, nil
	case strings.Contains(name, "."):
		delete(c.tables, name)
	default:
		delete(c.databases, name)
		for ns := range c.tables {
			if catalog.DatabaseOf(ns) == name {
				delete(c.tables, ns)
			}
		}
	}
}
