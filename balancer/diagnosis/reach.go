package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// minSlowPing is how long a shard may take to answer its router before migrations
// and whatever else goes there suffer.
const minSlowPing = 250 * time.Millisecond

// unreachableFindings finds which nodes do not answer, or take long to.
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

// UnreachableFinding says why a shard does not answer.
func UnreachableFinding(shard catalog.ShardState) Finding {
	return finding(ShardUnreachable, Scope{Shard: shard.ID},
		fmt.Sprintf("shard %s does not answer: %s", shard.ID, shard.Unreachable))
}

// configGap returns why the config server's own collections could not be read,
// when none of its members answered.
func configGap(s *catalog.Snapshot) (catalog.Gap, bool) {
	gaps := s.Parts().Source.Gaps
	i := slices.IndexFunc(gaps, func(g catalog.Gap) bool { return g.Down && (g.What == "shards" || g.What == "settings") })
	if i < 0 {
		return catalog.Gap{}, false
	}
	return gaps[i], true
}

// gapFindings finds what the reader of the Snapshot could not read. A node that does not
// answer is one finding, however many parts are missing because of it.
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
