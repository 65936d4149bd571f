package router

import (
	"context"

	"shardsh/balancer/mock/commands"
)

// whenWritten hands what a command has changed over to be written, and returns a
// function that waits until the reply may be sent. A read waits for nothing,
// unless it must not show what a crash could take back.
func whenWritten(cmd *command, c *call) (wait func(context.Context) error) {
	if cmd != nil && (cmd.Effect == commands.Writes || readsDurably(c)) {
		return c.cluster.Written()
	}
	c.cluster.HandOver()
	return func(context.Context) error { return nil }
}

// checkDisk refuses what changes something once the disk has failed: it would
// not be kept. Reads go on.
func checkDisk(cmd *command, c *call) error {
	if cmd.Effect != commands.Writes && !commands.WritesResults(c.body.Raw) {
		return nil
	}
	return c.cluster.DiskError()
}

// readsDurably reports whether a reading command shows only what is on disk:
// one with the read concern majority, linearizable or snapshot, given or by
// default, and one that reads a change stream. An aggregation that writes its
// results is no read.
func readsDurably(c *call) bool {
	if !c.cluster.KeepsWrites() {
		return false
	}
	if id, ok := c.body.Lookup("getMore").AsInt64OK(); ok {
		open := c.node.cursors.open[id]
		return open != nil && open.streams()
	}
	if _, _, streams := c.watches(); streams || commands.WritesResults(c.body.Raw) {
		return true
	}
	level, err := c.readConcern()
	if err != nil {
		return false // and refused
	}
	if level == "" {
		level = c.cluster.ClusterParameters().DefaultReadLevel()
	}
	return level != "local" && level != "available"
}
