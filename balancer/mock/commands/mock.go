package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// mockCommands returns the mock's own commands. A user who may shut down a server may also inject
// faults.
func mockCommands() []Command {
	breaks := access.OnCluster("shutdown")
	return []Command{
		mockCommand("mockStatus", Reads, access.LoggedIn),
		mockCommand("mockNow", Reads, access.LoggedIn),
		mockCommand("mockInvariants", Reads, access.LoggedIn),
		mockCommand("mockAdvance", Writes, breaks),
		mockCommand("mockAddShard", Writes, breaks),
		mockCommand("mockCrash", Writes, breaks),
		mockCommand("mockRestart", Writes, breaks),
		mockCommand("mockPartition", Writes, breaks),
		mockCommand("mockHeal", Writes, breaks),
		mockCommand("mockSlow", Writes, breaks,
			optional(args.Any, "bandwidth", "latency", "lag", "queue", "secondary", "ahead")),
		mockCommand("mockFailNext", Writes, breaks,
			optional(args.SafeInt, "times", "after", "code"), optional(args.String, "errmsg"),
			optional(args.Array, "errorLabels"), optional(args.Shard, "shard"), optional(args.Bool, "closeConnection"),
			optional(args.Object, "writeConcernError")),
		mockCommand("mockSameMachineId", Writes, breaks),
		mockCommand("mockStepDown", Writes, breaks, optional(args.String, "timeZone")),
		mockCommand("mockChangeFCV", Writes, breaks, optional(args.Any, "takes")),
		mockCommand("mockInstall", Writes, breaks, required(args.String, "version"),
			optional(args.String, "shard", "member", "router"), optional(args.Bool, "configServers", "routers")),
		mockCommand("mockFill", Writes, breaks,
			required(args.Any, "bytes"), optional(args.SafeInt, "docs"), optional(args.Any, "distribution")),
		mockCommand("mockWorkload", Writes, breaks, required(args.Any, "rate"),
			optional(args.String, "keys", "moves", "wave"), optional(args.Object, "mix"),
			optional(args.Any, "count", "scatter", "documentBytes")),
		withoutLock(mockCommand("mockSave", Writes, breaks)),
		withoutLock(mockCommand("mockLoad", Writes, breaks)),
		{
			Name: "configureFailPoint", AdminOnly: true, MockOnly: true, TestOnly: true, WithoutLock: true, Effect: Writes,
			Privilege: breaks,
		},
		{
			Name:      "waitForFailPoint",
			AdminOnly: true,
			MockOnly:  true,
			TestOnly:  true,
			Effect:    Reads,
			Privilege: breaks,
			Strict:    true,
			Fields:    fields(required(args.String, "waitForFailPoint"), required(args.SafeInt, "timesEntered")),
		},
		{Name: "testVersion2", TestOnly: true, Effect: Reads, Privilege: access.LoggedIn},
	}
}

func mockCommand(name string, e Effect, may access.Rule, more ...[]args.Field) Command {
	return Command{
		Name: name, AdminOnly: true, MockOnly: true, Effect: e, Privilege: may, Strict: true,
		Fields: append(required(args.Any, name), fields(more...)...),
	}
}

// withoutLock marks a command that takes the cluster's lock only to copy data.
func withoutLock(cmd Command) Command {
	cmd.WithoutLock = true
	return cmd
}
