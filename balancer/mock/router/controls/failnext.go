package controls

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// mockFailNext makes the next calls of a command fail. The command may be given by an alias.
func mockFailNext(c *call.Call) (bson.D, error) {
	name, err := nameArg(c, "a command's name")
	if err != nil {
		return nil, err
	}
	cmd := c.Node.Table()[name]
	switch {
	case mock.IsInterNodeCommand(name) && (cmd == nil || cmd.WithoutLock):
		cmd = &call.Command{Command: &commands.Command{Name: name}} // a command that nodes send to each other
	case cmd == nil:
		return nil, mongoerr.New(mongoerr.BadValue, "mockFailNext: unknown command '%s'", name)
	case cmd.MockOnly:
		return nil, mongoerr.New(mongoerr.BadValue, "mockFailNext: %s is a command of the mock itself and cannot fail", name)
	case cmd.WithoutLock && (c.Args.Has("shard") || c.Args.Has("writeConcernError")):
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"mockFailNext: %s contacts no shard and writes nothing: set code or closeConnection", name)
	}
	f := mock.Failure{Command: cmd.Name, Times: 1, Shard: catalog.ShardID(c.Args.Text("shard")),
		CloseConnection: c.Args.Bool("closeConnection")}
	if err := readCounts(c, &f); err != nil {
		return nil, err
	}
	if err := readFailure(c, &f); err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Faults().FailNext(f)
}

func readCounts(c *call.Call, f *mock.Failure) error {
	if c.Args.Has("times") {
		f.Times = c.Args.Int("times")
	}
	f.After = c.Args.Int("after")
	if f.Times < 1 || f.After < 0 {
		return mongoerr.New(mongoerr.BadValue, "mockFailNext: times must be at least 1 and after must not be negative")
	}
	return nil
}

// readFailure reads the kind of failure: an error, a closed connection, or a write concern error.
func readFailure(c *call.Call, f *mock.Failure) error {
	concern := c.Args.Object("writeConcernError")
	kinds := 0
	for _, given := range []bool{c.Args.Has("code"), f.CloseConnection, concern != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return mongoerr.New(mongoerr.InvalidOptions,
			"mockFailNext: only one of code, closeConnection and writeConcernError is allowed")
	case concern != nil:
		return readWriteConcernError(f, concern)
	case f.CloseConnection:
		return nil
	}
	f.Code = mongoerr.HostUnreachable
	if c.Args.Has("code") {
		f.Code = mongoerr.Code(c.Args.Int("code"))
	}
	if f.Code <= 0 {
		return mongoerr.New(mongoerr.BadValue, "mockFailNext: %d is not an error code", f.Code)
	}
	f.Message = "Failing command via mockFailNext"
	if c.Args.Has("errmsg") {
		f.Message = c.Args.Text("errmsg")
	}
	if !c.Args.Has("errorLabels") {
		return nil
	}
	var err error
	f.Labels, err = stringsArg(c, "errorLabels", c.Args["errorLabels"])
	return err
}

func readWriteConcernError(f *mock.Failure, given bson.Raw) error {
	code, isNumber := args.Number(given.Lookup("code"))
	if !isNumber || code < 1 {
		return mongoerr.New(mongoerr.BadValue,
			"mockFailNext: writeConcernError needs a code, like {code: 64, errmsg: \"waiting for replication timed out\"}")
	}
	text, isText := given.Lookup("errmsg").StringValueOK()
	if !isText {
		text = "Failing write concern via mockFailNext"
	}
	f.WriteConcernError = bson.D{
		{Key: "code", Value: int32(code)}, {Key: "codeName", Value: mongoerr.Code(int32(code)).Name()}, {Key: "errmsg",
			Value: text},
	}
	return nil
}

func failureDoc(f mock.Failure) bson.D {
	doc := bson.D{{Key: "command", Value: f.Command}, {Key: "after", Value: f.After}, {Key: "times", Value: f.Times}}
	if f.Shard != "" {
		doc = append(doc, bson.E{Key: "shard", Value: string(f.Shard)})
	}
	switch {
	case f.CloseConnection:
		return append(doc, bson.E{Key: "closeConnection", Value: true})
	case f.WriteConcernError != nil:
		return append(doc, bson.E{Key: "writeConcernError", Value: f.WriteConcernError})
	}
	return append(doc, bson.E{Key: "code", Value: int32(f.Code)})
}
