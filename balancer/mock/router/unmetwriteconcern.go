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

// awaitWriteConcern waits for the nodes of a write concern and returns the writeConcernError: for more nodes than a
// shard has, for an unknown mode, or for a wtimeout shorter than the lag (secondary of mockSlow). It returns nil
// otherwise. Without a lag it does not wait, because all nodes have the same data. A write that does not
// name a number of nodes waits for the default. Commands that change collections always wait for a majority and
// return no error (recording 22-secondaries). A pipeline that writes fails instead.
func awaitWriteConcern(cmd *call.Command, c *call.Call) (bson.D, error) {
	if !cmd.WriteConcern || !cmd.AwaitsRequestedNodes && !commands.WritesResults(c.Body.Raw) {
		return nil, nil
	}
	concern, isDoc := c.Body.Lookup("writeConcern").DocumentOK()
	asked := readRequestedConcern(c, concern)
	if !isDoc && c.Request.SecondaryLag() == 0 && asked.source == "implicitDefault" {
		return nil, nil
	}
	failures := awaitOnShards(c, cmd, asked)
	switch {
	case len(failures) == 0:
		return nil, nil
	case cmd.Name == "aggregate":
		first := failures[0]
		return nil, mongoerr.New(first.code, "PlanExecutor error during aggregation :: caused by :: %s", first.text(cmd.Name))
	}
	return writeConcernErrorDoc(cmd.Name, failures), nil
}

// requestedConcern is what a write waits for.
type requestedConcern struct {
	w             bson.RawValue
	journal       bool
	timeoutMillis int32
	source        string // provenance, such as clientSupplied or implicitDefault
}

func readRequestedConcern(c *call.Call, concern bson.Raw) requestedConcern {
	a := requestedConcern{w: concern.Lookup("w"), source: "clientSupplied"}
	if a.w.IsZero() {
		concern, a.source = c.Cluster.ClusterParameters().DefaultWriteConcern(concern)
		a.w = concern.Lookup("w")
	}
	if a.w.Type == bson.TypeNull { // as an empty text
		a.w = value.String("")
	}
	a.journal, _ = concern.Lookup("j").BooleanOK()
	timeout, _ := args.Number(concern.Lookup("wtimeout"))
	a.timeoutMillis = int32(timeout)
	return a
}

// awaitOnShards waits for the nodes of each shard that a write went to, and returns what was not met.
func awaitOnShards(c *call.Call, cmd *call.Command, asked requestedConcern) (failures []writeConcernFailure) {
	shards := c.Request.ContactedShards()
	if len(shards) == 0 {
		home, _ := c.Cluster.Statistics().HomeShard(c.TargetNamespace(cmd))
		shards = []catalog.ShardID{home}
	}
	longest := time.Duration(0)
	for _, id := range shards {
		f, wait := asked.checkShard(c, id)
		if wait > 0 || f.message != "" {
			failures = append(failures, f)
		}
		longest = max(longest, wait)
	}
	if longest == 0 {
		return failures
	}
	late := time.Duration(asked.timeoutMillis) * time.Millisecond
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

// checkShard returns why a shard cannot satisfy the write concern; f has no message if it can, after wait.
func (a requestedConcern) checkShard(c *call.Call, id catalog.ShardID) (f writeConcernFailure, wait time.Duration) {
	f = writeConcernFailure{requestedConcern: a, shard: string(id)}
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
	requestedConcern
	shard    string
	code     mongoerr.Code
	message  string
	timedOut bool // it may be met later
}

// errInfo returns the errInfo of the failure, which some commands have in the message instead.
func (f writeConcernFailure) errInfo() bson.D {
	concern := bson.D{{Key: "w", Value: f.w}}
	if f.journal {
		concern = append(concern, bson.E{Key: "j", Value: true})
	}
	concern = append(concern, bson.E{Key: "wtimeout", Value: f.timeoutMillis}, bson.E{Key: "provenance", Value: f.source})
	info := bson.D{{Key: "writeConcern", Value: concern}}
	if f.timedOut {
		info = append(bson.D{{Key: "wtimeout", Value: true}}, info...)
	}
	return info
}

// text returns the errmsg of a command's reply, whose format depends on the command.
func (f writeConcernFailure) text(command string) string {
	details := "<none>"
	if command != "bulkWrite" {
		if raw, err := bson.Marshal(f.errInfo()); err == nil {
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

// writeConcernErrorDoc returns the writeConcernError of a reply. For commands that write batches, only
// the message has the details.
func writeConcernErrorDoc(command string, failures []writeConcernFailure) bson.D {
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
		info = first.errInfo()
	}
	return bson.D{code, {Key: "codeName", Value: first.code.Name()}, message, {Key: "errInfo", Value: info}}
}
