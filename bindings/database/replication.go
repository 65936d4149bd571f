package database

import (
	"shardsh/bindings/replicaset"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

// replicationMethods returns the methods that describe the oplog and the members of a replica set.
func replicationMethods() script.Methods[*Database] {
	return script.Methods[*Database]{
		{"getReplicationInfo", "", func(_ *script.Call, d *Database) goja.Value {
			return replicaset.ReplicationInfo(d.host.replicaSetHost(), d.Database)
		},
			"Returns size and time span of the oplog."},
		{
			"printReplicationInfo",
			"",
			replicaSetMethod(replicaset.PrintReplicationInfo),
			"Shows size and time span of the oplog.",
		},
		{"printSecondaryReplicationInfo", "", replicaSetMethod(replicaset.PrintSecondaryReplicationInfo),
			"Shows how far the secondaries are behind."},
		{"printSlaveReplicationInfo", "", func(c *script.Call, _ *Database) goja.Value {
			c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
				"Method deprecated, use db.printSecondaryReplicationInfo instead")
			return nil
		}, ""},
	}
}

// replicaSetHost returns the host for package replicaset.
func (h *Host) replicaSetHost() replicaset.Host {
	return replicaset.Host{JS: h.JS, Gateway: h.Gateway, Display: h.Display, DB: h.Current.ServerDatabase}
}

// replicaSetMethod converts a function on replica sets to a method.
func replicaSetMethod(f func(replicaset.Host, *server.Database) goja.Value) func(*script.Call, *Database) goja.Value {
	return func(_ *script.Call, d *Database) goja.Value { return f(d.host.replicaSetHost(), d.Database) }
}
