package members

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/collections"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/store/document"
)

// Commands that list the databases and collections on a member and their sizes.

// memberNamespaces returns the collections of a database on the member, including the member's internal
// collections. An empty db selects all databases.
func memberNamespaces(c *call.Call, db string) []string {
	list := c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard)
	for _, o := range internalCollections(c) {
		list = append(list, o.ns)
	}
	if db == "" {
		return list
	}
	var of []string
	for _, ns := range list {
		if strings.HasPrefix(ns, db+".") {
			of = append(of, ns)
		}
	}
	return of
}

// memberStats returns the counters of a collection on the member. It returns false if the collection
// does not exist.
func memberStats(c *call.Call, ns string) (mock.LocalStats, bool) {
	if o, isOwn := internalCollectionOf(c, ns); isOwn {
		s, err := o.stats(c)
		return s, err == nil
	}
	return c.Cluster.Statistics().MemberCollection(c.Node.Member.Shard, ns)
}

// memberDatabases lists the databases that have collections on the member.
func memberDatabases(c *call.Call) (bson.D, error) {
	sizes := map[string]int64{}
	for _, ns := range memberNamespaces(c, "") {
		db := catalog.DatabaseOf(ns)
		s, _ := memberStats(c, ns)
		sizes[db] += s.StoredBytes() + s.IndexBytes()
	}
	entries, shows := bson.D{}, collections.DatabaseFilter(c)
	for db, size := range sizes {
		if shows(db) {
			entries = append(entries, bson.E{Key: db, Value: size})
		}
	}
	call.SortFields(entries)
	var list []collections.ListedDatabase
	for _, e := range entries {
		list = append(list, collections.ListedDatabase{Bytes: e.Value.(int64), Doc: bson.D{{Key: "name", Value: e.Key},
			{Key: "sizeOnDisk", Value: e.Value}, {Key: "empty", Value: false}}})
	}
	return collections.ListDatabasesReply(c, list)
}

func memberCollections(c *call.Call) (bson.D, error) {
	var infos []mock.CollectionInfo
	for _, ns := range c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard) {
		name, ok := strings.CutPrefix(ns, c.DB+".")
		if !ok {
			continue
		}
		uuid, options, _ := c.Cluster.Statistics().MemberOptions(c.Node.Member.Shard, ns)
		infos = append(infos, mock.CollectionInfo{Name: name, UUID: uuid, Options: options})
	}
	for _, o := range internalCollections(c) {
		if strings.HasPrefix(o.ns, c.DB+".") {
			infos = append(infos, o.info(c))
		}
	}
	return collections.ListCollectionsReply(c, infos)
}

func memberStatisticsHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"collStats": memberCollStats,
		"dbStats":   memberDBStats,
		"top":       top,
	}
}

// memberCollStats returns the statistics of a collection on the member. A collection that does not exist
// is reported as empty.
func memberCollStats(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	scale, err := collections.ScaleOf(c.Body.Lookup("scale"))
	if err != nil {
		return nil, err
	}
	reply := bson.D{{Key: "ns", Value: ns}}
	s, found := memberStats(c, ns)
	if found {
		return append(reply, collections.StorageDoc(s, scale)...), nil
	}
	return append(reply, collections.MissingStorageDoc(scale)...), nil
}

func memberDBStats(c *call.Call) (bson.D, error) {
	scale, err := collections.DatabaseScale(c)
	if err != nil {
		return nil, err
	}
	var total collections.DatabaseTotals
	for _, ns := range memberNamespaces(c, c.DB) {
		s, _ := memberStats(c, ns)
		total.Add(s)
	}
	total.SetVolume(c, c.Node.Member.Shard)
	long := func(n int64) any { return n }
	return append(bson.D{{Key: "db", Value: c.DB}}, total.Doc(scale, long, c.Args.Bool("freeStorage"))...), nil
}

// top returns the times of each collection's operations. The mock's members do not measure them.
func top(c *call.Call) (bson.D, error) {
	totals := bson.D{{Key: "note", Value: "all times in microseconds"}}
	usage := bson.D{}
	for _, kind := range []string{"total", "readLock", "writeLock", "queries", "getmore", "insert", "update", "remove",
		"commands"} {
		usage = append(usage, bson.E{Key: kind, Value: call.ZeroLongs("time", "count")})
	}
	for _, ns := range memberNamespaces(c, "") {
		totals = append(totals, bson.E{Key: ns, Value: usage})
	}
	return bson.D{{Key: "totals", Value: totals}}, nil
}

// memberCount counts documents. Without a query it uses the collection's counter, which includes
// orphans.
func memberCount(c *call.Call) (bson.D, error) {
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) { return c.ReadQuery("query") })
	if err != nil {
		return nil, err
	}
	if query, _ := c.Document("query"); document.IsEmpty(query) && q.Skip == 0 && q.Limit == 0 {
		n := int64(0)
		for _, part := range reads.Stats(c, q.NS) {
			n += part.Docs
		}
		return bson.D{{Key: "n", Value: document.SmallestInt(n)}}, nil
	}
	return reads.CountMatching(c, q)
}
