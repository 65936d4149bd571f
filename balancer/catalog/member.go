package catalog

import (
	"slices"
	"strings"
)

// ConfigServers stands for the config servers where members of shards are told apart. A config
// shard has the same id.
const ConfigServers ShardID = "config"

// Member is what a member of a shard, or of the config servers, says of itself.
type Member struct {
	Shard ShardID // ConfigServers for the config servers
	Host  string  // with its port
	// Version is such as 8.0.20; 8.0 where only the line is known, and empty if it does not answer.
	Version string
	// FCV is the feature compatibility version; empty where the member does not tell.
	FCV     string
	Primary bool
	// Problem is why it did not answer.
	Problem string
}

// MembersOf returns the members that a connection string of config.shards lists.
func MembersOf(shard ShardID, host string) (list []Member) {
	_, hosts, named := strings.Cut(host, "/")
	if !named {
		hosts = host
	}
	for h := range strings.SplitSeq(hosts, ",") {
		if h != "" {
			list = append(list, Member{Shard: shard, Host: h})
		}
	}
	return list
}

// VersionOf returns what runs on a shard: the version of its primary, or, where that did not
// answer, the oldest of its members. It is empty if none did.
func VersionOf(members []Member, shard ShardID) string {
	var answered []Member
	for _, m := range members {
		if m.Shard == shard && m.Version != "" {
			answered = append(answered, m)
		}
	}
	if len(answered) == 0 {
		return ""
	}
	if i := slices.IndexFunc(answered, func(m Member) bool { return m.Primary }); i >= 0 {
		return answered[i].Version
	}
	return slices.MinFunc(answered, func(a, b Member) int {
		first, _ := ParseServerVersion(a.Version)
		second, _ := ParseServerVersion(b.Version)
		return first.Compare(second)
	}).Version
}

// wireVersions are the wire versions of the lines, which a server tells before a login.
var wireVersions = []struct {
	wire int64
	line Release
}{
	{9, Release44}, {13, Release50}, {17, Release60}, {21, Release70}, {25, Release80}, {26, Release81}, {27, Release82},
	{28, Release83}, {29, Release90},
}

// LineOfWireVersion returns the line of a server by its wire version, such as "8.0"; the newest that
// is not newer, and empty for those before 4.4.
func LineOfWireVersion(wire int64) (line string) {
	for _, w := range wireVersions {
		if w.wire <= wire {
			line = w.line.String()
		}
	}
	return line
}
