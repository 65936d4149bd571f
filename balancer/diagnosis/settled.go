package diagnosis

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// IsSettled reports whether no round will change a collection, whatever happens to other collections,
// as long as no client writes to the collection: it is balanced, no two neighbouring chunks may be
// merged, and no operation on it is running. For a settled collection, its Outline is enough to plan.
func IsSettled(s *catalog.Snapshot, c *catalog.CollectionState) bool {
	if c.Table == nil || c.Unsplittable || c.Namespace == policy.SessionsNamespace || len(c.ChunkSizes) > 0 ||
		!s.Release().BalancesBySize() || len(c.Table.ShardsWithMergeableChunks()) > 0 {
		return false
	}
	parts := s.Parts()
	moves := slices.ContainsFunc(parts.Migrations, func(m catalog.ActiveMigration) bool {
		return m.Namespace == c.Namespace
	})
	_, reshards := ReshardingOf(s, c.Namespace)
	return !moves && !reshards && IsBalancedByTotals(s, c.WithOutline())
}
