package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// collectionCommands returns the commands for databases, collections and indexes.
func collectionCommands() []Command {
	return []Command{
		{
			Name: "listDatabases", AdminOnly: true, Stable: true, Contacts: ConfigServer | EveryShard,
			Effect: Reads, Privilege: access.MayListDatabases, Strict: true,
			Fields: fields(required(args.Any, "listDatabases"), optional(args.Object, "filter"),
				withTypeNames("int, bool, long, double, decimal", optional(args.SafeBool, "nameOnly")),
				optional(args.Bool, "authorizedDatabases")),
		},
		{
			Name: "listCollections", Stable: true, Contacts: PrimaryShard, Effect: Reads,
			Privilege: access.MayListCollections, ParsedAt: Late, Strict: true,
			Fields: fields(
				required(args.Any, "listCollections"),
				optional(args.Object, "filter"),
				cursorFields(),
				optional(args.Bool, "nameOnly", "authorizedCollections"),
				optional(args.SafeBool, "includePendingDrops"),
				rawDataFields(),
			),
		},
		{
			Name: "create", Stable: true, WriteConcern: true, Contacts: PrimaryShard, Effect: Writes,
			Privilege: access.MayCreate, Strict: true,
			Fields: fields(
				required(args.Collection, "create"),
				withTypeNames("int, decimal, double, long, bool", optional(args.SafeBool, "capped", "autoIndexId", "temp")),
				optional(args.Object, "idIndex", "storageEngine", "validator", "indexOptionDefaults"),
				[]args.Field{args.Optional("collation", args.Object).WithFields(args.CollationFields()...), timeSeriesField()},
				preAndPostImages(), optional(args.Object, "encryptedFields"),
				withTypeNames("decimal, int, long, double", []args.Field{
					args.Optional("size", args.SafeInt).AtLeast(1), args.Optional("max", args.SafeInt),
					args.Optional("expireAfterSeconds", args.SafeInt)}), validationFields(),
				optional(args.String, "viewOn"), optional(args.Array, "pipeline"),
				[]args.Field{clusteredIndexField()}, optional(args.Any, "flags"), routerFields(),
			),
		},
		{
			Name: "drop", Stable: true, WriteConcern: true, Contacts: ConfigServer | EveryShard, Effect: Writes,
			Privilege: access.OnCollection("dropCollection"), Strict: true,
			Fields: fields(required(args.Collection, "drop"), optional(args.UUID, "collectionUUID"), routerFields()),
		},
		{
			Name: "dropDatabase", Stable: true, WriteConcern: true, Contacts: ConfigServer | EveryShard,
			Effect: Writes, Privilege: access.OnDatabase("dropDatabase"),
		},

		{
			Name: "createIndexes", Stable: true, WriteConcern: true, AwaitsRequestedNodes: true, Contacts: Owners,
			Effect:    Writes,
			Privilege: access.OnCollection("createIndex"), ParsedAt: Late, Strict: true,
			Fields: fields(required(args.Collection, "createIndexes"), required(args.Array, "indexes"),
				optional(args.SafeBool, "ignoreUnknownIndexOptions"), optional(args.CommitQuorum, "commitQuorum"),
				optional(args.SafeInt, "v"), optional(args.OptionalBool, "returnOnStart"),
				optional(args.UUID, "collectionUUID"), rawDataFields(), routerFields()),
		},
		{
			Name: "listIndexes", Stable: true, Contacts: Owners, Effect: Reads,
			Privilege: access.OnCollection("listIndexes"), Strict: true,
			Fields: fields(required(args.Collection, "listIndexes"), cursorFields(),
				optional(args.SafeBool, "includeBuildUUIDs", "includeIndexBuildInfo"),
				optional(args.Any, "queryOptions"), rawDataFields(), routerFields()),
		},
		{
			Name: "dropIndexes", Aliases: []string{"deleteIndexes"}, Stable: true, WriteConcern: true,
			Contacts: OwnersUnversioned, Effect: Writes, Privilege: access.OnCollection("dropIndex"),
			ParsedAt: Late, Strict: true,
			Fields: fields(required(args.Collection, "dropIndexes"), required(args.IndexesToDrop, "index"),
				optional(args.UUID, "collectionUUID"), rawDataFields(), routerFields()),
		},

		{
			Name: "renameCollection", AdminOnly: true, WriteConcern: true, Contacts: ConfigServer | EveryShard,
			Effect: Writes, Privilege: access.MayRename, Strict: true,
			Fields: fields(
				required(args.Namespace, "renameCollection", "to"),
				optional(args.BoolOrUUID, "dropTarget"), optional(args.Bool, "stayTemp"), optional(args.UUID, "collectionUUID"),
			),
		},
		{
			Name: "convertToCapped", WriteConcern: true, Contacts: Owners, Effect: Writes,
			Privilege: access.OnCollection("convertToCapped"), ParsedAt: NameFirst,
			Fields: fields(required(args.OldCollection, "convertToCapped"),
				[]args.Field{args.Required("size", args.SafeInt).WithMissingCode(mongoerr.InvalidOptions)}),
		},
		{
			Name: "collMod", Stable: true, WriteConcern: true, Contacts: OwnersUnversioned, Effect: Writes,
			Privilege: access.MayCollMod, ParsedAt: Late, Strict: true,
			Fields: fields(
				required(args.Collection, "collMod"), validationFields(), preAndPostImages(), optional(args.Object, "validator"),
				optional(args.SafeInt, "cappedSize", "cappedMax"), optional(args.Any, "viewOn", "pipeline"),
				optional(args.SafeBool, "dryRun"), optional(args.Object, "timeseries", "encryptedFields"),
				optional(args.Any, "clusteredIndex"),
				[]args.Field{args.Optional("index", args.Object).WithFields(fields(
					optional(args.String, "name"), optional(args.Object, "keyPattern"), optional(args.SafeInt, "expireAfterSeconds"),
					withTypeNames("decimal, bool, long, int, double",
						optional(args.SafeBool, "hidden", "unique", "prepareUnique", "forceNonUnique")))...)},
			),
		},
		{
			Name: "validate", Contacts: OwnersUnversioned, Effect: Reads, Privilege: access.OnCollection("validate"),
			ParsedAt: NameFirst, Fields: fields(required(args.OldCollection, "validate")),
		},
		{
			Name: "splitVector", Effect: Reads, Privilege: access.OnCollection("splitVector"), ParsedAt: NameFirst,
			Fields: fields(required(args.OldNamespace, "splitVector")),
		},
		{
			Name: "untrackUnshardedCollection", AdminOnly: true, WriteConcern: true, Effect: Writes,
			Privilege: access.OnNamedNamespace("unshardCollection"),
			Fields:    fields(required(args.AnyNamespace, "untrackUnshardedCollection")),
		},

		{
			Name: "collStats", Aliases: []string{"collstats"}, Contacts: Owners, Effect: Reads,
			Privilege: access.OnCollection("collStats"), Strict: true,
			Fields: fields(required(args.OldCollection, "collStats"), optional(args.Any, "scale", "validationLevel"),
				optional(args.Bool, "verbose", "waitForLock", "numericOnly"), rawDataFields(), routerFields()),
		},
		{
			Name: "dbStats", Aliases: []string{"dbstats"}, Contacts: EveryShard, Effect: Reads,
			Privilege: access.OnDatabase("dbStats"), ParsedAt: Late, Strict: true,
			Fields: fields(
				required(args.Any, "dbStats"), withTypeNames("long, int, decimal, double", optional(args.SafeInt, "scale")),
				withTypeNames("double, bool, decimal, long, int", optional(args.SafeBool, "freeStorage")),
			),
		},
		{
			Name: "dataSize", Aliases: []string{"datasize"}, Contacts: Owners, Effect: Reads,
			Privilege: access.OnNamedNamespace("find"), Strict: true,
			Fields: fields(namespace("dataSize", "Namespace %s is not a valid collection name"),
				optional(args.Object, "keyPattern", "min", "max"),
				withTypeNames("double, bool, decimal, long, int", optional(args.SafeBool, "estimate")),
				withTypeNames("long, int, decimal, double", optional(args.SafeInt, "maxSize", "maxObjects"))),
		},
	}
}
