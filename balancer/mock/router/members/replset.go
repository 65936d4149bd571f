package members

import (
	"net"
	"os"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/store/document"
)

// The replica set of a member, as if the member had been its primary since its start, and its only member
// but for a lagging secondary (mockSlow). Reading the status changes nothing.

// oplogBytes is the size of a member's oplog, startupLogBytes the size of its startup log.
const (
	oplogBytes      = 990 << 20
	startupLogBytes = 10 << 20
)

// oplogVersion is the version of oplog entries.
const oplogVersion = int64(2)

// localCollections returns the collections of database local.
func localCollections() []internalCollection {
	return []internalCollection{
		{ns: "local.oplog.rs", docs: oplog, maxBytes: oplogBytes, hasNoID: true},
		{ns: "local.replset.election", docs: lastElection},
		{ns: "local.replset.initialSyncId", docs: noDocuments},
		{ns: "local.replset.minvalid", docs: noDocuments},
		{ns: "local.replset.oplogTruncateAfterPoint", docs: noDocuments},
		{ns: "local.startup_log", docs: startupLog, maxBytes: startupLogBytes},
		{ns: "local.system.replset", docs: func(c *call.Call) ([]bson.D, error) {
			return []bson.D{replicaSetConfig(c)}, nil
		}},
		{ns: "local.system.rollback.id", docs: rollbackID},
	}
}

func replicaSetHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"replSetGetConfig": func(c *call.Call) (bson.D, error) {
			return bson.D{{Key: "config", Value: replicaSetConfig(c)}}, nil
		},
		"replSetGetStatus": replicaSetStatus,
	}
}

// term returns the election term of the set's primary.
func term(c *call.Call) int64 {
	if c.Node.Member.Shard == catalog.ConfigServerID {
		return c.Cluster.Term()
	}
	return 1
}

// electionTime returns when the member became primary.
func electionTime(c *call.Call) time.Time { return c.Cluster.ClockUnderLock().StartTime() }

// timestampOf returns the first timestamp in a second.
func timestampOf(at time.Time) bson.Timestamp { return bson.Timestamp{T: uint32(at.Unix()), I: 1} }

func dateOf(at bson.Timestamp) bson.DateTime { return bson.DateTime(int64(at.T) * 1000) }

// replicaSetID returns the id of the member's replica set.
func replicaSetID(c *call.Call) bson.ObjectID {
	var id bson.ObjectID
	copy(id[:], memberUUID(c, "replica set").Data)
	return id
}

func replicaSetConfig(c *call.Call) bson.D {
	member := func(id int32, host string) bson.D {
		return bson.D{
			{Key: "_id", Value: id}, {Key: "host", Value: host},
			{Key: "arbiterOnly", Value: false}, {Key: "buildIndexes", Value: true}, {Key: "hidden", Value: false},
			{Key: "priority", Value: 1.0}, {Key: "tags", Value: bson.D{}}, {Key: "secondaryDelaySecs", Value: int64(0)},
			{Key: "votes", Value: int32(1)},
		}
	}
	members := bson.A{member(0, c.Node.Member.Address)}
	if secondaryLag(c) > 0 {
		members = append(members, member(1, secondaryAddress(c.Node.Member)))
	}
	config := bson.D{
		{Key: "_id", Value: c.Node.Member.Set}, {Key: "version", Value: int32(1)},
		{Key: "term", Value: document.SmallestInt(term(c))},
		{Key: "members", Value: members},
	}
	if c.Node.Member.Shard == catalog.ConfigServerID {
		config = append(config, bson.E{Key: "configsvr", Value: true})
	}
	return append(config,
		bson.E{Key: "protocolVersion", Value: int64(1)}, bson.E{Key: "writeConcernMajorityJournalDefault", Value: true},
		bson.E{Key: "settings", Value: bson.D{
			{Key: "chainingAllowed", Value: true}, {Key: "heartbeatIntervalMillis", Value: int32(heartbeatMillis)},
			{Key: "heartbeatTimeoutSecs", Value: int32(10)}, {Key: "electionTimeoutMillis", Value: int32(electionMillis)},
			{Key: "catchUpTimeoutMillis", Value: int32(-1)}, {Key: "catchUpTakeoverDelayMillis", Value: int32(30000)},
			{Key: "getLastErrorModes", Value: bson.D{}},
			{Key: "getLastErrorDefaults", Value: bson.D{{Key: "w", Value: int32(1)}, {Key: "wtimeout", Value: int32(0)}}},
			{Key: "replicaSetId", Value: replicaSetID(c)},
		}})
}

// The default settings of a new replica set.
const (
	heartbeatMillis = 2000
	electionMillis  = 10000
)

func replicaSetStatus(c *call.Call) (bson.D, error) {
	at, term := c.Cluster.IDs().ClusterTime(), term(c)
	now, date := call.OpTime(at, term), dateOf(at)
	electionStamp := timestampOf(electionTime(c))
	nodes, committed := bson.A{replicaSetMember(c, now, date, electionStamp)}, at
	if lag := secondaryLag(c); lag > 0 {
		committed = timestampBefore(at, lag)
		nodes = append(nodes, secondaryMember(c, committed))
	}
	count := int32(len(nodes)) // all members, since two are the majority of two
	status := bson.D{
		{Key: "set", Value: c.Node.Member.Set}, {Key: "date", Value: bson.NewDateTimeFromTime(c.Cluster.Now())},
		{Key: "myState", Value: int32(1)}, {Key: "term", Value: term}, {Key: "syncSourceHost", Value: ""},
		{Key: "syncSourceId", Value: int32(-1)},
	}
	if c.Node.Member.Shard == catalog.ConfigServerID {
		status = append(status, bson.E{Key: "configsvr", Value: true})
	}
	return append(status,
		bson.E{Key: "heartbeatIntervalMillis", Value: int64(heartbeatMillis)},
		bson.E{Key: "majorityVoteCount", Value: count}, bson.E{Key: "writeMajorityCount", Value: count},
		bson.E{Key: "votingMembersCount", Value: count}, bson.E{Key: "writableVotingMembersCount", Value: count},
		bson.E{Key: "optimes", Value: bson.D{
			{Key: "lastCommittedOpTime", Value: call.OpTime(committed, term)},
			{Key: "lastCommittedWallTime", Value: dateOf(committed)},
			{Key: "readConcernMajorityOpTime", Value: call.OpTime(committed, term)}, {Key: "appliedOpTime", Value: now},
			{Key: "durableOpTime", Value: now}, {Key: "writtenOpTime", Value: now},
			{Key: "lastAppliedWallTime", Value: date}, {Key: "lastDurableWallTime", Value: date},
			{Key: "lastWrittenWallTime", Value: date},
		}},
		bson.E{Key: "lastStableRecoveryTimestamp", Value: committed},
		bson.E{Key: "electionCandidateMetrics", Value: bson.D{
			{Key: "lastElectionReason", Value: "electionTimeout"},
			{Key: "lastElectionDate", Value: dateOf(electionStamp)},
			{Key: "electionTerm", Value: term},
			{Key: "lastCommittedOpTimeAtElection", Value: call.OpTime(electionStamp, -1)},
			{Key: "lastSeenWrittenOpTimeAtElection", Value: call.OpTime(electionStamp, -1)},
			{Key: "lastSeenOpTimeAtElection", Value: call.OpTime(electionStamp, -1)},
			{Key: "numVotesNeeded", Value: int32(1)},
			{Key: "priorityAtElection", Value: 1.0},
			{
				Key:   "electionTimeoutMillis",
				Value: int64(electionMillis),
			},
			{Key: "newTermStartDate", Value: dateOf(electionStamp)},
			{Key: "wMajorityWriteAvailabilityDate", Value: dateOf(electionStamp)},
		}},
		bson.E{Key: "members", Value: nodes},
	), nil
}

// secondaryLag returns the replication lag that mockSlow has configured for the secondary; 0 without a
// secondary. The lock is held.
func secondaryLag(c *call.Call) time.Duration {
	slow := c.Cluster.Faults().Slowness(c.Node.Member.Shard)
	return max(slow.ReportedLag, slow.SecondaryLag)
}

// secondaryAddress returns the address of the second node. Nothing listens there.
func secondaryAddress(m *call.Member) string {
	host, _, _ := net.SplitHostPort(m.Address)
	return net.JoinHostPort(host, "1")
}

// timestampBefore returns the timestamp d before at.
func timestampBefore(at bson.Timestamp, d time.Duration) bson.Timestamp {
	return bson.Timestamp{T: at.T - uint32(d.Seconds()), I: 1}
}

func secondaryMember(c *call.Call, applied bson.Timestamp) bson.D {
	now, date := call.OpTime(applied, term(c)), dateOf(applied)
	return bson.D{
		{Key: "_id", Value: int32(1)}, {Key: "name", Value: secondaryAddress(c.Node.Member)}, {Key: "health", Value: 1.0},
		{Key: "state", Value: int32(2)}, {Key: "stateStr", Value: "SECONDARY"},
		{Key: "uptime", Value: int32(c.Node.Uptime().Seconds())},
		{Key: "optime", Value: now}, {Key: "optimeDurable", Value: now}, {Key: "optimeWritten", Value: now},
		{Key: "optimeDate", Value: date}, {Key: "optimeDurableDate", Value: date}, {Key: "optimeWrittenDate", Value: date},
		{Key: "lastAppliedWallTime", Value: date}, {Key: "lastDurableWallTime", Value: date},
		{Key: "lastWrittenWallTime", Value: date},
		{Key: "syncSourceHost", Value: c.Node.Member.Address}, {Key: "syncSourceId", Value: int32(0)},
		{Key: "infoMessage", Value: ""}, {Key: "configVersion", Value: int32(1)},
		{Key: "configTerm", Value: document.SmallestInt(term(c))},
	}
}

func replicaSetMember(c *call.Call, now bson.D, date bson.DateTime, electionStamp bson.Timestamp) bson.D {
	return bson.D{
		{Key: "_id", Value: int32(0)}, {Key: "name", Value: c.Node.Member.Address}, {Key: "health", Value: 1.0},
		{Key: "state", Value: int32(1)}, {Key: "stateStr", Value: "PRIMARY"},
		{Key: "uptime", Value: int32(c.Node.Uptime().Seconds())},
		{Key: "optime", Value: now}, {Key: "optimeDate", Value: date}, {Key: "optimeWritten", Value: now},
		{Key: "optimeWrittenDate", Value: date}, {Key: "lastAppliedWallTime", Value: date},
		{Key: "lastDurableWallTime", Value: date}, {Key: "lastWrittenWallTime", Value: date},
		{Key: "syncSourceHost", Value: ""}, {Key: "syncSourceId", Value: int32(-1)}, {Key: "infoMessage", Value: ""},
		{Key: "electionTime", Value: electionStamp}, {Key: "electionDate", Value: dateOf(electionStamp)},
		{Key: "configVersion", Value: int32(1)}, {Key: "configTerm", Value: document.SmallestInt(term(c))},
		{Key: "self", Value: true}, {Key: "lastHeartbeatMessage", Value: ""},
	}
}

// oplog returns two entries: the initiation of the set, and the no-op that a primary without writes adds
// every few seconds. Writes appear only in change streams.
func oplog(c *call.Call) ([]bson.D, error) {
	entry := func(message string, at bson.Timestamp) bson.D {
		return bson.D{
			{Key: "op", Value: "n"}, {Key: "ns", Value: ""}, {Key: "o", Value: bson.D{{Key: "msg", Value: message}}},
			{Key: "ts", Value: at}, {Key: "t", Value: term(c)}, {Key: "v", Value: oplogVersion},
			{Key: "wall", Value: dateOf(at)},
		}
	}
	return []bson.D{
		entry("initiating set", timestampOf(electionTime(c))), entry("periodic noop", c.Cluster.IDs().ClusterTime()),
	}, nil
}

func lastElection(c *call.Call) ([]bson.D, error) {
	return []bson.D{{
		{Key: "_id", Value: "lastVote"}, {Key: "term", Value: term(c)}, {Key: "candidateIndex", Value: int64(0)},
	}}, nil
}

func rollbackID(*call.Call) ([]bson.D, error) {
	return []bson.D{{{Key: "_id", Value: "rollbackId"}, {Key: "rollbackId", Value: int32(1)}}}, nil
}

func startupLog(c *call.Call) ([]bson.D, error) {
	build, err := servers.BuildInfo(c)
	if err != nil {
		return nil, err
	}
	name, _ := os.Hostname()
	return []bson.D{{
		{Key: "_id", Value: name + "-" + strconv.FormatInt(c.Node.Started.UnixMilli(), 10)}, {Key: "hostname", Value: name},
		{Key: "startTime", Value: bson.NewDateTimeFromTime(c.Node.Started)},
		{Key: "startTimeLocal", Value: c.Node.Started.Format("Mon Jan _2 15:04:05.000")},
		{Key: "cmdLine", Value: memberOptions(c)}, {Key: "pid", Value: int64(os.Getpid())}, {Key: "buildinfo", Value: build},
	}}, nil
}

// memberCommandLine returns the command line that would start the member.
func memberCommandLine(c *call.Call) (bson.D, error) {
	argv := bson.A{"mongod", "--replSet", c.Node.Member.Set, "--" + clusterRole(c)}
	return bson.D{{Key: "argv", Value: argv}, {Key: "parsed", Value: memberOptions(c)}}, nil
}

func clusterRole(c *call.Call) string {
	if c.Node.Member.Shard == catalog.ConfigServerID {
		return "configsvr"
	}
	return "shardsvr"
}

func memberOptions(c *call.Call) bson.D {
	host, port, _ := net.SplitHostPort(c.Node.Member.Address)
	number, _ := strconv.ParseInt(port, 10, 32)
	options := bson.D{
		{Key: "net", Value: bson.D{{Key: "bindIp", Value: host}, {Key: "port", Value: int32(number)}}},
		{Key: "replication", Value: bson.D{{Key: "replSet", Value: c.Node.Member.Set}}},
	}
	if c.Node.AuthRequired {
		options = append(options, bson.E{Key: "security", Value: bson.D{{Key: "authorization", Value: "enabled"}}})
	}
	return append(options, bson.E{Key: "sharding", Value: bson.D{{Key: "clusterRole", Value: clusterRole(c)}}})
}
