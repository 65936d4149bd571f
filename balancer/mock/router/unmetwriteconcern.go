package router

import (
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// unmetWriteConcern returns the writeConcernError of an executed write, nil if there is none. There is
// one if the write concern asks for more nodes than the shard's replica set has, names an unknown mode,
// or has a timeout shorter than the lag of a secondary (secondary of mockSlow). If no secondary lags,
// all nodes have the same data and a satisfiable write concern is satisfied at once. A write concern
// without w uses the default w.
func unmetWriteConcern(cmd *call.Command, c *call.Call) bson.D {
	if !cmd.WriteConcern || cmd.AdminOnly && cmd.Name != "bulkWrite" {
		return nil
	}
	concern, isDoc := c.Body.Lookup("writeConcern").DocumentOK()
	behind := c.Request.SecondaryLag()
	if !isDoc && (behind == 0 || cmd.Effect != commands.Writes && !commands.WritesResults(c.Body.Raw)) {
		return nil
	}
	shard, host := c.Cluster.Statistics().HomeShard(c.TargetNamespace(cmd))
	members := 1 + strings.Count(host, ",")
	if behind > 0 {
		members = max(members, 2)
	}
	w, source := concern.Lookup("w"), "clientSupplied"
	if w.IsZero() {
		concern, source = c.Cluster.ClusterParameters().DefaultWriteConcern(concern)
		w = concern.Lookup("w")
	}
	if w.Type == bson.TypeNull { // null counts as an empty string
		w = value.String("")
	}
	n, _ := args.Number(w)
	timeout, _ := args.Number(concern.Lookup("wtimeout"))
	failed := writeConcernFailure{w: w, timeout: int32(timeout), source: source, shard: string(shard)}
	switch mode, isText := w.StringValueOK(); {
	case isText && mode != "majority":
		return failed.doc(mongoerr.UnknownReplWriteConcern, fmt.Sprintf("No write concern mode named '%s' found in replica "+
			"set configuration", mode))
	case int(n) > members:
		return failed.doc(mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes")
	case behind == 0 || !isText && n <= 1:
		return nil
	}
	limit := time.Duration(timeout) * time.Millisecond
	failed.timedOut = limit > 0 && limit < behind
	if failed.timedOut {
		behind = limit
	}
	if err := c.Request.AwaitSecondaries(behind); err == nil && !failed.timedOut {
		return nil
	}
	return failed.doc(mongoerr.WriteConcernFailed, "waiting for replication timed out")
}

// writeConcernFailure is an unsatisfied write concern.
type writeConcernFailure struct {
	w        bson.RawValue
	timeout  int32
	source   string // provenance of the write concern
	shard    string
	timedOut bool // it may still be satisfied later
}

func (f writeConcernFailure) doc(code mongoerr.Code, message string) bson.D {
	info := bson.D{{Key: "writeConcern", Value: bson.D{
		{Key: "w", Value: f.w}, {Key: "wtimeout", Value: f.timeout}, {Key: "provenance", Value: f.source},
	}}}
	if f.timedOut {
		info = append(bson.D{{Key: "wtimeout", Value: true}}, info...)
	}
	name := code.Name()
	raw, err := bson.Marshal(info)
	if err != nil {
		return nil
	}
	return bson.D{
		{Key: "code", Value: int32(code)},
		{Key: "codeName", Value: name},
		{Key: "errmsg", Value: fmt.Sprintf("%s: %s; Error details: %s at %s", name, message, mongoerr.Text(raw), f.shard)},
		{Key: "errInfo", Value: info},
	}
}
