package mock

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// ShardRequest are the options of shardCollection (rules/03-commands §1.4).
type ShardRequest struct {
	Namespace string
	Key       bson.Raw
	Unique    bool
	// NoIndex forbids creating the required index.
	NoIndex bool
	// AcceptNonUnique accepts an existing index that is not unique.
	AcceptNonUnique bool
	// PresplitZones creates one chunk for each shard of each zone.
	PresplitZones bool
	// OtherCollation reports whether a collation other than the simple one was requested.
	OtherCollation bool
	// TimeSeries are the options of a time series, which the mock rejects; nil for none.
	TimeSeries bson.Raw
	// UUID is the collection UUID that the caller expects; nil accepts any.
	UUID []byte
}

// ShardCollection shards a collection: the checks in the server's order, the index, the initial chunks,
// and the catalog entry.
func (rq *Request) ShardCollection(req ShardRequest) error {
	db, coll, err := catalog.SplitNamespace(req.Namespace)
	if err != nil {
		return err
	}
	if !onConfigServer(db) {
		if err := rq.env.databases.checkPartitioned(db); err != nil {
			return err
		}
		if err := rq.CreateDatabase(db, ""); err != nil {
			return err
		}
	}
	pattern, err := catalog.ParseKeyPattern(req.Key)
	if err != nil {
		return err
	}
	if onConfigServer(db) && req.Namespace != policy.SessionsNamespace || strings.HasPrefix(coll, "system.") &&
		!onConfigServer(db) {
		return mongoerr.New(mongoerr.IllegalOperation, "can't shard %s: it is a system namespace", req.Namespace)
	}
	if req.Unique && pattern.HashedField() >= 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "Hashed shard keys cannot be declared unique.")
	}
	if len(req.Namespace) > catalog.MaxShardedNamespaceBytes {
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d",
			req.Namespace, catalog.MaxShardedNamespaceBytes)
	}
	if err := rq.env.collections.checkNotView(req.Namespace); err != nil {
		return err
	}
	if err := rq.env.collections.CheckUUID(req.Namespace, req.UUID); err != nil {
		return err
	}
	if req.TimeSeries != nil {
		return refuseTimeSeries(req.TimeSeries, pattern)
	}
	if req.Namespace == policy.SessionsNamespace {
		if err := rq.env.collections.CreateSessionsCollection(); err != nil {
			return err
		}
	}
	existing, sharded, err := rq.env.config.ShardedEntry(req.Namespace)
	if err != nil {
		return err
	}
	if sharded {
		if existing.Pattern.Equal(pattern) && existing.Unique == req.Unique {
			return nil
		}
		return errAlreadySharded(existing, pattern)
	}
	return rq.env.collections.shardUnsharded(req, pattern)
}

// errAlreadySharded returns the server's error for a sharded collection that is to be sharded with other
// options.
func errAlreadySharded(existing catalog.Collection, asked catalog.KeyPattern) error {
	if existing.Pattern.Equal(asked) {
		return mongoerr.New(mongoerr.AlreadyInitialized,
			"collection %s is already sharded with other options", existing.Namespace)
	}
	return mongoerr.New(mongoerr.AlreadyInitialized,
		"Collection '%s' already exists with a differnt shard key. "+ //nolint:misspell // as servers spell it
			"Requested %s but found %s", existing.Namespace, asked.Doc(), existing.Pattern.Doc())
}

// refuseTimeSeries rejects a time series: with the server's error if the key is not on the time field
// and the meta field, else as unsupported by the mock.
func refuseTimeSeries(options bson.Raw, key catalog.KeyPattern) error {
	at, _ := options.Lookup("timeField").StringValueOK()
	meta, hasMeta := options.Lookup("metaField").StringValueOK()
	fields := key.Fields()
	for i, field := range fields {
		switch {
		case field == at && i < len(fields)-1:
			return mongoerr.New(5914000, "the time field '%s' can be only at the end of the shard key pattern", at)
		case field != at && !(hasMeta && (field == meta || strings.HasPrefix(field, meta+"."))):
			return mongoerr.New(5914001, "only the time field or meta field can be part of shard key pattern")
		}
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock has no time-series collections")
}

// CheckUUID checks the UUID of a collection; a nil uuid accepts any. The error names the collection of the
// database that has the UUID, if there is one.
func (c *Collections) CheckUUID(ns string, uuid []byte) error {
	db, name, err := catalog.SplitNamespace(ns)
	if err != nil || uuid == nil {
		return err
	}
	var actual any
	for _, info := range c.stats.Collections(db) {
		if bytes.Equal(info.UUID.Data, uuid) {
			if info.Name == name {
				return nil
			}
			actual = info.Name
		}
	}
	mismatch := mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified")
	mismatch.Extra = bson.D{
		{Key: "db", Value: db},
		{Key: "collectionUUID", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: uuid}},
		{Key: "expectedCollection", Value: name}, {Key: "actualCollection", Value: actual},
	}
	return mismatch
}

// shardUnsharded shards an unsharded collection. If it fails, it leaves nothing behind.
func (c *Collections) shardUnsharded(req ShardRequest, pattern catalog.KeyPattern) error {
	db, _, _ := catalog.SplitNamespace(req.Namespace)
	primary, _ := c.config.Primary(db)
	if table := c.config.Table(req.Namespace); table != nil {
		primary = table.At(0).Shard // already tracked, on the shard to which it was moved
	}
	existed := c.shards[primary].colls[req.Namespace] != nil
	local := c.shards[primary].colls[req.Namespace]
	if local == nil {
		local = c.ensureOnPrimary(req.Namespace, nil)
	}
	err := c.shardLocal(req, pattern, primary, local)
	if err != nil && !existed {
		delete(c.shards[primary].colls, req.Namespace)
	}
	return err
}

func (c *Collections) shardLocal(req ShardRequest, pattern catalog.KeyPattern, primary catalog.ShardID,
	local *localCollection) error {
	served, err := checkLocal(req, pattern, local)
	if err != nil {
		return err
	}
	zones, err := c.zones.rangesForSharding(req.Namespace, pattern)
	if err != nil {
		return err
	}
	docs, _ := local.counts()
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	if req.PresplitZones {
		if err := checkPresplit(pattern, zones, docs == 0); err != nil {
			return err
		}
	}
	table, err := c.initialTable(pattern, zones, epoch, at, primary, docs == 0, req.PresplitZones)
	if err != nil {
		return err
	}
	if !served {
		if err := local.makeKeyIndex(pattern, req.Unique); err != nil {
			return err
		}
		c.changes.noteIndexes(ChangeCreateIndexes, req.Namespace, []store.IndexSpec{keyIndexSpec(pattern, req.Unique)})
	}
	c.log.writeChange(primary, "shardCollection.start", req.Namespace,
		shardingStartDetails(req.Namespace, pattern, primary))
	if err := c.config.writeCollectionEntry(req, pattern, local.uuid, epoch, at); err != nil {
		return err
	}
	c.config.setTable(req.Namespace, table)
	c.createOnOwners(req.Namespace, local, table)
	c.log.writePlacement(req.Namespace, &local.uuid, at, table.Owners())
	c.log.writeChange(primary, "shardCollection.end", req.Namespace, shardingEndDetails(local.uuid, table, docs == 0))
	c.changes.note(Change{Kind: ChangeShardCollection, Namespace: req.Namespace, Operation: bson.D{
		{Key: "shardKey", Value: pattern.Doc()}, {Key: "unique", Value: req.Unique},
		{Key: "presplitHashedZones", Value: req.PresplitZones}, {Key: "capped", Value: false}}})
	return nil
}

// shardingStartDetails returns the change log details for the start of sharding or tracking a
// collection.
func shardingStartDetails(ns string, pattern catalog.KeyPattern, primary catalog.ShardID) bson.D {
	return bson.D{
		{Key: "shardKey", Value: pattern.Doc()},
		{Key: "collection", Value: ns},
		{Key: "primary", Value: string(primary)},
	}
}

// shardingEndDetails returns the change log details for the end of sharding a collection.
func shardingEndDetails(uuid bson.Binary, table *catalog.RoutingTable, empty bool) bson.D {
	newest, at := table.At(table.Len()-1).Version, table.Timestamp()
	return bson.D{
		{Key: "uuid", Value: uuid},
		{Key: "placementVersion", Value: fmt.Sprintf("||%s||%s||Timestamp(%d, %d)", newest, table.Epoch().Hex(), at.T, at.I)},
		{Key: "empty", Value: empty},
		{Key: "numChunks", Value: int32(table.Len())},
	}
}

// checkLocal checks the existing collection and its indexes. served reports whether an index serves the
// shard key.
func checkLocal(req ShardRequest, pattern catalog.KeyPattern, local *localCollection) (served bool, err error) {
	if local.maxBytes > 0 {
		return false, mongoerr.New(mongoerr.InvalidOptions, "can't shard a capped collection")
	}
	if req.OtherCollation {
		return false, mongoerr.New(mongoerr.BadValue, "the collation for shardCollection must be {locale: 'simple'}")
	}
	if err := checkUniqueIndexes(local, req.Namespace, pattern); err != nil {
		return false, err
	}
	return checkKeyIndex(req, pattern, local)
}

// checkUniqueIndexes checks that all unique indexes can be enforced: documents with equal values must be
// on the same shard.
func checkUniqueIndexes(local *localCollection, ns string, pattern catalog.KeyPattern) error {
	for _, spec := range local.docs.Indexes() {
		prepared, _ := spec.Options.Lookup("prepareUnique").BooleanOK()
		if (spec.Unique || prepared) && !canKeepUnique(spec.Key, pattern) {
			return mongoerr.New(mongoerr.InvalidOptions, "can't shard collection '%s' with unique index on %s and proposed "+
				"shard key %s. Uniqueness can't be maintained unless shard key is a prefix", ns, spec.Key, pattern.Doc())
		}
	}
	return nil
}

// canKeepUnique reports whether a unique index is allowed with a shard key: it begins with the fields of
// the key, in order and with any values, or with _id, whose uniqueness across shards is not guaranteed.
func canKeepUnique(index bson.Raw, pattern catalog.KeyPattern) bool {
	return catalog.FieldNames(index)[0] == "_id" || hasKeyPrefix(index, pattern)
}

// checkKeyIndex checks that an index serves the shard key, or that it can be created. A unique shard key
// requires a unique index on exactly the key.
func checkKeyIndex(req ShardRequest, pattern catalog.KeyPattern, local *localCollection) (served bool, err error) {
	_, served = local.shardingIndex(pattern)
	if served && req.Unique && !req.AcceptNonUnique {
		var exact store.IndexSpec
		if exact, served = exactIndex(local.docs, pattern); served && !exact.Unique && pattern.Fields()[0] != "_id" {
			return false, mongoerr.New(mongoerr.InvalidOptions, "can't shard %s uniquely: index %s is not unique", req.Namespace,
				exact.Name)
		}
	}
	if served {
		return true, nil
	}
	if req.NoIndex {
		return false, mongoerr.New(mongoerr.NoIndexAndNotImplicit,
			"Must have an index compatible with the proposed shard key")
	}
	if docs, _ := local.counts(); docs > 0 {
		return false, noKeyIndexError(local.docs, pattern, "sharding the collection")
	}
	return false, nil
}

// exactIndex returns the index on exactly the shard key.
func exactIndex(docs *store.Collection, pattern catalog.KeyPattern) (store.IndexSpec, bool) {
	for _, spec := range docs.Indexes() {
		if len(catalog.FieldNames(spec.Key)) == pattern.Len() && docs.IndexServes(pattern.Doc(), spec.Name) {
			return spec, true
		}
	}
	return store.IndexSpec{}, false
}

// makeKeyIndex creates the index of a shard key.
func (l *localCollection) makeKeyIndex(pattern catalog.KeyPattern, unique bool) error {
	if err := l.docs.CreateIndex(keyIndexSpec(pattern, unique)); err != nil {
		return err
	}
	if _, ok := l.shardKeyIndex(pattern); !ok { // a hidden index exists
		return mongoerr.New(mongoerr.InvalidOptions, "Index %s cannot be used for sharding because it is hidden",
			indexName(pattern))
	}
	return nil
}

func keyIndexSpec(pattern catalog.KeyPattern, unique bool) store.IndexSpec {
	return store.IndexSpec{Name: indexName(pattern), Key: pattern.Doc(), Unique: unique}
}

// indexName joins fields and values, such as a_1_b_hashed.
func indexName(pattern catalog.KeyPattern) string {
	elems, _ := pattern.Doc().Elements()
	parts := make([]string, 0, 2*len(elems))
	for _, e := range elems {
		value := "1"
		if text, ok := e.Value().StringValueOK(); ok {
			value = text
		}
		parts = append(parts, e.Key(), value)
	}
	return strings.Join(parts, "_")
}

// writeCollectionEntry writes the collection's document in config.collections.
func (c *ConfigDB) writeCollectionEntry(
	req ShardRequest,
	pattern catalog.KeyPattern,
	uuid bson.Binary,
	epoch bson.ObjectID,
	at bson.Timestamp,
) error {
	c.remove(configCollections, req.Namespace)
	entry := c.newCollectionEntry(req.Namespace, uuid, pattern.Doc(), req.Unique)
	c.setEntryVersion(&entry, epoch, at)
	return c.insert(configCollections, entry)
}

// createOnOwners creates the collection with its indexes on every shard that owns chunks.
func (c *Collections) createOnOwners(ns string, like *localCollection, table *catalog.RoutingTable) {
	for _, id := range table.Owners() {
		s := c.shards[id]
		if l := s.colls[ns]; l != nil && l.uuid.Equal(like.uuid) {
			continue
		}
		s.colls[ns] = c.emptyLike(ns, like, id)
	}
}

// emptyLike returns an empty collection for a shard, with the indexes that the collection has on other
// shards.
func (c *Collections) emptyLike(ns string, like *localCollection, id catalog.ShardID) *localCollection {
	l := newLocal(like.docs.Language, like.uuid, like.options, ns)
	for _, spec := range like.docs.Indexes() {
		if spec.Name == "_id_" {
			continue
		}
		if err := l.docs.CreateIndex(spec); err != nil {
			c.logger.Warn("index not made", "ns", ns, "shard", id, "index", spec.Name, "error", err)
		}
	}
	return l
}

const (
	// sessionsInterval is how often the config server checks the sessions collection
	// (logicalSessionRefreshMillis).
	sessionsInterval = 5 * time.Minute
	// sessionsChunkBytes is the chunk size of the sessions collection since balancing by size
	// (SERVER-66078).
	sessionsChunkBytes = 200_000
	// sessionsTTLSeconds is the number of seconds after which an unused session is deleted.
	sessionsTTLSeconds = 1800
)

// holdsCollection reports whether the config server stores a collection. Of its databases, only the
// sessions collection is on shards.
func (c *ConfigDB) holdsCollection(ns string) bool {
	return onConfigServer(catalog.DatabaseOf(ns)) && c.tables[ns] == nil && !strings.Contains(ns, "$")
}

// ensureSessionsCollection creates the sessions collection as soon as there is a shard for it. It reports whether
// to try again.
func (c *Collections) ensureSessionsCollection() (again bool) {
	if err := c.CreateSessionsCollection(); err != nil {
		c.logger.Warn("config.system.sessions not made", "error", err)
	}
	return c.config.tables[policy.SessionsNamespace] == nil && c.release.HasSessionsCollection()
}

// CreateSessionsCollection creates the sessions collection, sharded by _id, with one chunk on the first shard. It
// does nothing if the collection exists.
func (c *Collections) CreateSessionsCollection() error {
	ids := slices.DeleteFunc(c.shards.ids(), func(id catalog.ShardID) bool {
		s, err := c.config.ShardByID(string(id))
		return err != nil || s.Draining
	})
	if c.config.tables[policy.SessionsNamespace] != nil || len(ids) == 0 || !c.release.HasSessionsCollection() {
		return nil
	}
	pattern, err := idKeyPattern()
	if err != nil {
		return err
	}
	local := newLocal(LanguageOf(c.release), c.ids.NewUUID(), nil, policy.SessionsNamespace)
	ttl, err := bson.Marshal(bson.D{{Key: "expireAfterSeconds", Value: int32(sessionsTTLSeconds)}})
	if err != nil {
		return err
	}
	index := configIndex("lsidTTLIndex", false, "lastUse")
	index.Options = ttl
	if err := local.docs.CreateIndex(index); err != nil {
		return err
	}
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	table, err := c.config.newTable(pattern, []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(),
		Shard: ids[0]}}, epoch, at)
	if err != nil {
		return err
	}
	c.log.writeChange(ids[0], "shardCollection.start", policy.SessionsNamespace,
		shardingStartDetails(policy.SessionsNamespace, pattern, ids[0]))
	if err := c.config.writeCollectionEntry(ShardRequest{Namespace: policy.SessionsNamespace}, pattern, local.uuid, epoch,
		at); err != nil {
		return err
	}
	if c.release.BalancesBySize() {
		if _, err := c.config.modify(configCollections, policy.SessionsNamespace,
			func(doc *bson.D) { setDocField(doc, "maxChunkSizeBytes", int64(sessionsChunkBytes)) }); err != nil {
			return err
		}
	}
	c.shards[ids[0]].colls[policy.SessionsNamespace] = local
	c.config.setTable(policy.SessionsNamespace, table)
	c.log.writePlacement(policy.SessionsNamespace, &local.uuid, at, table.Owners())
	c.log.writeChange(ids[0], "shardCollection.end", policy.SessionsNamespace, shardingEndDetails(local.uuid, table, true))
	return nil
}
