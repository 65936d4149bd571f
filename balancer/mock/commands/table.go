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
