package servers

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
)

// UnmeasuredSections returns the sections of serverStatus for features that the mock does not have or
// does not measure. All values are initial values, so that monitoring tools find the fields that they
// expect.
func UnmeasuredSections() []call.Section {
	return []call.Section{
		{Name: "batchedDeletes", Generate: func(*call.Call) any {
			return zeroInts("batches", "docs", "stagedSizeBytes", "timeInBatchMillis", "refetchesDueToYield")
		}},
		{Name: "collectionCatalog", Generate: func(*call.Call) any { return call.ZeroLongs("numScansDueToMissingMapping") }},
		{Name: "globalLock", Generate: func(c *call.Call) any {
			nobody := func() bson.D { return zeroInts("total", "readers", "writers") }
			return bson.D{{Key: "totalTime", Value: c.Node.Uptime().Microseconds()},
				{Key: "currentQueue", Value: nobody()}, {Key: "activeClients", Value: nobody()}}
		}},
		{Name: "health", Generate: func(c *call.Call) any {
			return bson.D{{Key: "state", Value: "Ok"}, {Key: "enteredStateAtTime",
				Value: bson.NewDateTimeFromTime(c.Node.Started)}}
		}},
		{Name: "indexBulkBuilder", Generate: func(*call.Call) any {
			return call.ZeroLongs("count", "resumed", "filesOpenedForExternalSort", "filesClosedForExternalSort",
				"spilledRanges", "bytesSpilledUncompressed", "bytesSpilled", "numSorted", "bytesSorted", "memUsage")
		}},
		{Name: "indexStats", Generate: func(*call.Call) any { return indexFeatures() }},
		{Name: "internalTransactions",
			Generate: func(*call.Call) any {
				return call.ZeroLongs("started", "retriedTransactions", "retriedCommits", "succeeded")
			}},
		{Name: "locks", Generate: func(*call.Call) any { return bson.D{} }},
		{Name: "querySettings", Generate: func(*call.Call) any { return zeroInts("count", "size", "rejectCount") }},
		{Name: "scramCache", Generate: func(*call.Call) any {
			return bson.D{{Key: "SCRAM-SHA-1", Value: call.ZeroLongs("count", "hits", "misses")},
				{Key: "SCRAM-SHA-256", Value: call.ZeroLongs("count", "hits", "misses")}}
		}},
		{Name: "security", Generate: func(*call.Call) any { return authenticationCounts() }},
	}
}

// zeroInts returns 32-bit counters that are always zero in the mock.
func zeroInts(names ...string) bson.D {
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
		features = append(features, bson.E{Key: name, Value: call.ZeroLongs("count", "accesses")})
	}
	return append(call.ZeroLongs("count"), bson.E{Key: "features", Value: features})
}

func authenticationCounts() bson.D {
	mechanisms := bson.D{}
	for _, name := range []string{"MONGODB-X509", "SCRAM-SHA-1", "SCRAM-SHA-256"} {
		kinds := bson.D{}
		for _, kind := range []string{"speculativeAuthenticate", "clusterAuthenticate", "authenticate"} {
			kinds = append(kinds, bson.E{Key: kind, Value: call.ZeroLongs("received", "successful")})
		}
		mechanisms = append(mechanisms, bson.E{Key: name, Value: kinds})
	}
	return bson.D{{Key: "authentication",
		Value: append(append(call.ZeroLongs("saslSupportedMechsReceived"), bson.E{Key: "mechanisms", Value: mechanisms}),
			call.ZeroLongs("totalAuthenticationTimeMicros")...)}}
}
