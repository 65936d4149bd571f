package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// memberCommands returns the commands of shards and config servers that mongos does not have. dbHash is
// listed only for the check of --read-only; the mock's members do not implement it.
func memberCommands() []Command {
	return []Command{
		{
			Name: "shardingState", AdminOnly: true, MembersOnly: true, Effect: Reads,
			Privilege: access.OnCluster("shardingState"),
		},
		{
			Name: "splitChunk", AdminOnly: true, MembersOnly: true, Effect: Writes, Privilege: access.OnCluster("internal"),
			Fields: fields(
				required(args.Namespace, "splitChunk"), required(args.Object, "keyPattern", "min", "max"),
				required(args.String, "from"), required(args.Objects, "splitKeys"), required(args.Any, "epoch"),
			),
		},
		{
			Name: "_flushRoutingTableCacheUpdates", AdminOnly: true, MembersOnly: true, Effect: Writes,
			Privilege: access.OnCluster("internal"), Strict: true,
			Fields: fields(required(args.Namespace, "_flushRoutingTableCacheUpdates"), optional(args.Bool, "syncFromConfig")),
		},
		{
			Name: "_flushDatabaseCacheUpdates", AdminOnly: true, MembersOnly: true, Effect: Writes,
			Privilege: access.OnCluster("internal"), Strict: true,
			Fields: fields(required(args.String, "_flushDatabaseCacheUpdates"), optional(args.Bool, "syncFromConfig")),
		},
		{
			Name: "cleanupOrphaned", AdminOnly: true, WriteConcern: true, MembersOnly: true, Effect: Writes,
			Privilege: access.OnCluster("cleanupOrphaned"),
		},
		{Name: "top", AdminOnly: true, MembersOnly: true, Effect: Reads, Privilege: access.OnCluster("top")},
		{Name: "dbHash", MembersOnly: true, Effect: Reads, Privilege: access.OnDatabase("dbHash")},
		{
			Name: "replSetGetConfig", AdminOnly: true, MembersOnly: true, Effect: Reads,
			Privilege: access.OnCluster("replSetGetConfig"),
		},
	}
}
