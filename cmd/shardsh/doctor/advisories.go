package doctor

import (
	"context"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

// maxAdvisories is how many known bugs get a line each.
const maxAdvisories = 3

// advisoryParts are the parts that known bugs depend on, except for numbers of chunks.
const advisoryParts = live.Identity | live.Compatibility | live.Settings | live.Balancer | live.Shards |
	live.Collections | live.Zones | live.Routers | live.RunningMigrations | live.RunningReshardings | live.MemberVersions

// checkAdvisories reports the known bugs of the servers' versions that concern the cluster.
func (c Cluster) checkAdvisories(ctx context.Context, s *section) {
	snapshot, err := live.NewCommandReader(c.Commands, live.ReaderOptions{Parts: advisoryParts,
		MemberClientOptions: c.ClientOptions}).
		Read(ctx)
	if err != nil {
		s.add(Warn, "known faults", "", "not known: %s", live.ShortenUnauthorized(err.Error()))
		return
	}
	c.checkMemberVersions(s, snapshot)
	hits := c.Advisories.Matching(advisory.Cluster{Snapshot: snapshot})
	if len(hits) == 0 {
		s.addOK("known faults", "none that concerns this cluster, as of %s", c.Advisories.Dated)
		return
	}
	for _, h := range hits[:min(len(hits), maxAdvisories)] {
		grade := Warn
		if h.Finding().Severity == diagnosis.Info {
			grade = OK
		}
		s.add(grade, "known fault", "", "%s", h)
	}
	if more := len(hits) - maxAdvisories; more > 0 {
		s.addOK("known faults", "and %s: shardsh check --rules advisories", humanize.Count(int64(more), "milder one"))
	}
}

// checkMemberVersions reports the versions of the members of shards and config servers.
func (c Cluster) checkMemberVersions(s *section, snapshot *catalog.Snapshot) {
	counts := diagnosis.MemberVersions(snapshot)
	if n := len(counts.Unanswered); n > 0 {
		first := counts.Unanswered[0]
		s.add(Warn, "members", "allow connections to members from this machine, to see what runs there",
			"%d of %d did not answer; %s of %s: %s", n, len(snapshot.Parts().Members), first.Host, first.Shard, first.Problem)
	}
	for _, f := range diagnosis.VersionFindings(snapshot) {
		s.add(Warn, "versions", "complete the upgrade", "%s", f.Sentence)
	}
	if counts.HasAnswers() && !counts.Differ() {
		s.addOK("members", "%s", counts)
	}
}
