package commands

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// All returns the table with every command once.
func All() []Command {
	return slices.Concat(
		balancingCommands(), shardingCommands(), shardCommands(), documentCommands(), collectionCommands(),
		serverCommands(), operationCommands(), userCommands(), mockCommands(), memberCommands(), refusedCommands(),
	)
}

// ByName returns the table by command name and alias.
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

// namespace declares a namespace. text is the error of the command for a value that is not one.
func namespace(name, refusal string) []args.Field {
	return []args.Field{args.Required(name, args.Namespace).WithNamespaceError(refusal)}
}

func optional(kind args.Kind, names ...string) []args.Field { return each(args.Optional, kind, names) }

func each(declare func(string, args.Kind) args.Field, kind args.Kind, names []string) []args.Field {
	list := make([]args.Field, len(names))
	for i, name := range names {
		list[i] = declare(name, kind)
	}
	return list
}

// validationFields returns the options that say how to treat documents that a validator rejects.
func validationFields() []args.Field {
	return []args.Field{
		args.Optional("validationLevel", args.String).OneOf("off", "strict", "moderate"),
		args.Optional("validationAction", args.String).OneOf("error", "warn"),
	}
}

// preAndPostImages returns the option for pre- and post-images in change streams.
func preAndPostImages() []args.Field {
	return []args.Field{
		args.Optional("changeStreamPreAndPostImages", args.Object).WithFields(args.Required("enabled", args.Bool)),
	}
}

// clusteredIndexField returns the option to store documents in the order of their _id.
func clusteredIndexField() args.Field {
	return args.Optional("clusteredIndex", args.ClusteredIndex).WithFields(fields(
		optional(args.SafeInt, "v"), required(args.Object, "key"), optional(args.String, "name"),
		withTypeNames("decimal, int, bool, long, double", required(args.SafeBool, "unique")))...)
}

func errorPrefix(name string) *string { return &name }

// cursorFields returns the option of commands that return cursors.
func cursorFields() []args.Field {
	return []args.Field{args.Optional("cursor", args.Object).WithFields(args.Optional("batchSize", args.Count))}
}

// withTypeNames returns fields whose types have their own order in error messages.
func withTypeNames(types string, list []args.Field) []args.Field {
	for i := range list {
		list[i] = list[i].WithTypeNames(types)
	}
	return list
}

// timeSeriesField returns the options of a time series collection.
func timeSeriesField() args.Field {
	return args.Optional("timeseries", args.Object).WithFields(fields(
		required(args.String, "timeField"), optional(args.String, "metaField"),
		[]args.Field{args.Optional("granularity", args.String).OneOf("seconds", "minutes", "hours")},
		withTypeNames("decimal, int, long, double", optional(args.SafeInt, "bucketMaxSpanSeconds", "bucketRoundingSeconds")),
	)...)
}

// routerFields returns fields that only routers send, never clients; the mock ignores them.
func routerFields() []args.Field {
	return optional(args.Any, "shardVersion", "databaseVersion", "isTimeseriesNamespace")
}

// internalReadFields returns fields of reads that servers send to each other: sampleId for queries
// sampled by the query analyzer, mirrored for reads that warm a secondary's cache.
func internalReadFields() []args.Field {
	return slices.Concat(optional(args.UUID, "sampleId"), optional(args.OptionalBool, "mirrored"))
}

// rawDataFields returns the option of 8.3 and later to read the buckets of a time series. It has no effect
// on other collections.
func rawDataFields() []args.Field {
	return []args.Field{args.Optional("rawData", args.Bool).Since(catalog.Release83)}
}

// writeFields returns fields that insert, update and delete share.
func writeFields() []args.Field {
	return fields(optional(args.SafeBool, "bypassDocumentValidation"), optional(args.Bool, "ordered"),
		optional(args.OptionalBool, "bypassEmptyTsReplacement"), optional(args.Any, "stmtId"),
		optional(args.Array, "stmtIds"), optional(args.UUID, "collectionUUID"),
		optional(args.Object, "encryptionInformation", "$_originalQuery", "$_originalCollation"),
		rawDataFields(), routerFields())
}

// onSettings, onShards and onTags require actions on these collections of the config database.
func onSettings(actions ...access.Action) access.Rule {
	return access.OnResource(access.CollectionResource("config", "settings"), actions...)
}

func onShards(actions ...access.Action) access.Rule {
	return access.OnResource(access.CollectionResource("config", "shards"), actions...)
}

func onTags(actions ...access.Action) access.Rule {
	return access.OnResource(access.CollectionResource("config", "tags"), actions...)
}
