package controls

import (
	"errors"
	"io/fs"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func snapshotHandlers() map[string]call.Handler {
	return map[string]call.Handler{"mockSave": mockSave, "mockLoad": mockLoad}
}

func snapshotPath(c *call.Call, write bool) (string, error) {
	if c.DB != "admin" {
		return "", mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", c.InvokedAs)
	}
	name, err := nameArg(c, "the name of a file")
	if err != nil {
		return "", err
	}
	switch {
	case name == "":
		return "", mongoerr.New(mongoerr.BadValue, "%s requires a file name, which is empty", c.InvokedAs)
	case c.Node.SnapshotPath == nil:
		return "", mongoerr.New(mongoerr.IllegalOperation,
			"this mock has no directory for snapshots: start it with --dbpath, where snapshots are stored")
	}
	path, err := c.Node.SnapshotPath(name, write)
	if err != nil {
		return "", mongoerr.New(mongoerr.IllegalOperation, "%s", err)
	}
	return path, nil
}

func mockSave(c *call.Call) (bson.D, error) {
	path, err := snapshotPath(c, true)
	if err != nil {
		return nil, err
	}
	if err := c.Cluster.Save(path); err != nil {
		return nil, fileError(err)
	}
	return bson.D{{Key: "file", Value: path}}, nil
}

func mockLoad(c *call.Call) (bson.D, error) {
	path, err := snapshotPath(c, false)
	if err != nil {
		return nil, err
	}
	if err := c.Cluster.Load(path); err != nil {
		return nil, fileError(err)
	}
	c.Cluster.Lock()
	written := c.Cluster.Storage().StartFlush()
	c.Cluster.Unlock()
	return bson.D{{Key: "file", Value: path}}, written(c.Ctx)
}

func fileError(err error) error {
	code := mongoerr.FailedToParse
	if errors.As(err, new(*fs.PathError)) {
		code = mongoerr.OperationFailed
	}
	return mongoerr.New(code, "%s", err)
}
