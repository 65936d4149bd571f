package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// shardCommands returns the commands that list, add and remove shards.
func shardCommands() []Command {
	return []Command{
		{
			Name: "listShards", Aliases: []string{"listshards"}, AdminOnly: true, Contacts: ConfigServer,
			Effect: Reads, Privilege: access.OnCluster("listShards"),
		},
		{
			Name: "addShard", Aliases: []string{"addshard"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnCluster("addShard"),
		},
		{
			Name: "removeShard", Aliases: []string{"removeshard"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnCluster("removeShard"),
			Fields: fields(required(args.String, "removeShard"), optional(args.String, "destinationShard")),
		},
		{
			Name: "movePrimary", Aliases: []string{"moveprimary"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnNamedNamespace("moveChunk"),
			Fields: fields(required(args.String, "movePrimary"), required(args.Shard, "to")),
		},
		{
			Name: "checkMetadataConsistency", Since: catalog.Release70, Contacts: ConfigServer | EveryShard,
			Effect: Reads,
			Privilege: access.AnyOf(access.OnCluster("checkMetadataConsistency"),
				access.OnCollection("checkMetadataConsistency")),
			Fields: fields(required(args.CollectionOrOne, "checkMetadataConsistency"),
				withTypeNames("int, bool, long, decimal, double", optional(args.SafeBool, "checkIndexes")),
				optional(args.Count, "dbMetadataLockMaxTimeMS"), cursorFields()),
		},

		{
			Name: "startShardDraining", Since: catalog.Release83, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnCluster("removeShard"),
			Fields: fields(required(args.String, "startShardDraining")),
		},
		{
			Name: "startTransitionToDedicatedConfigServer", Since: catalog.Release83, AdminOnly: true,
			WriteConcern: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnCluster("transitionToDedicatedConfigServer"),
			Fields:    fields(required(args.Any, "startTransitionToDedicatedConfigServer")),
		},
		{
			Name: "stopShardDraining", Since: catalog.Release83, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnCluster("removeShard"),
			Fields: fields(required(args.String, "stopShardDraining")),
		},
		{
			Name: "stopTransitionToDedicatedConfigServer", Since: catalog.Release83, AdminOnly: true,
			WriteConcern: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnCluster("transitionToDedicatedConfigServer"),
			Fields:    fields(required(args.Any, "stopTransitionToDedicatedConfigServer")),
		},
		{
			Name: "commitShardRemoval", Since: catalog.Release83, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnCluster("removeShard"),
			Fields: fields(required(args.String, "commitShardRemoval")),
		},
		{
			Name: "commitTransitionToDedicatedConfigServer", Since: catalog.Release83, AdminOnly: true,
			WriteConcern: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnCluster("transitionToDedicatedConfigServer"),
			Fields:    fields(required(args.Any, "commitTransitionToDedicatedConfigServer")),
		},
		{
			Name: "shardDrainingStatus", Since: catalog.Release83, AdminOnly: true,
			Contacts: ConfigServer, Effect: Reads, Privilege: access.OnCluster("shardDrainingStatus"),
			Fields: fields(required(args.String, "shardDrainingStatus")),
		},
		{
			Name: "getTransitionToDedicatedConfigServerStatus", Since: catalog.Release83, AdminOnly: true,
			Contacts: ConfigServer, Effect: Reads,
			Privilege: access.OnCluster("transitionToDedicatedConfigServer"),
			Fields:    fields(required(args.Any, "getTransitionToDedicatedConfigServerStatus")),
		},
	}
}
