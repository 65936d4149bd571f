package router

import (
	"context"

	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
)

// submitChanges hands the changes of a command to the storage and returns a function that waits until the
// reply may be sent. The reply to a read waits only if the read must not show data that a crash could
// roll back.
func submitChanges(cmd *call.Command, c *call.Call) (wait func(context.Context) error) {
	if cmd != nil && (cmd.Effect == commands.Writes || readsDurably(c)) {
		return c.Cluster.Storage().StartFlush()
	}
	c.Cluster.Storage().QueueChanges()
	return func(context.Context) error { return nil }
}

// checkDisk rejects writes after the disk has failed, because they would not be stored. Reads continue.
func checkDisk(cmd *call.Command, c *call.Call) error {
	if cmd.Effect != commands.Writes && !commands.WritesResults(c.Body.Raw) {
		return nil
	}
	return c.Cluster.Storage().Err()
}

// readsDurably reports whether a read may show only data that is on disk: it has read concern majority,
// linearizable or snapshot, explicitly or by default, or it reads a change stream. An aggregation that
// writes its results is not a read.
func readsDurably(c *call.Call) bool {
	if !c.Cluster.Storage().CanStoreRetryableWrites() {
		return false
	}
	if id, ok := c.Body.Lookup("getMore").AsInt64OK(); ok {
		open := c.Node.Cursors.Open[id]
		return open != nil && open.HasChangeEvents()
	}
	if _, _, streams := c.ChangeStreamSpec(); streams || commands.WritesResults(c.Body.Raw) {
		return true
	}
	level, err := c.ReadConcern()
	if err != nil {
		return false // the command is rejected later
	}
	if level == "" {
		level = c.Cluster.ClusterParameters().DefaultReadLevel()
	}
	return level != "local" && level != "available"
}
