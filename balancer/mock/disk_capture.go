package mock

import (
	"bytes"
	"iter"
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/store"
)

// changeCapture determines which parts of a cluster's state have changed since the last capture. Collections,
// virtual data and shards track their own changes. Routing tables are compared, and so is everything
// else, which is small. The first capture finds the whole state.
type changeCapture struct {
	singleUse  bool
	lastNumber uint64 // last number assigned to a shard, collection, table or task
	pass       uint64 // number of the capture

	shards map[*shard]*capturedShard
	colls  map[*store.Collection]*capturedCollection
	dirty  []*capturedCollection
	tables map[string]capturedTable
	views  map[string][]byte
	users  map[string][]byte
	meta   map[string][]byte

	lastEagerState eagerState // as last written

	emit         func(disk.Entry)
	foundChanges bool // whether this capture has found a change
}

// eagerState is the state beside documents and definitions. A change of it alone is a reason to write, too.
type eagerState struct {
	stamp         bson.Timestamp
	objectIDCount uint32
	term          int64
	installed     *map[string]catalog.Release // Installed.byHost
}

type capturedShard struct {
	number   uint64
	lastPass uint64
	written  bool
	stored   disk.Shard
	tasks    map[*rangeDeletion]*capturedDeletion
}

type capturedDeletion struct {
	number   uint64
	lastPass uint64
	stored   []byte
}

type capturedTable struct {
	number uint64
	table  *catalog.RoutingTable
}

// newChangeCapture returns a changeCapture without state. With singleUse it does not enable change tracking,
// because it is used for a single capture.
func newChangeCapture(singleUse bool) *changeCapture {
	return &changeCapture{
		singleUse: singleUse,
		shards:    map[*shard]*capturedShard{}, colls: map[*store.Collection]*capturedCollection{},
		tables: map[string]capturedTable{},
		views:  map[string][]byte{}, users: map[string][]byte{}, meta: map[string][]byte{},
	}
}

// capture calls emit for all changes since the last capture and reports whether there were any. It
// writes virtual time only together with other changes or with force, so that time alone causes no
// writes.
func (t *changeCapture) capture(c *Cluster, force bool, emit func(disk.Entry)) bool {
	t.pass++
	t.emit, t.foundChanges = emit, false
	t.captureShards(c)
	t.captureCollections(c)
	t.captureDocuments()
	t.captureTables(c)
	t.captureVirtualRanges(c)
	t.captureSmallBucket(disk.BucketViews, t.views, len(c.collections.views), func(yield func(string, []byte) bool) {
		for ns, v := range c.collections.views {
			if !yield(ns, mustEncode(disk.View(v))) {
				return
			}
		}
	})
	t.captureSmallBucket(disk.BucketUsers, t.users, len(c.storage.users), maps.All(c.storage.users))
	t.captureMeta(disk.MetaParameters, mustEncode(c.parameters.Values()))
	now := eagerState{c.ids.LastStamp, c.ids.ObjectIDCount(), c.balancer.term, c.installed.byHost.Load()}
	if t.foundChanges || force || t.lastEagerState != now {
		t.lastEagerState = now
		t.captureMeta(disk.MetaState, mustEncode(c.storage.storedState()))
	}
	t.emit = nil
	return t.foundChanges
}

func (t *changeCapture) emitEntry(bucket string, key, value []byte) {
	t.foundChanges = true
	t.emit(disk.Entry{Bucket: bucket, Key: key, Value: value})
}

func (t *changeCapture) nextNumber() uint64 {
	t.lastNumber++
	return t.lastNumber
}

func (t *changeCapture) captureMeta(key string, value []byte) {
	if !bytes.Equal(t.meta[key], value) {
		t.meta[key] = value
		t.emitEntry(disk.BucketMeta, []byte(key), value)
	}
}

func (t *changeCapture) captureShards(c *Cluster) {
	for id, s := range c.shards {
		t.captureShard(s, disk.Shard{ID: string(id)})
	}
	for address, s := range c.membership.removed {
		t.captureShard(s, disk.Shard{ID: string(s.id), Removed: true, Address: address})
	}
	if len(t.shards) == len(c.shards)+len(c.membership.removed) {
		return
	}
	for s, known := range t.shards {
		if known.lastPass == t.pass {
			continue
		}
		for _, task := range known.tasks {
			t.emitEntry(disk.BucketDeletions, disk.NumberKey(task.number), nil)
		}
		t.emitEntry(disk.BucketShards, disk.NumberKey(known.number), nil)
		delete(t.shards, s)
	}
}

func (t *changeCapture) captureShard(s *shard, form disk.Shard) {
	known := t.shards[s]
	if known == nil {
		known = &capturedShard{number: t.nextNumber(), tasks: map[*rangeDeletion]*capturedDeletion{}}
		t.shards[s] = known
		s.deletionsChanged = s.deletionsChanged || len(s.deletions) > 0
	}
	known.lastPass = t.pass
	if !known.written || known.stored != form {
		known.written, known.stored = true, form
		t.emitEntry(disk.BucketShards, disk.NumberKey(known.number), mustEncode(form))
	}
	if s.deletionsChanged {
		t.captureDeletions(s, known)
		s.deletionsChanged = t.singleUse
	}
}

func (t *changeCapture) captureDeletions(s *shard, known *capturedShard) {
	for _, task := range s.deletions {
		was := known.tasks[task]
		if was == nil {
			was = &capturedDeletion{number: t.nextNumber()}
			known.tasks[task] = was
		}
		was.lastPass = t.pass
		p := task.coll.Pattern
		stored := mustEncode(disk.Deletion{
			Shard: int64(known.number), Namespace: task.coll.Namespace, UUID: task.coll.UUID,
			Min: p.Bound(task.min), Max: p.Bound(task.max), Immediate: task.timing == deletionNow,
			Donor: string(task.donor), MigrationStart: task.migrationStart,
		})
		if !bytes.Equal(stored, was.stored) {
			was.stored = stored
			t.emitEntry(disk.BucketDeletions, disk.NumberKey(was.number), stored)
		}
	}
	for task, was := range known.tasks {
		if was.lastPass != t.pass {
			t.emitEntry(disk.BucketDeletions, disk.NumberKey(was.number), nil)
			delete(known.tasks, task)
		}
	}
}

// captureTables writes the changed chunks of routing tables. A table with another key or epoch is
// rewritten.
func (t *changeCapture) captureTables(c *Cluster) {
	for ns, table := range c.config.allTables() {
		known, ok := t.tables[ns]
		if ok && known.table == table {
			continue
		}
		if ok && (known.table.Epoch() != table.Epoch() || !known.table.Pattern().Equal(table.Pattern())) {
			t.emitEntry(disk.NumberedBucket(disk.BucketChunks, known.number), nil, nil)
			ok = false
		}
		if !ok {
			known = capturedTable{number: t.nextNumber()}
			t.emitEntry(disk.BucketTables, []byte(ns), mustEncode(disk.Table{
				Number: int64(known.number), Key: table.Pattern().Doc(), Epoch: table.Epoch(), Timestamp: table.Timestamp(),
			}))
		}
		t.captureChunks(ns, known, table)
		t.tables[ns] = capturedTable{known.number, table}
	}
	if len(t.tables) == len(c.config.tables) {
		return
	}
	for ns, known := range t.tables {
		if c.config.tables[ns] == nil {
			t.emitEntry(disk.BucketTables, []byte(ns), nil)
			t.emitEntry(disk.NumberedBucket(disk.BucketChunks, known.number), nil, nil)
			delete(t.tables, ns)
		}
	}
}

func (t *changeCapture) captureChunks(ns string, known capturedTable, table *catalog.RoutingTable) {
	bucket := disk.NumberedBucket(disk.BucketChunks, known.number)
	coll := catalog.Collection{Namespace: ns, Pattern: table.Pattern()}
	for change := range table.ChangesSince(known.table) {
		var value []byte
		if !change.Removed {
			value = chunkDocument(coll, change.Chunk)
		}
		t.emitEntry(bucket, disk.BoundKey(change.Min), value)
	}
}

// captureSmallBucket writes the changes of a bucket with few entries, which it compares completely.
func (t *changeCapture) captureSmallBucket(bucket string, known map[string][]byte, n int, all iter.Seq2[string,
	[]byte]) {
	for key, value := range all {
		if !bytes.Equal(known[key], value) {
			known[key] = value
			t.emitEntry(bucket, []byte(key), value)
		}
	}
	if len(known) == n {
		return
	}
	there := maps.Collect(all)
	for key := range known {
		if there[key] == nil {
			t.emitEntry(bucket, []byte(key), nil)
			delete(known, key)
		}
	}
}
