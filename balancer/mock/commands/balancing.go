package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// balancingCommands returns the commands for the balancer, migrations, chunks and zones.
func balancingCommands() []Command {
	return []Command{
		{
			Name: "balancerStart", Since: catalog.Release34, AdminOnly: true, Contacts: ConfigServer,
			Effect: Writes, Privilege: onSettings("update"),
		},
		{
			Name: "balancerStop", Since: catalog.Release34, AdminOnly: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: onSettings("update"),
		},
		{
			Name: "balancerStatus", Since: catalog.Release34, AdminOnly: true, Contacts: ConfigServer,
			Effect: Reads, Privilege: onSettings("find"),
		},
		{
			Name: "balancerCollectionStatus", Since: catalog.Release44, AdminOnly: true, Contacts: ConfigServer,
			Effect: Reads, Privilege: access.OnNamedNamespace("enableSharding"), Strict: true,
			Fields: fields(required(args.Namespace, "balancerCollectionStatus")),
		},
		{
			Name: "configureCollectionBalancing", Since: catalog.Release60, AdminOnly: true, Contacts: ConfigServer,
			Effect: Writes, Privilege: access.MayConfigureBalancing,
			Fields: fields(required(args.Namespace, "configureCollectionBalancing"),
				withTypeNames("double, decimal, long, int", optional(args.SafeInt, "chunkSize")),
				optional(args.Bool, "defragmentCollection", "enableAutoMerger"),
				[]args.Field{args.Optional("enableBalancing", args.Bool).Since(catalog.Release80)}),
		},
		{
			Name: "setAllowMigrations", Since: catalog.Release50, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnNamedNamespace("moveChunk"),
			Fields: fields(
				namespace("setAllowMigrations", "Invalid namespace specified: %s"), required(args.Bool, "allowMigrations"),
			),
		},

		{
			Name: "moveChunk", Aliases: []string{"movechunk"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnNamedNamespace("moveChunk"),
			Fields: fields(
				namespace("moveChunk", "Invalid namespace specified '%s'"), required(args.String, "to"),
				optional(args.Object, "find"), optional(args.Objects, "bounds"),
				optional(args.Bool, "forceJumbo"),
				optional(args.OptionalBool, "secondaryThrottle", "_secondaryThrottle", "waitForDelete", "_waitForDelete"),
				optional(args.Object, "writeConcern"),
			),
		},
		{
			Name: "moveRange", Since: catalog.Release60, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnNamedNamespace("moveChunk"),
			Fields: fields(
				required(args.Namespace, "moveRange"), required(args.Shard, "toShard"),
				optional(args.Object, "min", "max"), optional(args.Bool, "forceJumbo", "waitForDelete"),
				optional(args.OptionalBool, "secondaryThrottle"),
			),
		},

		{
			Name: "split", AdminOnly: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnNamedNamespace("splitChunk"), ParsedAt: NameFirst,
			Fields: fields(required(args.OldNamespace, "split")),
		},
		{
			Name: "mergeChunks", Since: catalog.Release34, AdminOnly: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnNamedNamespace("splitChunk"), ParsedAt: NameFirst,
			Fields: fields(required(args.OldNamespace, "mergeChunks")),
		},
		{
			Name: "mergeAllChunksOnShard", Since: catalog.Release70, AdminOnly: true, Contacts: ConfigServer,
			Effect: Writes, Privilege: access.OnNamedNamespace("splitChunk"),
			Fields: fields(
				namespace("mergeAllChunksOnShard", "invalid namespace specified for request"), required(args.Shard, "shard"),
				optional(args.Int, "maxNumberOfChunksToMerge", "maxTimeProcessingChunksMS"),
			),
		},
		{
			Name: "clearJumboFlag", Since: catalog.Release42, AdminOnly: true, Contacts: ConfigServer,
			Effect: Writes, Privilege: access.OnNamedNamespace("clearJumboFlag"),
			Fields: fields(
				required(args.AnyNamespace, "clearJumboFlag"), optional(args.Object, "find"),
				optional(args.Objects, "bounds"),
			),
		},

		{
			Name: "addShardToZone", Aliases: []string{"addshardtozone"}, Since: catalog.Release34,
			AdminOnly: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.AnyOf(access.OnCluster("enableSharding"), onShards("update")),
		},
		{
			Name:      "removeShardFromZone",
			Aliases:   []string{"removeshardfromzone"},
			Since:     catalog.Release34,
			AdminOnly: true,
			Contacts:  ConfigServer,
			Effect:    Writes,
			Privilege: access.AnyOf(access.OnCluster("enableSharding"),
				access.AllOf(onShards("find", "update"), onTags("find"))),
		},
		{
			Name: "updateZoneKeyRange", Aliases: []string{"updatezonekeyRange"}, Since: catalog.Release34,
			AdminOnly: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.AnyOf(access.OnCluster("enableSharding"),
				access.AllOf(onShards("find"), onTags("find", "update", "remove"))),
		},
	}
}
