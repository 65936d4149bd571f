package mock

import "go.mongodb.org/mongo-driver/v2/bson"

// KeepUser keeps a user of the router's with the state; a nil value takes it
// away. The caller holds the lock.
func (c *Cluster) KeepUser(name string, user bson.Raw) {
	if user == nil {
		delete(c.users, name)
		return
	}
	c.users[name] = user
}

// KeptUsers returns the users kept with the state, by name. The caller holds
// the lock.
func (c *Cluster) KeptUsers() map[string][]byte { return c.users }

// KeptWrite is what a router remembers of a session's newest retryable write.
type KeptWrite struct {
	Session string
	Write   bson.Raw
}

// KeepWrite keeps what the router remembers of a session's newest retryable
// write, for as long as the cluster is on disk; nil takes it away. It is
// written together with what the write has changed. The caller holds the lock.
func (c *Cluster) KeepWrite(session string, write bson.Raw) {
	if c.disk == nil {
		return
	}
	if c.disk.writes == nil {
		c.disk.writes = map[string]bson.Raw{}
	}
	c.disk.writes[session] = write
}

// KeepsWrites reports whether KeepWrite does anything.
func (c *Cluster) KeepsWrites() bool { return c.disk != nil }

// TakeWrites returns the retryable writes that were kept when the cluster was
// opened, once.
func (c *Cluster) TakeWrites() []KeptWrite {
	taken := c.writes
	c.writes = nil
	return taken
}

// forgetWrites makes what was kept of retryable writes void.
func (c *Cluster) forgetWrites() {
	c.writes = nil
	if c.disk != nil {
		c.disk.writes, c.disk.forgotten = nil, true
	}
}
