package members

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
)

// The states in which shardingStatistics counts coordinators, donors and recipients. The mock has only
// coordinators: it moves all documents at once.
var (
	coordinatorStates = []struct{ name, state string }{
		{"countInstancesInCoordinatorState1Initializing", "initializing"},
		{"countInstancesInCoordinatorState2PreparingToDonate", "preparing-to-donate"},
		{"countInstancesInCoordinatorState3Cloning", "cloning"},
		{"countInstancesInCoordinatorState4Applying", "applying"},
		{"countInstancesInCoordinatorState5BlockingWrites", "blocking-writes"},
		{"countInstancesInCoordinatorState6Aborting", "aborting"},
		{"countInstancesInCoordinatorState7Committing", "committing"},
	}
	participantStates = []string{
		"countInstancesInDonorState1PreparingToDonate", "countInstancesInDonorState2DonatingInitialData",
		"countInstancesInDonorState3DonatingOplogEntries", "countInstancesInDonorState4PreparingToBlockWrites",
		"countInstancesInDonorState5Error", "countInstancesInDonorState6BlockingWrites", "countInstancesInDonorState7Done",
		"kCountInstancesInRecipientState1AwaitingFetchTimestamp", "countInstancesInRecipientState2CreatingCollection",
		"countInstancesInRecipientState3Cloning", "countInstancesInRecipientState4BuildingIndex",
		"countInstancesInRecipientState5Applying", "countInstancesInRecipientState6Error",
		"countInstancesInRecipientState7StrictConsistency", "countInstancesInRecipientState8Done",
	}
)

// reshardingStatistics returns the sections of shardingStatistics for the operations that the node has
// coordinated, donated to or received from. A section is missing before the first operation, as on a
// server. Shards count nothing in them.
func reshardingStatistics(c *call.Call) bson.D {
	var stats bson.D
	for _, kind := range []struct {
		name string
		by   mock.Provenance
	}{
		{"resharding", mock.ProvenanceReshard}, {"moveCollection", mock.ProvenanceMove},
		{"balancerMoveCollection", mock.ProvenanceBalancer}, {"unshardCollection", mock.ProvenanceUnshard},
	} {
		if !c.Cluster.Reshardings().TookPart(c.Node.Member.Shard, kind.by) {
			continue
		}
		doc := bson.D{}
		if kind.by == mock.ProvenanceReshard {
			doc = call.ZeroLongs("countSameKeyStarted", "countSameKeySucceeded", "countSameKeyFailed", "countSameKeyCanceled")
		}
		stats = append(stats, bson.E{Key: kind.name, Value: append(doc, reshardingCounts(c, kind.by)...)})
	}
	return stats
}

func reshardingCounts(c *call.Call, by mock.Provenance) bson.D {
	var n mock.ReshardingCounts
	running := map[string]int64{}
	if c.Node.Member.Shard == catalog.ConfigServerID {
		n = c.Cluster.Reshardings().Counts(by)
		for _, op := range c.Cluster.Reshardings().List() {
			if op.Provenance == by {
				running[op.State]++
			}
		}
	}
	steps := bson.D{}
	for _, s := range coordinatorStates {
		steps = append(steps, bson.E{Key: s.name, Value: running[s.state]})
	}
	return bson.D{
		{Key: "countStarted", Value: n.Started}, {Key: "countSucceeded", Value: n.Succeeded},
		{Key: "countFailed", Value: n.Failed}, {Key: "countCanceled", Value: n.Canceled},
		{Key: "lastOpEndingChunkImbalance", Value: int64(0)},
		{Key: "active", Value: call.ZeroLongs("documentsCopied", "bytesCopied", "countWritesToStashCollections",
			"countWritesDuringCriticalSection", "countReadsDuringCriticalSection", "oplogEntriesFetched", "oplogEntriesApplied",
			"insertsApplied", "updatesApplied", "deletesApplied")},
		{Key: "oldestActive", Value: call.ZeroLongs("coordinatorAllShardsHighestRemainingOperationTimeEstimatedMillis",
			"coordinatorAllShardsLowestRemainingOperationTimeEstimatedMillis",
			"recipientRemainingOperationTimeEstimatedMillis")},
		{Key: "latencies", Value: call.ZeroLongs("collectionCloningTotalRemoteBatchRetrievalTimeMillis",
			"collectionCloningTotalRemoteBatchesRetrieved", "collectionCloningTotalLocalInsertTimeMillis",
			"collectionCloningTotalLocalInserts", "oplogFetchingTotalRemoteBatchRetrievalTimeMillis",
			"oplogFetchingTotalRemoteBatchesRetrieved", "oplogFetchingTotalLocalInsertTimeMillis",
			"oplogFetchingTotalLocalInserts", "oplogApplyingTotalLocalBatchRetrievalTimeMillis",
			"oplogApplyingTotalLocalBatchesRetrieved", "oplogApplyingTotalLocalBatchApplyTimeMillis",
			"oplogApplyingTotalLocalBatchesApplied")},
		{Key: "currentInSteps", Value: append(steps, call.ZeroLongs(participantStates...)...)},
	}
}
