// Package members answers what a shard or the config server shows that no mongos does:
// its replica set, its collections with their orphans, its part in sharding.
package members

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this room, by their names.
func Handlers() map[string]call.Handler {
	return call.Join(
		replicaSetHandlers(), memberShardingHandlers(), memberDiagnosticHandlers(), memberStatisticsHandlers(),
		ownHandlers(),
	)
}

// Of returns what a member answers otherwise than a mongos.
func Of(m *call.Member) call.Own { return memberView{m} }

func ownHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"cleanupOrphaned": cleanupOrphaned,
	}
}
