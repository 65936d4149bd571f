// Package clients answers who is there: handshakes, logins, sessions, users and roles.
package clients

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(handshakeHandlers(), authenticationHandlers(), sessionHandlers())
}

// Accounts returns the commands about users and roles, which only a mongos has.
func Accounts() map[string]call.Handler { return accountHandlers() }

// Stages returns the first stages of pipelines that this room makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$listSessions":      {Run: sessionsStage},
		"$listLocalSessions": {Database: true, Run: sessionsStage},
	}
}
