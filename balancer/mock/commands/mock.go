package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// mockCommands returns the mock's own. Who may end a server may also break it.
func mockCommands() []Command {
	breaks := access.OnCluster("shutdown")
	return []Command{
		ofMock("mockStatus", Reads, access.LoggedIn),
		ofMock("mockNow", Reads, access.LoggedIn),
		ofMock("mockInvariants", Reads, access.LoggedIn),
		ofMock("mockAdvance", Writes, breaks),
		ofMock("mockAddShard", Writes, breaks),
		ofMock("mockCrash", Writes, breaks),
		ofMock("mockRestart", Writes, breaks),
		ofMock("mockPartition", Writes, breaks),
		ofMock("mockHeal", Writes, breaks),
		ofMock("mockSlow", Writes, breaks, optional(args.Any, "bandwidth", "latency", "lag", "queue", "secondary", "ahead")),
		ofMock("mockFailNext", Writes, breaks,
			optional(args.SafeInt, "times", "after", "code"), optional(args.String, "errmsg"),
			optional(args.Array, "errorLabels"), optional(args.Shard, "shard"), optional(args.Bool, "closeConnection"),
			optional(args.Object, "writeConcernError")),
		ofMock("mockSameMachineId", Writes, breaks),
		ofMock("mockStepDown", Writes, breaks, optional(args.String, "timeZone")),
		ofMock("mockChangeFCV", Writes, breaks, optional(args.Any, "takes")),
		ofMock("mockInstall", Writes, breaks, required(args.String, "version"),
			optional(args.String, "shard", "member", "router"), optional(args.Bool, "configServers", "routers")),
		ofMock("mockFill", Writes, breaks,
			required(args.Any, "bytes"), optional(args.SafeInt, "docs"), optional(args.Any, "distribution")),
		ofMock("mockWorkload", Writes, breaks, required(args.Any, "rate"), optional(args.String, "keys", "moves", "wave"),
			optional(args.Object, "mix"), optional(args.Any, "count", "scatter", "documentBytes")),
		outside(ofMock("mockSave", Writes, breaks)),
		outside(ofMock("mockLoad", Writes, breaks)),
		{
			Name: "configureFailPoint", AdminOnly: true, Mock: true, Test: true, Outside: true, Effect: Writes,
			Privilege: breaks,
		},
		{
			Name: "waitForFailPoint", AdminOnly: true, Mock: true, Test: true, Effect: Reads, Privilege: breaks, Strict: true,
			Fields: fields(required(args.String, "waitForFailPoint"), required(args.SafeInt, "timesEntered")),
		},
		{Name: "testVersion2", Test: true, Effect: Reads, Privilege: access.LoggedIn},
	}
}

func ofMock(name string, e Effect, may access.Rule, more ...[]args.Field) Command {
	return Command{
		Name: name, AdminOnly: true, Mock: true, Effect: e, Privilege: may, Strict: true,
		Fields: append(required(args.Any, name), fields(more...)...),
	}
}

// outside commands take the cluster's lock only while they copy.
func outside(cmd Command) Command {
	cmd.Outside = true
	return cmd
}
