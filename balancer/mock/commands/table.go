package commands

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// All returns the table: every command once.
func All() []Command {
	return slices.Concat(
		balancingCommands(), shardingCommands(), shardCommands(), documentCommands(), collectionCommands(),
		serverCommands(), operationCommands(), userCommands(), mockCommands(), memberCommands(), refusedCommands(),
	)
}

// ByName returns the table by the commands' names and aliases.
func ByName() map[string]*Command {
	table := map[string]*Command{}
	for _, cmd := range All() {
		for _, name := range cmd.Names() {
			table[name] = &cmd
		}
	}
	return table
}

func fields(groups ...[]args.Field) []args.Field { return slices.Concat(groups...) }

func required(kind args.Kind, names ...string) []args.Field { return each(args.Required, kind, names) }

func optional(kind args.Kind, names ...string) []args.Field { return each(args.Optional, kind, names) }

func each(declare func(string, args.Kind) args.Field, kind args.Kind, names []string) []args.Field {
	list := make([]args.Field, len(names))
	for i, name := range names {
		list[i] = declare(name, kind)
	}
	return list
}

// validation are the options that say what becomes of documents that a validator refuses.
func validation() []args.Field {
	return []args.Field{
		args.Optional("validationLevel", args.String).OneOf("off", "strict", "moderate"),
		args.Optional("validationAction", args.String).OneOf("error", "warn"),
	}
}

// images says whether change streams have documents as they were and are.
func images() []args.Field {
	return []args.Field{args.Optional("changeStreamPreAndPostImages", args.Object).Of(args.Required("enabled", args.Bool))}
}

// clusteredIndex says that documents lie in the order of their _id.
func clusteredIndex() args.Field {
	return args.Optional("clusteredIndex", args.ClusteredIndex).Of(fields(
		optional(args.SafeInt, "v"), required(args.Object, "key"), optional(args.String, "name"),
		listed("decimal, int, bool, long, double", required(args.SafeBool, "unique")))...)
}

func place(name string) *string { return &name }

// cursor is the option of commands that return cursors.
func cursor() []args.Field {
	return []args.Field{args.Optional("cursor", args.Object).Of(args.Optional("batchSize", args.Count))}
}

// listed are fields whose types messages list in an order of their own.
func listed(types string, list []args.Field) []args.Field {
	for i := range list {
		list[i] = list[i].Types(types)
	}
	return list
}

// timeSeries are the options of a time series.
func timeSeries() args.Field {
	return args.Optional("timeseries", args.Object).Of(fields(
		required(args.String, "timeField"), optional(args.String, "metaField"),
		[]args.Field{args.Optional("granularity", args.String).OneOf("seconds", "minutes", "hours")},
		listed("decimal, int, long, double", optional(args.SafeInt, "bucketMaxSpanSeconds", "bucketRoundingSeconds")),
	)...)
}

// sentByRouters are fields that routers send, never clients; they change nothing
// here.
func sentByRouters() []args.Field {
	return optional(args.Any, "shardVersion", "databaseVersion", "isTimeseriesNamespace")
}

// sampled are fields of reads that servers send each other: a query that the
// analyzer of shard keys has chosen, and one that warms a secondary's cache.
func sampled() []args.Field {
	return slices.Concat(optional(args.UUID, "sampleId"), optional(args.OptionalBool, "mirrored"))
}

// rawData asks, since 8.2, for a time series' buckets; other collections are
// what they are.
func rawData() []args.Field {
	return []args.Field{args.Optional("rawData", args.Bool).Since(catalog.Release83)}
}

// ofWrites are fields that insert, update and delete have in common.
func ofWrites() []args.Field {
	return fields(
		optional(args.SafeBool, "bypassDocumentValidation"), optional(args.Bool, "ordered"),
		optional(args.OptionalBool, "bypassEmptyTsReplacement"), optional(args.Any, "stmtId"),
		optional(args.Array, "stmtIds"), optional(args.UUID, "collectionUUID"),
		optional(args.Object, "encryptionInformation", "$_originalQuery", "$_originalCollation"),
		rawData(), sentByRouters(),
	)
}

// settings, shards and tags want actions on these collections of the config
// database.
func settings(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "settings"), actions...)
}

func shards(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "shards"), actions...)
}

func tags(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "tags"), actions...)
}
