package writes

import (
	"slices"

	"shardsh/balancer/mock/args"
)

// The fields of write statements, which are documents in commands.

// UpdateStatementFields returns the fields of one statement of an update.
func UpdateStatementFields() []args.Field {
	return slices.Concat([]args.Field{
		args.Required("q", args.Object), args.Required("u", args.Update), args.Optional("c", args.Object),
	}, updateOptionFields())
}

// updateOptionFields returns the fields that the statements of update and bulkWrite share.
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
