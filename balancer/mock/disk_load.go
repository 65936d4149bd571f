package mock

import (
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
)

// stateLoader loads a stored state into an empty cluster.
type stateLoader struct {
	c      *Cluster
	from   disk.Source
	shards map[uint64]*shard
	// tracker learns the stored state, so that only later changes are written.
	tracker *changeCapture
}

// load loads a state. The caller must roll back the operations that were in progress when the state was
// written.
func (st *Storage) load(from disk.Source, t *changeCapture) error {
	l := stateLoader{c: st.c, from: from, shards: map[uint64]*shard{}, tracker: t}
	for _, part := range []struct {
		bucket string
		read   func(key, value []byte) error
	}{
		{disk.BucketMeta, l.loadMeta},
		{disk.BucketShards, l.loadShard},
		{disk.BucketTables, l.loadTable},
		{disk.BucketCollections, l.loadCollection},
		{disk.BucketDeletions, l.loadDeletion},
		{disk.BucketViews, l.loadView},
		{disk.BucketUsers, l.loadUser},
	} {
		if err := disk.Read(from, part.bucket, part.read); err != nil {
			return fmt.Errorf("the state can't be read: %w", err)
		}
	}
	return nil
}

func (l *stateLoader) noteNumber(number uint64) {
	l.tracker.lastNumber = max(l.tracker.lastNumber, number)
}

func (l *stateLoader) loadMeta(key, value []byte) error {
	switch string(key) {
	case disk.MetaState:
		var s disk.State
		if err := bson.Unmarshal(value, &s); err != nil {
			return err
		}
		return l.c.storage.restoreState(s)
	case disk.MetaParameters:
		return l.c.parameters.Restore(value)
	}
	return nil
}

func (st *Storage) storedState() disk.State {
	given := st.c.ids.State()
	return disk.State{
		UnixNanos: st.c.clock.Now().UnixNano(), ClusterTime: given.Stamp, ObjectIDCount: int64(given.Counter),
		Term:            st.c.balancer.term,
		ObjectIDProcess: given.Process, RandState: given.PCG, HadTwoShards: st.c.membership.hadTwoShards,
		Release:   st.c.release.String(),
		Installed: st.c.installed.toStored(),
	}
}

// restoreState restores the clocks and counters. A restart is an election, so the term increases.
func (st *Storage) restoreState(s disk.State) error {
	release, err := catalog.ParseRelease(s.Release)
	if err != nil {
		return err
	}
	st.c.release = release
	if err := st.c.installed.restore(s.Installed); err != nil {
		return err
	}
	stored := ids.State{Stamp: s.ClusterTime, Counter: uint32(s.ObjectIDCount), Process: s.ObjectIDProcess,
		PCG: s.RandState}
	if err := st.c.ids.Restore(stored); err != nil {
		return err
	}
	st.c.balancer.term, st.c.membership.hadTwoShards = s.Term+1, s.HadTwoShards
	st.c.clock.ResetTo(time.Unix(0, s.UnixNanos))
	return nil
}

func (l *stateLoader) loadShard(key, value []byte) error {
	number, err := disk.ParseNumberKey(key)
	if err != nil {
		return err
	}
	var form disk.Shard
	if err := bson.Unmarshal(value, &form); err != nil {
		return err
	}
	s := newShard(catalog.ShardID(form.ID))
	l.shards[number] = s
	l.noteNumber(number)
	l.tracker.shards[s] = &capturedShard{
		number: number, written: true, stored: form, tasks: map[*rangeDeletion]*capturedDeletion{},
	}
	if form.Removed {
		l.c.membership.removed[form.Address] = s
	} else {
		l.c.shards[s.id] = s
	}
	return nil
}

func (l *stateLoader) loadTable(key, value []byte) error {
	var form disk.Table
	if err := bson.Unmarshal(value, &form); err != nil {
		return err
	}
	pattern, err := catalog.ParseKeyPattern(form.Key)
	if err != nil {
		return err
	}
	chunks, err := l.readChunks(pattern, disk.NumberedBucket(disk.BucketChunks, uint64(form.Number)))
	if err != nil {
		return err
	}
	builder := catalog.NewTableBuilder(pattern, form.Epoch, form.Timestamp)
	for _, chunk := range chunks {
		if err := builder.Add(chunk); err != nil {
			return err
		}
	}
	table, err := builder.Table()
	if err != nil {
		return err
	}
	l.noteNumber(uint64(form.Number))
	l.c.config.setTable(string(key), table)
	l.tracker.tables[string(key)] = capturedTable{uint64(form.Number), table}
	return nil
}

// readChunks returns a table's chunks in key order. The stored order is the key order except for chunks
// with very long bounds.
func (l *stateLoader) readChunks(p catalog.KeyPattern, bucket string) (chunks []bson.Raw, err error) {
	sorted := true
	for key, value := range l.from.Each(bucket) {
		sorted = sorted && len(key) <= disk.MaxKeyBytes
		chunks = append(chunks, value)
	}
	if sorted {
		return chunks, nil
	}
	slices.SortFunc(chunks, func(a, b bson.Raw) int {
		x, errX := catalog.ParseChunk(p, a)
		y, errY := catalog.ParseChunk(p, b)
		if errX != nil || errY != nil {
			return 0 // NewRoutingTable reports the error
		}
		return x.Min.Compare(y.Min)
	})
	return chunks, nil
}

func (l *stateLoader) loadCollection(key, value []byte) error {
	number, err := disk.ParseNumberKey(key)
	if err != nil {
		return err
	}
	var form disk.Collection
	if err := bson.Unmarshal(value, &form); err != nil {
		return err
	}
	docs := newStoreCollection(LanguageOf(l.c.release), form.Namespace)
	for _, index := range form.Indexes {
		if err := docs.CreateIndex(indexSpec(index)); err != nil {
			return fmt.Errorf("index %s: %w", index.Name, err)
		}
	}
	err = disk.Read(l.from, disk.NumberedBucket(disk.BucketDocuments, number), func(key, doc []byte) error {
		record, err := disk.ParseNumberKey(key)
		if err != nil {
			return err
		}
		return docs.Restore(store.RecordID(record), slices.Clone(doc))
	})
	if err != nil {
		return err
	}
	known := &capturedCollection{number: number, docs: docs, definition: form, stored: slices.Clone(value)}
	if known.local, err = l.attachCollection(form, docs); err != nil {
		return err
	}
	l.noteNumber(number)
	l.tracker.colls[docs] = known
	l.tracker.watchDocuments(known)
	return l.loadVirtualRanges(known)
}

// attachCollection adds a collection to its shard or to the config server.
func (l *stateLoader) attachCollection(form disk.Collection, docs *store.Collection) (*localCollection, error) {
	if form.Shard == disk.ConfigNumber {
		l.c.config.collections[form.Namespace] = docs
		if form.Namespace == fcvNamespace {
			l.c.config.fcv.cache()
		}
		return nil, nil
	}
	s := l.shards[uint64(form.Shard)]
	if s == nil {
		return nil, fmt.Errorf("unknown shard %d", form.Shard)
	}
	options, err := disk.ReadOptions(form.Options)
	if err != nil {
		return nil, err
	}
	local := newLocal(docs.Language, form.UUID, options, form.Namespace)
	local.docs = docs
	s.colls[form.Namespace] = local
	return local, nil
}

func (l *stateLoader) loadVirtualRanges(known *capturedCollection) error {
	table := l.c.config.Table(known.definition.Namespace)
	if known.local == nil || table == nil {
		return nil
	}
	err := disk.Read(l.from, disk.NumberedBucket(disk.BucketVirtualRanges, known.number), func(_, value []byte) error {
		var form disk.VirtualRange
		if err := bson.Unmarshal(value, &form); err != nil {
			return err
		}
		e, err := parseRange(table.Pattern(), form)
		if err == nil {
			known.local.virtual.add(e)
		}
		return err
	})
	if err != nil {
		return err
	}
	if known.local.virtual.ranges != nil && !l.tracker.singleUse {
		known.ranges = &rangeWatch{changed: map[catalog.Key]struct{}{}}
		known.local.virtual.watch = known.ranges
	}
	return nil
}

func (l *stateLoader) loadDeletion(key, value []byte) error {
	number, err := disk.ParseNumberKey(key)
	if err != nil {
		return err
	}
	var form disk.Deletion
	if err := bson.Unmarshal(value, &form); err != nil {
		return err
	}
	s := l.shards[uint64(form.Shard)]
	if s == nil {
		return fmt.Errorf("unknown shard %d", form.Shard)
	}
	l.noteNumber(number)
	task, ok := l.newDeletion(form)
	if ok {
		s.deletions = append(s.deletions, task)
	}
	s.deletionsChanged = s.deletionsChanged || !ok
	l.tracker.shards[s].tasks[task] = &capturedDeletion{number: number, stored: slices.Clone(value)}
	return nil
}

// newDeletion returns a range deletion. It returns false if the collection no longer exists with that
// UUID, which can happen on a removed shard.
func (l *stateLoader) newDeletion(form disk.Deletion) (*rangeDeletion, bool) {
	task := &rangeDeletion{
		coll:  deletionTarget{Namespace: form.Namespace, UUID: form.UUID},
		donor: catalog.ShardID(form.Donor), migrationStart: form.MigrationStart,
	}
	if form.Immediate {
		task.timing = deletionNow
	}
	table := l.c.config.Table(form.Namespace)
	if table == nil {
		return task, false
	}
	task.coll.Pattern = table.Pattern()
	var errMin, errMax error
	task.min, errMin = table.Pattern().ParseKey(form.Min)
	task.max, errMax = table.Pattern().ParseKey(form.Max)
	return task, errMin == nil && errMax == nil
}

func (l *stateLoader) loadView(key, value []byte) error {
	var form disk.View
	if err := bson.Unmarshal(value, &form); err != nil {
		return err
	}
	if l.c.collections.views == nil {
		l.c.collections.views = map[string]View{}
	}
	l.c.collections.views[string(key)] = View(form)
	l.tracker.views[string(key)] = slices.Clone(value)
	return nil
}

func (l *stateLoader) loadUser(key, value []byte) error {
	l.c.storage.users[string(key)] = slices.Clone(value)
	l.tracker.users[string(key)] = l.c.storage.users[string(key)]
	return nil
}

// rollback ends the operations that were in progress in a stored state.
type rollback struct {
	config  *ConfigDB
	shards  shardSet
	deleter *RangeDeleter
}

func newRollback(c *Cluster) rollback { return rollback{c.config, c.shards, c.deleter} }

// run rolls back the operations that were in progress when the state was written, as a shard does at
// startup after a crash (rules/02-migration-and-metadata §5.5).
func (r rollback) run() {
	r.rollBackReshardings()
	for _, id := range r.shards.ids() {
		r.rollBackMigrations(r.shards[id])
	}
}

// rollBackMigrations decides about range deletions that belong to interrupted migrations. If the shard
// owns the range, it is the donor of a migration that was not committed, and the task is removed. All
// other tasks take effect: they delete orphans of a committed migration or copies of an uncommitted one.
func (r rollback) rollBackMigrations(s *shard) {
	for _, task := range slices.Clone(s.deletions) {
		local := s.colls[task.coll.Namespace]
		coll, ok, err := r.config.TrackedEntry(task.coll.Namespace)
		gone := err != nil || !ok || local == nil ||
			!local.uuid.Equal(task.coll.UUID) || !coll.UUID.Equal(task.coll.UUID)
		if gone || r.ownsPart(s, task) {
			s.removeDeletion(task)
			continue
		}
		task.coll = newDeletionTarget(coll)
		for range local.documentsInRange(coll.Pattern, task.min, task.max) {
			s.addOrphans(task, 1)
		}
		r.deleter.schedule(s, task)
	}
}

func (r rollback) ownsPart(s *shard, task *rangeDeletion) bool {
	for range r.config.Table(task.coll.Namespace).OwnedChunks(s.id, task.min, task.max) {
		return true
	}
	return false
}

// rollBackReshardings removes unfinished operations from the catalog. They have changed nothing else
// yet.
func (r rollback) rollBackReshardings() {
	operations := r.config.Collection(configReshardings)
	for record := range operations.Scan() {
		operations.Delete(record)
	}
	colls := r.config.Collection(configCollections)
	for record, raw := range colls.Scan() {
		if raw.Lookup("reshardingFields").IsZero() {
			continue
		}
		var doc bson.D
		if err := bson.Unmarshal(raw, &doc); err != nil {
			continue // readers of the entry report the error
		}
		unsetDocField(&doc, "reshardingFields")
		unsetDocField(&doc, "allowMigrations")
		if changed, err := bson.Marshal(doc); err == nil {
			_ = colls.Update(record, changed) // cannot fail: the _id is unchanged
		}
	}
}
