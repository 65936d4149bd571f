package action

import (
	"context"
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/live"
)

// needs returns the data that the rules and ReadCounts need.
func (c Check) needs() check.Need {
	needs := c.Policy.Needs()
	if c.ReadCounts {
		needs |= check.Sizes | check.ChunkCounts | check.BalanceStatuses | check.Zones
	}
	return needs
}

// checkParts lists the parts of a snapshot to read for each need.
var checkParts = []struct {
	need  check.Need
	parts live.Part
}{
	{check.BalanceStatuses, live.BalanceStatuses},
	{check.ChunkCounts, live.ChunkCounts},
	{check.Sizes, live.Sizes | live.LegacySizes},
	{check.BalancerSwitches, live.BalancerSwitches},
	{check.Rounds, live.Rounds},
	{check.MigrationOutcomes, live.MigrationOutcomes},
	{check.Zones, live.Zones},
	{check.Drains, live.Drains | live.Databases | live.Unsharded},
	{check.RunningReshardings, live.RunningReshardings},
	{check.Routers, live.Routers | live.MemberVersions},
	{check.Reachability, live.Reachability},
	{check.Leases, live.Leases},
	{check.Disks, live.Disks},
	{check.AdvisoryData, live.MemberVersions | live.Routers | live.Zones | live.ChunkCounts | live.RunningMigrations |
		live.RunningReshardings | live.Compatibility},
}

// snapshot reads the parts of the cluster that are needed.
func (c Check) snapshot(
	ctx context.Context, source Source, needs check.Need,
) (*catalog.Snapshot, error) {
	o := live.ReaderOptions{
		Parts:    live.Identity | live.Settings | live.Balancer | live.WindowClock | live.Shards | live.Collections,
		Required: live.Collections,
		Source:   source.Origin, OutcomeSpan: c.Policy.MaxFailureAge, WantsDetails: c.Policy.Namespaces.Match,
	}
	for _, p := range checkParts {
		if needs.Has(p.need) {
			o.Parts |= p.parts
		}
	}
	o.Parallel = 1
	s, err := source.Reader(o).Read(ctx)
	if err != nil {
		return nil, err
	}
	refused, settings := isBalanceRefused(s), s.Settings()
	if !refused && !(needs.Has(check.Tables) && settings.HasWindow()) { // a window needs a forecast
		return s, nil
	}
	o = live.ReaderOptions{Parts: live.DefaultPartsAndStatus, Source: source.Origin}
	if refused {
		o.Parts = live.DefaultParts
	}
	if !needs.Has(check.Tables) {
		o.Parts |= live.ChunkCounts
		o.WantsTable = defaultTableFilter()
	}
	return source.Reader(o).Read(ctx)
}

// isBalanceRefused reports whether the server did not tell for some collection whether it is balanced,
// because the user has only the privileges for monitoring. The policies can decide it instead, unless
// shards are down, since the policies need the data of all shards.
func isBalanceRefused(s *catalog.Snapshot) bool {
	down := slices.ContainsFunc(s.Shards(), func(s catalog.ShardState) bool { return s.Unreachable != "" })
	return !down && slices.ContainsFunc(s.Parts().Source.Gaps, func(g catalog.Gap) bool {
		return g.What == "balance" && !g.Down
	})
}

// checkMetadata runs checkMetadataConsistency.
func checkMetadata(ctx context.Context, commands live.CommandRunner, c *check.Cluster) (err error) {
	if release := c.Release(); !release.FCVAtLeast(catalog.Release70) {
		c.MetadataUnsupported = fmt.Sprintf("release %s does not support this check; it requires 7.0 or newer", release)
		return nil
	}
	down := slices.ContainsFunc(c.Shards(), func(s catalog.ShardState) bool { return s.Unreachable != "" })
	c.Inconsistencies, err = live.CheckMetadataConsistency(ctx, commands, down)
	if err != nil && ctx.Err() == nil {
		c.MetadataError = err.Error()
		return nil
	}
	return err
}

// auditSampleSize is the number of documents of each collection that a check reads on all shards.
const auditSampleSize = 1000

// auditSampleDocuments audits a sample of each collection.
func auditSampleDocuments(ctx context.Context, source Source, c *check.Cluster) error {
	a := Audit{SampleDocs: auditSampleSize, MaxRereads: DefaultMaxRereads, RereadPause: DefaultRereadPause}
	cluster := Cluster{Client: source.Client, ClientOptions: source.ClientOptions, Clock: source.Clock}
	result, err := a.Run(ctx, cluster, nil)
	if err != nil {
		c.NotAuditedReason = err.Error()
		return ctx.Err()
	}
	c.Audit = &check.AuditSummary{Findings: result.Findings, Unread: slices.Concat(result.Unchecked, result.Unsettled)}
	return nil
}
