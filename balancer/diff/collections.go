package diff

import (
	"bytes"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// collections compares what the catalog tracks. A collection goes by its name, or by its
// UUID where it was renamed.
func (d *differ) collections() {
	if !d.known("collections", "") {
		return
	}
	renamed, arrived := d.renamed()
	for _, was := range d.was.Collections {
		is := d.exact(d.to, was.Namespace)
		to, left := renamed[was.Namespace]
		switch {
		case left:
			d.add(Change{Kind: Renamed, Namespace: to, Old: was.Namespace, New: to}, "%s was renamed: it was %s", name(to),
				name(was.Namespace))
			d.both(was, d.exact(d.to, to))
		case is == nil || arrived[is.Namespace]:
			d.gone(was)
		default:
			d.both(was, is)
		}
	}
	for _, is := range d.is.Collections {
		_, left := renamed[is.Namespace]
		if (left || d.exact(d.from, is.Namespace) == nil) && !arrived[is.Namespace] {
			d.fresh(is)
		}
	}
}

// exact returns the collection of a namespace, and not that of a time series behind it.
func (d *differ) exact(s *catalog.Snapshot, ns string) *catalog.CollectionState {
	if c := s.Collection(ns); c != nil && c.Namespace == ns {
		return c
	}
	return nil
}

// renamed returns the new names of collections by the old ones, and which names are new ones.
func (d *differ) renamed() (to map[string]string, arrived map[string]bool) {
	byUUID := map[string]string{}
	for _, c := range d.is.Collections {
		byUUID[string(c.UUID.Data)] = c.Namespace
	}
	to, arrived = map[string]string{}, map[string]bool{}
	for _, was := range d.was.Collections {
		now, there := byUUID[string(was.UUID.Data)]
		if is := d.exact(d.to, was.Namespace); there && now != was.Namespace && (is == nil || !sameUUID(was, is)) {
			to[was.Namespace], arrived[now] = now, true
		}
	}
	return to, arrived
}

func sameUUID(a, b *catalog.CollectionState) bool { return bytes.Equal(a.UUID.Data, b.UUID.Data) }

// name is that of a collection as users know it.
func name(ns string) string { return catalog.SeriesOf(ns) }

func (d *differ) gone(was *catalog.CollectionState) {
	database, _, _ := strings.Cut(was.Namespace, ".")
	dropped := func(b catalog.Database) bool { return b.Name == database }
	if slices.ContainsFunc(d.was.Databases, dropped) && !slices.ContainsFunc(d.is.Databases, dropped) {
		return
	}
	c := Change{Kind: Dropped, Namespace: was.Namespace}
	if was.Unsplittable {
		c.Kind = Untracked
		d.add(c, "%s is no longer in the catalog: dropped, or untracked again", name(was.Namespace))
		return
	}
	d.add(c, "%s was dropped: it had %s", name(was.Namespace), humanize.Count(was.Count().Chunks, "chunk"))
}

// fresh tells of a collection that is new, with all that is special about it.
func (d *differ) fresh(is *catalog.CollectionState) {
	c := Change{Kind: Sharded, Namespace: is.Namespace, New: is.Pattern.String()}
	if is.Unsplittable {
		c.Kind, c.New = Tracked, onlyOwner(is)
		d.add(c, "%s is unsharded and on %s", name(is.Namespace), c.New)
		return
	}
	d.add(c, "%s was sharded by %s%s: %s", name(is.Namespace), c.New, uniqueText(is.Unique),
		humanize.Count(is.Count().Chunks, "chunk"))
}

func uniqueText(unique bool) string {
	if unique {
		return ", unique"
	}
	return ""
}

// onlyOwner is where an unsharded collection is.
func onlyOwner(c *catalog.CollectionState) string {
	for _, id := range c.Owners() {
		return string(id)
	}
	return "an unknown shard"
}

// both compares a collection that both snapshots track.
func (d *differ) both(was, is *catalog.CollectionState) {
	switch {
	case was.Unsplittable && is.Unsplittable:
		if before, now := onlyOwner(was), onlyOwner(is); before != now {
			d.add(Change{Kind: CollectionMoved, Namespace: is.Namespace, Old: before, New: now}, "%s is on %s, was on %s",
				name(is.Namespace), now, before)
		}
	case is.Unsplittable:
		d.add(Change{Kind: Unsharded, Namespace: is.Namespace, Old: was.Pattern.String(), New: onlyOwner(is)},
			"%s is not sharded any more: it is on %s", name(is.Namespace), onlyOwner(is))
	case was.Unsplittable:
		d.fresh(is)
	case !sameUUID(was, is):
		d.replaced(was, is)
	default:
		d.same(was, is)
	}
}

// replaced tells of a sharded collection whose UUID is another one: it was resharded, unless
// the log knows of a drop.
func (d *differ) replaced(was, is *catalog.CollectionState) {
	c := Change{Kind: Resharded, Namespace: is.Namespace, Old: was.Pattern.String(), New: is.Pattern.String()}
	if slices.ContainsFunc(d.is.Changes, func(e catalog.LogEntry) bool {
		return e.What == "dropCollection" && e.Namespace == is.Namespace && e.Time.After(d.was.Time)
	}) {
		c.Kind = Recreated
		d.add(c, "%s was dropped, and sharded again by %s", name(is.Namespace), c.New)
		return
	}
	d.flags(was, is)
	d.add(c, "%s was resharded by %s, was by %s", name(is.Namespace), c.New, c.Old)
}

// same compares a sharded collection that is the same one.
func (d *differ) same(was, is *catalog.CollectionState) {
	if !was.Pattern.Equal(is.Pattern) {
		d.add(Change{Kind: KeyRefined, Namespace: is.Namespace, Old: was.Pattern.String(), New: is.Pattern.String()},
			"the shard key of %s is %s, was %s", name(is.Namespace), is.Pattern, was.Pattern)
	}
	d.flags(was, is)
	d.ranges(was, is)
	d.chunks(was, is)
}

// flags compares the settings of a collection.
func (d *differ) flags(was, is *catalog.CollectionState) {
	ns := is.Namespace
	if was.Unique != is.Unique {
		d.add(Change{Kind: Unique, Namespace: ns, Old: onOff(was.Unique), New: onOff(is.Unique)},
			"unique key of %s: %s, was %s", name(ns), onOff(is.Unique), onOff(was.Unique))
	}
	if was.MaxChunkSizeBytes != is.MaxChunkSizeBytes {
		before, now := ownChunkSize(was), ownChunkSize(is)
		d.add(Change{Kind: CollectionChunkSize, Namespace: ns, Old: before, New: now},
			"chunk size of %s: %s, was %s", name(ns), now, before)
	}
	if was.EnableAutoMerge != is.EnableAutoMerge {
		before, now := onOff(was.EnableAutoMerge), onOff(is.EnableAutoMerge)
		d.add(Change{Kind: CollectionAutoMerge, Namespace: ns, Old: before, New: now},
			"auto-merger of %s: %s, was %s", name(ns), now, before)
	}
	blocked := func(c *catalog.CollectionState) bool {
		return !c.AllowMigrations || !c.PermitMigrations || c.NoChunkOperations
	}
	for _, f := range []struct {
		was, is     bool
		began, over Kind
		now, then   string
	}{
		{was.NoBalance, is.NoBalance, BalancingOff, BalancingOn, "is not balanced", "is balanced again"},
		{was.Defragment, is.Defragment, DefragmentStarted, DefragmentEnded, "defragmentation started",
			"defragmentation ended"},
		{blocked(was), blocked(is), MigrationsBlocked, MigrationsAllowed, "may not move chunks", "may move chunks again"},
		{was.Resharding, is.Resharding, ReshardingStarted, ReshardingEnded, "resharding started", "resharding ended"},
	} {
		switch {
		case !f.was && f.is:
			d.add(Change{Kind: f.began, Namespace: ns}, "%s %s", name(ns), f.now)
		case f.was && !f.is:
			d.add(Change{Kind: f.over, Namespace: ns}, "%s %s", name(ns), f.then)
		}
	}
}

func ownChunkSize(c *catalog.CollectionState) string {
	if c.MaxChunkSizeBytes == 0 {
		return "the cluster's default"
	}
	return humanize.Bytes(c.MaxChunkSizeBytes)
}

// indexes compares which shards lack the index of a shard key, where both snapshots know.
func (d *differ) indexes() {
	for _, is := range d.is.Collections {
		was := d.exact(d.from, is.Namespace)
		if was == nil || !sameUUID(was, is) || !was.IndexesKnown || !is.IndexesKnown {
			continue
		}
		for _, id := range is.Unindexed {
			if !slices.Contains(was.Unindexed, id) {
				d.add(Change{Kind: IndexMissing, Namespace: is.Namespace, Shard: id}, "%s has no index for the shard key on %s",
					name(is.Namespace), id)
			}
		}
		for _, id := range was.Unindexed {
			if !slices.Contains(is.Unindexed, id) {
				d.add(Change{Kind: IndexBuilt, Namespace: is.Namespace, Shard: id},
					"%s has the index for its shard key on %s again", name(is.Namespace), id)
			}
		}
	}
}
