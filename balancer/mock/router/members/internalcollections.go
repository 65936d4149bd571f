package members

import (
	"crypto/sha256"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/policy"
)

// internalCollection is an internal collection of a member, in its databases local, config or admin. The mock
// stores no such documents: a read generates them from the state of the cluster.
type internalCollection struct {
	ns   string
	docs func(*call.Call) ([]bson.D, error)
	// maxBytes is the collection's maximum size in bytes; 0 for none.
	maxBytes int64
	// hasNoID collections have documents without _id, and no index.
	hasNoID bool
}

// noDocuments returns no documents. It is for a collection that a server creates at startup and that
// stays empty in the mock.
func noDocuments(*call.Call) ([]bson.D, error) { return nil, nil }

// internalCollections returns the internal collections of the member by namespace.
func internalCollections(c *call.Call) []internalCollection {
	own := slices.Concat(localCollections(), configAndAdminCollectionsOf(c.Node.Member.Shard))
	for _, ns := range cachedCollections(c) {
		if ns == policy.SessionsNamespace {
			continue // shards cache no routing table of it (recorded)
		}
		own = append(own, internalCollection{
			ns: chunksCachePrefix + ns, docs: func(c *call.Call) ([]bson.D, error) { return chunksCacheDocs(c, ns), nil },
		})
	}
	kept := c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard)
	own = slices.DeleteFunc(own, func(o internalCollection) bool { return slices.Contains(kept, o.ns) })
	slices.SortFunc(own, func(a, b internalCollection) int { return strings.Compare(a.ns, b.ns) })
	return own
}

// emptyOnMembers are collections of the config database that shards and the config server create at
// startup.
var emptyOnMembers = []string{
	"analyzeShardKeySplitPoints", "clusterParameters", "image_collection", "sampledQueries", "sampledQueriesDiff",
	"system.indexBuilds", "system.preimages", "system.sharding_ddl_coordinators", "transactions",
}

var emptyOnShards = []string{
	"collection_critical_sections", "localRenameParticipants", "localReshardingOperations.donor",
	"localReshardingOperations.recipient", "localReshardingOperations.recipient.progress_applier",
	"localReshardingResumeData.recipient", "migrationCoordinators", "migrationRecipients", "transaction_coordinators",
}

var emptyOnConfigServer = []string{"queryAnalyzers", "reshardingOperations", "sharding_configsvr_coordinators"}

// configAndAdminCollectionsOf returns the collections of the databases config and admin.
func configAndAdminCollectionsOf(id catalog.ShardID) []internalCollection {
	empty := slices.Concat(emptyOnMembers, emptyOnShards)
	if id == catalog.ConfigServerID {
		empty = slices.Concat(emptyOnMembers, emptyOnConfigServer)
	}
	own := []internalCollection{
		{ns: "admin.system.version", docs: systemVersion},
		{ns: "config.cache.collections", docs: collectionsCacheDocs},
		{ns: "config.cache.databases", docs: databasesCacheDocs},
		{ns: "config.rangeDeletions", docs: rangeDeletions},
		{ns: "config.vectorClock", docs: vectorClock},
	}
	for _, name := range empty {
		own = append(own, internalCollection{ns: "config." + name, docs: noDocuments})
	}
	return own
}

// internalCollectionOf finds an internal collection of the member.
func internalCollectionOf(c *call.Call, ns string) (internalCollection, bool) {
	if db := catalog.DatabaseOf(ns); db != "local" && db != "config" && db != "admin" {
		return internalCollection{}, false
	}
	all := internalCollections(c)
	i, found := slices.BinarySearchFunc(all, ns, func(o internalCollection, ns string) int {
		return strings.Compare(o.ns, ns)
	})
	if !found {
		return internalCollection{}, false
	}
	return all[i], true
}

// read generates the documents of the collection.
func (o internalCollection) read(c *call.Call) (*store.Collection, error) {
	docs, err := o.docs(c)
	if err != nil {
		return nil, err
	}
	coll := store.New()
	if o.hasNoID {
		coll = store.NewLog()
	}
	coll.Namespace = o.ns
	for _, doc := range docs {
		raw, err := document.Encode(doc)
		if err != nil {
			return nil, err
		}
		if _, err := coll.Insert(raw); err != nil {
			return nil, err
		}
	}
	return coll, nil
}

// stats returns the counters of the collection.
func (o internalCollection) stats(c *call.Call) (mock.LocalStats, error) {
	docs, err := o.read(c)
	if err != nil {
		return mock.LocalStats{}, err
	}
	s := mock.LocalStats{
		Shard: c.Node.Member.Shard, Host: c.Node.Member.Address, Docs: docs.Count(), Bytes: docs.Bytes(),
		Capped: o.maxBytes > 0, MaxBytes: o.maxBytes,
	}
	for _, spec := range docs.Indexes() {
		s.Indexes = append(s.Indexes, spec.Name)
	}
	return s, nil
}

// info returns the collection's entry of listCollections.
func (o internalCollection) info(c *call.Call) mock.CollectionInfo {
	_, name, _ := strings.Cut(o.ns, ".")
	_, options, _ := c.Cluster.Statistics().MemberOptions(c.Node.Member.Shard, o.ns)
	if o.maxBytes > 0 {
		options = bson.D{{Key: "capped", Value: true}, {Key: "size", Value: o.maxBytes}}
	}
	return mock.CollectionInfo{Name: name, UUID: memberUUID(c, "collection", o.ns), Options: options}
}

// memberUUID returns a stable UUID for an object of this member.
func memberUUID(c *call.Call, parts ...string) bson.Binary {
	cluster := clusterID(c)
	text := string(cluster[:]) + string(c.Node.Member.Shard) + "\x00" + strings.Join(parts, "\x00")
	sum := sha256.Sum256([]byte(text))
	return ids.UUID([16]byte(sum[:]))
}

// clusterID returns the cluster id in config.version.
func clusterID(c *call.Call) bson.ObjectID {
	for _, doc := range c.Cluster.ConfigDB().Collection("version").Scan() {
		id, _ := doc.Lookup("clusterId").ObjectIDOK()
		return id
	}
	return bson.ObjectID{}
}

// systemVersion returns the documents of admin.system.version: the shard's identity, and the member's
// feature compatibility version.
func systemVersion(c *call.Call) ([]bson.D, error) {
	var docs []bson.D
	if raw := c.Cluster.ClusterParameters().FCVDocument(); raw != nil {
		var doc bson.D
		if err := bson.Unmarshal(raw, &doc); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	if m := c.Node.Member; m.Shard != catalog.ConfigServerID {
		docs = append(docs, bson.D{
			{Key: "_id", Value: "shardIdentity"}, {Key: "shardName", Value: string(m.Shard)},
			{Key: "clusterId", Value: clusterID(c)},
			{Key: "configsvrConnectionString", Value: c.Cluster.Addresses().ConfigServer()},
		})
	}
	return docs, nil
}

func vectorClock(c *call.Call) ([]bson.D, error) {
	return []bson.D{{
		{Key: "_id", Value: "vectorClockState"}, {Key: "configTime", Value: c.Cluster.IDs().ClusterTime()},
		{Key: "topologyTime", Value: c.Cluster.ConfigDB().TopologyTime()},
	}}, nil
}
