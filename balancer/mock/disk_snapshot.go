package mock

import (
	"bytes"
	"fmt"
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/sim"
)

// Save writes the whole cluster to a file for Load and Config.Snapshot. The file is replaced only when
// the write is complete. Save takes the lock.
func (c *Cluster) Save(path string) error {
	var entries []disk.Entry
	c.clock.Lock()
	newChangeCapture(true).capture(c, true, func(e disk.Entry) { entries = append(entries, e) })
	header := disk.SnapshotHeader{Version: c.Version(), Made: c.clock.Now().UTC()}
	c.clock.Unlock()
	return disk.WriteSnapshot(path, header, entries)
}

// openSnapshot loads a file into the empty cluster.
func (c *Cluster) openSnapshot(cfg Config) error {
	s, err := disk.ReadSnapshot(cfg.Snapshot)
	if err != nil {
		return err
	}
	if err := c.storage.load(s, newChangeCapture(true)); err != nil {
		return fmt.Errorf("snapshot %s: %w", cfg.Snapshot, err)
	}
	if err := c.applyOverrides(cfg); err != nil {
		return err
	}
	if err := c.config.adaptEntries(); err != nil {
		return fmt.Errorf("snapshot %s: %w", cfg.Snapshot, err)
	}
	newRollback(c).run()
	return nil
}

// loadMetadata fills the empty cluster from the catalog.Snapshot of a real one: its metadata, and
// virtual data of the sizes that its shards reported. A catalog.Snapshot contains no documents, orphans,
// untracked collections or running operations, so these are missing.
func (c *Cluster) loadMetadata(cfg Config) error {
	p := cfg.Metadata.Parts()
	state := c.storage.storedState()
	state.Term = 0 // the first election is still to come
	state.UnixNanos, state.ClusterTime, state.Release, state.HadTwoShards =
		p.Time.UnixNano(), p.ClusterTime, p.Release.String(), len(p.Shards) > 1
	if err := c.storage.restoreState(state); err != nil {
		return err
	}
	if err := c.applyOverrides(cfg); err != nil {
		return err
	}
	pb := metadataBuilder{c, cfg.Metadata}
	for _, part := range []func() error{pb.insertConfig, pb.insertLogs, pb.createCollections} {
		if err := part(); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	if err := c.config.adaptEntries(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	pb.addDeletions(p.Deletions)
	newRollback(c).run()
	return nil
}

// metadataBuilder loads a catalog.Snapshot into an empty cluster.
type metadataBuilder struct {
	c    *Cluster
	from *catalog.Snapshot
}

// insertConfig inserts the documents of the config database.
func (m metadataBuilder) insertConfig() error {
	if err := (topologyBuilder{m.c}).createConfig(); err != nil {
		return err
	}
	for _, name := range []string{
		configSettings, configShards, configDatabases, configCollections, configTags, configVersion,
	} {
		docs, err := m.from.Documents(name)
		if err != nil {
			return err
		}
		coll := m.c.config.Collection(name)
		for record := range coll.Scan() {
			coll.Delete(record) // the cluster id of the new cluster
		}
		for _, doc := range docs {
			if doc = m.entryWithKnownChunks(name, doc); doc == nil {
				continue
			}
			if _, err := coll.Insert(doc); err != nil {
				return fmt.Errorf("config.%s: %w", name, err)
			}
		}
	}
	for _, r := range m.from.Parts().Routers {
		if r.ID == routerName {
			continue
		}
		err := m.c.config.insert(configMongos, bson.D{{Key: "_id", Value: r.ID},
			{Key: "mongoVersion", Value: r.Version}, {Key: "ping", Value: bson.NewDateTimeFromTime(r.Ping)}})
		if err != nil {
			return fmt.Errorf("config.mongos: %w", err)
		}
	}
	for _, shard := range m.from.Shards() {
		m.c.shards[shard.ID] = newShard(shard.ID)
	}
	return nil
}

// entryWithKnownChunks converts a document to the mock's form. It drops the entries of collections whose chunks
// are unknown.
func (m metadataBuilder) entryWithKnownChunks(collection string, doc bson.Raw) bson.Raw {
	if collection != configCollections {
		return doc
	}
	ns, _ := doc.Lookup("_id").StringValueOK()
	if coll := m.from.Collection(ns); coll == nil || coll.Table == nil {
		return nil
	}
	return doc
}

// adaptEntries converts the entries of another release or of an older mock to the current form. Chunks
// are converted when they are read.
func (c *ConfigDB) adaptEntries() error {
	colls := c.Collection(configCollections)
	for record, raw := range colls.Scan() {
		ns, _ := raw.Lookup("_id").StringValueOK()
		table := c.Table(ns)
		if table == nil {
			if isDropped(raw) && !c.release.HasChunksByNamespace() {
				colls.Delete(record)
			}
			continue
		}
		err := updateDocument(colls, record, raw, func(doc *bson.D) {
			if c.release.HasChunksByNamespace() {
				unsetDocField(doc, "timestamp")
				setDocField(doc, "dropped", false)
				return
			}
			setDocField(doc, "timestamp", table.Timestamp())
			unsetDocField(doc, "dropped")
		})
		if err != nil {
			return err
		}
	}
	if !c.release.MarksPartitioned() {
		return nil
	}
	databases := c.Collection(configDatabases)
	for record, raw := range databases.Scan() {
		if !raw.Lookup("partitioned").IsZero() {
			continue
		}
		// A release that did not require enableSharding allows sharding in all databases.
		if err := updateDocument(databases, record, raw,
			func(doc *bson.D) { setDocField(doc, "partitioned", true) }); err != nil {
			return err
		}
	}
	return nil
}

// updateDocument applies change to a document and writes it if it differs.
func updateDocument(docs *store.Collection, record store.RecordID, raw bson.Raw, change func(*bson.D)) error {
	var doc bson.D
	if bson.Unmarshal(raw, &doc) != nil {
		return nil //nolint:nilerr // who reads the entry will say so
	}
	change(&doc)
	now, err := document.Encode(doc)
	if err != nil || bytes.Equal(now, raw) {
		return err
	}
	return docs.Update(record, now)
}

// legacyTimestamp returns a timestamp for a collection of an old release, which has none.
func legacyTimestamp(coll *catalog.CollectionState) bson.Timestamp {
	return bson.Timestamp{T: uint32(max(1, coll.LastMod.Unix())), I: 1}
}

// insertLogs inserts the log entries of the snapshot.
func (m metadataBuilder) insertLogs() error {
	p := m.from.Parts()
	for name, entries := range map[string][]catalog.LogEntry{configChangelog: p.Changes, configActionlog: p.Actions} {
		for _, e := range entries {
			if _, err := m.c.config.Collection(name).Insert(e.Raw); err != nil {
				return fmt.Errorf("config.%s: %w", name, err)
			}
		}
	}
	return nil
}

// createCollections creates the collections on the shards, with virtual data.
func (m metadataBuilder) createCollections() error {
	for _, coll := range m.from.Collections() {
		if coll.Table == nil {
			continue
		}
		table, err := m.routingTable(coll)
		if err != nil {
			return err
		}
		m.c.config.setTable(coll.Namespace, table)
		for _, id := range coll.Table.Owners() {
			s := m.c.shards[id]
			if s == nil {
				return fmt.Errorf("a chunk of %s is on shard %s, which does not exist", coll.Namespace, id)
			}
			local := newLocal(LanguageOf(m.c.release), coll.UUID, nil, coll.Namespace)
			index := store.IndexSpec{Name: indexName(coll.Pattern), Key: coll.Pattern.Doc(), Unique: coll.Unique}
			if _, ok := local.shardKeyIndex(coll.Pattern); !ok {
				if err := local.docs.CreateIndex(index); err != nil {
					return fmt.Errorf("the index of %s: %w", coll.Namespace, err)
				}
			}
			s.colls[coll.Namespace] = local
		}
		m.fillVirtualData(coll)
	}
	return nil
}

// routingTable returns the routing table of a collection in the mock's form, which does not depend on
// the release: with a timestamp, and chunks with onCurrentShardSince.
func (m metadataBuilder) routingTable(coll *catalog.CollectionState) (*catalog.RoutingTable, error) {
	if m.from.Release().AutoMerges() {
		return coll.Table, nil
	}
	at := coll.Timestamp
	if at.IsZero() {
		at = legacyTimestamp(coll)
	}
	return catalog.NewRoutingTable(coll.Pattern, coll.Epoch, at, func(yield func(catalog.Chunk) bool) {
		for chunk := range coll.Table.All() {
			if chunk.OnCurrentShardSince.IsZero() && len(chunk.History) > 0 {
				chunk.OnCurrentShardSince = chunk.History[0].ValidAfter
			}
			if !yield(chunk) {
				return
			}
		}
	})
}

// fillVirtualData fills the chunks with virtual data of each shard's reported size. Each chunk gets its
// measured size or else an equal share of the rest. The chunks of shards without a reported size get the
// size that a simulation would assume.
func (m metadataBuilder) fillVirtualData(coll *catalog.CollectionState) {
	contents := sim.Measured(coll, coll.ChunkSize(m.from.Settings()))
	for _, id := range coll.Table.Owners() {
		left, known := coll.Sizes[id]
		docs, bytes := left.Documents, left.Bytes
		virtual := &m.c.shards[id].colls[coll.Namespace].virtual
		var last virtualRange
		for chunk := range coll.Table.OwnedChunks(id, catalog.Key{}, catalog.Key{}) {
			virtual.add(last)
			held := contents(chunk)
			last = virtualRange{min: chunk.Min, max: chunk.Max, docs: held.Documents, bytes: held.Bytes}
			docs, bytes = docs-held.Documents, bytes-held.Bytes
		}
		if known { // the remainder of the division
			last.docs, last.bytes = max(0, last.docs+docs), max(0, last.bytes+bytes)
		}
		virtual.add(last)
	}
}

// addDeletions adds the pending range deletions to the shards. The ranges contain no data.
func (m metadataBuilder) addDeletions(list []catalog.RangeDeletion) {
	for _, d := range list {
		s, coll := m.c.shards[d.Shard], m.from.Collection(d.Namespace)
		if s == nil || coll == nil || s.colls[d.Namespace] == nil {
			continue
		}
		lower, errLower := coll.Pattern.ParseKey(d.Min)
		upper, errUpper := coll.Pattern.ParseKey(d.Max)
		if errLower != nil || errUpper != nil || !coll.UUID.Equal(d.UUID) {
			continue // of an earlier collection with this name
		}
		task := &rangeDeletion{coll: newDeletionTarget(coll.Collection), min: lower, max: upper, migrationStart: d.Timestamp}
		if !d.Delayed {
			task.timing = deletionNow
		}
		s.deletions, s.deletionsChanged = append(s.deletions, task), true
	}
}

// Load replaces the whole cluster by the contents of a file that Save has made. If the file cannot be
// read, nothing changes. Migrations and reshardings in progress end, both those of the cluster and those
// in the file, and so do faults. Waits are interrupted. Functions registered with OnReplaced run in the
// same step. Load takes the lock.
func (c *Cluster) Load(path string) error {
	s, err := disk.ReadSnapshot(path)
	if err != nil {
		return err
	}
	fresh, err := c.newEmptyCopy()
	if err != nil {
		return err
	}
	if err := fresh.storage.load(s, newChangeCapture(true)); err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	c.clock.Lock()
	defer c.clock.Unlock()
	if c.clock.IsClosed() {
		return clock.ErrClosed()
	}
	if fresh.release != c.release {
		return fmt.Errorf(
			"snapshot %s: it was made by a cluster of release %s, this cluster has release %s: start with --snapshot to "+
				"continue it",
			path, fresh.release, c.release)
	}
	c.balancer.stopLoop()
	if err := c.replaceState(fresh); err != nil {
		return err
	}
	for _, follow := range c.onStateReplaced {
		follow()
	}
	if err := c.addresses.writeToConfig(); err != nil {
		return err
	}
	newRollback(c).run()
	c.clock.Every(pingInterval, c.routers.ping)
	c.changes.reset()
	c.ttl.scheduled = false
	c.ttl.schedule()
	c.workloads.list, c.workloads.scheduled = nil, false
	c.balancer.startEngine()
	c.storage.forgetRetryableWrites() // they belong to the previous state
	c.storage.QueueChanges()
	c.clock.Wake()
	return nil
}

// OnReplaced registers a function that is called, with the lock held, in the step in which the cluster's
// state is replaced. It is for callers that keep data about the state. The caller holds the lock.
func (c *Cluster) OnReplaced(f func()) { c.onStateReplaced = append(c.onStateReplaced, f) }

// newEmptyCopy returns an empty cluster with the same configuration that is not running.
func (c *Cluster) newEmptyCopy() (*Cluster, error) {
	c.clock.Lock()
	defer c.clock.Unlock()
	fresh := newCluster(Config{
		RealTime: c.clock.IsRealTime(), Start: c.clock.Now(), Seed: c.seed, Logger: c.logger, Release: c.release,
	})
	return fresh, fresh.parameters.Restore(mustEncode(c.parameters.Values()))
}

// replaceState takes over the state of another cluster. The events of the previous state are dropped
// with its queue.
func (c *Cluster) replaceState(by *Cluster) error {
	if err := c.parameters.Restore(mustEncode(by.parameters.Values())); err != nil {
		return err
	}
	c.config.collections, c.config.tables = by.config.collections, by.config.tables
	c.config.pendingLogs = by.config.pendingLogs
	c.collections.views, c.storage.users = by.collections.views, by.storage.users
	clear(c.shards)
	maps.Copy(c.shards, by.shards)
	c.membership.removed, c.membership.hadTwoShards = by.membership.removed, by.membership.hadTwoShards
	c.migrations.reset()
	c.reshardings.reset()
	c.failPoints.reset()
	c.clusterParameters.fcvChange = nil // an upgrade in progress must be started again
	if err := c.ids.Restore(by.ids.State()); err != nil {
		return err
	}
	c.balancer.term = by.balancer.term
	c.faults.configDown = false
	c.faults.healAll()
	c.clock.ReplaceWith(by.clock)
	return nil
}
