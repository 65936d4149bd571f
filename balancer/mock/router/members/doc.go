// Package members answers what a shard or the config server shows that no mongos does:
// its replica set, its collections with their orphans, its part in sharding.
package members

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(
		replicaSetHandlers(), memberShardingHandlers(), memberDiagnosticHandlers(), memberStatisticsHandlers(),
		ownHandlers(),
	)
}

// NewMemberState returns the state of a member: what it answers differently from a mongos.
func NewMemberState(m *call.Member) call.MemberState { return memberView{m} }

func ownHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"cleanupOrphaned": cleanupOrphaned,
	}
}
