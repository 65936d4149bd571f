package doctor

import (
	"strings"

	"shardsh/balancer/catalog"
)

// feature is a feature that servers have from a release on.
type feature struct {
	name string
	has  func(catalog.Release) bool
}

func features() []feature {
	from := func(r catalog.Release) func(catalog.Release) bool {
		return func(at catalog.Release) bool { return at.FCVAtLeast(r) }
	}
	return []feature{
		{"balancing by size", catalog.Release.BalancesBySize},
		{"balancerCollectionStatus", catalog.Release.ReportsCollectionStatus},
		{"forced moves of jumbo chunks", catalog.Release.ForcesJumbo},
		{"refineCollectionShardKey", from(catalog.Release44)},
		{"reshardCollection", from(catalog.Release50)},
		{"defragmentation", catalog.Release.Defragments},
		{"moveRange", from(catalog.Release60)},
		{"auto-merger", catalog.Release.AutoMerges},
		{"checkMetadataConsistency", from(catalog.Release70)},
		{"analyzeShardKey", from(catalog.Release70)},
		{"moveCollection, unshardCollection", from(catalog.Release80)},
	}
}

// checkFeatures reports the features that a release has and those that it lacks.
func checkFeatures(s *section, version string) {
	release, ok := catalog.ReleaseOf(version)
	if !ok {
		s.add(Warn, "features", "", "unknown version %q", version)
		return
	}
	if release.IsNewerThanKnown() {
		s.add(Warn, "release", "", "%s is newer than %s, the newest one that shardsh knows, and is treated "+
			"like it", version, release)
	}
	var has, lacks []string
	for _, f := range features() {
		if f.has(release) {
			has = append(has, f.name)
		} else {
			lacks = append(lacks, f.name)
		}
	}
	if len(has) > 0 {
		s.addOK("features", "%s", strings.Join(has, ", "))
	}
	if len(lacks) > 0 {
		s.addOK("not in "+release.Line().String(), "%s", strings.Join(lacks, ", "))
	}
}
