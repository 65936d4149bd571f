package collections

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// collStatsStage returns one document for each shard that owns chunks (rules/03-catalog-and-keys §2.2).
func collStatsStage(c *call.Call, ns string, spec bson.RawValue) ([]bson.Raw, error) {
	options, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.CollStatsSpecNotObject, "$collStats must take a nested object but found: %s", spec)
	}
	elems, err := options.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	known := map[string]bool{"latencyStats": true, "storageStats": true, "count": true, "queryExecStats": true}
	for _, e := range elems {
		if !known[e.Key()] {
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$collStats.%s' is an unknown field.", e.Key())
		}
		if _, isDoc := e.Value().DocumentOK(); !isDoc {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field '$collStats.%s' is the wrong type '%s', expected type 'object'", e.Key(), args.TypeName(e.Value().Type))
		}
	}
	if err := c.Request.Contact(ns, nil); err != nil {
		return nil, err
	}
	c.Cluster.Workloads().CatchUp()
	parts := reads.Stats(c, ns)
	asked := func(name string) bool { return !options.Lookup(name).IsZero() }
	if len(parts) == 0 && (asked("storageStats") || asked("count")) {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s] not found.", ns)
	}
	scale, err := ScaleOf(options.Lookup("storageStats", "scale"))
	if err != nil {
		return nil, err
	}
	var docs []bson.D
	for _, p := range parts {
		doc := bson.D{
			{Key: "ns", Value: ns},
			{Key: "shard", Value: string(p.Shard)},
			{Key: "host", Value: p.Host},
			{Key: "localTime", Value: bson.NewDateTimeFromTime(c.Cluster.Now())},
		}
		if asked("latencyStats") {
			doc = append(doc, bson.E{Key: "latencyStats",
				Value: latencyDoc(p, args.IsTrueOrNonzero(options.Lookup("latencyStats", "histograms")))})
		}
		if asked("storageStats") {
			doc = append(doc, bson.E{Key: "storageStats", Value: StorageDoc(p, scale)})
		}
		if asked("count") {
			doc = append(doc, bson.E{Key: "count", Value: document.SmallestInt(p.Docs)})
		}
		if asked("queryExecStats") {
			doc = append(doc, bson.E{Key: "queryExecStats",
				Value: bson.D{{Key: "collectionScans", Value: call.ZeroLongs("total", "nonTailable")}}})
		}
		docs = append(docs, doc)
	}
	return call.MarshalAll(docs)
}

// latencyDoc returns $collStats.latencyStats. The mock's shards count operations. They do not measure
// real operations; the operations of a workload have a fixed duration.
func latencyDoc(p mock.LocalStats, histograms bool) bson.D {
	operations := map[string]int64{"reads": p.Reads, "writes": p.Writes}
	micros := map[string]int64{"reads": p.ReadMicros, "writes": p.WriteMicros}
	doc := bson.D{}
	for _, kind := range []string{"reads", "writes", "commands", "transactions"} {
		of := bson.D{}
		if histograms {
			of = append(of, bson.E{Key: "histogram", Value: bson.A{}})
		}
		doc = append(doc,
			bson.E{Key: kind, Value: append(of, bson.E{Key: "latency", Value: micros[kind]},
				bson.E{Key: "ops", Value: operations[kind]}, bson.E{Key: "queryableEncryptionLatencyMicros", Value: int64(0)})})
	}
	return doc
}

func indexStatsStage(c *call.Call, ns string, spec bson.RawValue) ([]bson.Raw, error) {
	if doc, isDoc := spec.DocumentOK(); !isDoc || !document.IsEmpty(doc) {
		return nil, mongoerr.New(28803, "The $indexStats stage specification must be an empty object")
	}
	if err := c.Request.Contact(ns, nil); err != nil {
		return nil, err
	}
	var docs []bson.D
	for _, p := range reads.Stats(c, ns) {
		for _, index := range c.Cluster.Indexes().ListOn(ns, p.Shard) {
			docs = append(docs, bson.D{
				{Key: "name", Value: index.Name},
				{Key: "key", Value: index.Key},
				{Key: "host", Value: p.Host},
				{Key: "accesses", Value: bson.D{{Key: "ops", Value: int64(0)},
					{Key: "since", Value: bson.NewDateTimeFromTime(c.Cluster.ClockUnderLock().StartTime())}}},
				{Key: "shard", Value: string(p.Shard)},
				{Key: "spec", Value: index.Doc()},
			})
		}
	}
	return call.MarshalAll(docs)
}

// dataDistributionStage generates the documents of $shardedDataDistribution (rules/03-catalog-and-keys §2.1).
func dataDistributionStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	if doc, isDoc := spec.DocumentOK(); !isDoc || !document.IsEmpty(doc) {
		return nil, mongoerr.New(mongoerr.DataDistributionSpecNotEmpty,
			"The $shardedDataDistribution stage specification must be an empty object")
	}
	if _, isNumber := c.Body.Lookup("aggregate").AsInt64OK(); c.DB != "admin" || !isNumber {
		return nil, mongoerr.New(mongoerr.DataDistributionNotAdmin,
			"$shardedDataDistribution must be run against the 'admin' database with {aggregate: 1}")
	}
	if err := c.Request.ContactShards(); err != nil {
		return nil, err
	}
	colls, err := c.Cluster.ConfigDB().ShardedCollections()
	if err != nil {
		return nil, err
	}
	var docs []bson.D
	for _, coll := range colls {
		shards := bson.A{}
		for _, p := range c.Cluster.Statistics().CollectionWithOrphans(coll.Namespace) {
			average, owned := int64(0), max(0, p.Docs-p.Orphans)
			if p.Docs > 0 {
				average = p.Bytes / p.Docs
			}
			shards = append(shards, bson.D{
				{Key: "shardName", Value: string(p.Shard)},
				{Key: "numOrphanedDocs", Value: document.SmallestInt(p.Orphans)},
				{Key: "numOwnedDocuments", Value: document.SmallestInt(owned)},
				{Key: "ownedSizeBytes", Value: document.SmallestInt(average * owned)},
				{Key: "orphanedSizeBytes", Value: document.SmallestInt(average * p.Orphans)},
			})
		}
		docs = append(docs, bson.D{{Key: "ns", Value: coll.Namespace}, {Key: "shards", Value: shards}})
	}
	return call.MarshalAll(docs)
}

// planCacheStage generates the documents of $planCacheStats. The mock has no plan cache.
func planCacheStage(_ *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	if _, isDoc := spec.DocumentOK(); !isDoc {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$planCacheStats value must be an object. Found: %s",
			args.TypeName(spec.Type))
	}
	return nil, nil
}
