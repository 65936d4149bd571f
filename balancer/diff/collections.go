package diff

import (
	"bytes"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// compareCollections compares the collections in the catalog. Collections are matched by name, or by
// UUID if they were renamed.
func (d *differ) compareCollections() {
	if !d.checkBothHave("collections", "") {
		return
	}
	renamed, arrived := d.findRenames()
	for _, was := range d.old.Collections {
		is := d.collectionNamed(d.newSnapshot, was.Namespace)
		to, left := renamed[was.Namespace]
		switch {
		case left:
			d.add(Change{Kind: Renamed, Namespace: to, Old: was.Namespace, New: to}, "%s was renamed: it was %s",
				displayName(to), displayName(was.Namespace))
			d.compareCollection(was, d.collectionNamed(d.newSnapshot, to))
		case is == nil || arrived[is.Namespace]:
			d.addDropped(was)
		default:
			d.compareCollection(was, is)
		}
	}
	for _, is := range d.new.Collections {
		_, left := renamed[is.Namespace]
		if (left || d.collectionNamed(d.oldSnapshot, is.Namespace) == nil) && !arrived[is.Namespace] {
			d.addNewCollection(is)
		}
	}
}

// collectionNamed returns the collection with a namespace, but not the buckets of a time series
// collection with that namespace.
func (d *differ) collectionNamed(s *catalog.Snapshot, ns string) *catalog.CollectionState {
	if c := s.Collection(ns); c != nil && c.Namespace == ns {
		return c
	}
	return nil
}

// findRenames returns the new names of renamed collections by their old names, and the set of the new
// names. Collections had no UUID before 3.6: of these, no rename is found.
func (d *differ) findRenames() (to map[string]string, arrived map[string]bool) {
	byUUID := map[string]string{}
	for _, c := range d.new.Collections {
		if len(c.UUID.Data) > 0 {
			byUUID[string(c.UUID.Data)] = c.Namespace
		}
	}
	to, arrived = map[string]string{}, map[string]bool{}
	for _, was := range d.old.Collections {
		now, ok := byUUID[string(was.UUID.Data)]
		if is := d.collectionNamed(d.newSnapshot, was.Namespace); ok && now != was.Namespace &&
			(is == nil || !sameUUID(was, is)) {
			to[was.Namespace], arrived[now] = now, true
		}
	}
	return to, arrived
}

func sameUUID(a, b *catalog.CollectionState) bool { return bytes.Equal(a.UUID.Data, b.UUID.Data) }

// displayName returns the name of a collection as users know it.
func displayName(ns string) string { return catalog.TimeSeriesNamespace(ns) }

func (d *differ) addDropped(older *catalog.CollectionState) {
	dropped := func(b catalog.Database) bool { return b.Name == catalog.DatabaseOf(older.Namespace) }
	if slices.ContainsFunc(d.old.Databases, dropped) && !slices.ContainsFunc(d.new.Databases, dropped) {
		return
	}
	c := Change{Kind: Dropped, Namespace: older.Namespace}
	if older.Unsplittable {
		c.Kind = Untracked
		d.add(c, "%s is no longer in the catalog: dropped, or untracked again", displayName(older.Namespace))
		return
	}
	d.add(c, "%s was dropped: it had %s", displayName(older.Namespace), humanize.Count(older.Count().Chunks, "chunk"))
}

// addNewCollection adds a change for a new collection. Of its settings, it mentions a unique key.
func (d *differ) addNewCollection(newer *catalog.CollectionState) {
	c := Change{Kind: Sharded, Namespace: newer.Namespace, New: newer.Pattern.String()}
	if newer.Unsplittable {
		c.Kind, c.New = Tracked, onlyOwner(newer)
		d.add(c, "%s is unsharded and on %s", displayName(newer.Namespace), c.New)
		return
	}
	d.add(c, "%s was sharded by %s%s: %s", displayName(newer.Namespace), c.New, uniqueText(newer.Unique),
		humanize.Count(newer.Count().Chunks, "chunk"))
}

func uniqueText(unique bool) string {
	if unique {
		return ", unique"
	}
	return ""
}

// onlyOwner returns the shard of an unsharded collection.
func onlyOwner(c *catalog.CollectionState) string {
	for _, id := range c.Owners() {
		return string(id)
	}
	return "an unknown shard"
}

// compareCollection compares a collection that both snapshots track.
func (d *differ) compareCollection(older, newer *catalog.CollectionState) {
	switch {
	case older.Unsplittable && newer.Unsplittable:
		if before, now := onlyOwner(older), onlyOwner(newer); before != now {
			d.add(Change{Kind: CollectionMoved, Namespace: newer.Namespace, Old: before, New: now}, "%s is on %s, was on %s",
				displayName(newer.Namespace), now, before)
		}
	case newer.Unsplittable:
		d.add(Change{Kind: Unsharded, Namespace: newer.Namespace, Old: older.Pattern.String(), New: onlyOwner(newer)},
			"%s is not sharded any more: it is on %s", displayName(newer.Namespace), onlyOwner(newer))
	case older.Unsplittable:
		d.addNewCollection(newer)
	case !sameUUID(older, newer):
		d.addReplaced(older, newer)
	default:
		d.compareSharded(older, newer)
	}
}

// addReplaced adds a change for a sharded collection with a different UUID: the collection was
// resharded, unless the log records a drop.
func (d *differ) addReplaced(older, newer *catalog.CollectionState) {
	c := Change{Kind: Resharded, Namespace: newer.Namespace, Old: older.Pattern.String(), New: newer.Pattern.String()}
	if slices.ContainsFunc(d.new.Changes, func(e catalog.LogEntry) bool {
		return e.What == "dropCollection" && e.Namespace == newer.Namespace && e.Time.After(d.old.Time)
	}) {
		c.Kind = Recreated
		d.add(c, "%s was dropped, and sharded again by %s", displayName(newer.Namespace), c.New)
		return
	}
	d.compareCollectionSettings(older, newer)
	d.add(c, "%s was resharded by %s, was by %s", displayName(newer.Namespace), c.New, c.Old)
}

// compareSharded compares a sharded collection that has kept its UUID.
func (d *differ) compareSharded(older, newer *catalog.CollectionState) {
	if !older.Pattern.Equal(newer.Pattern) {
		d.add(Change{Kind: KeyRefined, Namespace: newer.Namespace, Old: older.Pattern.String(), New: newer.Pattern.String()},
			"the shard key of %s is %s, was %s", displayName(newer.Namespace), newer.Pattern, older.Pattern)
	}
	d.compareCollectionSettings(older, newer)
	d.compareZones(older, newer)
	d.compareChunks(older, newer)
}

// compareCollectionSettings compares the settings of a collection.
func (d *differ) compareCollectionSettings(older, newer *catalog.CollectionState) {
	ns := newer.Namespace
	if older.Unique != newer.Unique {
		d.add(Change{Kind: Unique, Namespace: ns, Old: humanize.OnOff(older.Unique), New: humanize.OnOff(newer.Unique)},
			"unique key of %s: %s, was %s", displayName(ns), humanize.OnOff(newer.Unique), humanize.OnOff(older.Unique))
	}
	if older.MaxChunkSizeBytes != newer.MaxChunkSizeBytes {
		before, now := chunkSizeText(older), chunkSizeText(newer)
		d.add(Change{Kind: CollectionChunkSize, Namespace: ns, Old: before, New: now},
			"chunk size of %s: %s, was %s", displayName(ns), now, before)
	}
	if older.EnableAutoMerge != newer.EnableAutoMerge {
		before, now := humanize.OnOff(older.EnableAutoMerge), humanize.OnOff(newer.EnableAutoMerge)
		d.add(Change{Kind: CollectionAutoMerge, Namespace: ns, Old: before, New: now},
			"auto-merger of %s: %s, was %s", displayName(ns), now, before)
	}
	blocked := func(c *catalog.CollectionState) bool {
		return !c.AllowMigrations || !c.PermitMigrations || c.NoChunkOperations
	}
	for _, f := range []struct {
		older, newer bool
		began, over  Kind
		now, then    string
	}{
		{older.NoBalance, newer.NoBalance, BalancingOff, BalancingOn, "is not balanced", "is balanced again"},
		{older.Defragment, newer.Defragment, DefragmentStarted, DefragmentEnded, "defragmentation started",
			"defragmentation ended"},
		{
			blocked(older), blocked(newer), MigrationsBlocked, MigrationsAllowed,
			"may not move chunks", "may move chunks again",
		},
		{older.Resharding, newer.Resharding, ReshardingStarted, ReshardingEnded, "resharding started", "resharding ended"},
	} {
		switch {
		case !f.older && f.newer:
			d.add(Change{Kind: f.began, Namespace: ns}, "%s %s", displayName(ns), f.now)
		case f.older && !f.newer:
			d.add(Change{Kind: f.over, Namespace: ns}, "%s %s", displayName(ns), f.then)
		}
	}
}

func chunkSizeText(c *catalog.CollectionState) string {
	if c.MaxChunkSizeBytes == 0 {
		return "the cluster's default"
	}
	return humanize.Bytes(c.MaxChunkSizeBytes)
}

// compareMissingIndexes compares which shards lack the index of a shard key, where both snapshots have that
// data.
func (d *differ) compareMissingIndexes() {
	for _, is := range d.new.Collections {
		was := d.collectionNamed(d.oldSnapshot, is.Namespace)
		if was == nil || !sameUUID(was, is) || !was.IndexesKnown || !is.IndexesKnown {
			continue
		}
		for _, id := range is.Unindexed {
			if !slices.Contains(was.Unindexed, id) {
				d.add(Change{Kind: IndexMissing, Namespace: is.Namespace, Shard: id}, "%s has no index for the shard key on %s",
					displayName(is.Namespace), id)
			}
		}
		for _, id := range was.Unindexed {
			if !slices.Contains(is.Unindexed, id) {
				d.add(Change{Kind: IndexBuilt, Namespace: is.Namespace, Shard: id},
					"%s has the index for its shard key on %s again", displayName(is.Namespace), id)
			}
		}
	}
}
