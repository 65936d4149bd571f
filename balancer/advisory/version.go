package advisory

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Version is the version of a server, such as 8.0.20.
type Version struct{ catalog.ServerVersion }

// Compare orders versions by major, minor and patch.
func (v Version) Compare(o Version) int { return v.ServerVersion.Compare(o.ServerVersion) }

// VersionsOf returns the versions of a cluster's servers that the Snapshot has, each once, the oldest
// first. Servers are the router that the Snapshot was read through, other running routers, shards, and
// the members of shards and config servers.
func VersionsOf(s *catalog.Snapshot) (list []Version) {
	texts := append([]string{s.Parts().Version}, diagnosis.RouterVersions(s)...)
	for _, shard := range s.Shards() {
		texts = append(texts, shard.Version)
	}
	for _, m := range s.Parts().Members {
		texts = append(texts, m.Version)
	}
	for _, text := range texts {
		v, err := catalog.ParseServerVersion(text)
		if err == nil && !slices.Contains(list, Version{v}) {
			list = append(list, Version{v})
		}
	}
	slices.SortFunc(list, Version.Compare)
	return list
}
