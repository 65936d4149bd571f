package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// operationCommands are about sessions and operations under way.
func operationCommands() []Command {
	return []Command{
		{Name: "startSession", Effect: Reads, Privilege: access.LoggedIn},
		{
			Name: "endSessions", Stable: true, Outside: true, Effect: Interrupts, Anyone: true,
			Fields: fields(optional(args.Array, "endSessions")),
		},
		{
			Name: "refreshSessions", Stable: true, Outside: true, Effect: Reads, Privilege: access.LoggedIn,
			Strict: true, Fields: fields(optional(args.Array, "refreshSessions")),
		},
		{
			Name: "killSessions", Outside: true, Effect: Interrupts, Privilege: access.LoggedIn,
			Fields: fields(optional(args.Array, "killSessions")),
		},
		{
			Name: "killAllSessions", Outside: true, Effect: Interrupts,
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
			Privilege: access.Either(access.OwnOperations, access.OnCluster("inprog")),
		},
		{
			Name: "killOp", AdminOnly: true, Effect: Interrupts,
			Privilege: access.Either(access.OnCluster("killop"), access.OfOwnOperation),
		},
	}
}
