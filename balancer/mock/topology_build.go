package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/timespan"
)

// topologyBuilder builds a topology in an empty cluster.
type topologyBuilder struct{ c *Cluster }

// build builds a topology in the empty cluster. Errors name the field.
func (tb topologyBuilder) build(t *Topology) error {
	if err := tb.createConfig(); err != nil {
		return err
	}
	given, err := tb.reserveHosts(t.Shards)
	if err != nil {
		return err
	}
	for i, s := range t.Shards {
		if s.Host == "" {
			s.Host = given.generate(i)
		}
		if err := tb.addShard(s); err != nil {
			return fmt.Errorf("shards[%d]: %w", i, err)
		}
	}
	tb.c.membership.updateShardCountParameters()
	if err := tb.applySettings(t.Settings); err != nil {
		return err
	}
	if err := tb.createDatabases(t); err != nil {
		return err
	}
	for i, coll := range t.Collections {
		if err := tb.addCollection(coll); err != nil {
			return fmt.Errorf("collections[%d].%w", i, err)
		}
	}
	return tb.addSecondaries(t.Shards)
}

// addSecondaries adds lagging secondaries to shards; they hold the initial data.
func (tb topologyBuilder) addSecondaries(shards []TopologyShard) error {
	for i, s := range shards {
		if s.SecondaryLag == "" {
			continue
		}
		lag, err := timespan.Parse(s.SecondaryLag)
		if err != nil {
			return fmt.Errorf("shards[%d].secondary: %q is not a duration like \"10s\" or \"2m\"", i, s.SecondaryLag)
		}
		if err := tb.c.faults.SetSlowness(s.ID, Slowness{SecondaryLag: lag}); err != nil {
			return fmt.Errorf("shards[%d].secondary: %w", i, err)
		}
	}
	return nil
}

// reserveHosts returns the hosts in a topology. It fails if two shards have the same host.
func (tb topologyBuilder) reserveHosts(shards []TopologyShard) (*hosts, error) {
	given := newHosts(tb.c.Addresses().ConfigServer())
	for i, s := range shards {
		if s.Host == "" {
			continue
		}
		if other, taken := given.reserve(s.Host); taken {
			return nil, fmt.Errorf("shards[%d].host: %s shares a set's name or a member with %s", i, s.Host, other)
		}
	}
	return given, nil
}

// createDatabases creates the databases before markDraining, because a draining shard cannot become a
// primary.
func (tb topologyBuilder) createDatabases(t *Topology) error {
	drains := func(id string) bool {
		return slices.ContainsFunc(t.Shards, func(s TopologyShard) bool { return s.Draining && s.ID == id })
	}
	for _, before := range []bool{true, false} {
		for i, db := range t.Databases {
			if drains(db.Primary) != before {
				continue
			}
			if err := tb.c.BackgroundRequest().EnableSharding(db.Name, db.Primary); err != nil {
				return fmt.Errorf("databases[%d]: %w", i, err)
			}
		}
		if before {
			if err := tb.markDraining(t.Shards); err != nil {
				return err
			}
		}
	}
	return nil
}

// markDraining marks the draining shards.
func (tb topologyBuilder) markDraining(shards []TopologyShard) error {
	for i, s := range shards {
		if !s.Draining {
			continue
		}
		if _, err := tb.c.config.modify(configShards, s.ID,
			func(doc *bson.D) { setDocField(doc, "draining", true) }); err != nil {
			return fmt.Errorf("shards[%d]: %w", i, err)
		}
	}
	return nil
}

func (tb topologyBuilder) addShard(s TopologyShard) error {
	doc := tb.c.config.newShardEntry(s.ID, s.Host, tb.c.ids.Tick())
	if s.MaxSizeMB != 0 {
		if !tb.c.release.HasMaxShardSize() || s.MaxSizeMB < 0 {
			return fmt.Errorf("maxSizeMB: only releases up to 5.0 support it, and it must be positive")
		}
		doc = append(doc, bson.E{Key: "maxSize", Value: s.MaxSizeMB})
	}
	if len(s.Zones) > 0 {
		doc = append(doc, bson.E{Key: "tags", Value: s.Zones})
	}
	disk, err := parseBytes(s.Disk)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	added := newShard(catalog.ShardID(s.ID))
	added.diskBytes = disk
	tb.c.shards[added.id] = added
	return tb.c.config.insert(configShards, doc)
}

func (tb topologyBuilder) applySettings(s TopologySettings) error {
	if s.ChunkSizeMB != 0 {
		if s.ChunkSizeMB < 1 || s.ChunkSizeMB > 1024 {
			return fmt.Errorf("settings.chunkSizeMB: %d is not between 1 and 1024", s.ChunkSizeMB)
		}
		if err := tb.c.config.setSetting("chunksize", bson.D{{Key: "value", Value: s.ChunkSizeMB}}); err != nil {
			return fmt.Errorf("settings.chunkSizeMB: %w", err)
		}
	}
	if !isPresent(s.Balancer) {
		return nil
	}
	raw, err := parseDocument(s.Balancer)
	if err != nil {
		return fmt.Errorf("settings.balancer: %w", err)
	}
	var fields bson.D
	if err := bson.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("settings.balancer: %w", err)
	}
	doc, err := bson.Marshal(append(bson.D{{Key: "_id", Value: "balancer"}}, fields...))
	if err != nil {
		return fmt.Errorf("settings.balancer: %w", err)
	}
	if err := tb.c.config.CheckSettings(doc); err != nil {
		return fmt.Errorf("settings.balancer: %w", err)
	}
	return tb.c.config.setSetting("balancer", fields)
}

// addCollection creates a sharded collection with the given zones, chunks and virtual data.
func (tb topologyBuilder) addCollection(t TopologyCollection) error {
	db, _, err := catalog.SplitNamespace(t.Namespace)
	if err != nil {
		return fmt.Errorf("ns: %w", err)
	}
	if slices.Contains([]string{"admin", "config", "local"}, db) {
		return fmt.Errorf("ns: the cluster creates the collections of database %s itself: remove %s", db, t.Namespace)
	}
	if err := tb.c.BackgroundRequest().EnableSharding(db, ""); err != nil {
		return fmt.Errorf("ns: %w", err)
	}
	if !isPresent(t.Key) {
		return errors.New("key is missing")
	}
	key, err := parseDocument(t.Key)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	chunks, err := tb.parseChunks(pattern, t)
	if err != nil {
		return err
	}
	if err := tb.shardCollection(t, pattern, chunks); err != nil {
		return err
	}
	for i, z := range t.Zones {
		if err := tb.addZone(t.Namespace, z); err != nil {
			return fmt.Errorf("zones[%d]: %w", i, err)
		}
	}
	return nil
}

func (tb topologyBuilder) addZone(ns string, z TopologyZone) error {
	min, err := parseDocument(z.Min)
	if err != nil {
		return fmt.Errorf("min: %w", err)
	}
	max, err := parseDocument(z.Max)
	if err != nil {
		return fmt.Errorf("max: %w", err)
	}
	return tb.c.zones.Assign(ns, min, max, z.Zone)
}

// builtChunk is a chunk of a topology with its contents.
type builtChunk struct {
	min, max    catalog.Key
	shard       catalog.ShardID
	jumbo       catalog.Jumbo
	bytes, docs int64
}

func (tb topologyBuilder) parseChunks(p catalog.KeyPattern, t TopologyCollection) ([]builtChunk, error) {
	if len(t.Chunks) == 0 {
		db, _, _ := catalog.SplitNamespace(t.Namespace)
		primary, _ := tb.c.config.Primary(db)
		t.Chunks = []TopologyChunk{{Shard: string(primary)}}
	}
	built := make([]builtChunk, len(t.Chunks))
	var err error
	at, next, size := p.GlobalMin(), p.GlobalMin(), sizeReader{}
	for i, chunk := range t.Chunks {
		field := func(name string) string { return fmt.Sprintf("chunks[%d].%s", i, name) }
		if tb.c.shards[catalog.ShardID(chunk.Shard)] == nil {
			return nil, fmt.Errorf("%s: unknown shard %q", field("shard"), chunk.Shard)
		}
		if i == 0 || !isPresent(chunk.Min) { // otherwise next is set already
			if next, err = parseBoundOr(p, chunk.Min, at); err != nil {
				return nil, fmt.Errorf("%s: %w", field("min"), err)
			}
		}
		min := next
		next = p.GlobalMax()
		if i+1 < len(t.Chunks) && isPresent(t.Chunks[i+1].Min) {
			if next, err = parseBoundOr(p, t.Chunks[i+1].Min, next); err != nil {
				return nil, fmt.Errorf("chunks[%d].min: %w", i+1, err)
			}
		}
		max, err := parseBoundOr(p, chunk.Max, next)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field("max"), err)
		}
		if !min.Equal(at) {
			return nil, fmt.Errorf("%s: the chunk does not begin where the previous chunk ends", field("min"))
		}
		if min.Compare(max) >= 0 {
			return nil, fmt.Errorf("%s: it must be greater than min", field("max"))
		}
		bytes, err := size.read(chunk.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field("bytes"), err)
		}
		built[i] = builtChunk{min: min, max: max, shard: catalog.ShardID(chunk.Shard), bytes: bytes, docs: chunk.Docs}
		if chunk.Jumbo {
			built[i].jumbo = catalog.JumboTrue
		}
		if chunk.Docs < 0 || chunk.Docs == 0 && bytes > 0 {
			return nil, fmt.Errorf("%s: bytes require a positive number of documents", field("docs"))
		}
		at = max
	}
	if !at.Equal(p.GlobalMax()) {
		return nil, fmt.Errorf("chunks[%d].max: the last chunk does not end at MaxKey", len(t.Chunks)-1)
	}
	return built, nil
}

// sizeReader parses sizes. It caches the last one, because many chunks have the size of the previous
// chunk.
type sizeReader struct {
	text  json.RawMessage
	bytes int64
}

func (r *sizeReader) read(text json.RawMessage) (int64, error) {
	if r.text != nil && string(text) == string(r.text) {
		return r.bytes, nil
	}
	n, err := parseBytes(text)
	if err == nil {
		*r = sizeReader{text, n}
	}
	return n, err
}

func parseBoundOr(p catalog.KeyPattern, data json.RawMessage, defaultBound catalog.Key) (catalog.Key, error) {
	if !isPresent(data) {
		return defaultBound, nil
	}
	raw, err := parseDocument(data)
	if err != nil {
		return catalog.Key{}, err
	}
	return p.ParseKey(raw)
}

func (tb topologyBuilder) shardCollection(t TopologyCollection, p catalog.KeyPattern, built []builtChunk) error {
	req := ShardRequest{Namespace: t.Namespace, Key: p.Doc(), Unique: t.Unique}
	at, epoch := tb.c.ids.Tick(), tb.c.ids.NewObjectID()
	table, err := catalog.NewRoutingTable(p, epoch, at, tb.newChunks(built, at))
	if err != nil {
		return fmt.Errorf("chunks: %w", err)
	}
	local := tb.c.collections.ensureOnPrimary(t.Namespace, nil)
	if err := local.docs.CreateIndex(store.IndexSpec{Name: indexName(p), Key: p.Doc(), Unique: t.Unique}); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := tb.c.config.writeCollectionEntry(req, p, local.uuid, epoch, at); err != nil {
		return err
	}
	if t.ChunkSizeMB != 0 || t.NoBalance {
		if _, err := tb.c.config.modify(configCollections, t.Namespace, func(doc *bson.D) {
			if t.ChunkSizeMB != 0 {
				setDocField(doc, "maxChunkSizeBytes", t.ChunkSizeMB<<20)
			}
			setDocField(doc, "noBalance", t.NoBalance)
		}); err != nil {
			return err
		}
	}
	tb.c.config.setTable(t.Namespace, table)
	tb.c.collections.createOnOwners(t.Namespace, local, table)
	tb.fillVirtualData(t.Namespace, table, built)
	tb.c.log.writePlacement(t.Namespace, &local.uuid, at, table.Owners())
	return nil
}

// fillVirtualData adds the virtual data of the chunks to the shards. It uses the bounds in the routing
// table, because a block of the table stores all its bounds in one block of memory.
func (tb topologyBuilder) fillVirtualData(ns string, table *catalog.RoutingTable, built []builtChunk) {
	locals := make(map[catalog.ShardID]*localCollection, len(tb.c.shards))
	for chunk := range table.All() {
		b := &built[0]
		built = built[1:]
		local := locals[b.shard]
		if local == nil {
			local = tb.c.shards[b.shard].colls[ns]
			locals[b.shard] = local
		}
		if chunk.Min == b.min && chunk.Max == b.max { // equal including the types of the values
			b.min, b.max = chunk.Min, chunk.Max
		}
		local.virtual.add(virtualRange{min: b.min, max: b.max, docs: b.docs, bytes: b.bytes})
	}
}

// newChunks returns chunks with the ids, versions and one-entry histories of a new collection. It can be
// iterated only once; a history is valid until the next chunk.
func (tb topologyBuilder) newChunks(built []builtChunk, at bson.Timestamp) iter.Seq[catalog.Chunk] {
	history := make([]catalog.ChunkHistory, 1)
	return func(yield func(catalog.Chunk) bool) {
		for i := range built {
			b := &built[i]
			history[0] = catalog.ChunkHistory{ValidAfter: at, Shard: b.shard}
			if !yield(catalog.Chunk{
				ID: tb.c.ids.NewObjectID(), Min: b.min, Max: b.max, Shard: b.shard, Jumbo: b.jumbo,
				Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}, OnCurrentShardSince: at, History: history,
			}) {
				return
			}
		}
	}
}
