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
	"shardsh/balancer/mock/store/filter"
)

// Statistics computes statistics of the data on shards and the config server.
type Statistics struct {
	*setup
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
	// Free is the unused size of the file.
	Free int64
	// Reads and Writes count operations since the start of the shard.
	Reads, Writes int64
	// ReadMicros and WriteMicros are the durations of workload operations.
	ReadMicros, WriteMicros int64
}

// StorageUnit is what a collection or an index is said to occupy at least.
const StorageUnit = 4096

// StoredBytes returns what the file of the documents is said to occupy.
func (s LocalStats) StoredBytes() int64 { return max(s.Bytes+s.Free, StorageUnit) }

// IndexBytes returns what the indexes are said to occupy.
func (s LocalStats) IndexBytes() int64 { return int64(len(s.Indexes)) * StorageUnit }

// Collection asks the shards that own chunks of a collection, or the primary of an
// untracked one. Config collections are on the config server.
func (st *Statistics) Collection(ns string) []LocalStats {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil
	}
	if st.config.holdsCollection(ns) {
		return st.configCollection(ns)
	}
	var owners []catalog.ShardID
	if table := st.config.table(ns); table != nil {
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

// onShard returns the counters of a collection on one shard, whether it owns
// chunks or not. It is false when the shard has no such collection.
func (st *Statistics) collectionOn(id catalog.ShardID, ns string) (LocalStats, bool) {
	l := st.shards.collection(id, ns)
	if l == nil {
		return LocalStats{}, false
	}
	docs, bytes := l.counts()
	return LocalStats{
		Shard: id, Host: st.addresses.FirstMember(id), Docs: docs, Bytes: bytes,
		Orphans: st.shards[id].orphanCount(ns), Indexes: indexNames(l.docs),
		Capped: l.maxBytes > 0, MaxBytes: l.maxBytes, MaxDocs: l.maxDocs, Free: max(0, l.fileBytes-max(bytes, StorageUnit)),
		Reads: l.reads, Writes: l.writes, ReadMicros: l.readMicros, WriteMicros: l.writeMicros,
	}, true
}

// Distribution is Collection plus the shards that own no chunks but hold
// orphans.
func (st *Statistics) Distribution(ns string) []LocalStats {
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

// configCollection returns a collection that the config server holds.
func (st *Statistics) configCollection(ns string) []LocalStats {
	limit := cappedBytes(ns)
	stats := LocalStats{Shard: configShard, Host: st.addresses.configHost, Capped: limit > 0, MaxBytes: limit}
	switch docs := st.config.existing(ns); {
	case ns == chunksNamespace:
		for _, table := range st.config.allTables() {
			stats.Docs += int64(table.Len())
		}
		stats.Bytes = stats.Docs * chunkBytes
		for _, spec := range st.configChunks.form().indexes() {
			stats.Indexes = append(stats.Indexes, spec.Name)
		}
	case docs == nil:
		return nil
	default:
		stats.Docs, stats.Bytes, stats.Indexes = docs.Count(), docs.Bytes(), indexNames(docs)
	}
	return []LocalStats{stats}
}

// chunkBytes is about what a document of config.chunks takes.
const chunkBytes = 200

// cappedBytes returns the limits of the config server's capped collections.
func cappedBytes(ns string) int64 {
	switch ns {
	case "config." + configChangelog:
		return changelogBytes
	case "config." + configActionlog:
		return actionlogBytes
	}
	return 0
}

// configOptions returns the options of a collection of the config server.
func configOptions(ns string) bson.D {
	if size := cappedBytes(ns); size > 0 {
		return bson.D{{Key: "capped", Value: true}, {Key: "size", Value: LimitOption(size)}}
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

// HomeShard returns where a collection would be made: its database's primary, or any
// shard while there is no database.
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

// CollectionInfo is a collection as listCollections shows it.
type CollectionInfo struct {
	Name    string
	UUID    bson.Binary
	Options bson.D
	View    bool // then there is no UUID
}

// Collections lists a database's collections, by name.
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
		if coll, tracked, err := st.config.Tracked(sessionsNamespace); db == "config" && tracked && err == nil {
			infos = append(infos, CollectionInfo{Name: strings.TrimPrefix(sessionsNamespace, "config."), UUID: coll.UUID,
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
			infos = append(infos, CollectionInfo{Name: strings.TrimPrefix(ns, db+"."), Options: options, View: true})
		}
	}
	slices.SortFunc(infos, func(a, b CollectionInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos
}

// MigrationInfo is a migration under way.
type MigrationInfo struct {
	Namespace string
	From, To  catalog.ShardID
	Min, Max  bson.Raw
	Started   time.Time
	// Step is how many of the donor's six steps are done, RecipientStep how
	// many of the recipient's eight, zero before it began.
	Step, RecipientStep int
	// Op numbers the donor's command; the two after it are the workers', and the one
	// after those the donor's question to the recipient.
	Op int32
	// Command is what the donor was sent; nil when nobody waits for its answer any more.
	Command bson.D
	// Waiting: the donor's worker waits for the recipient. Killed: killOp has ended it.
	Waiting, Killed bool
}

// List lists the migrations under way, by donor.
func (ms *Migrations) List() []MigrationInfo {
	var list []MigrationInfo
	for m := range ms.active {
		info := MigrationInfo{
			Namespace: m.req.Namespace, From: m.req.From, To: m.req.To,
			Min: orEmpty(m.req.Min), Max: orEmpty(m.req.Max),
			Started: m.steps.began, Step: len(m.steps.donor), RecipientStep: len(m.steps.recipient), Op: m.op,
			Waiting: m.awaitsRecipient(), Killed: m.killed,
		}
		if len(m.waiters) > 0 {
			info.Command = moveCommand(m.ms.installed.configRelease(), m.originalRequest(), m.coll)
			if ms.release.AtLeast(catalog.Release80) && !m.req.Comment.IsZero() {
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
		return emptyDoc()
	}
	return doc
}

// OwnedBytes returns the bytes that each shard owns of a tracked collection, as the balancer sees them.
func (st *Statistics) OwnedBytes(ns string) map[catalog.ShardID]int64 {
	coll, ok, err := st.config.Tracked(ns)
	if err != nil || !ok {
		return nil
	}
	return st.ownedBytes(coll, nil)
}

// ownedBytes asks every shard for the bytes it owns of a collection. The answer takes
// the place of another one, if there is one.
func (st *Statistics) ownedBytes(coll catalog.Collection, sizes map[catalog.ShardID]int64) map[catalog.ShardID]int64 {
	if clear(sizes); sizes == nil {
		sizes = make(map[catalog.ShardID]int64, len(st.shards))
	}
	for id, s := range st.shards {
		sizes[id] = s.ownedBytes(coll.Namespace, coll.UUID)
	}
	return sizes
}

// fillShardSizes fills in what shards with a limit hold (rules/01-rounds-and-settings §3.1).
func (st *Statistics) fillShardSizes(shards []catalog.Shard) {
	for i, s := range shards {
		if local := st.shards[s.ID]; s.MaxSizeMB > 0 && local != nil {
			shards[i].SizeMB = local.totalBytes() / 1024 / 1024
		}
	}
}

// ConfigServerID is the config server among the members of the cluster.
const ConfigServerID = configShard

// MemberReads captures what one shard holds itself, orphans included:
// what a client sees that connects to the shard and not to a router. The config
// server holds the config and admin databases.
func (rq *Request) MemberReads(id catalog.ShardID, ns string, filter *filter.Filter) ([]Read, error) {
	if id == configShard && rq.env.config.holdsCollection(ns) {
		return rq.Reads(ns, filter)
	}
	l := rq.env.shards.collection(id, ns)
	if l == nil {
		return nil, nil
	}
	return []Read{rq.env.locator.capture(target{docs: l.docs, shard: rq.env.shards[id], local: l})}, nil
}

// OwnRead is the read of documents that a member shows and the cluster does not
// keep.
func (rq *Request) OwnRead(id catalog.ShardID, docs *store.Collection) Read {
	r := rq.env.locator.capture(target{docs: docs})
	r.Shard, r.Host = id, rq.env.addresses.HostOf(id)
	return r
}

// OnMember returns the counters of a collection on one shard, whether it owns
// chunks or not. It is false when the shard has no such collection.
func (st *Statistics) OnMember(id catalog.ShardID, ns string) (LocalStats, bool) {
	if id == configShard && st.config.holdsCollection(ns) {
		if stats := st.configCollection(ns); len(stats) > 0 {
			return stats[0], true
		}
		return LocalStats{}, false
	}
	return st.collectionOn(id, ns)
}

// MemberNamespaces lists the collections of one shard in order.
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

// MemberIndexes returns the indexes of a collection on one shard. It is false
// when the shard has no such collection.
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

// MemberOptions returns the UUID and the options of a collection on one shard, or
// on the config server. It is false when the member has no such collection.
func (st *Statistics) MemberOptions(id catalog.ShardID, ns string) (bson.Binary, bson.D, bool) {
	if id == configShard && st.config.holdsCollection(ns) {
		return st.config.uuid(ns), configOptions(ns), true
	}
	l := st.shards.collection(id, ns)
	switch {
	case l == nil: // one of the member's own
		return bson.Binary{}, configOptions(ns), false
	case l.options == nil:
		return l.uuid, bson.D{}, true
	}
	return l.uuid, l.options, true
}

// RangeDeletions counts the ranges that a shard has still to delete.
func (st *Statistics) RangeDeletions(id catalog.ShardID) int {
	if s := st.shards[id]; s != nil {
		return len(s.deletions)
	}
	return 0
}
