package writes

import (
	"slices"

	"shardsh/balancer/mock/args"
)

// What statements of writes take, which are documents in commands.

// UpdateStatementFields are those of one statement of an update.
func UpdateStatementFields() []args.Field {
	return slices.Concat([]args.Field{
		args.Required("q", args.Object), args.Required("u", args.Update), args.Optional("c", args.Object),
	}, updateOptionFields())
}

// updateOptionFields returns the same in an update and in a bulkWrite.
func updateOptionFields() []args.Field {
	return []args.Field{
		args.Optional("multi", args.Bool), args.Optional("upsert", args.Bool),
		args.Optional("upsertSupplied", args.OptionalBool),
		args.Optional("arrayFilters", args.Array), args.Optional("hint", args.Hint), args.Optional("collation", args.Object),
		args.Optional("sort", args.Object), args.Optional("sampleId", args.UUID),
		args.Optional("$_allowShardKeyUpdatesWithoutFullShardKeyInQuery", args.OptionalBool),
	}
}

func deleteStatementFields() []args.Field {
	return []args.Field{
		args.Required("q", args.Object), args.Required("limit", args.NumberOrZero),
		args.Optional("hint", args.Hint), args.Optional("collation", args.Object), args.Optional("sampleId", args.UUID),
	}
}
