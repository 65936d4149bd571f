package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// readSnapshot notes the time that a read with the level snapshot is about. The
// mock keeps no older versions of documents: it can show the newest state, and
// an older one as long as nothing has changed since.
func readSnapshot(c *call.Call, cmd *call.Command) error {
	if level := args.Text(c.Body.Lookup("readConcern", "level")); level != "snapshot" || !cmd.ReadConcern {
		return nil
	}
	now := c.Cluster.IDs().ClusterTime()
	c.Snapshot = &now
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

// withSnapshotTime adds to a reply which state was read, for later reads of the
// same.
func withSnapshotTime(c *call.Call, reply bson.D) bson.D {
	if c.Snapshot == nil || len(reply) == 0 {
		return reply
	}
	at := bson.E{Key: "atClusterTime", Value: *c.Snapshot}
	for i, f := range reply {
		if cursor, isDoc := f.Value.(bson.D); f.Key == "cursor" && isDoc {
			reply[i].Value = append(cursor, at)
			return reply
		}
	}
	return append(reply, at)
}
