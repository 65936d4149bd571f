package mock

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mongoerr"
)

// Collections of the config database (rules/03-catalog-and-keys §3). Their documents are authoritative,
// except for config.chunks, which is a view of the routing tables.
const (
	configShards      = "shards"
	configDatabases   = "databases"
	configCollections = "collections"
	configChunks      = "chunks"
	configTags        = "tags"
	configSettings    = "settings"
	configChangelog   = "changelog"
	configActionlog   = "actionlog"
	configPlacement   = "placementHistory"
	configVersion     = "version"
	configMongos      = "mongos"

	chunksNamespace = "config." + configChunks
	// Every step of every migration uses these, so they are not concatenated at run time.
	shardsNamespace      = "config." + configShards
	collectionsNamespace = "config." + configCollections
	tagsNamespace        = "config." + configTags
)

// ConfigDB is the data of the config server: the authoritative collections of its databases, the routing
// tables behind config.chunks, and caches of parsed documents.
type ConfigDB struct {
	*clusterSettings
	clock *clock.Clock
	ids   *ids.Source

	fcv fcvRecord
	// collections holds the collections by namespace. existingCollection returns one after it has
	// flushed its pendingLogs.
	collections map[string]*store.Collection
	pendingLogs pendingLogs
	// tables holds the routing tables by namespace; see Table and setTable.
	tables  map[string]*catalog.Draft
	entries entryCache
	// migrationsForbiddenSince holds the collection version at which migrations were disallowed. Shards
	// see the change only with a later version.
	migrationsForbiddenSince map[string]catalog.Version
}

// newConfigDB returns an empty ConfigDB.
func newConfigDB(k *clock.Clock, i *ids.Source, s *clusterSettings) *ConfigDB {
	c := &ConfigDB{
		clusterSettings: s, clock: k, ids: i,
		collections: map[string]*store.Collection{}, pendingLogs: pendingLogs{},
		tables:                   map[string]*catalog.Draft{},
		migrationsForbiddenSince: map[string]catalog.Version{},
	}
	c.fcv.collection = func() *store.Collection { return c.ensureCollection(fcvNamespace) }
	return c
}

// ConfigDB returns the data of the config server.
func (c *Cluster) ConfigDB() *ConfigDB { return c.config }

// onConfigServer reports whether the config server stores a database.
func onConfigServer(db string) bool { return db == "config" || db == "admin" }

// newStoreCollection returns an empty collection. Its duplicate key errors contain ns.
func newStoreCollection(l expr.Language, ns string) *store.Collection {
	docs := store.New()
	docs.Namespace, docs.Language = ns, l
	return docs
}

// ensureCollection returns a collection of the config server and creates it if it does not exist.
// config.chunks is not such a collection, because it is generated from the routing tables.
func (c *ConfigDB) ensureCollection(ns string) *store.Collection {
	coll := c.existingCollection(ns)
	if coll == nil {
		coll = newStoreCollection(expr.Language{}, ns)
		c.collections[ns] = coll
	}
	return coll
}

// Collection returns a collection of the config database and creates it if it does not exist.
func (c *ConfigDB) Collection(name string) *store.Collection {
	if coll := c.collections["config."+name]; coll != nil && name != configChangelog && name != configActionlog {
		return coll
	}
	return c.ensureCollection("config." + name)
}

// existingCollection returns a collection of the config server, nil if it does not exist.
func (c *ConfigDB) existingCollection(ns string) *store.Collection {
	c.pendingLogs.flush(ns, c.collections[ns], c.logger)
	return c.collections[ns]
}

// DatabaseEntryWrites returns the number of changes of config.databases.
func (c *ConfigDB) DatabaseEntryWrites() uint64 { return c.Collection(configDatabases).Writes() }

// namespaces returns the sorted namespaces of a database on the config server.
func (c *ConfigDB) namespaces(db string) []string {
	var list []string
	if db == "config" {
		list = append(list, chunksNamespace)
	}
	for ns := range c.collections {
		if strings.HasPrefix(ns, db+".") {
			list = append(list, ns)
		}
	}
	slices.Sort(list)
	return list
}

// uuid returns the UUID of a collection on the config server. It is derived from the cluster id and the
// namespace.
func (c *ConfigDB) uuid(ns string) bson.Binary {
	var cluster bson.ObjectID
	for _, doc := range c.Collection(configVersion).Scan() {
		cluster, _ = doc.Lookup("clusterId").ObjectIDOK()
	}
	sum := sha256.Sum256(append(cluster[:], ns...))
	return ids.UUID([16]byte(sum[:]))
}

func textValue(s string) bson.RawValue {
	return bson.RawValue{Type: bson.TypeString, Value: bsoncore.AppendString(nil, s)}
}

// doc reads a config document by its string _id.
func (c *ConfigDB) doc(collection, id string) (bson.Raw, bool) {
	coll := c.collections["config."+collection]
	if coll == nil {
		return nil, false
	}
	_, doc, ok := coll.FindByID(textValue(id))
	return doc, ok
}

// insert adds a document whose first field is _id.
func (c *ConfigDB) insert(collection string, doc bson.D) error {
	raw, err := document.Encode(doc)
	if err != nil {
		return err
	}
	_, err = c.Collection(collection).Insert(raw)
	return err
}

// modify changes a config document. It returns false if the document does not exist.
func (c *ConfigDB) modify(collection, id string, change func(*bson.D)) (bool, error) {
	coll := c.Collection(collection)
	record, raw, ok := coll.FindByID(textValue(id))
	if !ok {
		return false, nil
	}
	var doc bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return true, err
	}
	change(&doc)
	changed, err := document.Encode(doc)
	if err != nil {
		return true, err
	}
	return true, coll.Update(record, changed)
}

func (c *ConfigDB) remove(collection, id string) bool {
	record, _, ok := c.Collection(collection).FindByID(textValue(id))
	return ok && c.Collection(collection).Delete(record)
}

// setDocField sets a field of a document in place, or appends it.
func setDocField(doc *bson.D, name string, value any) {
	for i := range *doc {
		if (*doc)[i].Key == name {
			(*doc)[i].Value = value
			return
		}
	}
	*doc = append(*doc, bson.E{Key: name, Value: value})
}

func unsetDocField(doc *bson.D, name string) {
	*doc = slices.DeleteFunc(*doc, func(e bson.E) bool { return e.Key == name })
}

// setSetting upserts fields of a config.settings document. New fields are appended in lexicographic
// order (rules/03-catalog-and-keys §3.6).
func (c *ConfigDB) setSetting(id string, fields bson.D) error {
	slices.SortFunc(fields, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
	found, err := c.modify(configSettings, id, func(doc *bson.D) {
		for _, f := range fields {
			setDocField(doc, f.Key, f.Value)
		}
	})
	if found || err != nil {
		return err
	}
	return c.insert(configSettings, append(bson.D{{Key: "_id", Value: id}}, fields...))
}

// Shards returns the shards in config.shards sorted by id.
func (c *ConfigDB) Shards() ([]catalog.Shard, error) {
	shards, err := c.shardList()
	return slices.Clone(shards), err
}

// FindShard returns a shard by _id, connection string or member host (rules/03-commands §0.6).
func (c *ConfigDB) FindShard(name string) (catalog.Shard, error) {
	shards, err := c.shardList()
	if err != nil {
		return catalog.Shard{}, err
	}
	for _, s := range shards {
		if string(s.ID) == name || s.Host == name || hasMember(s.Host, name) {
			return s, nil
		}
	}
	return catalog.Shard{}, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", name)
}

// ShardByID returns a shard by _id.
func (c *ConfigDB) ShardByID(id string) (catalog.Shard, error) {
	if shards, err := c.shardList(); err == nil {
		i, found := slices.BinarySearchFunc(shards, id,
			func(s catalog.Shard, id string) int { return strings.Compare(string(s.ID), id) })
		if found {
			return shards[i], nil
		}
	}
	// The shard does not exist, or config.shards has an invalid document. In the latter case this one
	// may be valid.
	raw, ok := c.doc(configShards, id)
	if !ok {
		return catalog.Shard{}, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", id)
	}
	return catalog.ParseShard(raw)
}

// TrackedEntry returns a collection's entry in config.collections. A tracked collection has a routing table.
func (c *ConfigDB) TrackedEntry(ns string) (catalog.Collection, bool, error) {
	if c.tables[ns] == nil {
		return catalog.Collection{}, false, nil
	}
	coll, ok, err := c.collectionEntry(ns)
	return coll, ok && err == nil, err
}

// RequireSharded returns a sharded collection's entry. It fails with the routing errors of rules/03-commands
// §0.7: 26 for an unknown database, 118 for an unsharded collection.
func (c *ConfigDB) RequireSharded(ns string) (catalog.Collection, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return catalog.Collection{}, err
	}
	coll, ok, err := c.TrackedEntry(ns)
	if err != nil {
		return catalog.Collection{}, err
	}
	if ok && !coll.Unsplittable {
		return coll, nil
	}
	if _, known := c.doc(configDatabases, db); !known && !onConfigServer(db) {
		return catalog.Collection{}, mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	return catalog.Collection{}, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
}

// ShardedEntry returns the entry of a collection, and false if the collection is not sharded.
func (c *ConfigDB) ShardedEntry(ns string) (catalog.Collection, bool, error) {
	coll, ok, err := c.TrackedEntry(ns)
	return coll, ok && !coll.Unsplittable, err
}

// CheckSettings implements the validator of config.settings (rules/01-rounds-and-settings §2.2). There
// is none up to 5.0. Up to 7.0 it accepts any document for the balancer.
func (c *ConfigDB) CheckSettings(doc bson.Raw) error {
	balancerDoc := isValidBalancerDoc
	switch {
	case !c.release.FCVAtLeast(catalog.Release60):
		return nil
	case !c.release.FCVAtLeast(catalog.Release80):
		balancerDoc = acceptAny
	case c.installed.configRelease().ReadsDayWindows():
		balancerDoc = func(doc bson.Raw) bool { return isValidBalancerDoc(withoutField(doc, "activeWindowDOW")) }
	}
	id, _ := doc.Lookup("_id").StringValueOK()
	check, ok := map[string]func(bson.Raw) bool{
		"balancer":                 balancerDoc,
		"chunksize":                isValidChunkSizeDoc,
		"automerge":                acceptAny,
		"ReadWriteConcernDefaults": acceptAny,
		"audit":                    acceptAny,
	}[id]
	if ok && check(doc) {
		return nil
	}
	return mongoerr.New(mongoerr.DocumentValidationFailure, "Document failed validation")
}

func acceptAny(bson.Raw) bool { return true }

// withoutField returns a document without one field.
func withoutField(doc bson.Raw, name string) bson.Raw {
	var fields bson.D
	if err := bson.Unmarshal(doc, &fields); err != nil {
		return doc
	}
	unsetDocField(&fields, name)
	short, err := bson.Marshal(fields)
	if err != nil {
		return doc
	}
	return short
}

func isValidBalancerDoc(doc bson.Raw) bool {
	elems, err := doc.Elements()
	if err != nil {
		return false
	}
	for _, e := range elems {
		v := e.Value()
		var ok bool
		switch e.Key() {
		case "_id":
			ok = true
		case "mode":
			text, _ := v.StringValueOK()
			ok = text == "full" || text == "off"
		case "stopped", "_waitForDelete", "attemptToBalanceJumboChunks":
			ok = v.Type == bson.TypeBoolean
		case "_secondaryThrottle":
			ok = v.Type == bson.TypeBoolean || v.Type == bson.TypeEmbeddedDocument
		case "activeWindow":
			window, isDoc := v.DocumentOK()
			ok = isDoc && !window.Lookup("start").IsZero() && !window.Lookup("stop").IsZero()
		}
		if !ok {
			return false
		}
	}
	return true
}

func isValidChunkSizeDoc(doc bson.Raw) bool {
	elems, err := doc.Elements()
	if err != nil {
		return false
	}
	for _, e := range elems {
		switch e.Key() {
		case "_id":
		case "value":
			n, ok := e.Value().AsFloat64OK()
			if !ok || n < 1 || n > 1024 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
