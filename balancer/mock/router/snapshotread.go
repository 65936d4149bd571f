package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// setSnapshotTime sets the time of a read with read concern snapshot. The mock stores no older versions of
// documents. It can read the current state, or an older one if nothing has changed since.
func setSnapshotTime(c *call.Call, cmd *call.Command) error {
	if level := args.Text(c.Body.Lookup("readConcern", "level")); level != "snapshot" || !cmd.ReadConcern {
		return nil
	}
	now := c.Cluster.IDs().ClusterTime()
	c.SnapshotTime = &now
	v := c.Body.Lookup("readConcern", "atClusterTime")
	if v.IsZero() {
		return nil
	}
	t, i, isTime := v.TimestampOK()
	at := bson.Timestamp{T: t, I: i}
	switch {
	case !isTime:
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'readConcern.atClusterTime' is the wrong type '%s', expected type 'timestamp'", args.TypeName(v.Type))
	case at.IsZero():
		return mongoerr.New(mongoerr.InvalidOptions, "readConcern.atClusterTime cannot be a null timestamp")
	case at.After(now):
		return mongoerr.New(mongoerr.InvalidOptions,
			"readConcern atClusterTime value must not be greater than the current clusterTime. Requested: %v; current: %v", at,
			now)
	case at.Before(now):
		return mongoerr.New(mongoerr.SnapshotTooOld,
			"Read timestamp %v is older than the oldest available timestamp: the mock keeps no history, and something has "+
				"changed since", at)
	}
	return nil
}

// withSnapshotTime adds the time of the snapshot to a reply, so that clients can read the same snapshot
// again.
func withSnapshotTime(c *call.Call, reply bson.D) bson.D {
	if c.SnapshotTime == nil || len(reply) == 0 {
		return reply
	}
	at := bson.E{Key: "atClusterTime", Value: *c.SnapshotTime}
	for i, f := range reply {
		if cursor, isDoc := f.Value.(bson.D); f.Key == "cursor" && isDoc {
			reply[i].Value = append(cursor, at)
			return reply
		}
	}
	return append(reply, at)
}
