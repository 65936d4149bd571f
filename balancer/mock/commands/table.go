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

// namespace declares a namespace whose command has words of its own for what is none.
func namespace(name, refusal string) []args.Field {
	return []args.Field{args.Required(name, args.Namespace).Refusing(refusal)}
}

func optional(kind args.Kind, names ...string) []args.Field { return each(args.Optional, kind, names) }

func each(declare func(string, args.Kind) args.Field, kind args.Kind, names []string) []args.Field {
	list := make([]args.Field, len(names))
	for i, name := range names {
		list[i] = declare(name, kind)
	}
	return list
}

// validationFields are the options that say what becomes of documents that a validator refuses.
func validationFields() []args.Field {
	return []args.Field{
		args.Optional("validationLevel", args.String).OneOf("off", "strict", "moderate"),
		args.Optional("validationAction", args.String).OneOf("error", "warn"),
	}
}

// preAndPostImages is the option for pre- and post-images in change streams.
func preAndPostImages() []args.Field {
	return []args.Field{
		args.Optional("changeStreamPreAndPostImages", args.Object).WithFields(args.Required("enabled", args.Bool)),
	}
}

// clusteredIndexField says that documents lie in the order of their _id.
func clusteredIndexField() args.Field {
	return args.Optional("clusteredIndex", args.ClusteredIndex).WithFields(fields(
		optional(args.SafeInt, "v"), required(args.Object, "key"), optional(args.String, "name"),
		typeOrder("decimal, int, bool, long, double", required(args.SafeBool, "unique")))...)
}

func place(name string) *string { return &name }

// cursorFields is the option of commands that return cursors.
func cursorFields() []args.Field {
	return []args.Field{args.Optional("cursor", args.Object).WithFields(args.Optional("batchSize", args.Count))}
}

// typeOrder are fields whose types messages list in an order of their own.
func typeOrder(types string, list []args.Field) []args.Field {
	for i := range list {
		list[i] = list[i].Types(types)
	}
	return list
}

// timeSeriesField are the options of a time series.
func timeSeriesField() args.Field {
	return args.Optional("timeseries", args.Object).WithFields(fields(
		required(args.String, "timeField"), optional(args.String, "metaField"),
		[]args.Field{args.Optional("granularity", args.String).OneOf("seconds", "minutes", "hours")},
		typeOrder("decimal, int, long, double", optional(args.SafeInt, "bucketMaxSpanSeconds", "bucketRoundingSeconds")),
	)...)
}

// routerFields are fields that routers send, never clients; they change nothing
// here.
func routerFields() []args.Field {
	return optional(args.Any, "shardVersion", "databaseVersion", "isTimeseriesNamespace")
}

// internalReadFields are fields of reads that servers send each other: a query that the
// analyzer of shard keys has chosen, and one that warms a secondary's cache.
func internalReadFields() []args.Field {
	return slices.Concat(optional(args.UUID, "sampleId"), optional(args.OptionalBool, "mirrored"))
}

// rawDataFields asks, since 8.2, for a time series' buckets; other collections are
// what they are.
func rawDataFields() []args.Field {
	return []args.Field{args.Optional("rawData", args.Bool).Since(catalog.Release83)}
}

// writeFields are fields that insert, update and delete have in common.
func writeFields() []args.Field {
	return fields(optional(args.SafeBool, "bypassDocumentValidation"), optional(args.Bool, "ordered"),
		optional(args.OptionalBool, "bypassEmptyTsReplacement"), optional(args.Any, "stmtId"),
		optional(args.Array, "stmtIds"), optional(args.UUID, "collectionUUID"),
		optional(args.Object, "encryptionInformation", "$_originalQuery", "$_originalCollation"),
		rawDataFields(), routerFields())
}

// onSettings, shards and tags want actions on these collections of the config
// database.
func onSettings(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "settings"), actions...)
}

func onShards(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "shards"), actions...)
}

func onTags(actions ...access.Action) access.Rule {
	return access.OnResource(access.On("config", "tags"), actions...)
}
