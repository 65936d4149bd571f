package router

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// unsatisfied returns the writeConcernError of a write that was done, but asked
// for more nodes than the shard's replica set has, or for a mode that there is
// not; nil for all others. Where a write concern can be met it is met at once:
// the mock's nodes hold the same.
func unsatisfied(cmd *command, c *call) bson.D {
	if !cmd.WriteConcern || cmd.AdminOnly && cmd.Name != "bulkWrite" {
		return nil
	}
	concern, isDoc := c.body.Lookup("writeConcern").DocumentOK()
	if !isDoc {
		return nil
	}
	shard, host := c.cluster.Statistics().Home(c.subject(cmd))
	code, message := mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes"
	w := concern.Lookup("w")
	if mode, isText := w.StringValueOK(); isText {
		if mode == "majority" {
			return nil
		}
		code, message = mongoerr.UnknownReplWriteConcern, fmt.Sprintf("No write concern mode named '%s' found in replica "+
			"set configuration", mode)
	} else if n, _ := args.Number(w); int(n) <= 1+strings.Count(host, ",") {
		return nil
	}
	timeout, _ := args.Number(concern.Lookup("wtimeout"))
	info := bson.D{{Key: "writeConcern", Value: bson.D{
		{Key: "w", Value: w}, {Key: "wtimeout", Value: int32(timeout)}, {Key: "provenance", Value: "clientSupplied"},
	}}}
	name := code.Name()
	raw, err := bson.Marshal(info)
	if err != nil {
		return nil
	}
	return bson.D{
		{Key: "code", Value: int32(code)},
		{Key: "codeName", Value: name},
		{Key: "errmsg", Value: fmt.Sprintf("%s: %s; Error details: %s at %s", name, message, mongoerr.Text(raw), shard)},
		{Key: "errInfo", Value: info},
	}
}
