package sharding

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// sampledQueriesStage generates the documents of $listSampledQueries: the sampled queries of one or all
// collections.
func sampledQueriesStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	doc, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.BadValue,
			"$listSampledQueries must take a nested object but found: %s", spec)
	}
	ns, isText := doc.Lookup("namespace").StringValueOK()
	if !isText && !doc.Lookup("namespace").IsZero() {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '$listSampledQueries.namespace' is the wrong type '%s', expected type 'string'",
			args.TypeName(doc.Lookup("namespace").Type))
	}
	c.Cluster.Workloads().CatchUp()
	var docs []bson.D
	for _, of := range slices.Sorted(maps.Keys(c.Node.Analyzers)) {
		if isText && of != ns {
			continue
		}
		var uuid bson.Binary
		if coll, err := c.Cluster.ConfigDB().RequireSharded(of); err == nil {
			uuid = coll.UUID
		}
		for i, one := range c.Node.Analyzers[of].Samples {
			docs = append(docs, one.Doc(of, uuid, i))
		}
	}
	return call.MarshalAll(docs)
}
