// Package clients implements handshakes, authentication, sessions, and user and role management.
package clients

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(handshakeHandlers(), authenticationHandlers(), sessionHandlers())
}

// Stages returns the initial pipeline stages of this package.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$listSessions":      {Run: sessionsStage},
		"$listLocalSessions": {OnDatabase: true, Run: sessionsStage},
	}
}
