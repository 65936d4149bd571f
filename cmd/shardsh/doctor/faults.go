package doctor

import (
	"context"

	"shardsh/balancer/advisory"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

// mostFaults is how many known faults have a line each.
const mostFaults = 3

// faultParts are what known faults depend on, but for numbers of chunks.
const faultParts = live.Identity | live.Compatible | live.Settings | live.Balancer | live.Shards | live.Collections |
	live.Zones | live.Routers | live.Migrations | live.Reshardings

// faults says which known faults of the servers' versions concern the cluster.
func (c Cluster) faults(ctx context.Context, s *section) {
	snapshot, err := live.NewCommandReader(c.Commands, live.ReaderOptions{Parts: faultParts}).Read(ctx)
	if err != nil {
		s.add(Warn, "known faults", "", "not known: %s", live.ShortenUnauthorized(err.Error()))
		return
	}
	hits := c.Advisories.Concerns(advisory.Cluster{Snapshot: snapshot})
	if len(hits) == 0 {
		s.ok("known faults", "none that concerns this cluster, as of %s", c.Advisories.Dated)
		return
	}
	for _, h := range hits[:min(len(hits), mostFaults)] {
		grade := Warn
		if h.Finding().Severity == diagnosis.Info {
			grade = OK
		}
		s.add(grade, "known fault", "", "%s", h)
	}
	if more := len(hits) - mostFaults; more > 0 {
		s.ok("known faults", "and %s: shardsh check --rules advisories", humanize.Count(int64(more), "milder one"))
	}
}
