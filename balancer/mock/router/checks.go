package router

import (
	"math"
	"time"

	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkOption refuses an option of old that looks like maxTimeMS.
func checkOption(c *call.Call) error {
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
	ms, ok := v.AsInt64OK()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "maxTimeMS must be a number")
	}
	if ms < 0 || ms > math.MaxInt32 {
		return mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range", ms)
	}
	if ms > 0 {
		c.LimitTime(now, time.Duration(ms)*time.Millisecond)
	}
	return nil
}

// limitReads gives a read that says nothing of its time the cluster's default.
// A pipeline that writes is no read.
func limitReads(cmd *call.Command, c *call.Call) {
	switch cmd.Name {
	case "find", "count", "distinct", "aggregate":
	default:
		return
	}
	most := c.Cluster.ClusterParameters().DefaultMaxTime()
	if most == 0 || c.Node.Member != nil || !c.Body.Lookup("maxTimeMS").IsZero() || commands.WritesResults(c.Body.Raw) {
		return
	}
	c.LimitTime(c.Cluster.Now(), most)
}
