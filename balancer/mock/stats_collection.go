package mock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/policy"
)

// Statistics computes statistics of the data on shards and the config server.
type Statistics struct {
	*clusterSettings
	addresses    *Addresses
	clock        *clock.Clock
	collections  *Collections
	config       *ConfigDB
	configChunks *ConfigChunks
	databases    *Databases
	ids          *ids.Source
	indexes      *Indexes
	locator      *locator
	shards       shardSet
}

// Statistics returns the Statistics of the cluster.
func (c *Cluster) Statistics() *Statistics { return c.stats }

// LocalStats are the counters of a collection on one shard, including orphans and virtual data.
type LocalStats struct {
	Shard                catalog.ShardID
	Host                 string // host:port of the shard's first member
	Docs, Bytes, Orphans int64
	Indexes              []string
	// Capped collections have a limit in bytes; a MaxDocs of zero means no limit of documents.
	Capped            bool
	MaxBytes, MaxDocs int64
	// FreeBytes is the unused size of the file.
	FreeBytes int64
	// Reads and Writes count operations since the start of the shard.
	Reads, Writes int64
	// ReadMicros and WriteMicros are the durations of workload operations.
	ReadMicros, WriteMicros int64
}

// StorageUnit is the minimum storage size of a collection or an index.
const StorageUnit = 4096

// StoredBytes returns the reported size of the collection's file.
func (s LocalStats) StoredBytes() int64 { return max(s.Bytes+s.FreeBytes, StorageUnit) }

// IndexBytes returns the reported size of the indexes.
func (s LocalStats) IndexBytes() int64 { return int64(len(s.Indexes)) * StorageUnit }

// Collection returns the counters of a collection on the shards that own chunks; for an untracked
// collection, on the primary; for a config collection, on the config server.
func (st *Statistics) Collection(ns string) []LocalStats {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil
	}
	if st.config.holdsCollection(ns) {
		return st.configCollection(ns)
	}
	var owners []catalog.ShardID
	if table := st.config.Table(ns); table != nil {
		owners = table.Owners()
	} else if primary, ok := st.config.Primary(db); ok {
		owners = []catalog.ShardID{primary}
	}
	var stats []LocalStats
	for _, id := range owners {
		if own, ok := st.collectionOn(id, ns); ok {
			stats = append(stats, own)
		}
	}
	return stats
}

// collectionOn returns the counters of a collection on one shard, which need not own chunks. It returns
// false if the shard does not have the collection.
func (st *Statistics) collectionOn(id catalog.ShardID, ns string) (LocalStats, bool) {
	l := st.shards.collection(id, ns)
	if l == nil {
		return LocalStats{}, false
	}
	docs, bytes := l.counts()
	return LocalStats{
		Shard: id, Host: st.addresses.FirstMember(id), Docs: docs, Bytes: bytes,
		Orphans: st.shards[id].orphanCount(ns), Indexes: indexNames(l.docs),
		Capped: l.maxBytes > 0, MaxBytes: l.maxBytes, MaxDocs: l.maxDocs, FreeBytes: max(0,
			l.fileBytes-max(bytes, StorageUnit)),
		Reads: l.queries, Writes: l.writtenDocs, ReadMicros: l.readMicros, WriteMicros: l.writeMicros,
	}, true
}

// CollectionWithOrphans is like Collection and includes the shards that own no chunks but have orphans.
func (st *Statistics) CollectionWithOrphans(ns string) []LocalStats {
	stats := st.Collection(ns)
	for _, id := range st.shards.ids() {
		if slices.ContainsFunc(stats, func(s LocalStats) bool { return s.Shard == id }) ||
			st.shards[id].orphanCount(ns) == 0 {
			continue
		}
		if own, ok := st.collectionOn(id, ns); ok {
			stats = append(stats, own)
		}
	}
	slices.SortFunc(stats, func(a, b LocalStats) int { return cmp.Compare(a.Shard, b.Shard) })
	return stats
}

// configCollection returns the counters of a collection of the config server.
func (st *Statistics) configCollection(ns string) []LocalStats {
	limit := cappedBytes(ns)
	stats := LocalStats{Shard: configShard, Host: st.addresses.configHost, Capped: limit > 0, MaxBytes: limit}
	switch docs := st.config.existingCollection(ns); {
	case ns == chunksNamespace:
		for _, table := range st.config.allTables() {
			stats.Docs += int64(table.Len())
		}
		stats.Bytes = stats.Docs * chunkDocBytes
		for _, spec := range st.configChunks.format().indexes() {
			stats.Indexes = append(stats.Indexes, spec.Name)
		}
	case docs == nil:
		return nil
	default:
		stats.Docs, stats.Bytes, stats.Indexes = docs.Count(), docs.Bytes(), indexNames(docs)
	}
	return []LocalStats{stats}
}

// chunkDocBytes is the approximate size of a document of config.chunks.
const chunkDocBytes = 200

// cappedBytes returns the size limit of a capped collection of the config server, 0 for other
// collections.
func cappedBytes(ns string) int64 {
	switch ns {
	case "config." + configChangelog:
		return changelogReportedBytes
	case "config." + configActionlog:
		return actionlogReportedBytes
	}
	return 0
}

// configOptions returns the options of a collection of the config server.
func configOptions(ns string) bson.D {
	if size := cappedBytes(ns); size > 0 {
		return bson.D{{Key: "capped", Value: true}, {Key: "size", Value: document.SmallestInt(size)}}
	}
	if ns == "config.system.preimages" {
		return bson.D{{Key: "clusteredIndex", Value: bson.D{
			{Key: "v", Value: int32(2)}, {Key: "key", Value: bson.D{{Key: "_id", Value: int32(1)}}},
			{Key: "name", Value: "_id_"}, {Key: "unique", Value: true},
		}}}
	}
	return bson.D{}
}

func indexNames(docs *store.Collection) []string {
	var names []string
	for _, spec := range docs.Indexes() {
		names = append(names, spec.Name)
	}
	return names
}

// HomeShard returns the shard on which a collection would be created: its database's primary, or any
// shard if the database does not exist.
func (st *Statistics) HomeShard(ns string) (catalog.ShardID, string) {
	db, _, _ := catalog.SplitNamespace(ns)
	if st.config.holdsCollection(ns) {
		return configShard, st.addresses.HostOf(configShard)
	}
	id, ok := st.config.Primary(db)
	if !ok {
		id = st.shards.ids()[0]
	}
	return id, st.addresses.HostOf(id)
}

// CollectionInfo is an entry of listCollections.
type CollectionInfo struct {
	Name    string
	UUID    bson.Binary
	Options bson.D
	IsView  bool // views have no UUID
}

// Collections returns a database's collections sorted by name.
func (st *Statistics) Collections(db string) []CollectionInfo {
	var infos []CollectionInfo
	if onConfigServer(db) {
		for _, ns := range st.config.namespaces(db) {
			infos = append(infos, CollectionInfo{
				Name:    strings.TrimPrefix(ns, db+"."),
				UUID:    st.config.uuid(ns),
				Options: configOptions(ns),
			})
		}
		if coll, tracked, err := st.config.TrackedEntry(policy.SessionsNamespace); db == "config" && tracked && err == nil {
			infos = append(infos, CollectionInfo{Name: strings.TrimPrefix(policy.SessionsNamespace, "config."), UUID: coll.UUID,
				Options: bson.D{}})
			slices.SortFunc(infos, func(a, b CollectionInfo) int { return cmp.Compare(a.Name, b.Name) })
		}
		return infos
	}
	for _, ns := range st.databases.Namespaces(db) {
		info := CollectionInfo{Name: strings.TrimPrefix(ns, db+"."), Options: bson.D{}}
		for _, id := range st.shards.ids() {
			if l := st.shards[id].colls[ns]; l != nil {
				info.UUID = l.uuid
				if l.options != nil {
					info.Options = l.options
				}
				break
			}
		}
		infos = append(infos, info)
	}
	for ns, v := range st.collections.views {
		if strings.HasPrefix(ns, db+".") {
			options := bson.D{{Key: "viewOn", Value: v.ViewOn}, {Key: "pipeline", Value: v.Pipeline}}
			infos = append(infos, CollectionInfo{Name: strings.TrimPrefix(ns, db+"."), Options: options, IsView: true})
		}
	}
	slices.SortFunc(infos, func(a, b CollectionInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos
}

// MigrationInfo describes a migration in progress.
type MigrationInfo struct {
	Namespace string
	From, To  catalog.ShardID
	Min, Max  bson.Raw
	Started   time.Time
	// Step is the number of completed donor steps (of six), RecipientStep the number of completed
	// recipient steps (of eight). RecipientStep is zero before the recipient has started.
	Step, RecipientStep int
	// Op is the operation id of the donor's command. The next two ids are those of the workers, and the
	// third that of the donor's status request to the recipient.
	Op int32
	// Command is the command that the donor has received; nil if nobody waits for its reply any longer.
	Command bson.D
	// Waiting reports whether the donor's worker waits for the recipient. Killed reports whether killOp
	// has killed it.
	Waiting, Killed bool
}

// List returns the migrations in progress sorted by donor.
func (ms *Migrations) List() []MigrationInfo {
	var list []MigrationInfo
	for m := range ms.active {
		info := MigrationInfo{
			Namespace: m.req.Namespace, From: m.req.From, To: m.req.To,
			Min: orEmpty(m.req.Min), Max: orEmpty(m.req.Max),
			Started: m.steps.began, Step: len(m.steps.donor), RecipientStep: len(m.steps.recipient), Op: m.opID,
			Waiting: m.awaitsRecipient(), Killed: m.killed,
		}
		if len(m.waiters) > 0 {
			info.Command = moveCommand(m.ms.installed.configRelease(), m.originalRequest(), m.coll)
			if ms.release.FCVAtLeast(catalog.Release80) && !m.req.Comment.IsZero() {
				info.Command = append(info.Command, bson.E{Key: "comment", Value: m.req.Comment})
			}
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b MigrationInfo) int { return cmp.Compare(a.From, b.From) })
	return list
}

func orEmpty(doc bson.Raw) bson.Raw {
	if doc == nil {
		return document.Empty
	}
	return doc
}

// OwnedBytes returns the sizes by which the balancer sees the shards' parts of a tracked collection.
func (st *Statistics) OwnedBytes(ns string) map[catalog.ShardID]int64 {
	coll, ok, err := st.config.TrackedEntry(ns)
	if err != nil || !ok {
		return nil
	}
	return st.ownedBytes(coll, nil)
}

// ownedBytes returns the owned size of a collection on each shard. It reuses the map sizes, which may be
// nil.
func (st *Statistics) ownedBytes(coll catalog.Collection, sizes map[catalog.ShardID]int64) map[catalog.ShardID]int64 {
	if clear(sizes); sizes == nil {
		sizes = make(map[catalog.ShardID]int64, len(st.shards))
	}
	for id, s := range st.shards {
		sizes[id] = s.ownedBytes(coll.Namespace, coll.UUID)
	}
	return sizes
}

// fillShardSizes sets the data sizes of shards that have a maximum size (rules/01-rounds-and-settings
// §3.1).
func (st *Statistics) fillShardSizes(shards []catalog.Shard) {
	for i, s := range shards {
		if local := st.shards[s.ID]; s.MaxSizeMB > 0 && local != nil {
			shards[i].SizeMB = local.totalBytes() / 1024 / 1024
		}
	}
}

// MemberReads captures the data of a collection on one shard, including orphans, as a client sees it
// that connects directly to the shard. The config server has the config and admin databases.
func (rq *Request) MemberReads(id catalog.ShardID, ns string, filter *filter.Filter) ([]Read, error) {
	if id == configShard && rq.env.config.holdsCollection(ns) {
		return rq.CaptureReads(ns, filter)
	}
	l := rq.env.shards.collection(id, ns)
	if l == nil {
		return nil, nil
	}
	return []Read{rq.env.locator.capture(target{docs: l.docs, shard: rq.env.shards[id], local: l})}, nil
}

// MemberOnlyRead returns a read of documents that only a member has and the cluster does not store.
func (rq *Request) MemberOnlyRead(id catalog.ShardID, docs *store.Collection) Read {
	r := rq.env.locator.capture(target{docs: docs})
	r.Shard, r.Host = id, rq.env.addresses.HostOf(id)
	return r
}

// MemberCollection returns the counters of a collection on one shard, which need not own chunks. It returns
// false if the shard does not have the collection.
func (st *Statistics) MemberCollection(id catalog.ShardID, ns string) (LocalStats, bool) {
	if id == configShard && st.config.holdsCollection(ns) {
		if stats := st.configCollection(ns); len(stats) > 0 {
			return stats[0], true
		}
		return LocalStats{}, false
	}
	return st.collectionOn(id, ns)
}

// MemberNamespaces returns the sorted collections of one shard.
func (st *Statistics) MemberNamespaces(id catalog.ShardID) []string {
	var own []string
	if id == configShard {
		own = slices.Concat(st.config.namespaces("admin"), st.config.namespaces("config"))
	}
	if s := st.shards[id]; s != nil {
		own = append(own, slices.Sorted(maps.Keys(s.colls))...)
	}
	return own
}

// MemberIndexes returns the indexes of a collection on one shard. It returns false if the shard does not
// have the collection.
func (st *Statistics) MemberIndexes(id catalog.ShardID, ns string) ([]store.IndexSpec, bool) {
	if id == configShard && st.config.holdsCollection(ns) {
		return st.indexes.List(ns)
	}
	l := st.shards.collection(id, ns)
	if l == nil {
		return nil, false
	}
	return l.docs.Indexes(), true
}

// MemberOptions returns the UUID and the options of a collection on one shard or on the config server.
// It returns false if the member does not have the collection.
func (st *Statistics) MemberOptions(id catalog.ShardID, ns string) (bson.Binary, bson.D, bool) {
	if id == configShard && st.config.holdsCollection(ns) {
		return st.config.uuid(ns), configOptions(ns), true
	}
	l := st.shards.collection(id, ns)
	switch {
	case l == nil: // may be an internal collection of the member
		return bson.Binary{}, configOptions(ns), false
	case l.options == nil:
		return l.uuid, bson.D{}, true
	}
	return l.uuid, l.options, true
}

// RangeDeletionCount returns the number of a shard's range deletions.
func (st *Statistics) RangeDeletionCount(id catalog.ShardID) int {
	if s := st.shards[id]; s != nil {
		return len(s.deletions)
	}
	return 0
}
