package call

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// ReadConcern returns the read concern level of the command, "" if it has none.
func (c *Call) ReadConcern() (string, error) {
	v := c.Body.Lookup("readConcern")
	if v.IsZero() || v.Type == bson.TypeNull {
		return "", nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return "", mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'request.readConcern' is the wrong type '%s', expected type 'object'", args.TypeName(v.Type))
	}
	level := args.Text(doc.Lookup("level"))
	if err := args.Check("readConcern", readConcernFields, doc); err != nil {
		return level, err
	}
	if (level == "available" || level == "linearizable") && !doc.Lookup("afterClusterTime").IsZero() {
		return level, mongoerr.New(mongoerr.InvalidOptions,
			"afterClusterTime field can be set only if level is equal to majority, local, or snapshot")
	}
	return level, nil
}

var readConcernFields = []args.Field{
	args.Optional("level", args.String).OneOf("local", "available", "majority", "linearizable", "snapshot"),
	args.Optional("afterOpTime", args.Any), args.Optional("afterClusterTime", args.Any),
	args.Optional("atClusterTime", args.Any),
	args.Optional("provenance", args.Any), args.Optional("allowTransactionTableSnapshot", args.Any),
	args.Optional("waitLastStableRecoveryTimestamp", args.Any),
}

// readsAvailable reports whether a read has read concern available, which returns orphans. Up to 4.4
// that was the default for reads from secondaries.
func (c *Call) readsAvailable() bool {
	level, err := c.ReadConcern()
	if level == "" && err == nil && c.Cmd.ReadConcern {
		level = c.Cluster.ClusterParameters().DefaultReadLevel()
		if level == "local" && c.ReadPreference.AllowsSecondaries() && c.Cluster.Release().SecondariesReturnOrphans() {
			return true
		}
	}
	return level == "available"
}

// Nodes returns the nodes that a read uses. special is false in the usual case, a read from primaries
// with shard version checks.
func (c *Call) Nodes() (n mock.NodeSelection, special bool, err error) {
	if c.Node.Member != nil || c.IsWritingResults {
		return n, false, nil
	}
	n.Available = c.readsAvailable()
	concern, _ := c.Body.Lookup("readConcern").DocumentOK()
	level := args.Text(concern.Lookup("level"))
	n.Majority, n.Linearizable = level == "majority", level == "linearizable"
	n.SecondaryOnly = c.ReadPreference.Mode == args.Secondary
	n.MinClusterTime.T, n.MinClusterTime.I, _ = concern.Lookup("afterClusterTime").TimestampOK()
	if now := c.Cluster.IDs().ClusterTime(); n.MinClusterTime.After(now) {
		return n, false, &mock.NodeError{Cause: mongoerr.New(mongoerr.InvalidOptions,
			"readConcern afterClusterTime value must not be greater than the current clusterTime. Requested clusterTime: "+
				"{ ts: Timestamp(%d, %d) }; current clusterTime: { ts: Timestamp(%d, %d) }",
			n.MinClusterTime.T, n.MinClusterTime.I, now.T, now.I)}
	}
	behind := c.Cluster.Faults().HasLaggingSecondary() || n.Linearizable && n.SecondaryOnly
	if !c.ReadPreference.AllowsSecondaries() || !behind {
		return n, n.Available, nil
	}
	if c.SnapshotTime != nil {
		n.MinClusterTime, n.Majority = *c.SnapshotTime, true
	}
	n.Secondary, n.MaxLag, n.ReadPreferenceText = true, c.ReadPreference.MaxStaleness, c.ReadPreference.Text
	return n, true, nil
}

// CheckWriteConcernField checks one field of a write concern.
func CheckWriteConcernField(name string, v bson.RawValue) error {
	n, isNumber := args.Number(v)
	switch name {
	case "w":
		tags, isTags := v.DocumentOK()
		_, isText := v.StringValueOK()
		isText = isText || v.Type == bson.TypeNull // null counts as an empty string
		if isTags && document.IsEmpty(tags) {
			return mongoerr.New(mongoerr.FailedToParse, "tagged write concern requires tags")
		}
		if !isNumber && !isText && !isTags {
			return mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s",
				args.TypeName(v.Type))
		}
		if isNumber && (n < 0 || n > catalog.MaxReplicaSetMembers) {
			return mongoerr.New(mongoerr.FailedToParse, "w has to be a non-negative number and not greater than %d; found: %v",
				catalog.MaxReplicaSetMembers, n)
		}
	case "j", "fsync":
		if !isNumber && v.Type != bson.TypeBoolean {
			return mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'WriteConcernOptions.%s' is the wrong type '%s', expected types '[double, int, bool, decimal, "+
					"long']", name, args.TypeName(v.Type))
		}
	case "wtimeout", "provenance", "getLastError":
	default:
		return mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'WriteConcernOptions.%s' is an unknown field.", name)
	}
	return nil
}
