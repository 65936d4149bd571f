package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// shardingCommands returns the commands for shard keys and data placement.
func shardingCommands() []Command {
	return []Command{
		{
			Name: "enableSharding", Aliases: []string{"enablesharding"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer, Effect: Writes, Privilege: access.OnNamedNamespace("enableSharding"),
			Fields: fields(required(args.Database, "enableSharding"), optional(args.String, "primaryShard")),
		},
		{
			Name: "shardCollection", Aliases: []string{"shardcollection"}, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("enableSharding"),
			ParsedAt: NameFirst, ErrorPrefix: errorPrefix(""),
			Fields: fields(required(args.NamespaceToShard, "shardCollection"), required(args.Object, "key"),
				optional(args.Bool, "unique", "presplitHashedZones"), optional(args.SafeInt, "numInitialChunks"),
				optional(args.OptionalBool, "implicitlyCreateIndex", "enforceUniquenessCheck"),
				optional(args.Object, "collation"), optional(args.UUID, "collectionUUID"), []args.Field{timeSeriesField()}),
		},

		{
			Name: "reshardCollection", Since: catalog.Release50, AdminOnly: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("reshardCollection"),
			Strict: true,
			Fields: fields(
				namespace("reshardCollection", "Namespace %s is not a valid collection name"), required(args.Object, "key"),
				optional(args.Bool, "unique", "forceRedistribution"),
				withTypeNames("double, decimal, long, int", optional(args.SafeInt, "numInitialChunks")),
				optional(args.Object, "collation"),
				[]args.Field{
					args.Optional("_presetReshardedChunks", args.Objects).WithFields(
						fields(required(args.String, "recipientShardId"), required(args.Object, "min", "max"))...),
					args.Optional("zones", args.Array).WithFields(
						fields(required(args.String, "zone"), required(args.Object, "min", "max"))...),
					args.Optional("shardDistribution", args.Array).WithFields(
						fields(required(args.String, "shard"), optional(args.Object, "min", "max"))...),
				},
				optional(args.UUID, "reshardingUUID", "collectionUUID"),
			),
		},
		{
			Name: "abortReshardCollection", Since: catalog.Release50, AdminOnly: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("reshardCollection"),
			Strict: true,
			Fields: fields(required(args.String, "abortReshardCollection")),
		},
		{
			Name: "commitReshardCollection", Since: catalog.Release50, AdminOnly: true, Contacts: ConfigServer,
			Effect: Writes, Privilege: access.OnNamedNamespace("reshardCollection"), Strict: true,
			Fields: fields(required(args.String, "commitReshardCollection")),
		},
		{
			Name: "cleanupReshardCollection", Since: catalog.Release50, AdminOnly: true, Effect: Writes,
			Privilege: access.OnNamedNamespace("reshardCollection"), Strict: true,
			Fields: fields(required(args.String, "cleanupReshardCollection")),
		},
		{
			Name: "moveCollection", Since: catalog.Release80, AdminOnly: true, Contacts: ConfigServer | EveryShard,
			Effect: Writes, Privilege: access.OnNamedNamespace("moveCollection"), Strict: true,
			Fields: fields(
				required(args.Namespace, "moveCollection"), required(args.Shard, "toShard"),
				optional(args.TaskCount, "oplogBatchApplierTaskCount"),
			),
		},
		{
			Name: "abortMoveCollection", Since: catalog.Release80, AdminOnly: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("moveCollection"),
			Fields: fields(required(args.String, "abortMoveCollection")),
		},
		{
			Name: "unshardCollection", Since: catalog.Release80, AdminOnly: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("unshardCollection"),
			Strict: true,
			Fields: fields(
				required(args.Namespace, "unshardCollection"), optional(args.Shard, "toShard"),
				optional(args.TaskCount, "oplogBatchApplierTaskCount"),
			),
		},
		{
			Name: "abortUnshardCollection", Since: catalog.Release80, AdminOnly: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes, Privilege: access.OnNamedNamespace("unshardCollection"),
			Fields: fields(required(args.String, "abortUnshardCollection")),
		},
		{
			Name: "refineCollectionShardKey", Since: catalog.Release44, AdminOnly: true, WriteConcern: true,
			Contacts: ConfigServer | EveryShard, Effect: Writes,
			Privilege: access.OnNamedNamespace("refineCollectionShardKey"),
			Fields: fields(
				required(args.Namespace, "refineCollectionShardKey"), required(args.Object, "key"),
				optional(args.UUID, "collectionUUID"), optional(args.OptionalBool, "enforceUniquenessCheck"),
			),
		},

		{
			// analyzeShardKey stores its split points in the config database.
			Name: "analyzeShardKey", Since: catalog.Release70, AdminOnly: true, ReadConcern: true, Effect: Writes,
			Privilege: access.OnNamedNamespace("analyzeShardKey"),
			Fields: fields(namespace("analyzeShardKey", "The namespace is invalid"), required(args.Object, "key"),
				optional(args.Bool, "keyCharacteristics", "readWriteDistribution"),
				optional(args.Any, "sampleRate"), withTypeNames("decimal, int, long, double",
					optional(args.SafeInt, "sampleSize"))),
		},
		{
			Name: "configureQueryAnalyzer", Since: catalog.Release70, AdminOnly: true, WriteConcern: true, Effect: Writes,
			Privilege: access.OnNamedNamespace("configureQueryAnalyzer"),
			Fields: fields(
				required(args.Namespace, "configureQueryAnalyzer"), required(args.String, "mode"),
				optional(args.Any, "samplesPerSecond"),
			),
		},
	}
}
