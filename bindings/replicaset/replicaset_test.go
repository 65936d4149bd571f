package replicaset_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

func replicaSetConfig() bson.D {
	member := func(id int32, host string, more ...bson.E) bson.D {
		return append(bson.D{field("_id", id), field("host", host)}, more...)
	}
	return bson.D{field("_id", "rs0"), field("version", int32(4)), field("protocolVersion", int64(1)),
		field("members", bson.A{member(0, "a:1"), member(1, "b:1", field("votes", int32(0)))})}
}

// TestReplicaSetHelpers: what rs sends, to a server that is in a set.
func TestReplicaSetHelpers(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{
		"replSetGetConfig": ok(field("config", replicaSetConfig())), "replSetReconfig": ok(), "replSetInitiate": ok(),
		"replSetSyncFrom": ok(), "replSetFreeze": ok(), "replSetStepDown": ok(), "replSetGetStatus": ok(field("set", "rs0")),
	})
	const get = `admin {"replSetGetConfig":1}` + "\n"
	const members = `{"_id":0,"host":"a:1"},{"_id":1,"host":"b:1","votes":0}`
	reconfig := func(version, members string) string {
		return get + `admin {"replSetReconfig":{"_id":"rs0","version":` + version + `,"protocolVersion":1,"members":[` + members + `]}}`
	}
	shelltest.Check(t, c, []shelltest.Case{
		{`rs.status().set`, `admin {"replSetGetStatus":1}`, "rs0"},
		{`rs.conf().version`, get[:len(get)-1], "4"},
		{`rs.initiate()`, `admin {"replSetInitiate":{}}`, "{ ok: 1 }"},
		{`rs.initiate({_id: "x"})`, `admin {"replSetInitiate":{"_id":"x"}}`, "{ ok: 1 }"},
		{`rs.add("c:1")`, reconfig("5", members+`,{"_id":2,"host":"c:1"}`), "{ ok: 1 }"},
		{`rs.add({host: "c:1", _id: 9, priority: 0})`, reconfig("5", members+`,{"host":"c:1","_id":9,"priority":0}`), "{ ok: 1 }"},
		{`rs.addArb("c:1")`, reconfig("5", members+`,{"_id":2,"host":"c:1","arbiterOnly":true}`), "{ ok: 1 }"},
		{`rs.add({host: "c:1"}, true)`, "", `MongoshInvalidInputError: [COMMON-10001] Expected first parameter to be a host-and-port string of arbiter, but got {"host":"c:1"}`},
		{`rs.add()`, "", "MongoshInvalidInputError: [COMMON-10001] Missing required argument member (ReplicaSet.add)"},
		{`rs.remove("b:1")`, reconfig("5", `{"_id":0,"host":"a:1"}`), "{ ok: 1 }"},
		{`rs.remove("z:1")`, "", `MongoshInvalidInputError: [COMMON-10001] Couldn't find z:1 in [{"_id":0,"host":"a:1"},{"_id":1,"host":"b:1","votes":0}]. Is z:1 a member of this replset?`},
		{`const cfg = {_id: "rs0", members: []}; rs.reconfig(cfg, {force: true}); cfg.version`,
			get + `admin {"replSetReconfig":{"_id":"rs0","members":[],"version":5,"protocolVersion":1},"force":true}`, "5"},
		{`rs.reconfigForPSASet(1, {members: [{_id: 0}, {_id: 1, votes: 1, priority: 2}]}).ok`,
			get + get + `admin {"replSetReconfig":{"members":[{"_id":0},{"_id":1,"votes":1,"priority":0}],"version":5,"protocolVersion":1}}` + "\n" +
				get + `admin {"replSetReconfig":{"members":[{"_id":0},{"_id":1,"votes":1,"priority":2}],"version":5,"protocolVersion":1}}`,
			"Running first reconfig to give member at index 1 { votes: 1, priority: 0 }\nRunning second reconfig to give member at index 1 { priority: 2 }\n1"},
		{`rs.reconfigForPSASet(3, {members: []})`, "", "MongoshInvalidInputError: [COMMON-10001] Node at index 3 does not exist in the new config"},
		{`rs.reconfigForPSASet(0, {members: [{_id: 0}]})`, "", "MongoshInvalidInputError: [COMMON-10001] Node at index 0 must have { votes: 1 } in the new config (actual: { votes: undefined })"},
		{`rs.stepDown()`, `admin {"replSetStepDown":60}`, ""},
		{`rs.stepDown(5, 3)`, `admin {"replSetStepDown":5,"secondaryCatchUpPeriodSecs":3}`, ""},
		{`rs.freeze(7)`, `admin {"replSetFreeze":7}`, ""},
		{`rs.syncFrom("b:1")`, `admin {"replSetSyncFrom":"b:1"}`, ""},
		{`rs.secondaryOk(); db.getMongo().getReadPrefMode()`, "",
			"DeprecationWarning: .setSecondaryOk() is deprecated. Use .setReadPref(\"primaryPreferred\") instead\nSetting read preference from \"primary\" to \"primaryPreferred\"\nprimaryPreferred"},
		{`rs.printSlaveReplicationInfo()`, "", "MongoshDeprecatedError: [COMMON-10003] printSlaveReplicationInfo has been deprecated. Use printSecondaryReplicationInfo instead"},
	})
	c.SetAnswers(nil)
	shelltest.Check(t, c, []shelltest.Case{ // a server without the command: the document it keeps
		{`rs.conf()`, `admin {"replSetGetConfig":1}` + "\n" + `local {"find":"system.replset","filter":{},"limit":1}`, "MongoshRuntimeError: [COMMON-10004] No documents in local.system.replset"},
	})
}

// TestReplicationInfo: the oplog of a member, and how far its secondaries are.
func TestReplicationInfo(t *testing.T) {
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.Local)
	c := shelltest.Connect(t)
	shelltest.Check(t, c, []shelltest.Case{
		{`db.getReplicationInfo()`, "", "MongoshInvalidInputError: [SHAPI-10002] Replication not detected. Are you connected to a replset?"},
		{`db.printSecondaryReplicationInfo()`, "", "MongoshInvalidInputError: [SHAPI-10002] local.system.replset is empty. Are you connected to a replica set?"},
		{`db.printSlaveReplicationInfo()`, "", "MongoshDeprecatedError: [COMMON-10003] Method deprecated, use db.printSecondaryReplicationInfo instead"},
	})
	oplog := shelltest.MustMarshal(bson.D{field("ts", bson.Timestamp{T: uint32(at.Unix()), I: 1})})
	names := bson.A{bson.D{field("name", "oplog.rs"), field("type", "collection")}}
	stats := bson.A{bson.D{field("ns", "local.oplog.rs"), field("storageStats", bson.D{field("capped", true), field("maxSize", int64(3<<20)), field("size", int64(1<<20)), field("count", int32(1))})}}
	cursor := func(list bson.A) bson.D {
		return ok(field("cursor", bson.D{field("firstBatch", list), field("id", int64(0)), field("ns", "local.x")}))
	}
	c.SetAnswers(map[string]bson.D{"listCollections": cursor(names), "aggregate": cursor(stats), "find": cursor(bson.A{oplog})})
	date := at.Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)") // Date.prototype.toString
	shelltest.Check(t, c, []shelltest.Case{
		{`const i = db.getReplicationInfo(); [i.configuredLogSizeMB, i.logSizeMB, i.usedMB, i.timeDiff, i.timeDiffHours, i.tFirst].join("; ")`, "", "3; 3; 1; 0; 0; " + date},
		{`db.printReplicationInfo()["log length start to end"]`, "", "0 secs (0 hrs)"},
	})
	member := func(name string, state int32, behind time.Duration, more ...bson.E) bson.D {
		return append(bson.D{field("name", name), field("state", state), field("stateStr", "STATE"), field("health", 1.0),
			field("optime", bson.D{}), field("optimeDate", at.Add(-behind))}, more...)
	}
	down := bson.D{field("name", "d:1"), field("state", int32(8)), field("stateStr", "(not reachable/healthy)")}
	c.SetAnswers(map[string]bson.D{"find": cursor(bson.A{oplog}),
		"replSetGetStatus": ok(field("members", bson.A{member("a:1", 1, 0), member("b:1", 2, 90*time.Second), member("c:1", 7, 0), down}))})
	shelltest.Check(t, c, []shelltest.Case{
		{`const r = db.printSecondaryReplicationInfo(); [Object.keys(r), r["source: b:1"].replLag, r["source: d:1"]]`, "",
			"[\n  [ 'source: b:1', 'source: d:1' ],\n  '90 secs (0.03 hrs) behind the primary ',\n  { 'no replication info, yet.  State': '(not reachable/healthy)' }\n]"},
	})
}
