package router

import (
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// rejectObsoleteMaxTime rejects the obsolete option $maxTimeMs.
func rejectObsoleteMaxTime(c *call.Call) error {
	if !c.Body.Lookup("$maxTimeMs").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "no such command option $maxTimeMs; use maxTimeMS instead")
	}
	return nil
}

func readMaxTime(c *call.Call, now time.Time) error {
	v := c.Body.Lookup("maxTimeMS")
	if v.IsZero() {
		return nil
	}
	n, ok := args.Number(v)
	ms := int64(n)
	switch {
	case !ok:
		return mongoerr.New(mongoerr.BadValue, "maxTimeMS must be a number")
	case isUnknownCursor(c):
		return nil // the error of the unknown cursor comes first
	case n != math.Trunc(n):
		return mongoerr.New(mongoerr.BadValue, "maxTimeMS has non-integral value")
	case n < 0 || n > math.MaxInt32:
		if v.Type == bson.TypeInt64 {
			ms = v.Int64()
		}
		return mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range [0, %d]", ms, math.MaxInt32)
	}
	if ms > 0 {
		c.LimitTime(now, time.Duration(ms)*time.Millisecond)
	}
	return nil
}

// isUnknownCursor reports whether a getMore names a cursor that does not exist.
func isUnknownCursor(c *call.Call) bool {
	id, isLong := c.Body.Lookup("getMore").Int64OK()
	return c.InvokedAs == "getMore" && isLong && c.Node.Cursors.Open[id] == nil
}

// applyDefaultMaxTime sets the cluster's default time limit for a read without maxTimeMS. A pipeline
// that writes is not a read.
func applyDefaultMaxTime(cmd *call.Command, c *call.Call) {
	switch cmd.Name {
	case "find", "count", "distinct", "aggregate":
	default:
		return
	}
	limit := c.Cluster.ClusterParameters().DefaultMaxTime()
	if limit == 0 || c.Node.Member != nil || !c.Body.Lookup("maxTimeMS").IsZero() || commands.WritesResults(c.Body.Raw) {
		return
	}
	c.LimitTime(c.Cluster.Now(), limit)
}
