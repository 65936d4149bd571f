package collections

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// clusterCatalogOptions are the options of $listClusterCatalog.
type clusterCatalogOptions struct{ shards, balancing, tracked bool }

func readClusterCatalogOptions(spec bson.RawValue) (clusterCatalogOptions, error) {
	var o clusterCatalogOptions
	doc, isDoc := spec.DocumentOK()
	if !isDoc {
		return o, mongoerr.New(mongoerr.ClusterCatalogSpecNotObject,
			"The $listClusterCatalog stage specification must be an object. Found: %s", args.TypeName(spec.Type))
	}
	elems, err := doc.Elements()
	if err != nil {
		return o, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	options := map[string]*bool{"shards": &o.shards, "balancingConfiguration": &o.balancing, "tracked": &o.tracked}
	for _, e := range elems {
		option, known := options[e.Key()]
		if !known {
			return o, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$listClusterCatalog.%s' is an unknown field.", e.Key())
		}
		on, isBool := e.Value().BooleanOK()
		if !isBool {
			return o, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field '$listClusterCatalog.%s' is the wrong type '%s', expected type 'bool'", e.Key(),
				args.TypeName(e.Value().Type))
		}
		*option = on
	}
	return o, nil
}

// clusterCatalogStage generates the documents of $listClusterCatalog (rules/03-catalog-and-keys §2.3):
// one for each collection and view of the database; on admin, of all databases.
func clusterCatalogStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	if _, isName := c.Body.Lookup("aggregate").StringValueOK(); isName {
		return nil, mongoerr.New(mongoerr.ClusterCatalogOnCollection,
			"$listClusterCatalog must be run against the database with {aggregate: 1}")
	}
	options, err := readClusterCatalogOptions(spec)
	if err != nil {
		return nil, err
	}
	databases := []string{c.DB}
	if c.DB == "admin" {
		databases = c.Cluster.ConfigDB().DatabaseNames()
	}
	var docs []bson.D
	for _, db := range databases {
		for _, info := range c.Cluster.Statistics().Collections(db) {
			doc, err := clusterCatalogDoc(c.Cluster, db, info, options)
			if err != nil {
				return nil, err
			}
			docs = append(docs, doc)
		}
	}
	return call.MarshalAll(docs)
}

func clusterCatalogDoc(cluster *mock.Cluster, db string, info mock.CollectionInfo,
	options clusterCatalogOptions) (bson.D, error) {
	ns := db + "." + info.Name
	listed := listedCollection(info)
	doc := append(bson.D{{Key: "ns", Value: ns}, {Key: "db", Value: db}}, listed[1:]...)
	coll, tracked, err := cluster.ConfigDB().TrackedEntry(ns)
	if err != nil {
		return nil, err
	}
	sharded := tracked && !coll.Unsplittable
	doc = append(doc, bson.E{Key: "sharded", Value: sharded})
	if options.tracked {
		doc = append(doc, bson.E{Key: "tracked", Value: tracked})
	}
	if sharded {
		doc = append(doc, bson.E{Key: "shardKey", Value: coll.Pattern.Doc()})
	}
	if options.shards {
		doc = append(doc, bson.E{Key: "shards", Value: shardsOf(cluster, ns, db)})
	}
	if options.balancing && sharded {
		configuration, err := balancingConfiguration(cluster, coll)
		if err != nil {
			return nil, err
		}
		doc = append(doc, configuration...)
	}
	return doc, nil
}

// shardsOf returns the shards that own a collection. For an untracked collection this is the primary
// shard.
func shardsOf(cluster *mock.Cluster, ns, db string) bson.A {
	table := cluster.ConfigDB().Table(ns)
	if table == nil {
		return bson.A{call.PrimaryOf(cluster, db)}
	}
	ids := bson.A{}
	for _, id := range table.Owners() {
		ids = append(ids, string(id))
	}
	return ids
}

// balancingConfiguration returns the balancing settings of a sharded collection. It reads
// permitMigrations, but not allowMigrations.
func balancingConfiguration(cluster *mock.Cluster, coll catalog.Collection) (bson.D, error) {
	var size any
	if coll.MaxChunkSizeBytes > 0 {
		size = float64(coll.MaxChunkSizeBytes) / (1 << 20)
	} else {
		settings, err := cluster.Balancer().RefreshSettings()
		if err != nil {
			return nil, err
		}
		size = int32(settings.MaxChunkSizeBytes >> 20)
	}
	return bson.D{
		{Key: "balancingEnabled", Value: !coll.NoBalance && coll.PermitMigrations},
		{Key: "balancingEnabledReason", Value: bson.D{
			{Key: "enableBalancing", Value: !coll.NoBalance}, {Key: "allowMigrations", Value: coll.PermitMigrations}}},
		{Key: "autoMergingEnabled", Value: coll.EnableAutoMerge},
		{Key: "chunkSize", Value: size},
	}, nil
}
