package router

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// unmetWriteConcern returns the writeConcernError of a write that was done, but asked for more nodes than a shard's
// replica set has, for an unknown mode, or not to wait as long as a secondary is behind (secondary of mockSlow); nil
// for all others. Where none is behind, what can be met is met at once: the nodes hold the same. A write that does not
// say how many nodes waits for those of the default. What changes collections waits for a majority of its own, and
// answers without an error (recording 22-secondaries). A pipeline that writes fails.
func unmetWriteConcern(cmd *call.Command, c *call.Call) (bson.D, error) {
	if !cmd.WriteConcern || !cmd.AwaitsNodes && !commands.WritesResults(c.Body.Raw) {
		return nil, nil
	}
	concern, isDoc := c.Body.Lookup("writeConcern").DocumentOK()
	asked := askedFor(c, concern)
	if !isDoc && c.Request.SecondaryLag() == 0 && asked.source == "implicitDefault" {
		return nil, nil
	}
	failures := unmetOn(c, cmd, asked)
	switch {
	case len(failures) == 0:
		return nil, nil
	case cmd.Name == "aggregate":
		first := failures[0]
		return nil, mongoerr.New(first.code, "PlanExecutor error during aggregation :: caused by :: %s", first.text(cmd.Name))
	}
	return concernReply(cmd.Name, failures), nil
}

// askedConcern is what a write waits for.
type askedConcern struct {
	w       bson.RawValue
	journal bool
	timeout int32
	source  string // who wants it
}

func askedFor(c *call.Call, concern bson.Raw) askedConcern {
	a := askedConcern{w: concern.Lookup("w"), source: "clientSupplied"}
	if a.w.IsZero() {
		concern, a.source = c.Cluster.ClusterParameters().DefaultWriteConcern(concern)
		a.w = concern.Lookup("w")
	}
	if a.w.Type == bson.TypeNull { // as an empty text
		a.w = value.String("")
	}
	a.journal, _ = concern.Lookup("j").BooleanOK()
	timeout, _ := args.Number(concern.Lookup("wtimeout"))
	a.timeout = int32(timeout)
	return a
}

// unmetOn waits for the nodes of each shard that a write went to, and returns what was not met.
func unmetOn(c *call.Call, cmd *call.Command, asked askedConcern) (failures []writeConcernFailure) {
	shards := c.Request.ContactedShards()
	if len(shards) == 0 {
		home, _ := c.Cluster.Statistics().HomeShard(c.TargetNamespace(cmd))
		shards = []catalog.ShardID{home}
	}
	longest := time.Duration(0)
	for _, id := range shards {
		f, wait := asked.on(c, id)
		if wait > 0 || f.message != "" {
			failures = append(failures, f)
		}
		longest = max(longest, wait)
	}
	if longest == 0 {
		return failures
	}
	late := time.Duration(asked.timeout) * time.Millisecond
	timedOut := late > 0 && late < longest
	if timedOut {
		longest = late
	}
	if err := c.Request.AwaitSecondaries(longest); err == nil && !timedOut {
		failures = slices.DeleteFunc(failures, func(f writeConcernFailure) bool { return f.message == "" })
	}
	for i := range failures {
		if f := &failures[i]; f.message == "" {
			f.code, f.message, f.timedOut = mongoerr.WriteConcernFailed, "waiting for replication timed out", timedOut
		}
	}
	return failures
}

// on returns why a shard's set can't have what a write asks for, or how long it has to be waited for.
func (a askedConcern) on(c *call.Call, id catalog.ShardID) (f writeConcernFailure, wait time.Duration) {
	f = writeConcernFailure{askedConcern: a, shard: string(id)}
	faults := c.Cluster.Faults()
	members := faults.MemberCount(id)
	n, _ := args.Number(a.w)
	need := int(n)
	if mode, isText := a.w.StringValueOK(); isText {
		if mode != "majority" {
			f.code, f.message = mongoerr.UnknownReplWriteConcern,
				fmt.Sprintf("No write concern mode named '%s' found in replica set configuration", mode)
			return f, 0
		}
		need = members/2 + 1
	}
	if need > members {
		f.code, f.message = mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes"
		return f, 0
	}
	return f, faults.ReplicationTime(id, need)
}

// writeConcernFailure is a write concern that was not met on a shard.
type writeConcernFailure struct {
	askedConcern
	shard    string
	code     mongoerr.Code
	message  string
	timedOut bool // it may be met later
}

// details are what errInfo says, or the message.
func (f writeConcernFailure) details() bson.D {
	concern := bson.D{{Key: "w", Value: f.w}}
	if f.journal {
		concern = append(concern, bson.E{Key: "j", Value: true})
	}
	concern = append(concern, bson.E{Key: "wtimeout", Value: f.timeout}, bson.E{Key: "provenance", Value: f.source})
	info := bson.D{{Key: "writeConcern", Value: concern}}
	if f.timedOut {
		info = append(bson.D{{Key: "wtimeout", Value: true}}, info...)
	}
	return info
}

// text is the message of a command's reply: each has its own.
func (f writeConcernFailure) text(command string) string {
	details := "<none>"
	if command != "bulkWrite" {
		if raw, err := bson.Marshal(f.details()); err == nil {
			details = mongoerr.Text(raw)
		}
	}
	switch text := fmt.Sprintf("%s; Error details: %s at %s", f.message, details, f.shard); command {
	case "createIndexes":
		return f.message
	case "findAndModify":
		return text
	default:
		return f.code.Name() + ": " + text
	}
}

// concernReply is the writeConcernError of a reply. Commands that write batches tell of the details in the message
// only.
func concernReply(command string, failures []writeConcernFailure) bson.D {
	first, texts := failures[0], make([]string, len(failures))
	for i, f := range failures {
		texts[i] = f.text(command)
	}
	text := strings.Join(texts, " :: and :: ")
	if len(texts) > 1 {
		text = "Multiple errors reported :: " + text
	}
	code, message := bson.E{Key: "code", Value: int32(first.code)}, bson.E{Key: "errmsg", Value: text}
	info := bson.D{}
	switch command {
	case "bulkWrite":
		return bson.D{code, message}
	case "createIndexes", "findAndModify":
		info = first.details()
	}
	return bson.D{code, {Key: "codeName", Value: first.code.Name()}, message, {Key: "errInfo", Value: info}}
}
