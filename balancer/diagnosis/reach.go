package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// minSlowPing is the ping time to its router from which a shard counts as slow: migrations and other
// operations on that shard suffer.
const minSlowPing = 250 * time.Millisecond

// unreachableFindings finds nodes that do not answer, or answer slowly.
func (d *Diagnosis) unreachableFindings() (list []Finding) {
	if gap, found := configGap(d.Snapshot); found {
		list = append(list, finding(ConfigUnreachable, Scope{}, "the config server does not answer: "+gap.Reason))
	}
	for _, shard := range d.Shards() {
		switch {
		case shard.Unreachable != "":
			list = append(list, UnreachableFinding(shard))
		case shard.Ping >= minSlowPing:
			f := finding(ShardSlow, Scope{Shard: shard.ID},
				fmt.Sprintf("shard %s takes %s to answer the router", shard.ID, humanize.Duration(shard.Ping)))
			f.Numbers = countNumbers("milliseconds", shard.Ping.Milliseconds())
			list = append(list, f)
		}
	}
	return list
}

// UnreachableFinding returns a finding which says why a shard does not answer.
func UnreachableFinding(shard catalog.ShardState) Finding {
	return finding(ShardUnreachable, Scope{Shard: shard.ID},
		fmt.Sprintf("shard %s does not answer: %s", shard.ID, shard.Unreachable))
}

// configGap returns why the config server's collections could not be read, if none of its members
// answered.
func configGap(s *catalog.Snapshot) (catalog.Gap, bool) {
	gaps := s.Parts().Source.Gaps
	i := slices.IndexFunc(gaps, func(g catalog.Gap) bool { return g.Down && (g.What == "shards" || g.What == "settings") })
	if i < 0 {
		return catalog.Gap{}, false
	}
	return gaps[i], true
}

// gapFindings finds the parts that the reader of the Snapshot could not read. It returns one finding
// for a node that does not answer, regardless of how many parts are missing because of it.
func (d *Diagnosis) gapFindings() (list []Finding) {
	_, told := configGap(d.Snapshot)
	told = told || slices.ContainsFunc(d.Shards(), func(s catalog.ShardState) bool { return s.Unreachable != "" })
	for _, gap := range d.Parts().Source.Gaps {
		if gap.Down && told {
			continue
		}
		list = append(list, finding(NotRead, Scope{Shard: gap.Shard, Namespace: gap.Namespace},
			gap.Text()))
	}
	return list
}
