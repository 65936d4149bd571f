package router

import "go.mongodb.org/mongo-driver/v2/bson"

// idleSections returns the sections of serverStatus about what the mock does
// not have or does not measure: they stand at their beginnings, so that
// monitoring finds the fields it knows.
func idleSections() []section {
	return []section{
		{"batchedDeletes", func(*call) any {
			return ints("batches", "docs", "stagedSizeBytes", "timeInBatchMillis", "refetchesDueToYield")
		}},
		{"collectionCatalog", func(*call) any { return longs("numScansDueToMissingMapping") }},
		{"globalLock", func(c *call) any {
			nobody := func() bson.D { return ints("total", "readers", "writers") }
			return bson.D{{Key: "totalTime", Value: c.node.up().Microseconds()},
				{Key: "currentQueue", Value: nobody()}, {Key: "activeClients", Value: nobody()}}
		}},
		{"health", func(c *call) any {
			return bson.D{{Key: "state", Value: "Ok"}, {Key: "enteredStateAtTime",
				Value: bson.NewDateTimeFromTime(c.node.started)}}
		}},
		{"indexBulkBuilder", func(*call) any {
			return longs("count", "resumed", "filesOpenedForExternalSort", "filesClosedForExternalSort", "spilledRanges",
				"bytesSpilledUncompressed", "bytesSpilled", "numSorted", "bytesSorted", "memUsage")
		}},
		{"indexStats", func(*call) any { return indexFeatures() }},
		{"internalTransactions",
			func(*call) any { return longs("started", "retriedTransactions", "retriedCommits", "succeeded") }},
		{"locks", func(*call) any { return bson.D{} }},
		{"querySettings", func(*call) any { return ints("count", "size", "rejectCount") }},
		{"scramCache", func(*call) any {
			return bson.D{{Key: "SCRAM-SHA-1", Value: longs("count", "hits", "misses")},
				{Key: "SCRAM-SHA-256", Value: longs("count", "hits", "misses")}}
		}},
		{"security", func(*call) any { return authenticationCounts() }},
	}
}

// ints are counters of 32 bits that never move here.
func ints(names ...string) bson.D {
	doc := make(bson.D, len(names))
	for i, name := range names {
		doc[i] = bson.E{Key: name, Value: int32(0)}
	}
	return doc
}

func indexFeatures() bson.D {
	features := bson.D{}
	for _, name := range []string{"2d", "2dsphere", "2dsphere_bucket", "collation", "columnstore", "compound", "hashed",
		"id", "normal",
		"partial", "prepareUnique", "single", "sparse", "text", "ttl", "unique", "wildcard"} {
		features = append(features, bson.E{Key: name, Value: longs("count", "accesses")})
	}
	return append(longs("count"), bson.E{Key: "features", Value: features})
}

func authenticationCounts() bson.D {
	mechanisms := bson.D{}
	for _, name := range []string{"MONGODB-X509", "SCRAM-SHA-1", "SCRAM-SHA-256"} {
		kinds := bson.D{}
		for _, kind := range []string{"speculativeAuthenticate", "clusterAuthenticate", "authenticate"} {
			kinds = append(kinds, bson.E{Key: kind, Value: longs("received", "successful")})
		}
		mechanisms = append(mechanisms, bson.E{Key: name, Value: kinds})
	}
	return bson.D{{Key: "authentication",
		Value: append(append(longs("saslSupportedMechsReceived"), bson.E{Key: "mechanisms", Value: mechanisms}),
			longs("totalAuthenticationTimeMicros")...)}}
}
