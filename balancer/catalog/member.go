package catalog

import (
	"slices"
	"strings"
)

// ConfigServerID identifies the config servers in the Shard field of a Member. A config shard has the
// same id.
const ConfigServerID ShardID = "config"

// Member is a member of a shard or of the config servers, as it describes itself.
type Member struct {
	Shard ShardID // ConfigServerID for the config servers
	Host  string  // with its port
	// Version is a version such as 8.0.20; 8.0 if only the release line is known, and empty if the
	// member does not answer.
	Version string
	// FCV is the feature compatibility version; empty if the member does not report it.
	FCV     string
	Primary bool
	// Problem is the reason why the member did not answer.
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

// VersionOf returns the version of a shard: the version of its primary, or the oldest version of its
// members if the primary did not answer. It is empty if no member answered.
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

// wireVersions are the wire versions of the release lines, which a server reports before a login.
var wireVersions = []struct {
	wire int64
	line Release
}{
	{9, Release44}, {13, Release50}, {17, Release60}, {21, Release70}, {25, Release80}, {26, Release81}, {27, Release82},
	{28, Release83}, {29, Release90},
}

// LineOfWireVersion returns the release line of a server by its wire version, such as "8.0": the newest
// line with a wire version that is not greater. It is empty for servers before 4.4.
func LineOfWireVersion(wire int64) (line string) {
	for _, w := range wireVersions {
		if w.wire <= wire {
			line = w.line.String()
		}
	}
	return line
}
