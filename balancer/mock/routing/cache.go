// Package routing is what a router of the mock knows of where collections lie. It
// keeps to what it has read of the catalog until a shard refuses a request that was
// sent by it (StaleConfig, rules/03-commands §0.7), and reads it again then. Nothing here has
// a lock: who has a Cache holds the cluster's.
package routing

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Catalog is what the config server would answer now.
type Catalog interface {
	// Table is nil for a collection that is not tracked.
	Table(ns string) *catalog.RoutingTable
	// DatabaseEntry is the document in config.databases.
	DatabaseEntry(db string) (bson.Raw, bool)
	// DatabasesWritten counts the changes of config.databases.
	DatabasesWritten() uint64
}

// Targets are the shards that a request goes to by a routing table.
type Targets func(*catalog.RoutingTable) []catalog.ShardID

// maxKnown is how many collections a router knows at most, as a server's does.
// With one more it forgets all of them.
const maxKnown = 10_000

// Cache is a router's knowledge of the catalog. The zero value knows nothing. A nil
// Cache is that of a member, which needs none: only Forget may be called.
type Cache struct {
	// tables are nil for collections that were not tracked when they were asked for.
	tables    map[string]*catalog.RoutingTable
	databases map[string]database
	// outdated are known collections that the router has changed itself: it reads them again.
	outdated map[string]bool
	stats    Stats
}

// database is an entry of config.databases as it was when so many changes had been
// made to all of them.
type database struct {
	entry bson.Raw
	as    uint64
}

// Stats are what a router counts of its cache since it began (catalogCache of
// serverStatus, rules/03-commands §1.8).
type Stats struct {
	Databases, Collections int64 // known now
	// Stale counts the refusals of shards, and the router's own changes. Where a table was known the
	// router reads what has changed since (Incremental), of the same collection or of another one of that
	// name, else all of it (Full). Failed are those of them that found none.
	Stale, Incremental, Full, Failed int64
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	s := c.stats
	s.Databases, s.Collections = int64(len(c.databases)), int64(len(c.tables))
	return s
}

// Fresh reports whether the router knows where a collection lies as it is. It is
// what nearly every request asks, and nothing else.
func (c *Cache) Fresh(ns string, now Catalog) bool {
	known, there := c.tables[ns]
	if !there || known != now.Table(ns) || c.outdated[ns] {
		return false
	}
	return known != nil || c.databases[databaseOf(ns)].as == now.DatabasesWritten()
}

func databaseOf(ns string) string {
	db, _, _ := strings.Cut(ns, ".")
	return db
}

// Table returns the routing table of a collection as the router knows it, which it
// reads if it knows nothing; nil for one that was not tracked then.
func (c *Cache) Table(ns string, now Catalog) *catalog.RoutingTable {
	if known, there := c.tables[ns]; there && !c.outdated[ns] {
		return known
	}
	return c.Read(ns, now)
}

// Read reads the routing table of a collection; of a database that does not exist there is nothing to read.
func (c *Cache) Read(ns string, now Catalog) *catalog.RoutingTable {
	known, current := c.tables[ns], now.Table(ns)
	delete(c.outdated, ns)
	if _, there := c.Database(databaseOf(ns), now); !there && current == nil {
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
	if c.tables == nil || len(c.tables) >= maxKnown {
		c.tables = map[string]*catalog.RoutingTable{}
	}
	c.tables[ns] = current
	return current
}

// LookForBuckets looks whether a collection that is not tracked is a time series.
func (c *Cache) LookForBuckets(ns string, now Catalog) {
	if c.Table(ns, now) == nil {
		db, coll, _ := strings.Cut(ns, ".")
		c.Table(db+".system.buckets."+coll, now)
	}
}

// RefuseByFormerPrimary counts that a write to a collection that is not tracked was refused by the shard that has
// been the primary of its database.
func (c *Cache) RefuseByFormerPrimary(ns string, now Catalog) {
	db := databaseOf(ns)
	known, there := c.databases[db]
	if there && known.as != now.DatabasesWritten() && known.movedTo(now.DatabaseEntry(db)) && c.Table(ns, now) == nil {
		c.Refused(ns, now)
	}
}

// movedTo reports whether a database is the same, with another primary.
func (d database) movedTo(entry bson.Raw, there bool) bool {
	return there && entry.Lookup("version", "uuid").Equal(d.entry.Lookup("version", "uuid")) &&
		!entry.Lookup("primary").Equal(d.entry.Lookup("primary"))
}

// CountCreation counts that a collection was made by its first document: the shard had refused that.
func (c *Cache) CountCreation() { c.stats.Stale++ }

// Outdate follows a change of a collection by the router itself, which counts as a refusal.
func (c *Cache) Outdate(ns string) {
	c.stats.Stale++
	if c.tables[ns] != nil {
		if c.outdated == nil {
			c.outdated = map[string]bool{}
		}
		c.outdated[ns] = true
	}
}

// Database returns a database's entry as the router knows it, which it reads if it
// knows nothing; false when there is none.
func (c *Cache) Database(db string, now Catalog) (bson.Raw, bool) {
	if known, there := c.databases[db]; there {
		return known.entry, true
	}
	entry, there := now.DatabaseEntry(db)
	if there {
		if c.databases == nil || len(c.databases) >= maxKnown {
			c.databases = map[string]database{}
		}
		c.databases[db] = database{entry, now.DatabasesWritten()}
	}
	return entry, there
}

// PrimaryOf returns the primary shard of a collection's database as the router knows
// it.
func (c *Cache) PrimaryOf(ns string, now Catalog) (catalog.ShardID, bool) {
	entry, there := c.Database(databaseOf(ns), now)
	if !there {
		return "", false
	}
	primary, _ := entry.Lookup("primary").StringValueOK()
	return catalog.ShardID(primary), true
}

// Send sends a request for a collection to the shards that it concerns. One of them
// refuses it if it has other chunks, or other chunks of another collection, than the
// router thinks.
// It returns the shard that refused, and reports whether one did: Refused is to follow.
//
// Shards compare the collection's incarnation and the major version of their newest
// chunk: splits and merges alone make no request stale.
func (c *Cache) Send(ns string, now Catalog, to Targets) (by catalog.ShardID, refused bool) {
	if known := c.Table(ns, now); known != nil {
		return refusal(known, now.Table(ns), to)
	}
	return c.sendUnsharded(ns, now)
}

// sendUnsharded sends a request to the primary of its database. It refuses what has
// become a tracked collection. One that is not the primary any more lets the router
// read the database's entry again: that is another refusal (StaleDbVersion), which
// nobody counts.
func (c *Cache) sendUnsharded(ns string, now Catalog) (by catalog.ShardID, refused bool) {
	db := databaseOf(ns)
	if known, there := c.databases[db]; there && known.as != now.DatabasesWritten() {
		delete(c.databases, db)
	}
	primary, there := c.PrimaryOf(ns, now)
	if !there {
		delete(c.tables, ns)
	}
	return primary, there && now.Table(ns) != nil
}

// refusal returns the first shard that refuses what is sent by a table.
func refusal(known, now *catalog.RoutingTable, to Targets) (by catalog.ShardID, refused bool) {
	for _, id := range to(known) {
		if !Fits(known, now, id) {
			return id, true
		}
	}
	return "", false
}

// Fits reports whether a shard that knows a collection by one table takes what was sent
// to it by another. Nil is the table of one that is not tracked.
func Fits(known, its *catalog.RoutingTable, id catalog.ShardID) bool {
	if known == nil || its == nil {
		return known == its
	}
	return same(known, its) && known.ShardVersion(id).Major == its.ShardVersion(id).Major
}

// Refused counts a refusal, and reads the routing table again.
func (c *Cache) Refused(ns string, now Catalog) {
	c.stats.Stale++
	c.Read(ns, now)
}

// same reports whether two tables are of one incarnation of a collection.
func same(a, b *catalog.RoutingTable) bool {
	return a.Epoch() == b.Epoch() && a.Timestamp() == b.Timestamp()
}

// Forget lets the router read a collection, or a database with all its collections,
// again before the next request for it; an empty name is for everything.
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
			if databaseOf(ns) == name {
				delete(c.tables, ns)
			}
		}
	}
}
