package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// cluster is the engine's simulated cluster: a snapshot with changes.
type cluster struct {
	initial     *catalog.Snapshot
	queue       *balancer.Queue
	costs       Costs
	links       *links // nil if all links are equal
	settings    catalog.Settings
	settingDocs map[string]bson.Raw // config.settings by id
	shards      []catalog.Shard

	orderedCollections []*collection
	entries            []catalog.Collection // entries of orderedCollections; nil after a change
	collections        map[string]*collection

	volumes           *volumes                   // nil for no limit
	activeOps         int                        // running migrations and actions
	committedMoves    int                        // number of committed migrations
	donatingNamespace map[catalog.ShardID]string // by shard, the collection whose chunks it is donating
	idCount           uint64                     // number of ids of new chunks
	events            []Event
	mergeBuf          []catalog.Chunk // buffer for the chunks of a merge
	// sawActivity reports whether anything has happened since the last call of AtRest. idleSinceRound is
	// the number of rounds at that time.
	sawActivity    bool
	idleSinceRound int64
}

var _ balancer.EventCluster = (*cluster)(nil)

func newCluster(s *catalog.Snapshot, cfg Config) (*cluster, error) {
	c := &cluster{
		initial:           s,
		queue:             balancer.NewQueue(s.Time()),
		costs:             cfg.Costs,
		links:             newLinks(cfg),
		settings:          s.Settings(),
		settingDocs:       map[string]bson.Raw{},
		collections:       map[string]*collection{},
		donatingNamespace: map[catalog.ShardID]string{},
	}
	for _, id := range []string{
		catalog.SettingBalancer, catalog.SettingChunkSize, catalog.SettingAutoMerge, catalog.SettingAutoSplit,
	} {
		doc := c.settings.Doc(id)
		if doc == nil {
			continue
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("sim: setting %s: %w", id, err)
		}
		c.settingDocs[id] = raw
	}
	// Otherwise the balancer would retry until the limit of the run.
	if _, err := balancer.LoadSettings(context.Background(), c, catalog.DefaultSettingsOf(s.Release())); err != nil {
		return nil, fmt.Errorf("sim: invalid balancer settings: %w", err)
	}
	for _, shard := range s.Shards() {
		c.shards = append(c.shards, shard.Shard)
	}
	for _, state := range s.Collections() {
		if state.Unsplittable {
			continue
		}
		if !state.HasReadChunks() {
			return nil, fmt.Errorf("sim: the snapshot has no routing table of %s", state.Namespace)
		}
		if state.Table == nil {
			c.addOutlined(state)
			continue
		}
		coll := newCollection(s, state, cfg.Contents, state.ChunkSize(c.settings))
		c.orderedCollections = append(c.orderedCollections, coll)
		c.collections[state.Namespace] = coll
	}
	if cfg.DiskLimit > 0 {
		c.volumes = &volumes{Volumes: catalog.NewVolumes(s, cfg.DiskLimit), shortages: map[Shortage]int64{}}
	}
	c.adoptDeletions(s.Parts())
	return c, nil
}

// Setting returns a document of config.settings.
func (c *cluster) Setting(_ context.Context, id string) (bson.Raw, error) {
	return c.settingDocs[id], nil
}

// Shards returns the shards in catalog order.
func (c *cluster) Shards(context.Context) ([]catalog.Shard, error) { return c.shards, nil }

// Collections returns the entries of the sharded collections.
func (c *cluster) Collections(context.Context) ([]catalog.Collection, error) {
	if c.entries == nil {
		c.entries = make([]catalog.Collection, len(c.orderedCollections))
		for i, coll := range c.orderedCollections {
			c.entries[i] = coll.entry
		}
	}
	return c.entries, nil
}

// markEntryChanged marks the entry of a collection as changed.
func (c *cluster) markEntryChanged(coll *collection) {
	coll.markChanged()
	c.entries = nil
}

// revision returns the revision of a collection. Shards, settings, zones and the list of collections do
// not change during a run.
func (c *cluster) revision(ns string) *uint64 { return &c.collections[ns].revision }

// Routing returns the current routing table of a collection.
func (c *cluster) Routing(_ context.Context, ns string) (balancer.Routing, error) {
	coll, err := c.find(ns)
	if err != nil {
		return balancer.Routing{}, err
	}
	if coll.isOutlineOnly() {
		return balancer.Routing{Collection: coll.entry}, nil
	}
	return balancer.Routing{Collection: coll.entry, Table: coll.chunks.Table(), Zones: coll.initial.Zones}, nil
}

func (c *cluster) find(ns string) (*collection, error) {
	if coll := c.collections[ns]; coll != nil {
		return coll, nil
	}
	return nil, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
}

// DataSizes returns the owned bytes of collections by shard. The engine reads the
// maps before anything else happens.
func (c *cluster) DataSizes(
	_ context.Context, colls []catalog.Collection,
) (map[string]map[catalog.ShardID]int64, error) {
	sizes := make(map[string]map[catalog.ShardID]int64, len(colls))
	for _, entry := range colls {
		if coll := c.collections[entry.Namespace]; coll != nil && !coll.isOutlineOnly() {
			sizes[entry.Namespace] = coll.reportedBytes
		}
	}
	return sizes, nil
}

// Unsharded returns none: only the server's own tests move unsharded collections.
func (c *cluster) Unsharded(context.Context) ([]policy.Unsharded, error) { return nil, nil }

// LogAction does nothing: a run reports events instead.
func (c *cluster) LogAction(context.Context, string, bson.D) error { return nil }

// LogChange does nothing, like LogAction.
func (c *cluster) LogChange(context.Context, string) error { return nil }

// Mergeable returns the shards of collections on which the auto-merger may work.
func (c *cluster) Mergeable(context.Context) ([]policy.MergeWork, error) {
	cutoff := c.mergeCutoff()
	sorted := slices.SortedFunc(slices.Values(c.shards), byID)
	work := make([]policy.MergeWork, len(sorted))
	for _, coll := range c.orderedCollections {
		if coll.entry.Defragment || !coll.entry.EnableAutoMerge {
			continue
		}
		for i, shard := range sorted {
			if coll.ownsChunkOlderThan(shard.ID, cutoff) {
				work[i].Namespaces = append(work[i].Namespaces, coll.entry.Namespace)
			}
		}
	}
	for i, shard := range sorted {
		work[i].Shard = shard.ID
	}
	return slices.DeleteFunc(work, func(w policy.MergeWork) bool { return len(w.Namespaces) == 0 }), nil
}

func byID(a, b catalog.Shard) int { return cmp.Compare(a.ID, b.ID) }

func (c *cluster) mergeCutoff() bson.Timestamp {
	return policy.MergeCutoff(c.queue.Now(), c.costs.HistoryWindow)
}

func (c *cluster) isDefragmenting() bool {
	return slices.ContainsFunc(c.orderedCollections, func(coll *collection) bool { return coll.entry.Defragment })
}

// newID returns the _id of a new chunk.
func (c *cluster) newID() bson.ObjectID {
	c.idCount++
	id := bson.ObjectID{0: 's', 1: 'i', 2: 'm'}
	for i := range 8 {
		id[11-i] = byte(c.idCount >> (8 * i))
	}
	return id
}

func (c *cluster) commitRules() catalog.CommitRules {
	return catalog.CommitRules{Release: c.initial.Release(), NewID: c.newID, HistoryWindow: c.costs.HistoryWindow}
}

// snapshot returns the current state of the cluster.
func (c *cluster) snapshot() *catalog.Snapshot {
	s := c.initial.WithTime(c.queue.Now())
	for _, coll := range c.orderedCollections {
		if coll.changed {
			s = s.WithCollection(coll.state())
		}
	}
	return s
}

// state returns the collection's state for a snapshot.
func (coll *collection) state() *catalog.CollectionState {
	state := *coll.initial
	state.Collection, state.ChunkSizes, state.ReportedStatus = coll.entry, nil, nil
	state.Table = coll.chunks.Table()
	state.Sizes = maps.Clone(coll.initial.Sizes)
	for id, bytes := range coll.ownedBytes {
		data := state.Sizes[id]
		data.Bytes, data.Documents = bytes, coll.ownedDocs[id]
		state.Sizes[id] = data
	}
	return &state
}
