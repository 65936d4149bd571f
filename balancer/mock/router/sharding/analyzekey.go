package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func analyzerHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"analyzeShardKey":        analyzeShardKey,
		"configureQueryAnalyzer": configureQueryAnalyzer,
	}
}

// analyzeShardKey returns metrics for a shard key, computed from the documents and from the queries that
// configureQueryAnalyzer has sampled.
func analyzeShardKey(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("analyzeShardKey")
	wanted := func(name string) bool { return !c.Args.Has(name) || c.Args.Bool(name) }
	characteristics, distribution := wanted("keyCharacteristics"), wanted("readWriteDistribution")
	rate, err := sampleRate(c, characteristics)
	if err != nil {
		return nil, err
	}
	if !characteristics && !distribution {
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"Cannot analyze a shard key with both 'keyCharacteristics' and 'readWriteDistribution' set to false")
	}
	if err := checkAnalyzable(c, ns, "analyzeShardKey"); err != nil {
		return nil, err
	}
	if _, err := catalog.ParseKeyPattern(c.Args.Object("key")); err != nil {
		return nil, err
	}
	reply := bson.D{}
	if characteristics {
		k, err := c.Cluster.Statistics().AnalyzeKey(ns, c.Args.Object("key"), rate)
		if err != nil {
			return nil, err
		}
		if k == nil && !distribution {
			return nil, mongoerr.New(mongoerr.IllegalOperation,
				"Cannot analyze the characteristics of a shard key that does not have a supporting index")
		}
		if k != nil {
			reply = append(reply, bson.E{Key: "keyCharacteristics", Value: characteristicsDoc(*k)})
		}
	}
	if !distribution {
		return reply, nil
	}
	d, err := c.Node.Analyzers.Distribution(c.Cluster, ns, c.Args.Object("key"))
	return append(reply, d...), err
}

// sampleRate reads the share of documents to sample; the default is all.
func sampleRate(c *call.Call, characteristics bool) (func(docs int64) float64, error) {
	rate, hasRate := 1.0, c.Args.Has("sampleRate")
	if hasRate {
		var isNumber bool
		if rate, isNumber = args.Number(c.Args["sampleRate"]); !isNumber {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'analyzeShardKey.sampleRate' is the wrong type '%s', expected types '[double, decimal, int, long]'",
				args.TypeName(c.Args["sampleRate"].Type))
		}
		if !(rate > 0 && rate <= 1) {
			return nil, mongoerr.New(mongoerr.BadValue,
				"BSON field 'sampleRate' value must be > 0 and <= 1, actual value '%v'", rate)
		}
	}
	if !c.Args.Has("sampleSize") {
		if hasRate && !characteristics {
			return nil, errSampleWithout("sampleRate")
		}
		return func(int64) float64 { return rate }, nil
	}
	size := c.Args.Int("sampleSize")
	switch {
	case size <= 0:
		return nil, mongoerr.New(mongoerr.BadValue, "BSON field 'sampleSize' value must be > 0, actual value '%d'", size)
	case hasRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot specify both 'sampleRate' and 'sampleSize'")
	case !characteristics:
		return nil, errSampleWithout("sampleSize")
	}
	return func(docs int64) float64 { return min(1, float64(size)/float64(docs)) }, nil
}

func errSampleWithout(name string) error {
	return mongoerr.New(mongoerr.InvalidOptions, "Cannot specify '%s' when 'keyCharacteristics' is set to false", name)
}

// checkAnalyzable rejects all collections except user collections.
func checkAnalyzable(c *call.Call, ns, command string) error {
	db, _, err := catalog.SplitNamespace(ns)
	switch {
	case err != nil:
		return err
	case db == "config" || db == "admin" || db == "local":
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot run '%s' against an internal collection", command)
	case call.IsView(c, ns):
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "Operation not supported for a view")
	case !c.Cluster.Collections().Exists(ns):
		return mongoerr.New(mongoerr.NamespaceNotFound, "Cannot run '%s': collection %s does not exist", command, ns)
	}
	return nil
}

// orphansNote is the server's note that orphans may distort the metrics.
const orphansNote = "Due to performance reasons, the analyzeShardKey command does not filter out orphan documents " +
	"when calculating metrics about the characteristics of the shard key. " +
	"Therefore, if \"numOrphanDocs\" is large relative to \"numDocsTotal\", you may want to rerun the command at some " +
	"other time to get more accurate \"numDistinctValues\" and \"mostCommonValues\" metrics."

func characteristicsDoc(k mock.KeyCharacteristics) bson.D {
	common := bson.A{}
	for _, v := range k.Common {
		common = append(common, bson.D{{Key: "value", Value: v.Value}, {Key: "frequency", Value: v.Frequency}})
	}
	monotonicity := bson.D{}
	if k.Monotonicity() != "unknown" {
		monotonicity = append(monotonicity, bson.E{Key: "recordIdCorrelationCoefficient", Value: k.Correlation})
	}
	doc := bson.D{{Key: "numDocsTotal", Value: k.Docs}}
	if k.Sharded {
		doc = append(doc, bson.E{Key: "numOrphanDocs", Value: k.Orphans})
	}
	doc = append(doc,
		bson.E{Key: "avgDocSizeBytes", Value: k.AverageBytes},
		bson.E{Key: "numDocsSampled", Value: k.Sampled},
		bson.E{Key: "isUnique", Value: k.Unique},
		bson.E{Key: "numDistinctValues", Value: k.Distinct},
		bson.E{Key: "mostCommonValues", Value: common},
		bson.E{Key: "monotonicity", Value: append(monotonicity, bson.E{Key: "type", Value: k.Monotonicity()})},
	)
	if k.Orphans > 0 {
		doc = append(doc, bson.E{Key: "note", Value: orphansNote})
	}
	return doc
}
