// Package members implements the commands of a shard or the config server that mongos does not have:
// replica set status, collections with their orphans, and the member's sharding state.
package members

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(
		replicaSetHandlers(), memberShardingHandlers(), memberDiagnosticHandlers(), memberStatisticsHandlers(),
		ownHandlers(),
	)
}

// NewMemberState returns the state of a member, which differs from that of a mongos.
func NewMemberState(m *call.Member) call.MemberState { return memberView{m} }

func ownHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"cleanupOrphaned": cleanupOrphaned,
	}
}
