package router

import (
	"context"

	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
)

// awaitDurable hands the changes of a command to the storage, and returns a
// function that waits until the reply may be sent. A read waits for nothing,
// unless it must not show what a crash could take back.
func awaitDurable(cmd *call.Command, c *call.Call) (wait func(context.Context) error) {
	if cmd != nil && (cmd.Effect == commands.Writes || readsDurably(c)) {
		return c.Cluster.Storage().StartFlush()
	}
	c.Cluster.Storage().QueueChanges()
	return func(context.Context) error { return nil }
}

// checkDisk refuses what changes something once the disk has failed: it would
// not be kept. Reads go on.
func checkDisk(cmd *call.Command, c *call.Call) error {
	if cmd.Effect != commands.Writes && !commands.WritesResults(c.Body.Raw) {
		return nil
	}
	return c.Cluster.Storage().Err()
}

// readsDurably reports whether a reading command shows only what is on disk:
// one with the read concern majority, linearizable or snapshot, given or by
// default, and one that reads a change stream. An aggregation that writes its
// results is not a read.
func readsDurably(c *call.Call) bool {
	if !c.Cluster.Storage().StoresWrites() {
		return false
	}
	if id, ok := c.Body.Lookup("getMore").AsInt64OK(); ok {
		open := c.Node.Cursors.Open[id]
		return open != nil && open.Streams()
	}
	if _, _, streams := c.ChangeStreamSpec(); streams || commands.WritesResults(c.Body.Raw) {
		return true
	}
	level, err := c.ReadConcern()
	if err != nil {
		return false // and refused
	}
	if level == "" {
		level = c.Cluster.ClusterParameters().DefaultReadLevel()
	}
	return level != "local" && level != "available"
}
