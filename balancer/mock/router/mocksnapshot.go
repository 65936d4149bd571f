package router

import (
	"errors"
	"io/fs"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// SnapshotFile finds the file that a name stands for, or refuses it.
type SnapshotFile func(name string, write bool) (path string, err error)

// WithSnapshots lets clients save the cluster to files and load it from them.
// Without it nobody can: a client must not choose among this machine's files.
func WithSnapshots(find SnapshotFile) Option {
	return func(r *Router) { r.snapshots = find }
}

func snapshotHandlers() map[string]handler {
	return map[string]handler{"mockSave": mockSave, "mockLoad": mockLoad}
}

func snapshotPath(c *call, write bool) (string, error) {
	if c.db != "admin" {
		return "", mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", c.invoked)
	}
	name, err := c.name("the name of a file")
	if err != nil {
		return "", err
	}
	switch {
	case name == "":
		return "", mongoerr.New(mongoerr.BadValue, "%s takes the name of a file, not an empty one", c.invoked)
	case c.node.snapshots == nil:
		return "", mongoerr.New(mongoerr.IllegalOperation,
			"this mock has no place for snapshots: serve it with --dbpath, which is where they go")
	}
	path, err := c.node.snapshots(name, write)
	if err != nil {
		return "", mongoerr.New(mongoerr.IllegalOperation, "%s", err)
	}
	return path, nil
}

func mockSave(c *call) (bson.D, error) {
	path, err := snapshotPath(c, true)
	if err != nil {
		return nil, err
	}
	if err := c.cluster.Save(path); err != nil {
		return nil, fileError(err)
	}
	return bson.D{{Key: "file", Value: path}}, nil
}

func mockLoad(c *call) (bson.D, error) {
	path, err := snapshotPath(c, false)
	if err != nil {
		return nil, err
	}
	if err := c.cluster.Load(path); err != nil {
		return nil, fileError(err)
	}
	c.cluster.Lock()
	written := c.cluster.Written()
	c.cluster.Unlock()
	return bson.D{{Key: "file", Value: path}}, written(c.ctx)
}

func fileError(err error) error {
	code := mongoerr.FailedToParse
	var path *fs.PathError
	if errors.As(err, &path) {
		code = mongoerr.OperationFailed
	}
	return mongoerr.New(code, "%s", err)
}

// forgetWrites: what retryable writes did before is not in the state any more.
func (s *sessions) forgetWrites() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.open {
		open.writes = nil
	}
}
