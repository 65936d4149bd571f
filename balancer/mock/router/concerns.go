package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// readConcern reads the level asked for; "" when none is.
func (c *call) readConcern() (string, error) {
	v := c.body.Lookup("readConcern")
	if v.IsZero() {
		return "", nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return "", mongoerr.New(mongoerr.TypeMismatch, "\"readConcern\" had the wrong type. Expected object, found %s",
			args.TypeName(v.Type))
	}
	v = doc.Lookup("level")
	if v.IsZero() {
		return "", nil
	}
	level, isText := v.StringValueOK()
	if !isText {
		return "", mongoerr.New(mongoerr.TypeMismatch,
			"\"readConcern.level\" had the wrong type. Expected string, found %s", args.TypeName(v.Type))
	}
	switch level {
	case "local", "available", "majority", "linearizable", "snapshot":
		return level, nil
	}
	return "", mongoerr.New(mongoerr.FailedToParse,
		"readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'")
}

// readsAvailable reports whether a read asks for what shards have, whoever owns it. From
// secondaries that was the default up to 4.4.
func (c *call) readsAvailable() bool {
	level, err := c.readConcern()
	if level == "" && err == nil && c.cmd.ReadConcern {
		level = c.cluster.ClusterParameters().DefaultReadLevel()
		if level == "local" && c.prefers.Secondaries() && c.cluster.Release().SecondariesGiveAll() {
			return true
		}
	}
	return level == "available"
}

// nodes returns which nodes a read goes to. special is false for the primaries that
// check what they are sent, as nearly always.
func (c *call) nodes() (n mock.Node, special bool, err error) {
	if c.node.member != nil || c.mergesNow {
		return n, false, nil
	}
	n.Available = c.readsAvailable()
	if !c.prefers.Secondaries() || !c.cluster.Faults().Lags() || c.snapshot != nil {
		return n, n.Available, nil
	}
	concern, _ := c.body.Lookup("readConcern").DocumentOK()
	if args.Text(concern.Lookup("level")) == "linearizable" {
		return n, false, mongoerr.New(mongoerr.NotWritablePrimary,
			"cannot satisfy linearizable read concern on non-primary node")
	}
	n.Secondary, n.Only, n.Most = true, c.prefers.Mode == args.Secondary, c.prefers.MaxStaleness
	n.After.T, n.After.I, _ = concern.Lookup("afterClusterTime").TimestampOK()
	return n, true, nil
}

// checkConcerns reads the concerns, then asks whether the command takes such.
func (c *call) checkConcerns(cmd *command) error {
	level, err := c.readConcern()
	if err != nil {
		return err
	}
	if err := c.checkWriteConcern(); err != nil {
		return err
	}
	if c.prefers, err = args.ReadReadPreference(c.body.Lookup("$readPreference")); err != nil {
		return err
	}
	switch {
	case !cmd.WriteConcern && !c.body.Lookup("writeConcern").IsZero():
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support writeConcern", cmd.Name)
	case level == "snapshot" && cmd.Name == "count":
		return mongoerr.New(mongoerr.InvalidOptions,
			"Command count does not support { readConcern: { level: \"snapshot\", provenance: \"clientSupplied\" } } :: "+
				"caused by :: read concern snapshot not supported")
	case level != "" && level != "local" && !cmd.ReadConcern:
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support read concern %s", cmd.Name, level)
	}
	return nil
}

// checkWriteConcern checks a write concern. Every write of the mock is everywhere
// at once, so there is nothing to wait for.
func (c *call) checkWriteConcern() error {
	v := c.body.Lookup("writeConcern")
	if v.IsZero() {
		return nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return mongoerr.New(mongoerr.TypeMismatch, "\"writeConcern\" had the wrong type. Expected object, found %s",
			args.TypeName(v.Type))
	}
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		if err := checkWriteConcernField(e.Key(), e.Value()); err != nil {
			return err
		}
	}
	return nil
}

// maxWriteConcern is the largest number of nodes that can be waited for.
const maxWriteConcern = 50

func checkWriteConcernField(name string, v bson.RawValue) error {
	n, isNumber := args.Number(v)
	switch name {
	case "w":
		_, isTags := v.DocumentOK()
		_, isText := v.StringValueOK()
		if !isNumber && !isText && !isTags {
			return mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s",
				args.TypeName(v.Type))
		}
		if isNumber && (n < 0 || n > maxWriteConcern) {
			return mongoerr.New(mongoerr.FailedToParse, "w has to be a non-negative number and not greater than %d; found: %v",
				maxWriteConcern, n)
		}
	case "j", "fsync":
		if !isNumber && v.Type != bson.TypeBoolean {
			return mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'writeConcern.%s' is the wrong type '%s', expected types '[bool, long, int, decimal, double]'", name,
				args.TypeName(v.Type))
		}
	case "wtimeout", "provenance", "getLastError":
	default:
		return mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'writeConcern.%s' is an unknown field.", name)
	}
	return nil
}
