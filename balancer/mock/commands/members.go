package commands

import "shardsh/balancer/mock/access"

// memberCommands returns those of shards and config servers that no mongos has.
// The mock's members know the first only.
func memberCommands() []Command {
	return []Command{
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
