package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// operationCommands returns the commands for sessions and operations in progress.
func operationCommands() []Command {
	return []Command{
		{Name: "startSession", Effect: Reads, Privilege: access.LoggedIn},
		{
			Name: "endSessions", Stable: true, WithoutLock: true, Effect: Interrupts, NoAuth: true,
			Fields: fields(optional(args.Array, "endSessions")),
		},
		{
			Name: "refreshSessions", Stable: true, WithoutLock: true, Effect: Reads, Privilege: access.LoggedIn,
			Strict: true, Fields: fields(optional(args.Array, "refreshSessions")),
		},
		{
			Name: "killSessions", WithoutLock: true, Effect: Interrupts, Privilege: access.LoggedIn,
			Fields: fields(optional(args.Array, "killSessions")),
		},
		{
			Name: "killAllSessions", WithoutLock: true, Effect: Interrupts,
			Privilege: access.OnCluster("killAnySession"),
			Fields:    fields(required(args.Array, "killAllSessions")),
		},
		{
			Name: "commitTransaction", AdminOnly: true, Stable: true, WriteConcern: true, Effect: Writes,
			Privilege: access.LoggedIn,
		},
		{
			Name: "abortTransaction", AdminOnly: true, Stable: true, WriteConcern: true, Effect: Writes,
			Privilege: access.LoggedIn,
		},

		{
			Name: "currentOp", AdminOnly: true, Effect: Reads,
			Privilege: access.AnyOf(access.OnlyOwnOperations, access.OnCluster("inprog")),
		},
		{
			Name: "killOp", AdminOnly: true, Effect: Interrupts,
			Privilege: access.AnyOf(access.OnCluster("killop"), access.MayKillOwnOperation),
		},
	}
}
