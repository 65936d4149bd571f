package router

import (
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkConcerns parses the read and write concern, then checks whether the command accepts them.
func checkConcerns(c *call.Call, cmd *call.Command) error {
	level, err := c.ReadConcern()
	if err != nil {
		return err
	}
	if err := checkWriteConcern(c); err != nil {
		return err
	}
	if c.ReadPreference, err = args.ReadReadPreference(c.Body.Lookup("$readPreference")); err != nil {
		return err
	}
	switch {
	case !cmd.WriteConcern && !c.Body.Lookup("writeConcern").IsZero():
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

// checkWriteConcern checks the fields of a write concern. awaitWriteConcern waits for it after the
// command has run.
func checkWriteConcern(c *call.Call) error {
	v := c.Body.Lookup("writeConcern")
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
		if err := call.CheckWriteConcernField(e.Key(), e.Value()); err != nil {
			return err
		}
	}
	return nil
}
