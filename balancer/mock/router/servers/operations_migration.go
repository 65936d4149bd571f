package servers

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// MigrationOps returns the operations of a migration in progress as $currentOp shows them: the donor's
// command, the worker threads of donor and recipient, and the status request with which the donor waits.
// The donor's worker is idle while it waits. Workers have neither a namespace nor a start time.
func MigrationOps(cluster *mock.Cluster, m mock.MigrationInfo, idle bool) []bson.D {
	seconds := int64(cluster.Now().Sub(m.Started).Seconds())
	var ops []bson.D
	if m.Command != nil {
		ops = append(ops, nodeOp(cluster, m.From, m.Op, m.From, m.Command, seconds))
	}
	if idle || !m.Waiting || m.Killed {
		step := fmt.Sprintf("step %d of 6", m.Step)
		ops = append(ops, worker{m.From, m.Op + 1, step, true, !m.Waiting, m.Killed}.op(cluster))
	}
	if m.RecipientStep > 0 {
		step := fmt.Sprintf("step %d of 8", m.RecipientStep)
		ops = append(ops, worker{m.To, m.Op + 2, step, false, true, false}.op(cluster))
	}
	if m.Waiting && !m.Killed {
		ops = append(ops, nodeOp(cluster, m.To, m.Op+3, m.From, bson.D{
			{Key: "_recvChunkStatus", Value: m.Namespace}, {Key: "waitForSteadyOrDone", Value: true},
			{Key: "sessionId", Value: fmt.Sprintf("%s_%s_%024x", m.From, m.To, m.Op)},
		}, 0))
	}
	return ops
}

// nodeOp returns the operation of a command that another node has sent to a shard.
func nodeOp(
	cluster *mock.Cluster, on catalog.ShardID, opid int32, by catalog.ShardID, command bson.D, seconds int64,
) bson.D {
	driver := bson.D{{Key: "name", Value: "NetworkInterfaceTL-ShardRegistry"},
		{Key: "version", Value: cluster.Version()}}
	os := bson.D{{Key: "type", Value: systemName()}, {Key: "name", Value: "mock"},
		{Key: "architecture", Value: architecture()}, {Key: "version", Value: ""}}
	now := cluster.IDs().ClusterTime()
	command = append(command,
		bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: now}}},
		bson.E{Key: "$configTime", Value: now},
		bson.E{Key: "$topologyTime", Value: cluster.ConfigDB().TopologyTime()},
		bson.E{Key: "mayBypassWriteBlocking", Value: false},
		bson.E{Key: "$db", Value: "admin"})
	op := append(opHead(cluster, on, fmt.Sprintf("conn%d", opid)),
		bson.E{Key: "connectionId", Value: opid},
		bson.E{Key: "client_s", Value: cluster.Addresses().FirstMember(by)},
		bson.E{Key: "clientMetadata", Value: bson.D{{Key: "driver", Value: driver}, {Key: "os", Value: os}}},
		bson.E{Key: "active", Value: true},
		bson.E{Key: "currentOpTime", Value: opTime(cluster)},
		bson.E{Key: "isFromUserConnection", Value: true},
		bson.E{Key: "threaded", Value: true},
		bson.E{Key: "opid", Value: fmt.Sprintf("%s:%d", on, opid)},
		bson.E{Key: "secs_running", Value: seconds},
		bson.E{Key: "microsecs_running", Value: seconds * 1_000_000},
		bson.E{Key: "op", Value: "command"},
		bson.E{Key: "ns", Value: "admin.$cmd"},
		bson.E{Key: "redacted", Value: false},
		bson.E{Key: "command", Value: command})
	return append(append(op, numYields(), queues(), noQueue()), locks()...)
}

// worker is a thread of a shard that takes part in a migration.
type worker struct {
	shard                   catalog.ShardID
	opid                    int32
	step                    string
	isDonor, active, killed bool
}

func (w worker) op(cluster *mock.Cluster) bson.D {
	desc := "migrateThread"
	if w.isDonor {
		desc = "MoveChunk"
	}
	op := append(opHead(cluster, w.shard, desc),
		bson.E{Key: "active", Value: w.active},
		bson.E{Key: "currentOpTime", Value: opTime(cluster)},
	)
	if w.isDonor {
		op = append(op, bson.E{Key: "effectiveUsers", Value: bson.A{
			bson.D{{Key: "user", Value: "__system"}, {Key: "db", Value: "local"}}}})
	}
	op = append(op,
		bson.E{Key: "isFromUserConnection", Value: false},
		bson.E{Key: "opid", Value: fmt.Sprintf("%s:%d", w.shard, w.opid)})
	if w.killed {
		op = append(op, bson.E{Key: "killPending", Value: true})
	}
	if !w.isDonor {
		op = append(op, bson.E{Key: "lsid", Value: bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
			{Key: "uid", Value: bson.Binary{Data: make([]byte, 32)}}}})
	}
	op = append(op,
		bson.E{Key: "op", Value: "none"},
		bson.E{Key: "ns", Value: ""},
		bson.E{Key: "redacted", Value: false},
		bson.E{Key: "command", Value: bson.D{}})
	if w.isDonor {
		op = append(op, bson.E{Key: "queryFramework", Value: "classic"})
	}
	op = append(op, bson.E{Key: "msg", Value: w.step}, numYields(), queues(), noQueue())
	if !w.isDonor {
		op = append(op, bson.E{Key: "transaction", Value: bson.D{{Key: "parameters", Value: bson.D{
			{Key: "txnNumber", Value: int64(0)}}}}})
	}
	return append(op, locks()...)
}

func opHead(cluster *mock.Cluster, shard catalog.ShardID, desc string) bson.D {
	return bson.D{
		{Key: "shard", Value: string(shard)},
		{Key: "type", Value: "op"},
		{Key: "host", Value: cluster.Addresses().FirstMember(shard)},
		{Key: "desc", Value: desc},
	}
}

func numYields() bson.E { return bson.E{Key: "numYields", Value: int32(0)} }

func queues() bson.E {
	none := bson.D{{Key: "admissions", Value: int32(0)}, {Key: "totalTimeQueuedMicros", Value: int64(0)}}
	return bson.E{Key: "queues", Value: bson.D{{Key: "execution", Value: none}, {Key: "ingress", Value: none}}}
}

func noQueue() bson.E { return bson.E{Key: "currentQueue"} }

func locks() bson.D {
	return bson.D{
		{Key: "locks", Value: bson.D{}},
		{Key: "waitingForLock", Value: false},
		{Key: "lockStats", Value: bson.D{}},
		{Key: "waitingForFlowControl", Value: false},
		{Key: "flowControlStats", Value: bson.D{}},
	}
}

func opTime(cluster *mock.Cluster) string {
	return cluster.Now().Format("2006-01-02T15:04:05.000-07:00")
}

// reshardingOps returns the reshardings in progress in the format of $currentOp (rules/03-commands
// §1.7).
func reshardingOps(cluster *mock.Cluster) (docs []bson.D) {
	for _, op := range cluster.Reshardings().List() {
		docs = append(docs, bson.D{
			{Key: "shard", Value: op.Coordinator},
			{Key: "type", Value: "op"},
			{Key: "desc", Value: "ReshardingMetricsCoordinatorService"},
			{Key: "op", Value: "command"},
			{Key: "ns", Value: op.Namespace},
			{Key: "originatingCommand", Value: bson.D{{Key: string(op.Provenance), Value: op.Namespace},
				{Key: "key", Value: op.Key}}},
			{Key: "provenance", Value: string(op.Provenance)},
			{Key: "totalOperationTimeElapsedSecs", Value: int64(op.Elapsed.Seconds())},
			{Key: "remainingOperationTimeEstimatedSecs", Value: int64(op.Remaining.Seconds())},
			{Key: "approxBytesToCopy", Value: op.BytesToCopy},
			{Key: "bytesCopied", Value: op.Copied},
			{Key: "coordinatorState", Value: op.State},
		})
	}
	return docs
}
